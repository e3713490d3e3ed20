import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// A small random program whose runs wait for others, with an oracle that tries all orders of ends.
struct WaitingProgram {
    private static let handlers = ["a", "b", "c"]
    private static let queues = ["q", "p", "t"]

    private var random: SeededGenerator
    private let fixture: EngineFixture
    private var waiting: [Token: UInt64] = [:]
    private(set) var script: [String] = []
    private(set) var refused = 0
    private(set) var accepted = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let configuration = Self.configuration(&random)
        fixture = EngineFixture(configuration, isQuiet: true)
        script = configuration.queues.map { "\($0.name) \($0.kind) \($0.target ?? "")" }
        script += configuration.handlers.map {
            "\($0.name) on \($0.queue ?? "") \($0.constraints.acquires) barrier \($0.constraints.isBarrier)"
        }
    }

    private static func configuration(_ random: inout SeededGenerator) -> Configuration {
        let queues = queues.map { name in
            let kind: QueueDefinition.Kind = random.chance(25) ? .serial : .concurrent(width: 1 + random.upTo(2))
            let queue = QueueDefinition(name: name, kind: kind)
            return name != "t" && random.chance(35) ? queue.targeting("t") : queue
        }
        let handlers = handlers.map { name in
            HandlerDefinition.exec(name, queue: random.pick(Self.queues)) {
                if random.chance(35) { $0.constraints.acquire("s", 1 + random.pick([0, 0, 1])) }
                if random.chance(10) { $0.constraints.isBarrier = true }
            }
        }
        return .of(
            settings: DaemonSettings(maxProcesses: random.pick([3, 4, 16])), queues: queues,
            semaphores: [.of("s", 2)], handlers: handlers,
            sources: handlers.map { handler in
                .fifo(
                    "f\(handler.name)", to: handler.name, on: handler.queue ?? "t",
                    key: random.pick([.none, .none, .handler]))
            })
    }

    /// The first call that the engine and the oracle judge differently.
    mutating func play(steps: Int) -> String? {
        for _ in 0..<steps {
            switch random.upTo(9) {
            case ..<5 where fixture.engine.operations.count < 5:
                let name = random.pick(Self.handlers)
                script.append("submit \(name)")
                fixture.line("f\(name)", "\(script.count)")
            case ..<7: end()
            default: if let difference = call() { return difference }
            }
            if let violation = fixture.violation { return violation }
        }
        return nil
    }

    /// Runs whose clients wait for nothing.
    private mutating func free() -> [RunID] {
        waiting = waiting.filter { fixture.reply($0.key) == nil }
        return fixture.runs.filter { !waiting.values.contains($0.operation) }
    }

    private mutating func end() {
        guard let run = free().randomElement(using: &random) else { return }
        script.append("\(run.operation) ends")
        fixture.end(run)
    }

    private mutating func call() -> String? {
        guard let caller = free().randomElement(using: &random)?.operation else { return nil }
        let command = random.chance(70) ? run() : .wait(awaited(), after: nil, caller: nil)
        var oracle = EndingsOracle(engine: fixture.engine, now: fixture.now, running: fixture.runs, waiting: waiting)
        guard oracle.canAllEnd() else { return "seed lost: not all can end" }
        let token = Token(1_000_000)
        oracle.waiting[token] = caller
        oracle.send(.command(command, token))
        let mayWait = oracle.canAllEnd()
        let asked = fixture.command(Self.asked(command, by: caller))
        script.append("\(caller) asks for \(command): \(fixture.reply(asked).map { "\($0)" } ?? "waits")")
        if fixture.reply(asked) == nil { waiting[asked] = caller }
        guard case .wouldDeadlock = fixture.error(asked) else {
            accepted += 1
            return mayWait ? nil : "accepted, and nobody can end"
        }
        refused += 1
        return mayWait ? "refused, and all can end" : nil
    }

    private mutating func run() -> Engine.Command {
        .run(Engine.Command.RunCommand(name: "handler/" + random.pick(Self.handlers), waits: true))
    }

    private mutating func awaited() -> Awaited {
        let ids = fixture.engine.operationViews.map(\.id)
        if random.chance(50), let id = ids.randomElement(using: &random) { return .operation(id) }
        return .named("queue/" + random.pick(Self.queues))
    }

    private static func asked(_ command: Engine.Command, by caller: UInt64) -> Engine.Command {
        switch command {
        case .run(var run):
            run.caller = caller
            return .run(run)
        case .wait(let awaited, let span, _, _): return .wait(awaited, after: span, caller: caller)
        default: return command
        }
    }
}
