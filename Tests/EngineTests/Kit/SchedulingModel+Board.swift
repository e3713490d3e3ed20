import Schedule
import WatchFile

@testable import Engine

extension SchedulingModel {
    /// What the checks of one batch look at again and again: nothing changes between them, so each thing is found out
    /// once.
    final class Board {
        /// What matters of a handler.
        struct Kind {
            var isExec = true
            var isBarrier = false
            var isExclusive = true
            var priority = OperationPriority.normal
            var firstNeeds: [String: Int] = [:]
            var laterNeeds: [String: Int] = [:]
        }

        var obstacles: [UInt64: [ReasonCode]] = [:]
        var ownObstacles: [UInt64: [ReasonCode]] = [:]
        var obstaclesButSemaphores: [UInt64: [ReasonCode]] = [:]
        var perhapsTaken: [String: Int] = [:]
        var inLine: [UInt64: Bool] = [:]
        /// Submitted ones with something to start that need a semaphore.
        private(set) var inNeed: [Item] = []
        /// Operations with a run that has not ended.
        private(set) var running: Set<UInt64> = []
        private var kinds: [String: Kind] = [:]
        private var suspended: Set<String> = []
        /// Submitted ones, by queue, by each queue they run through, and by handler.
        private var byQueue: [String: [Item]] = [:]
        private var byPlace: [String: [Item]] = [:]
        private var byHandler: [String: [Item]] = [:]
        private var barriers: [String: [Item]] = [:]

        init() {}

        init(_ model: SchedulingModel) {
            running = Set(model.runs.keys.map(\.operation))
            for name in Set(model.items.values.map(\.view.handler)) {
                kinds[name] = model.handlers[name].map { Self.kind($0, model) }
            }
            for name in model.queues.keys {
                let isHeld = model.chain(name).contains { !(model.queues[$0]?.suspensions.isEmpty ?? true) }
                if isHeld { suspended.insert(name) }
            }
            for item in model.items.values where item.submitted != nil { insert(item, model) }
        }

        private static func kind(_ definition: HandlerDefinition, _ model: SchedulingModel) -> Kind {
            var kind = Kind()
            if !definition.needsProcess { kind.isExec = false }
            kind.isBarrier = definition.constraints.isBarrier
            kind.isExclusive = definition.overlap != .parallel || definition.constraints.once != nil
            kind.priority = definition.constraints.priority
            kind.firstNeeds = model.needs(definition, hasConsumed: false)
            kind.laterNeeds = model.needs(definition, hasConsumed: true)
            return kind
        }

        private func insert(_ item: Item, _ model: SchedulingModel) {
            let queue = item.view.queue
            byQueue[queue, default: []].append(item)
            byHandler[item.view.handler, default: []].append(item)
            for place in model.chain(queue) { byPlace[place, default: []].append(item) }
            let isBarrier = item.hasStarted ? item.startedAsBarrier : kind(item)?.isBarrier ?? false
            if isBarrier != false, !model.isSerial(queue) { barriers[queue, default: []].append(item) }
            if hasToStart(item), !needs(item).isEmpty { inNeed.append(item) }
        }

        func kind(_ item: Item) -> Kind? { kinds[item.view.handler] }

        func needs(_ item: Item) -> [String: Int] {
            (item.hasStarted ? kind(item)?.laterNeeds : kind(item)?.firstNeeds) ?? [:]
        }

        /// It, or a part of it, has yet to be started.
        func hasToStart(_ item: Item) -> Bool { !running.contains(item.id) || item.partsLeft > 0 }

        func submitted(on queue: String) -> [Item] { byQueue[queue] ?? [] }
        func submitted(through queue: String) -> [Item] { byPlace[queue] ?? [] }
        func submitted(of handler: String) -> [Item] { byHandler[handler] ?? [] }
        /// Those that are, or may be, barriers of a queue.
        func barriers(of queue: String) -> [Item] { barriers[queue] ?? [] }
        /// It or a target of it.
        func isSuspended(_ queue: String) -> Bool { suspended.contains(queue) }
    }

    // MARK: Words for things

    /// The queue and its targets.
    func chain(_ queue: String) -> [String] { chains[queue] ?? [queue] }

    func chain(_ queue: String, in queues: [String: QueueView]) -> [String] {
        var chain: [String] = []
        var next: String? = queue
        while let name = next, !chain.contains(name) {
            chain.append(name)
            next = queues[name]?.definition.target
        }
        return chain
    }

    /// The same, with those that may be taken.
    func perhapsTaken(_ queue: String) -> Int {
        if let known = board.perhapsTaken[queue] { return known }
        let count = taken(queue) + runs.values.count { $0.perhaps.contains(queue) && !$0.chain.contains(queue) }
        board.perhapsTaken[queue] = count
        return count
    }

    func certainlyTaken(_ queue: String) -> Int {
        runs.values.count { $0.chain.contains(queue) && $0.perhaps.isEmpty }
    }

    func isWaiting(_ item: Item) -> Bool { !board.running.contains(item.id) }

    func hasToStart(_ item: Item) -> Bool { board.hasToStart(item) }

    func isSerial(_ queue: String) -> Bool { queues[queue]?.definition.kind == .serial }

    func width(_ queue: String) -> Int {
        if case .concurrent(let width) = queues[queue]?.definition.kind { width } else { 1 }
    }

    /// Places taken on a queue, by what runs there and through it.
    func taken(_ queue: String) -> Int {
        runs.values.count { $0.chain.contains(queue) || chain($0.queue).contains(queue) }
    }

    /// `nil`: it cannot be told from outside.
    func isBarrier(_ item: Item) -> Bool? {
        // On a global queue, where only `run` can bring one, it means nothing.
        if isSerial(item.view.queue) || QueueDefinition.builtInNames.contains(item.view.queue) { return false }
        return item.hasStarted ? item.startedAsBarrier : board.kind(item)?.isBarrier ?? false
    }

    func isExec(_ item: Item) -> Bool { board.kind(item)?.isExec ?? false }

    /// Whether one has its place before the other; `nil`: it cannot be told from outside.
    func isBefore(_ left: Item, _ right: Item) -> Bool? {
        guard let first = left.submitted, let second = right.submitted else { return left.submitted != nil }
        if first != second { return first < second }
        guard left.created == first, right.created == first else { return nil }
        return left.view.id < right.view.id
    }

    /// Whether they may not run at the same time.
    func exclude(_ left: Item, _ right: Item) -> Bool {
        left.view.handler == right.view.handler && isExclusive(left) && isExclusive(right)
            && !left.keys.isDisjoint(with: right.keys)
    }

    private func isExclusive(_ item: Item) -> Bool {
        item.hasStarted ? item.startedExclusive : board.kind(item)?.isExclusive ?? false
    }
}
