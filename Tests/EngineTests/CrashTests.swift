import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// Random programs on durable queues with a crash now and then, at any point between two writes.
@Suite("Crashes") struct CrashTests {
    private static let configuration = Configuration.of(
        settings: DaemonSettings(maxProcesses: 4),
        queues: [
            QueueDefinition(name: "line", isDurable: true),
            QueueDefinition(name: "wide", kind: .concurrent(width: 3), isDurable: true),
            QueueDefinition(name: "small", backlog: 4, isDurable: true),
        ],
        semaphores: [.of("tokens", 2)],
        handlers: [
            .exec("a"), .exec("b") { $0.retry = RetryPolicy(limit: 2, delay: .seconds(5)) },
            .exec("c") { $0.constraints.isBarrier = true },
            .exec("d") { $0.constraints.acquires = [SemaphoreCount(name: "tokens", count: 2)] },
            .exec("e") { $0.stride = 2 }, .exec("f") { $0.constraints.after = ["e"] },
        ],
        sources: [
            .custom("one", to: "a", on: "line"), .custom("each", to: "b", on: "line", coalesces: false),
            .custom("wide", to: "b", "c", on: "wide", coalesces: false), .custom("sem", to: "d", on: "wide"),
            .custom("strides", to: "e", "f", on: "wide"), .custom("small", to: "a", on: "small", coalesces: false),
        ])

    /// Which handlers the events of each source are for.
    private static let handlers = [
        "one": ["a"], "each": ["b"], "wide": ["b", "c"], "sem": ["d"], "strides": ["e", "f"], "small": ["a"],
    ]

    @Test(arguments: Seeds.range(60, long: 600)) func nothingAcceptedIsLostAndARepeatSaysSo(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var rim = CrashRim(Self.configuration)
        let names = Self.handlers.keys.sorted()
        var payload = 0
        var deliveries: [Int: [String]] = [:]
        for _ in 0..<Int.random(in: 20...120, using: &random) {
            switch Int.random(in: 0..<100, using: &random) {
            case ..<40:
                payload += 1
                let name = random.pick(names)
                deliveries[payload] = Self.handlers[name]?.map { "\($0) \(payload)" }
                rim.emit(name, payload)
            case ..<65: rim.commit(Int.random(in: 1...4, using: &random))
            case ..<85 where !rim.runs.isEmpty:
                let exit: Exit = Int.random(in: 0..<4, using: &random) == 0 ? .exited(1) : .exited(0)
                rim.end(Int.random(in: rim.runs.indices, using: &random), exit)
            case ..<90: rim.pass(seconds: Int64.random(in: 1...20, using: &random))
            case ..<93:
                let name = ["queue/line", "queue/wide", "custom/each"].randomElement(using: &random) ?? "queue/line"
                let suspends = Bool.random(using: &random)
                let suspend = Engine.Command.suspend(name: name, by: "test", reason: nil, until: nil)
                rim.command(suspends ? suspend : .resume(name: name))
            case ..<97:
                // One decision for each, so that the same seed is the same program.
                let survivors = (0..<64).map { _ in Bool.random(using: &random) }
                rim.crash { survivors[$0 % 64] }
            default: rim.commit()
            }
        }
        finish(&rim)
        #expect(rim.violation == nil, "seed \(seed)")
        let wanted = Set(rim.accepted.flatMap { deliveries[$0] ?? [] })
        let lost = wanted.subtracting(rim.finished).sorted()
        #expect(lost.isEmpty, "seed \(seed): accepted and never ended: \(lost), after \(rim.crashes) crashes")
        let neverRan = wanted.subtracting(rim.starts.keys).sorted()
        #expect(neverRan.isEmpty, "seed \(seed): accepted and never run: \(neverRan)")
    }

    /// Lets everything end.
    private func finish(_ rim: inout CrashRim) {
        for name in ["queue/line", "queue/wide", "custom/each"] {
            for _ in 0..<60 { rim.command(.resume(name: name)) }
        }
        for _ in 0..<10_000 {
            rim.commit()
            if rim.isIdle { return }
            if rim.runs.isEmpty { rim.pass(seconds: 60) } else { rim.end(0, .exited(0)) }
        }
        Issue.record("it does not come to an end: \(rim.engine.operationViews.prefix(5))")
    }
}
