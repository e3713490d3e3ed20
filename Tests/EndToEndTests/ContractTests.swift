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

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func userGroupAndHomeReachHandlersSupervisedProcessesAndCommandsOfSources() throws {
        let keys = """
            User=daemon
            Group=adm
            WorkingDirectory=~
            PassEnvironment=A_VARIABLE_OF_THE_DAEMON
            """
        let told = "echo $(id -u) $(id -g) $(id -G) $HOME $USER $PWD $A_VARIABLE_OF_THE_DAEMON"
        let script = "/bin/sh -c '\(told); exec sleep 1000'"
        let text = """
            [Custom poke]
            Exec=/bin/sh -c '\(told)'
            \(keys)
            [Process web]
            Command=\(script)
            \(keys)
            [Descriptor lines]
            Command=\(script)
            \(keys)
            Handler=line
            [Handler line]
            Exec=/bin/echo %{line}
            """
        let expected = "1 4 4 /usr/sbin daemon /usr/sbin 1\n"
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            for name in ["poke", "line"] {
                try wait(for: "a run of \(name)") { try watchd.ended(name).first != nil }
                let run = try #require(try watchd.ended(name).first)
                #expect(try watchd.operation(run.id).output == expected, "\(name)")
            }
            try wait(for: "the output of web") { try watchd.control("output", "web").text == expected }
        }
    }

    @Test func aUserThatDoesNotExistIsRefusedByCheckAndFailsTheAttempt() throws {
        let text = """
            [Custom poke]
            Exec=/bin/true
            User=no-such-user
            Retry=1
            RetrySec=10ms
            """
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let run = try #require(try watchd.ended("poke").first)
            let operation = try watchd.operation(run.id)
            #expect(operation.summary.reason == "User=no-such-user: there is no such user")
            #expect(operation.summary.attempt == 2)
        }
    }

    @Test func moreLinesThanACommandTakesBecomeSeveralRunsOfOneOperation() throws {
        let text = """
            [Queue held]
            [Descriptor lines]
            ListenFIFO=@/fifo
            Queue=held
            Key=all
            Coalesce=yes
            Exec=/bin/sh -c 'echo $#' sh %@
            StandardOutput=append:@/counts
            StandardInput=null
            """
        try Watchd.run(text) { watchd in
            try watchd.suspend("held")
            let line = Array(repeating: UInt8(ascii: "x"), count: 999) + [0x0A]
            try Linux.open(watchd.folder["fifo"], .writing).use { descriptor throws(SystemError) in
                for _ in 0..<5000 { try Linux.writeAll(descriptor, line) }
            }
            try wait(for: "all lines") { try watchd.handler("lines").counters.pending == 5000 }
            try watchd.resume("held")
            try watchd.waitUntilIdle()
            let operation = try #require(try watchd.ended("lines").first)
            #expect(operation.result == .done, "\(operation)")
            let counts = watchd.folder.lines("counts").compactMap { Int($0) }
            #expect(counts.count == 5 && counts.reduce(0, +) == 5000, "\(counts)")
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
