import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// A random program for workers on several queues, told by a rim that starts, answers, dies and is deaf at random. All
/// invariants hold after each step; on a serial queue lines start in their order; in the end nothing is left behind.
struct StreamProgram {
    private var random: SeededGenerator
    private let fixture: EngineFixture
    private var configuration: Configuration
    private var lines = 0
    private var handedSeen = 0
    private var lastOnSerial: UInt64 = 0
    private var handedBefore: Set<UInt64> = []
    private(set) var violation: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        configuration = Self.configuration(&random)
        fixture = EngineFixture(configuration, isQuiet: true)
    }

    private static func configuration(_ random: inout SeededGenerator) -> Configuration {
        let isDurable = random.chance(30)
        var queues = [QueueDefinition.serial("s"), .concurrent("c", width: 1 + random.upTo(2))]
        if isDurable { queues = queues.map { queue in queue.with { $0.isDurable = true } } }
        if random.chance(30) {
            queues.append(.concurrent("t", width: 1 + random.upTo(1)))
            queues = queues.map { queue in queue.name == "t" ? queue : queue.targeting("t") }
        }
        var handlers = [handler("h", isDurable, &random), handler("i", isDurable, &random), .exec("x")]
        handlers[1].constraints.isBarrier = random.chance(50)
        handlers[2].constraints.isBarrier = random.chance(20)
        if random.chance(30) { handlers[0].constraints.acquire("m") }
        return .of(
            settings: DaemonSettings(maxProcesses: 2), queues: queues, semaphores: [.of("m", 2)], handlers: handlers,
            sources: [
                .fifo("hs", to: "h", on: "s"), .fifo("hc", to: "h", on: "c"), .fifo("ic", to: "i", on: "c"),
                .fifo("xc", to: "x", on: "c"), .fifo("xs", to: "x", on: "s"),
                .fifo("key", to: "h", on: "c", key: .perLine),
            ])
    }

    private static func handler(
        _ name: String, _ isDurable: Bool, _ random: inout SeededGenerator
    ) -> HandlerDefinition {
        .stream(
            name, workers: 1 + random.upTo(2), prefetch: 1 + random.upTo(3),
            isAcknowledged: isDurable || random.chance(60), idle: random.chance(40) ? .seconds(20) : .infinity,
            program: random.pick(["/bin/a", "/bin/b"])
        ) {
            $0.timeout = random.chance(30) ? .seconds(15) : .infinity
            $0.timeoutStop = .seconds(random.pick([1, 10]))
            $0.retry = random.chance(50) ? .times(1, after: 2) : RetryPolicy()
        }
    }

    mutating func play(steps: Int) {
        for _ in 0..<steps where violation == nil {
            step()
            look()
        }
        guard violation == nil else { return }
        finish()
    }

    private mutating func step() {
        switch random.upTo(99) {
        case ..<30:
            lines += 1
            fixture.line(random.pick(["hs", "hc", "ic", "xc", "xs", "key"]), random.pick(["a", "b", "\(lines)"]))
        case ..<42: if let worker = starting.first { fixture.spawn(worker) }
        case ..<45: if let worker = starting.last { fixture.failWorker(toStart: worker, reason: "no such file") }
        case ..<65: answerSome()
        case ..<72: if let run = fixture.runs.first { fixture.end(run, random.pick([.exited(0), .exited(1)])) }
        case ..<80: endOne()
        case ..<90: fixture.advance(seconds: Double(random.pick([0, 1, 3, 11, 31])) + 0.01)
        case ..<93: cancelOne()
        case ..<95: if let worker = up.last { fixture.send(.workerIsBroken(worker, "wrote nonsense")) }
        case ..<97:
            fixture.command(.suspend(name: "queue/\(random.pick(["s", "c"]))", by: "t", reason: nil, until: nil))
        case ..<98: resumeAll()
        default:
            configuration = Self.configuration(&random)
            // What was accepted under one order need not come in it under another.
            lastOnSerial = .max
            fixture.reload(configuration)
        }
    }

    private var starting: [RunID] { fixture.workers.filter { !fixture.spawned.contains($0) } }
    private var up: [RunID] { fixture.workers.filter { fixture.spawned.contains($0) } }

    private mutating func answerSome() {
        guard !fixture.lines.isEmpty else { return }
        let worker = random.pick(fixture.lines.map(\.worker))
        let held = fixture.lines.filter { $0.worker == worker }.map(\.line)
        let isAcknowledged = held[0].definition.value.stream?.isAcknowledged ?? false
        let count = 1 + random.upTo(held.count - 1)
        let outcome: LineAnswer.Outcome =
            isAcknowledged ? random.pick([.ok, .ok, .ok, .fail, .retry]) : .written
        fixture.answer(Array(held.map(\.run).prefix(count)), outcome)
    }

    private mutating func endOne() {
        let worker = fixture.workers.first { fixture.closing.contains($0) } ?? up.randomElement(using: &random)
        guard let worker else { return }
        if !fixture.spawned.contains(worker) { fixture.spawn(worker) }
        let holds = fixture.lines.contains { $0.worker == worker }
        fixture.endWorker(worker, holds ? random.pick([.exited(1), .signaled(9)]) : .exited(0))
    }

    private mutating func cancelOne() {
        guard let view = fixture.engine.operationViews.randomElement(using: &random) else { return }
        fixture.command(.cancel(operation: view.id))
    }

    private func resumeAll() {
        for view in fixture.engine.queueViews {
            for _ in view.suspensions { fixture.command(.resume(name: "queue/\(view.definition.name)")) }
        }
    }

    private mutating func look() {
        if let found = fixture.violation { return fail(found) }
        for line in fixture.handed.dropFirst(handedSeen) where line.queue == "s" && !line.isRedelivered {
            guard line.run.attempt == 1 else { continue }
            // A worker that dies before it gets its lines gives them back: their order begins anew.
            if !handedBefore.insert(line.run.operation).inserted, lastOnSerial != .max {
                lastOnSerial = min(lastOnSerial, line.run.operation)
            }
            if line.run.operation < lastOnSerial, lastOnSerial != .max {
                fail("operation \(line.run.operation) comes after \(lastOnSerial) on a serial queue")
            }
            if lastOnSerial != .max { lastOnSerial = line.run.operation }
        }
        handedSeen = fixture.handed.count
        let twice = Dictionary(grouping: fixture.lines, by: \.line.run.operation).first { $0.value.count > 1 }
        if let twice { fail("operation \(twice.key) is with two workers") }
    }

    /// Everything goes well from now on.
    private mutating func finish() {
        resumeAll()
        var patience = 2000
        while violation == nil, patience > 0, fixture.engine.operations.count > 0 {
            patience -= 1
            for worker in starting { fixture.spawn(worker) }
            for worker in up where fixture.closing.contains(worker) {
                if !fixture.lines.contains(where: { $0.worker == worker }) { fixture.endWorker(worker, .exited(0)) }
            }
            if let line = fixture.lines.first?.line {
                let isAcknowledged = line.definition.value.stream?.isAcknowledged ?? false
                fixture.answer([line.run], isAcknowledged ? .ok : .written)
            } else if !fixture.runs.isEmpty {
                fixture.endFirst()
            } else {
                for worker in signalled { fixture.endWorker(worker, .signaled(15)) }
                fixture.advance(seconds: 31)
            }
            look()
        }
        if fixture.engine.operations.count > 0 {
            let left = fixture.engine.operationViews.prefix(3).map { "\($0.id) \($0.state) \($0.waitingFor ?? "")" }
            fail("left behind: \(left)")
        }
        let totals = fixture.engine.totals
        let ended = totals[.done] + totals[.failed] + totals[.cancelled]
        if totals.accepted != ended || totals.accepted != lines { fail("\(lines) lines became \(totals)") }
        drain()
    }

    /// Workers that were sent a signal.
    private var signalled: [RunID] {
        up.filter { worker in fixture.signals.contains { $0.hasPrefix("\(worker.operation) ") } }
    }

    private mutating func drain() {
        fixture.send(.drain)
        for worker in fixture.workers {
            fixture.spawn(worker)
            fixture.endWorker(worker, .exited(0))
        }
        look()
        if violation == nil, fixture.drained != [] { fail("a stop waits for nothing") }
    }

    private mutating func fail(_ reason: String) { violation = violation ?? reason }
}
