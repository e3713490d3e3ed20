import Schedule
import SeedKit
import WatchFile

@testable import Engine

/// A random program that brings many things of one kind into motion at once: sources that hold back for durable queues,
/// supervised processes with several callers, callers that wait for each other, reloads, crashes.
///
/// What the engine does in each step is kept as a number, so that two processes can compare all of it.
struct RepeatableScript {
    /// Of each step, all its actions (FNV-1a of their text).
    private(set) var digests: [UInt64] = []
    private var random: SeededGenerator
    private var engine: Engine
    private var now = EngineFixture.boot
    private var runs: [RunID] = []
    private var spawned: Set<RunID> = []
    private var writes: [StoreWrite] = []
    private var ended: [OperationView] = []
    private var lastToken: UInt64 = 0
    private var lastPID: Int32 = 1000

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        engine = Engine(Self.configuration(isReduced: false), at: now, seed: seed)
        take(engine.start())
    }

    mutating func play(steps: Int) {
        for _ in 0..<steps { step() }
        send(.drain)
        for _ in 0..<3 { send(.hurry) }
        while let run = runs.first { end(run) }
    }

    // MARK: What there is

    private static func names(_ letter: String) -> [String] { (0..<6).map { "\(letter)\($0)" } }

    /// `isReduced`: without some of what the others use.
    private static func configuration(isReduced: Bool) -> Configuration {
        var queues = [
            QueueDefinition.serial("narrow", backlog: 4), .concurrent("wide", width: 3, backlog: 4), .serial("plain"),
        ]
        for index in 0..<2 { queues[index].isDurable = true }
        let once = names("once").map { name in
            HandlerDefinition.exec(name, queue: "wide") { $0.constraints.once = .ever }
        }
        let handlers: [HandlerDefinition] = [
            .exec("a", queue: "narrow"), .exec("b", queue: "wide", overlap: .restart),
            .exec("n", queue: "plain") { $0.constraints.acquire("s") },
            .exec("m", queue: "wide") { $0.constraints.acquire("s") },
        ]
        let sources = names("c").enumerated().map { index, name in
            SourceDefinition.custom(name, to: "once\(index)", "n", on: "wide", merge: .replace, coalesces: index > 2)
        }
        let lines = names("f").map { SourceDefinition.fifo($0, to: "a", on: "narrow") }
        let timers = names("t").map { name in
            SourceDefinition.timer(name, to: "b", on: "wide", every: .seconds(20)).timing {
                ($0.randomizedDelay, $0.catchUp) = (.seconds(9), .one)
            }
        }
        let processes = (0..<3).map { SourceDefinition.supervised("p\($0)", to: "n", workers: 3) }
        let group = SourceDefinition.group("g", of: "a", "b", "n", to: "m", on: "wide")
        return .of(
            settings: DaemonSettings(maxProcesses: 5), queues: isReduced ? [queues[1]] : queues,
            semaphores: [.of("s", 1)],
            handlers: (isReduced ? Array(handlers.dropFirst().map { $0.on("wide") }) : handlers) + once,
            sources: sources + timers + (isReduced ? [] : lines + processes + [group]))
    }

    // MARK: What happens

    private mutating func step() {
        switch random.upTo(15) {
        case 0:
            for name in Self.names("f") { line(name) }
        case 1: for name in Self.names("c") { emit([name]) }
        case 2: emit(Self.names("c"))
        case 3: for run in runs.prefix(1 + random.upTo(2)) { end(run) }
        case 4: send(.store(.failing("no space left")))
        case 5, 6: send(.store(.working))
        case 7:
            for name in Self.names("c") + Self.names("f") {
                command(.suspend(name: name, by: "x", reason: nil, until: nil))
            }
        case 8: for name in Self.names("c") + Self.names("f") { command(.resume(name: name)) }
        case 9:
            let verb = random.pick(ProcessVerb.allCases)
            for _ in 0..<4 { command(.process(verb, name: "p\(random.upTo(2))")) }
        case 10: pass(seconds: Int64(1 + random.upTo(40)))
        case 11: send(.reload(Self.configuration(isReduced: random.chance(40)), token()))
        case 12: send(.storeIsNew)
        case 13: callers()
        case 14: if random.chance(30) { crash() }
        default: for name in ["narrow", "wide", "g"] { command(.wait(.named(name), after: nil, caller: nil)) }
        }
        spawn()
    }

    /// Runs ask for runs and wait for them.
    private mutating func callers() {
        for run in runs where random.chance(60) {
            let name = "handler/" + random.pick(["a", "b", "n", "m"])
            command(.run(.init(name: name, waits: true, caller: run.operation)))
            command(.wait(.named(random.pick(["narrow", "wide"])), after: nil, caller: run.operation))
        }
    }

    private mutating func line(_ name: String) {
        let facts = (0...2).map { LineFact(Array("\(name) \($0)".utf8)) }
        send(.lines(SourceID(.descriptor, name), facts))
    }

    private mutating func emit(_ names: [String]) {
        command(.emit(names.map { Command.Emission(name: $0, fact: CustomFact(data: Int64(random.upTo(5)))) }))
    }

    private mutating func end(_ run: RunID) {
        spawn(run)
        runs.removeAll { $0 == run }
        send(.runEnded(run, .exited(random.chance(80) ? 0 : 1)))
    }

    private mutating func spawn() {
        for run in runs where random.chance(50) { spawn(run) }
    }

    private mutating func spawn(_ run: RunID) {
        guard spawned.insert(run).inserted else { return }
        lastPID += 1
        send(.runStarted(run, pid: lastPID))
    }

    private mutating func pass(seconds: Int64) {
        now.realtime += seconds * 1_000_000
        now.boottime += seconds * 1_000_000
        now.monotonic += seconds * 1_000_000
        send(.clock)
    }

    /// What is safe takes its place in the next engine; all processes live on.
    private mutating func crash() {
        var state = DurableTests.state(writes, ended: ended)
        var processes: [String: StoredProcess] = [:]
        for case .process(let source, let copy, let process) in writes { processes["\(source) \(copy)"] = process }
        state.processes = processes.sorted { $0.key < $1.key }.map(\.value)
        let living = Set(state.processes.map(\.run))
        runs = runs.filter { living.contains($0) }
        pass(seconds: 1)
        engine = Engine(Self.configuration(isReduced: random.chance(30)), at: now, seed: random.next())
        engine.restore(state)
        take(engine.start())
    }

    private mutating func command(_ command: Engine.Command) { send(.command(command, token())) }

    private mutating func token() -> Token {
        lastToken += 1
        return Token(lastToken)
    }

    private mutating func send(_ input: Input) { take(engine.handle(input, at: now)) }

    // MARK: What came of it

    private mutating func take(_ actions: [Action]) {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for action in actions {
            for byte in Self.text(action).utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
            take(action)
        }
        digests.append(digest)
    }

    private mutating func take(_ action: Action) {
        switch action {
        case .committed(let action), .stored(let action): take(action)
        case .start(let request): runs.append(request.run)
        case .adopt(let request):
            spawned.insert(request.run)
            if !runs.contains(request.run) { runs.append(request.run) }
        case .store(let write): writes.append(write)
        case .report(.ended(let view)): ended.append(view)
        default: break
        }
    }

    /// Definitions have sets, whose text is in no order.
    private static func text(_ action: Action) -> String {
        switch action {
        case .committed(let action), .stored(let action): "later \(text(action))"
        case .start(let request): "start \(request.run) \(request.queue) \(request.events) \(request.isRedelivered)"
        case .adopt(let request): "adopt \(request.run) \(request.pid) \(request.isUnwanted)"
        case .open(let definition): "open \(definition.id)"
        default: "\(action)"
        }
    }
}

extension HandlerDefinition {
    fileprivate func on(_ queue: String) -> HandlerDefinition {
        var changed = self
        changed.queue = queue
        return changed
    }
}
