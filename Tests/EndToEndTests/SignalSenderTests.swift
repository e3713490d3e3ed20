import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Who sent a signal, and in what order.
@Suite("Senders of signals, end to end", .ownThread) struct SignalSenderTests {
    @Test func theSendersExecutableIsToldAndRealTimeSignalsKeepTheirOrder() throws {
        try Watchd.run("[Signal rt]\nSignal=RTMIN+2\nCoalesce=no\nExec=@/record\nQueue=main\n") { watchd in
            var value = sigval()
            for number in 1...20 {
                value.sival_int = Int32(number)
                #expect(sigqueue(watchd.processID, 36, value) == 0)
            }
            let runs = try watchd.waitForRuns(20)
            for (run, number) in zip(runs, 1...) {
                #expect(
                    run.inputText.contains("\"value\":\(number),") || run.inputText.contains("\"value\":\(number)}"))
            }
            let own = try #require(Linux.executable(of: Linux.processID))
            let path = String(decoding: own, as: UTF8.self)
            #expect(runs[0].inputText.contains("\"sender_executable\":\"\(path)\""), "\(runs[0].inputText)")
        }
    }

    @Test func aSourceTakesSighupFromTheReloadAndAReloadGivesItBack() throws {
        try Lives.run("[Signal hup]\nSignal=HUP\nExec=/bin/sh -c 'echo got >>@/got'\n") { lives in
            lives.watchd.send(SIGHUP)
            try wait(for: "the handler") { lives.folder.lines("got").count == 1 }
            #expect(!lives.watchd.logText.contains("reloading"))
            try lives.write("[Custom other]\nLog=x\n")
            try lives.watchd.call(Reload.self, .init())
            lives.watchd.send(SIGHUP)
            try wait(for: "the reload") { lives.watchd.logText.contains("SIGHUP from process") }
            #expect(lives.folder.lines("got").count == 1)
        }
    }
}
