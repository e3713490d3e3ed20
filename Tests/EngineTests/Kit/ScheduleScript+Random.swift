import Schedule
import SeedKit
import WatchFile

@testable import Engine

extension ScheduleScript {
    private static let queueNames = ["a", "b", "c", "d", "main"]
    private static let handlerNames = ["h1", "h2", "h3", "h4", "h5", "log"]
    private static let fifoNames = ["f1", "f2", "f3", "f4"]
    private static let semaphoreNames = ["s", "t"]

    /// The program of a seed.
    init(seed: UInt64, steps count: Int = 70) {
        var random = SeededGenerator(seed: seed)
        // In every other program `log` has conditions, so that it is started as a command is.
        let asks = seed % 2 == 1
        configuration = Self.configuration(&random, asks: asks)
        steps = []
        // A reload changes much: two in three programs are without, and so checked more strictly.
        let reloads = random.chance(35)
        for _ in 0..<count { steps.append(Self.step(&random, reloads: reloads, asks: asks)) }
        if random.chance(15) { steps.append(.drain) }
    }

    // MARK: Steps

    private static func step(_ random: inout SeededGenerator, reloads: Bool, asks: Bool) -> Step {
        switch random.upTo(99) {
        case ..<40: return .line(random.pick(fifoNames), random.pick(["k", "l", "m", "n"]))
        case ..<62: return .end(random.upTo(9), random.pick(exits))
        case ..<63:
            let number = random.upTo(9)
            return asks ? .skip(number) : .failToStart(number)
        case ..<73: return .advance(random.pick([0.1, 0.5, 1, 1, 2, 5, 15]))
        case ..<76: return .run(random.pick(["handler/h1", "handler/h3", "descriptor/f1", "descriptor/f3"]))
        case ..<80: return .cancel(random.upTo(19))
        case ..<81: return .cancelQueue(random.pick(queueNames))
        case ..<84: return .suspend(random.pick(queueNames))
        case ..<88: return .resume(random.pick(queueNames))
        case ..<91: return .signal(random.pick(semaphoreNames), 1 + random.upTo(1))
        case ..<92: return .enter
        case ..<93: return .leave
        case ..<94: return .wait("queue/" + random.pick(queueNames), Int64(random.upTo(9)))
        case ..<95: return .waitForOperation(random.upTo(19))
        case ..<97: return .emit(Int64(1 + random.upTo(2)))
        default: return reloads ? .reload(configuration(&random, asks: asks)) : .advance(0.25)
        }
    }

    private static let exits: [Exit?] = [
        .exited(0), .exited(0), .exited(0), .exited(0), .exited(1), .exited(1), .exited(75), .signaled(15), nil,
    ]

    // MARK: Configurations

    private static func configuration(_ random: inout SeededGenerator, asks: Bool) -> Configuration {
        let queues = queueNames.indices.map { queue($0, &random) }
        var handlers = handlerNames.indices.map { handler($0, &random) }
        if asks { handlers[handlers.count - 1].conditions.paths = [PathCondition(path: [0x2F])] }
        handlers.append(.exec("told", queue: random.pick(queueNames)))
        var sources = fifoNames.map { fifo($0, &random) }
        sources.append(
            SourceDefinition(
                id: SourceID(.custom, "x"), routes: routes(&random), key: random.pick([.handler, .none]),
                trigger: .custom(CustomTrigger())))
        sources.append(
            SourceDefinition(
                id: SourceID(.group, "g"), routes: [Route(handler: "told", queue: random.pick(queueNames))],
                trigger: .group(GroupTrigger(members: ["h1", random.pick(["h2", "h3", "log"])]))))
        return .of(
            settings: DaemonSettings(maxProcesses: random.pick([1, 2, 3, 5, 16, 16]), drain: .seconds(10)),
            queues: queues, semaphores: semaphoreNames.map { .of($0, random.upTo(3)) }, handlers: handlers,
            sources: sources)
    }

    private static func queue(_ index: Int, _ random: inout SeededGenerator) -> QueueDefinition {
        let name = queueNames[index]
        let isSerial = name == "main" || random.chance(35)
        let kind: QueueDefinition.Kind = isSerial ? .serial : .concurrent(width: 1 + random.upTo(3))
        var queue = QueueDefinition(name: name, kind: kind, isSuspended: random.chance(4))
        if name != "main", random.chance(50) { queue.target = random.pick(Array(queueNames[(index + 1)...])) }
        if random.chance(40) { queue.qos = random.pick(QoS.allCases) }
        if random.chance(10) { queue.rateLimit = RateLimit(count: 1 + random.upTo(3), span: .seconds(2)) }
        return queue
    }

    private static func handler(_ index: Int, _ random: inout SeededGenerator) -> HandlerDefinition {
        let name = handlerNames[index]
        var handler: HandlerDefinition =
            name == "log" ? .log(name, [.specifier(.line)]) : .exec(name, overlap: random.pick(overlaps))
        handler.queue = random.pick(queueNames)
        let earlier = Array(handlerNames[..<index])
        handler.constraints.isBarrier = random.chance(15)
        if random.chance(30) { handler.constraints.priority = random.pick(OperationPriority.allCases) }
        if random.chance(15) { handler.constraints.delay = .seconds(UInt64(1 + random.upTo(2))) }
        if !earlier.isEmpty, random.chance(20) { handler.constraints.after = [random.pick(earlier)] }
        if !earlier.isEmpty, random.chance(12) { handler.constraints.requires = [random.pick(earlier)] }
        guard name != "log" else { return handler }
        for semaphore in semaphoreNames {
            if random.chance(20) { handler.constraints.acquire(semaphore, 1 + random.pick([0, 0, 1])) }
            if random.chance(8) { handler.constraints.consume(semaphore) }
        }
        if random.chance(5) { handler.constraints.once = random.pick(Once.allCases) }
        if random.chance(8) { handler.constraints.startTimeout = .seconds(UInt64(1 + random.upTo(5))) }
        if random.chance(12) {
            handler.stride = 1 + random.upTo(1)
        } else if random.chance(15) {
            handler.constraints.release(random.pick(semaphoreNames))
        }
        if random.chance(25) { handler.retry = .times(random.pick([1, 2, nil]), after: UInt64(1 + random.upTo(2))) }
        if index + 1 < handlerNames.count, random.chance(15) {
            let later = random.pick(Array(handlerNames[(index + 1)...]))
            handler.completions = completions(later, &random)
        }
        return handler
    }

    private static let overlaps: [Overlap?] = [nil, nil, nil, .wait, .skip, .restart, .parallel]

    private static func completions(_ handler: String, _ random: inout SeededGenerator) -> Completions {
        var completions = Completions()
        switch random.upTo(3) {
        case 0: completions.success = [handler]
        case 1: completions.failure = [handler]
        case 2: completions.retry = [handler]
        default: completions.finished = [handler]
        }
        return completions
    }

    private static func fifo(_ name: String, _ random: inout SeededGenerator) -> SourceDefinition {
        var source = SourceDefinition.fifo(name, to: "h1")
        source.routes = routes(&random)
        source.key = random.pick([.none, .none, .handler, .perLine])
        source.coalesces = random.chance(60)
        if random.chance(8) { source.rateLimit = RateLimit(count: 2, span: .seconds(2)) }
        return source
    }

    private static func routes(_ random: inout SeededGenerator) -> [Route] {
        let handlers = handlerNames.shuffled(using: &random).prefix(1 + random.pick([0, 0, 1, 2]))
        return handlers.map { Route(handler: $0, queue: random.pick(queueNames)) }
    }
}
