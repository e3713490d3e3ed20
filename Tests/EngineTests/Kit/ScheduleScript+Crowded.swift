import Schedule
import SeedKit
import WatchFile

@testable import Engine

extension ScheduleScript {
    private static let queueNames = ["a", "b", "c"]
    private static let commandNames = ["h1", "h2", "h3"]
    private static let handlerNames = commandNames + ["log", "note"]
    private static let fifoNames = ["f1", "f2", "f3", "f4"]
    private static let semaphoreNames = ["s", "t"]

    /// The program of a seed in which almost everybody waits for something: few process slots, semaphores that are
    /// short, rates, and between them handlers that need no process, with priorities and attempts that fail.
    init(crowdedBy seed: UInt64, steps count: Int = 50) {
        var random = SeededGenerator(seed: seed)
        configuration = Self.crowded(&random)
        steps = []
        let reloads = random.chance(35)
        for _ in 0..<count { steps.append(Self.crowdedStep(&random, reloads: reloads)) }
    }

    private static func crowdedStep(_ random: inout SeededGenerator, reloads: Bool) -> Step {
        switch random.upTo(99) {
        case ..<45: .line(random.pick(fifoNames), random.pick(["k", "l", "m"]))
        case ..<67: .end(random.upTo(9), random.pick([.exited(0), .exited(0), .exited(1), .exited(75)]))
        case ..<78: .advance(random.pick([0.1, 0.5, 1, 2, 5]))
        case ..<86: .signal(random.pick(semaphoreNames), 1 + random.upTo(1))
        case ..<90: .cancel(random.upTo(19))
        case ..<93: .suspend(random.pick(queueNames))
        case ..<97: .resume(random.pick(queueNames))
        default: reloads ? .reload(crowded(&random)) : .advance(0.25)
        }
    }

    private static func crowded(_ random: inout SeededGenerator) -> Configuration {
        let queues = queueNames.indices.map { crowdedQueue($0, &random) }
        let handlers = handlerNames.map { crowdedHandler($0, &random) }
        let sources = fifoNames.map { name in
            var source = SourceDefinition.fifo(name, to: "h1")
            source.routes = handlerNames.shuffled(using: &random).prefix(1 + random.upTo(2)).map {
                Route(handler: $0, queue: random.pick(queueNames))
            }
            source.key = random.pick([.none, .none, .handler, .perLine])
            source.coalesces = random.chance(40)
            return source
        }
        return .of(
            settings: DaemonSettings(maxProcesses: 1 + random.upTo(2), drain: .seconds(10)), queues: queues,
            semaphores: semaphoreNames.map { .of($0, random.upTo(2)) }, handlers: handlers, sources: sources)
    }

    private static func crowdedQueue(_ index: Int, _ random: inout SeededGenerator) -> QueueDefinition {
        let isSerial = random.chance(15)
        let kind: QueueDefinition.Kind = isSerial ? .serial : .concurrent(width: 1 + random.upTo(3))
        var queue = QueueDefinition(name: queueNames[index], kind: kind)
        if index + 1 < queueNames.count, random.chance(25) { queue.target = queueNames[index + 1] }
        if random.chance(40) { queue.qos = random.pick(QoS.allCases) }
        if random.chance(15) { queue.rateLimit = RateLimit(count: 1 + random.upTo(2), span: .seconds(2)) }
        return queue
    }

    private static func crowdedHandler(_ name: String, _ random: inout SeededGenerator) -> HandlerDefinition {
        let isCommand = commandNames.contains(name)
        var handler: HandlerDefinition =
            isCommand
            ? .exec(name, overlap: random.pick([nil, nil, .parallel, .skip])) : .log(name, [.specifier(.line)])
        handler.queue = random.pick(queueNames)
        if random.chance(40) { handler.constraints.priority = random.pick(OperationPriority.allCases) }
        if random.chance(10) { handler.constraints.isBarrier = true }
        for semaphore in semaphoreNames {
            if random.chance(isCommand ? 45 : 25) {
                handler.constraints.acquire(semaphore, 1 + random.pick([0, 0, 1]))
            }
            if random.chance(10) { handler.constraints.consume(semaphore) }
        }
        if random.chance(15) { handler.constraints.release(random.pick(semaphoreNames)) }
        if isCommand, random.chance(35) {
            handler.retry = .times(random.pick([1, 2, nil]), after: UInt64(1 + random.upTo(2)))
        }
        return handler
    }
}
