import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// What was skipped or dropped without an operation stands in the history, and is there after the next start too.
@Suite("Refused deliveries, end to end", .ownThread) struct RefusedDeliveryTests {
    private func history(_ watchd: Watchd, _ result: OperationSummary.Result) throws -> [OperationSummary] {
        var parameters = ListHistory.Parameters()
        parameters.result = result
        return try watchd.call(ListHistory.self, parameters).operations
    }

    @Test func whatWasSkippedAndDroppedStandsInTheHistoryAcrossARestart() throws {
        let text = """
            [Queue small]
            Backlog=2
            Overflow=drop-newest
            Suspended=yes
            [Custom slow]
            Overlap=skip
            Exec=/bin/sh -c 'echo $$ > @/runs; exec sleep 60'
            [Custom full]
            Exec=/bin/true
            Queue=small
            Coalesce=no
            Key=none

            """
        try Lives.run(text, settings: "DrainSec=100ms") { lives in
            let watchd = lives.watchd
            try watchd.emit("slow")
            try wait(for: "the run") { watchd.folder.exists("runs") }
            for _ in 1...3 { try watchd.emit("slow") }
            for _ in 1...2 { try watchd.emit("full") }
            let began = Linux.now(.monotonic)
            for _ in 1...40 { _ = try? watchd.emit("full") }
            let seconds = Double(Linux.now(.monotonic) - began) / 1_000_000
            #expect(try watchd.queue("small").counters.dropped == 40)
            for isRestarted in [false, true] {
                if isRestarted {
                    lives.stop()
                    try lives.start()
                }
                let daemon = lives.watchd
                let skipped = try history(daemon, .skipped)
                #expect(skipped.count == 3 && skipped.allSatisfy { $0.handler == "slow" && $0.started == nil })
                #expect(skipped.first?.reason?.hasPrefix("Overlap=skip: ") == true, "\(skipped)")
                let dropped = try history(daemon, .dropped)
                #expect(dropped.reduce(0) { $0 + $1.deliveries } == 40, "\(dropped)")
                // Ten, and then one after 1 s, 2 s, 4 s and so on.
                #expect(dropped.count <= 12 + Int(log2(seconds + 2)), "a flood is few records: \(dropped.count)")
                let shown = try daemon.control("history", "slow").text
                #expect(shown.contains("skipped") && shown.contains("Overlap=skip: "), "\(shown)")
                let first = try #require(dropped.last)
                #expect(try daemon.operation(first.id).summary.result == .dropped)
            }
        }
    }
}
