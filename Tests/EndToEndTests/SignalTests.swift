import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

@Suite("Signals, end to end", .ownThread) struct SignalTests {
    @Test func senderAndValueOfEverySignalReachTheHandler() throws {
        let text = """
            [Signal on]
            Signal=USR1 RTMIN+3
            Exec=@/record %{signal} %{pid}
            Coalesce=no
            Queue=main
            """
        try Watchd.run(text) { watchd in
            try Linux.kill(process: watchd.processID, signal: SIGUSR1)
            for value: Int32 in [7, -1, 2_147_483_647] {
                #expect(sigqueue(watchd.processID, 34 + 3, sigval(sival_int: value)) == 0)
            }
            let runs = try watchd.waitForRuns(4)
            let (pid, uid) = ("\(Linux.processID)", Linux.userID)
            #expect(runs.map { $0["WATCHD_SIGNAL"] } == ["SIGUSR1", "SIGRTMIN+3", "SIGRTMIN+3", "SIGRTMIN+3"])
            #expect(runs.allSatisfy { $0["WATCHD_PID"] == pid })
            #expect(runs[0].arguments == ["SIGUSR1".pathBytes, pid.pathBytes])
            #expect(!runs[0].inputText.contains("\"value\""))
            for (run, value) in zip(runs.dropFirst(), ["7", "-1", "2147483647"]) {
                #expect(run.inputText.contains("\"value\":\(value)}"), "\(run.inputText)")
                #expect(run.inputText.contains("\"sender_pid\":\(pid),\"sender_uid\":\(uid)"))
                #expect(run.inputText.contains("\"number\":37"))
            }
        }
    }

    @Test func realTimeSignalsOfABurstAreAllCounted() throws {
        let text = "[Signal on]\nSignal=RTMIN\nLog=%{count}\n"
        try Watchd.run(text) { watchd in
            try watchd.suspend("queue/default")
            for value in 0..<500 as Range<Int32> {
                #expect(sigqueue(watchd.processID, 34, sigval(sival_int: value)) == 0)
            }
            try wait(for: "the signals") { try watchd.source("on").counters.accepted == 500 }
            try watchd.resume("queue/default")
            #expect(try watchd.waitUntilIdle().done == 500)
        }
    }

    @Test func whatNoSourceClaimsIsNotKeptForOneToCome() throws {
        try Watchd.run("[Custom poke]\nLog=poked\n") { watchd in
            watchd.send(SIGUSR1)
            for _ in 0..<50 { #expect(sigqueue(watchd.processID, 34, sigval(sival_int: 1)) == 0) }
            try wait(for: "none to wait") {
                let status = String(decoding: try Linux.readFile("/proc/\(watchd.processID)/status"), as: UTF8.self)
                return status.contains("ShdPnd:\t0000000000000000\n")
            }
            try wait(for: "both to be told") {
                ["SIGUSR1", "SIGRTMIN"].allSatisfy { watchd.logText.occurrences(of: "\($0) from process") == 1 }
            }
            try Watchd.write("[Signal on]\nSignal=USR1 RTMIN\nExec=@/record %{signal}\n", to: watchd.folder)
            _ = try watchd.call(Reload.self, .init())
            watchd.send(SIGUSR1)
            #expect(try watchd.waitForRuns(1).map { $0["WATCHD_SIGNAL"] } == ["SIGUSR1"])
            #expect(try watchd.source("on").counters.accepted == 1)
        }
    }

    @Test func aSourceMayClaimHangUpAndThenItDoesNotReload() throws {
        try Watchd.run("[Signal hup]\nSignal=HUP\nExec=@/record\n") { watchd in
            watchd.forgetNotifications()
            watchd.send(SIGHUP)
            let run = try #require(try watchd.waitForRuns(1).first)
            #expect(run["WATCHD_SIGNAL"] == "SIGHUP")
            #expect(!watchd.logText.contains("reload"))
        }
    }
}
