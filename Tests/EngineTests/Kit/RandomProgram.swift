import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// A random configuration and random inputs of every kind, from one seed.
struct RandomProgram {
    private var random: SeededGenerator
    private let fixture: EngineFixture
    private var tokens: [Token] = []
    private var configuration: Configuration
    private var lastState: UInt64 = 0

    private static let queueNames = ["serial", "wide", "drops", "main", "default"]
    private static let handlerNames = ["a", "b", "c", "d", "log", "emit"]
    private static let customNames = ["x", "y", "z"]

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        configuration = Self.configuration(&random)
        fixture = EngineFixture(configuration)
    }

    /// What went wrong first, if anything did.
    var violation: String? { fixture.violation }

    mutating func play(steps: Int) {
        for _ in 0..<steps where fixture.violation == nil { step() }
        guard fixture.violation == nil else { return }
        if random.chance(30) { drain() } else { finish() }
    }

    // MARK: Configurations

    private static func configuration(_ random: inout SeededGenerator) -> Configuration {
        let settings = DaemonSettings(
            maxProcesses: random.pick([1, 2, 3, 16]), maxOperations: random.pick([1, 5, 20, 100_000]),
            maxMemory: random.pick([1, 4000, 10_000, 256 << 20]),
            drain: .seconds(UInt64(random.upTo(20))))
        let queues = queueNames.filter { $0 == "default" || $0 == "main" || random.chance(90) }.map {
            queue($0, &random)
        }
        let names = queues.map(\.name)
        let handlers = handlerNames.filter { $0 == "a" || random.chance(90) }.map { handler($0, names, &random) }
        let sources = sources(handlers.map(\.name), names, &random)
        return .of(settings: settings, queues: queues, handlers: handlers, sources: sources)
    }

    private static func queue(_ name: String, _ random: inout SeededGenerator) -> QueueDefinition {
        let isSerial = name == "main" || (name != "default" && random.chance(40))
        return QueueDefinition(
            name: name, kind: isSerial ? .serial : .concurrent(width: 1 + random.upTo(3)),
            backlog: random.pick([1, 2, 5, 9, 10_000]), backlogBytes: random.pick([1, 1500, 5000, 64 << 20]),
            overflow: random.pick(QueueDefinition.Overflow.allCases),
            isSuspended: random.chance(10))
    }

    private static func handler(
        _ name: String, _ queues: [String], _ random: inout SeededGenerator
    ) -> HandlerDefinition {
        let queue = random.pick(queues)
        switch name {
        case "log": return .log(name, [.specifier(.data), .specifier(.path)], queue: queue)
        case "emit":
            let data = Template(parts: [random.chance(80) ? .specifier(.data) : .literal(Array("none".utf8))])
            return .emit(name, into: random.pick(customNames), data: random.chance(50) ? data : nil, queue: queue)
        default:
            return .exec(name, queue: queue, overlap: random.pick([nil, nil, .wait, .skip])) {
                if random.chance(30) { $0.timeout = .seconds(UInt64(1 + random.upTo(5))) }
                $0.timeoutStop = .seconds(UInt64(random.upTo(3)))
                $0.killMode = random.pick(KillMode.allCases)
                if random.chance(20) { $0.completions.success = [random.pick(handlerNames)] }
                if random.chance(20) { $0.completions.failure = [random.pick(handlerNames)] }
                if random.chance(20) {
                    $0.completions.finished = [random.pick(handlerNames), random.pick(handlerNames)]
                }
            }
        }
    }

    private static func sources(
        _ handlers: [String], _ queues: [String], _ random: inout SeededGenerator
    ) -> [SourceDefinition] {
        var sources: [SourceDefinition] = []
        for (kind, names) in [
            (SourceKind.custom, customNames), (.path, ["files", "more"]), (.descriptor, ["lines"]),
            (.signal, ["signals"]),
            (.process, ["exits"]), (.timer, ["clock", "delay"]),
        ] {
            for name in names where random.chance(85) {
                // Each handler once: Emit= in two branches of a loop would make 2^16 operations.
                let routes = Set((0...random.pick([0, 0, 1])).map { _ in random.pick(handlers) }).sorted().map {
                    Route(handler: $0, queue: random.pick(queues))
                }
                sources.append(
                    SourceDefinition(
                        id: SourceID(kind, name), routes: routes,
                        key: random.pick(kind == .path ? pathKeys : [.handler, .none, .perData, .perLine]),
                        coalesces: random.chance(75), isSuspended: random.chance(10),
                        trigger: trigger(kind, name, &random)))
            }
        }
        return sources
    }

    private static let pathKeys = [KeyRule.perPath, .perPath, .perPath, .handler, .none, folderKey]
    private static let folderKey = KeyRule.template(Template(parts: [.specifier(.folder)]))

    private static func trigger(_ kind: SourceKind, _ name: String, _ random: inout SeededGenerator) -> Trigger {
        switch kind {
        case .custom: return .custom(CustomTrigger(merge: random.pick(CustomTrigger.Merge.allCases)))
        case .path: return .path(PathTrigger(paths: [Array("/w".utf8)], events: .all))
        case .descriptor: return .descriptor(DescriptorTrigger(listener: .fifo([47]), framing: .line))
        case .signal: return .signal(SignalTrigger(signals: [10, 12, 40]))
        case .process: return .process(.pidFile([47]))
        default:
            let span = TimeSpan.seconds(UInt64(1 + random.upTo(4)))
            if name == "delay" { return .timer(TimerTrigger(after: span, onStartup: random.chance(50) ? span : nil)) }
            return .timer(TimerTrigger(every: span, onBoot: .seconds(UInt64(1000 + random.upTo(30)))))
        }
    }

    // MARK: Inputs

    private mutating func step() {
        switch random.upTo(99) {
        case ..<46: event()
        case ..<60: if let run = runs.randomElement(using: &random) { end(run) }
        case ..<65: if let run = runs.randomElement(using: &random) { fixture.spawn(run) }
        case ..<75: fixture.advance(seconds: random.pick([0, 0.001, 0.5, 1, 3]))
        case ..<88: command()
        case ..<92: suspension()
        case ..<94: fixture.stepWallClock(seconds: random.pick([-3600, 3600]))
        case ..<96: fixture.machineSleeps(seconds: 2)
        case ..<97: fixture.send(.gap(SourceID(.path, "files"), 2))
        default: reload()
        }
    }

    private var runs: [RunID] { fixture.runs }

    private mutating func end(_ run: RunID) {
        if random.chance(10) {
            fixture.fail(toStart: run, reason: "no such file")
        } else {
            fixture.end(run, random.pick([.exited(0), .exited(0), .exited(1), .signaled(15), nil]))
        }
    }

    private mutating func event() {
        let count = random.pick([1, 1, 3])
        switch random.upTo(9) {
        case ..<5: pathEvent(random.pick(["files", "more"]))
        case ..<7:
            let id = SourceID(.descriptor, "lines")
            // A descriptor that is held is not read.
            guard !fixture.held.contains(id) else { return }
            fixture.send(.event(id, .line(LineFact(Array(random.pick(["l", "m", "n"]).utf8)))))
        case 7:
            let fact = SignalFact(number: random.pick([10, 12, 40]), senderPID: Int32(random.upTo(2)), senderUID: 0)
            fixture.send(.event(SourceID(.signal, "signals"), .signal(fact), count: count))
        default: fixture.exit("exits", pid: Int32(random.upTo(9)))
        }
    }

    private mutating func pathEvent(_ source: String) {
        let names = ["/w/a", "/w/b", "/w/c", "/w/s/a", "/w/s/b"]
        let change = random.chance(40) ? .renamed : random.pick(PathChange.allCases)
        let path = random.pick(names)
        let old = change == .renamed ? random.pick(names.filter { $0 != path }) : nil
        lastState += 1
        fixture.change(
            source, change, path, lastState, from: old, replaced: random.chance(20),
            isRecovered: random.chance(20))
    }

    private mutating func command() {
        switch random.upTo(9) {
        case ..<5:
            let emissions = (0...random.pick([0, 0, 0, 1, 3])).map { _ in
                (name: random.pick(Self.customNames), data: Int64?.some(Int64(random.upTo(3))), payload: payload())
            }
            tokens.append(fixture.emit(emissions))
        case ..<7:
            let name = random.pick(
                Self.handlerNames + ["path/files", "path/more", "timer/clock", "custom/x", "nobody"])
            let paths = random.chance(30) ? [Array("/w/a".utf8), Array("/w/b".utf8)] : []
            tokens.append(
                fixture.command(
                    .run(
                        Engine.Command.RunCommand(
                            name: name, paths: paths, data: random.chance(50) ? 2 : nil, waits: random.chance(50)))))
        case 7: tokens.append(fixture.command(.cancelQueue(name: random.pick(Self.queueNames))))
        default:
            let live = fixture.engine.operationViews.map(\.id) + [999_999]
            tokens.append(fixture.command(.cancel(operation: random.pick(live))))
        }
    }

    private mutating func payload() -> String? { random.chance(30) ? "{}" : nil }

    private mutating func suspension() {
        let name = random.pick(
            Self.queueNames.map { "queue/" + $0 } + Self.customNames + [
                "files", "lines", "signals", "exits", "clock", "delay",
            ])
        if random.chance(50) {
            let until = random.chance(30) ? fixture.now.realtime + Int64(random.upTo(5_000_000)) : nil
            tokens.append(fixture.command(.suspend(name: name, by: "test", reason: nil, until: until)))
        } else {
            tokens.append(fixture.command(.resume(name: name)))
        }
    }

    private mutating func reload() {
        configuration = random.chance(30) ? configuration : Self.configuration(&random)
        tokens.append(fixture.reload(configuration))
    }

    // MARK: The end

    /// Resumes everything and ends every run until nothing is left.
    private mutating func finish() {
        // Timers stop, nothing starts anew.
        var quiet = configuration
        quiet.sources = quiet.sources.filter { $0.id.kind != .timer }
        for index in quiet.handlers.indices {
            (quiet.handlers[index].completions.success, quiet.handlers[index].completions.failure) = ([], [])
            quiet.handlers[index].completions.finished = []
        }
        for _ in 0..<200 where fixture.violation == nil {
            for source in fixture.engine.sourceViews where !source.suspensions.isEmpty {
                fixture.command(.resume(name: source.id.description))
            }
            for queue in fixture.engine.queueViews where !queue.suspensions.isEmpty {
                fixture.command(.resume(name: "queue/" + queue.definition.name))
            }
            if fixture.engine.phase == .running, !isQuiet { fixture.reload(quiet) }
            fixture.endAll()
            if fixture.engine.totals.outstanding == 0, fixture.engine.door.calls.isEmpty, isQuiet { break }
        }
        guard fixture.violation == nil else { return }
        let engine = fixture.engine
        #expect(engine.operations.count == 0, "operations are left: \(engine.operationViews.map(\.id))")
        #expect(engine.keys.count == 0)
        #expect(engine.entriesPending == 0 && engine.processesRunning == 0)
        #expect(engine.totals.outstanding == 0)
        #expect(engine.door.calls.isEmpty && engine.calls.isEmpty)
        #expect(engine.handling.isEmpty, "changes are not handled")
        #expect(engine.sources.indices.allSatisfy { engine.sources[$0].held.isEmpty && !engine.sources[$0].isRemoved })
        for token in tokens {
            let count = (fixture.replies[token]?.count ?? 0) + (fixture.reloads[token] == nil ? 0 : 1)
            #expect(count == 1, "\(token) has \(count) answers")
        }
    }

    /// Nothing is suspended and no timer is left.
    private var isQuiet: Bool {
        fixture.engine.sourceViews.allSatisfy { $0.suspensions.isEmpty && $0.id.kind != .timer }
            && fixture.engine.queueViews.allSatisfy(\.suspensions.isEmpty)
    }

    private mutating func drain() {
        fixture.send(.drain)
        let isHurried = random.chance(50)
        for _ in 0..<60 where fixture.drained == nil && fixture.violation == nil {
            if isHurried { fixture.send(.hurry) }
            if let run = runs.randomElement(using: &random), random.chance(50) { end(run) }
            event()
            command()
            fixture.advance(seconds: 2)
        }
        guard fixture.violation == nil else { return }
        fixture.advance(seconds: 200)
        #expect(fixture.drained != nil)
        #expect(fixture.open.isEmpty)
        for token in tokens {
            let count = (fixture.replies[token]?.count ?? 0) + (fixture.reloads[token] == nil ? 0 : 1)
            #expect(count == 1, "\(token) has \(count) answers")
        }
    }
}
