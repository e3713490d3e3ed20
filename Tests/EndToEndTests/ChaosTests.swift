import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import Varlink

/// Nothing that was accepted is lost, whatever happens to the daemon. `Tests/Chaos/run` runs it for longer.
@Suite("Chaos, end to end", .ownThreadChain, .serialized) struct ChaosTests {
    /// `WATCHD_CHAOS`, else a few that take some seconds.
    private static func rounds(_ usual: Int) -> Int {
        getenv("WATCHD_CHAOS").flatMap { Int(String(cString: $0)) } ?? usual
    }

    /// Sources of durable queues whose acceptance the sender knows of, and those of others.
    private static let durable = ["line", "flaky", "merged", "pipe"]
    private static let plain = ["plain", "lost"]

    @Test(arguments: Seeds.range(1)) func nothingAcceptedIsLostWhateverHappens(seed: UInt64) throws {
        let begin = Linux.now(.monotonic)
        let rounds = Self.rounds(20)
        Linux.ignoreSignal(SIGPIPE)
        let settings = "Sync=normal\nKeepHistory=200\nLogLevel=notice"
        try Lives.run(
            ChaosRun.text, settings: settings, onSmallDisk: true, watchdog: 300_000, prepare: ChaosRun.prepare
        ) { lives in
            let load = ChaosLoad(lives.folder)
            var run = ChaosRun(lives, load, seed: seed)
            let threads = load.start(
                emitting: ["line", "flaky", "merged", "plain"], writing: ["pipe", "lost"], seed: seed)
            do {
                for _ in 0..<rounds { try run.round() }
                try run.calm()
            } catch {
                // Else its threads would wait for a daemon that does not come.
                lives.kill()
                load.stop(threads)
                throw error
            }
            load.stop(threads)
            try wait(for: "all to end", seconds: 120) { try lives.watchd.status().totals.outstanding == 0 }
            try expectAllAccounted(lives, load.sent, seed)
            let missing = run.missing
            #expect(rounds < 200 || missing.isEmpty, "seed \(seed): never came: \(missing)")
            let seconds = Double(Linux.now(.monotonic) - begin) / 1_000_000
            print(summary(run, load.sent, ChaosLedger(lives.folder, "ledger"), seed, seconds))
        }
    }

    private func expectAllAccounted(_ lives: Lives, _ sent: ChaosLoad.Sent, _ seed: UInt64) throws {
        let ledger = ChaosLedger(lives.folder, "ledger")
        for source in Self.durable {
            let lost = Set(sent.accepted[source] ?? []).subtracting(ledger.tokens(of: source))
            #expect(lost.isEmpty, "seed \(seed): accepted by \(source) and never run: \(lost.sorted())")
        }
        for source in ["line", "flaky", "merged", "plain", "lost"] {
            let doubled = ledger.doubled(of: source)
            #expect(doubled.isEmpty, "seed \(seed): \(source) made two operations of \(doubled)")
        }
        let silent = ledger.silentRepeats(of: "pipe")
        let stories = silent.map(ledger.story).joined(separator: "; ")
        #expect(silent.isEmpty, "seed \(seed): lines of the pipe ran again and did not say so: \(stories)")
        let contradictions = ledger.contradictions(plain: ["plain", "lost", "tick"])
        #expect(contradictions.isEmpty, "seed \(seed): \(contradictions.joined(separator: "\n"))")
        let refused = sent.refused.intersection(ledger.entries.flatMap(\.tokens))
        #expect(refused.isEmpty, "seed \(seed): refused, and ran: \(refused.sorted())")
        expectOrder(ledger, sent, seed)
    }

    /// On a serial queue the events of one client, or of one writer, start in the order in which they were sent.
    private func expectOrder(_ ledger: ChaosLedger, _ sent: ChaosLoad.Sent, _ seed: UInt64) {
        for source in ["line", "pipe"] {
            let accepted = Set(sent.accepted[source] ?? [])
            var seen: Set<Int> = []
            let firsts = ledger.entries(of: source).flatMap(\.tokens).filter { seen.insert($0).inserted }
            let ran = firsts.filter { accepted.contains($0) }
            let late = zip(ran, ran.dropFirst()).filter { $0 > $1 }.map(\.1)
            #expect(late.isEmpty, "seed \(seed): \(source) started too late: \(late)")
        }
    }

    private func summary(
        _ run: ChaosRun, _ sent: ChaosLoad.Sent, _ ledger: ChaosLedger, _ seed: UInt64, _ seconds: Double
    ) -> String {
        let troubles = run.counts.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key.rawValue)" }
        let lostPlain = Self.plain.reduce(0) { sum, source in
            sum + Set(sent.accepted[source] ?? []).subtracting(ledger.tokens(of: source)).count
        }
        let perSource = sent.accepted.sorted { $0.key < $1.key }.map { "\($0.value.count) \($0.key)" }
        return """
            chaos: seed \(seed), \(run.counts.values.reduce(0, +)) rounds in \(Int(seconds)) s: \
            \(troubles.joined(separator: ", ")); \(run.lives.count) lives
            chaos: \(sent.count) accepted (\(perSource.joined(separator: ", "))), \(sent.refused.count) refused, \
            \(sent.unanswered.count) unanswered, \(sent.files) files; \(ledger.entries.count) runs, \
            \(ledger.repeats) of them redelivered, \(ledger.doubled(of: "pipe").count) lines of the pipe twice, \
            \(ledger.tornLines) torn; \(lostPlain) that no durable queue had are lost
            """
    }
}
