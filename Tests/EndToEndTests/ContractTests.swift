import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// Attributes and limits of a handler's process.
@Suite("Process contract, end to end", .ownThread) struct ContractTests {
    @Test func attributesAndLimitsReachTheCommand() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'nice; umask; ulimit -Sn; ulimit -Hn; cat /proc/self/oom_score_adj'
            Nice=7
            UMask=0027
            LimitNOFILE=50:60
            OOMScoreAdjust=100
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            #expect(try watchd.operation(run.id).output == "7\n0027\n50\n60\n100\n")
        }
    }

    @Test func aLimitThatCannotBeSetIsAFailedAttemptThatNamesIt() throws {
        let text = """
            [Custom poke]
            Exec=/bin/true
            LimitNOFILE=infinity
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            let reason = try watchd.operation(run.id).summary.reason ?? ""
            #expect(reason.hasPrefix("setrlimit LimitNOFILE=infinity: Operation not permitted (EPERM)"))
        }
    }
}
