import Schedule
import WatchFile

@testable import Engine

/// What was started was allowed to start.
extension SchedulingModel {
    /// Takes a start, and checks what can be checked at that very moment: places, slots, semaphores, rates, pauses.
    mutating func start(_ request: StartRequest) -> String? {
        let (id, definition) = (request.run.operation, request.definition.value)
        let chain = chain(request.queue)
        defer { add(request, chain) }
        // The reload may have been applied before or after the start.
        guard !isReloaded else { return nil }
        for queue in chain where taken(queue) >= width(queue) {
            return "\(id) starts on \(queue), where all \(width(queue)) places are taken"
        }
        if let wrong = slots(request) { return wrong }
        let item = items[id]
        if let other = overtaken(by: request, item) { return "\(id) overtakes \(other.id), which is older and ready" }
        for (semaphore, count) in needs(definition, hasConsumed: item?.hasStarted == true)
        where free[semaphore, default: 0] < count {
            return "\(id) takes \(count) of semaphore \(semaphore), \(free[semaphore, default: 0]) are free"
        }
        if let limit = queues[request.queue]?.definition.rateLimit {
            let first = now.monotonic - Int64(clamping: min(limit.span.microseconds, UInt64(Int64.max)))
            let count = (starts[request.queue] ?? []).count { $0 > first }
            // What started in the batch of a reload may not have counted yet.
            if count >= limit.count, lastReloadAt < first { return "\(id) starts on \(request.queue) above its rate" }
        }
        if let pause = item?.pause, now.monotonic < pause.lowerBound { return "\(id) is tried again too early" }
        if let item, item.hasStarted, item.pause == nil, !runs.keys.contains(where: { $0.operation == id }),
            item.view.parts == 1
        {
            return "\(id) is started twice"
        }
        return nil
    }

    private func slots(_ request: StartRequest) -> String? {
        if runs.count >= settings.maxProcesses { return "\(request.run.operation) has no process slot" }
        guard request.qos != .userInteractive else { return nil }
        let others = runs.values.count { !$0.isInteractive }
        if others >= settings.maxProcesses - reserve {
            return "\(request.run.operation) takes a slot kept for user-interactive"
        }
        return nil
    }

    /// Slots kept for user-interactive.
    var reserve: Int { settings.maxProcesses == 1 ? 0 : max(1, settings.maxProcesses / 8) }

    func needs(_ definition: HandlerDefinition, hasConsumed: Bool) -> [String: Int] {
        let constraints = definition.constraints
        return (constraints.acquires + (hasConsumed ? [] : constraints.consumes)).reduce(into: [:]) {
            $0[$1.name, default: 0] += $1.count
        }
    }

    private mutating func add(_ request: StartRequest, _ chain: [String]) {
        let (id, definition) = (request.run.operation, request.definition.value)
        let isFirst = items[id]?.hasStarted != true
        for (semaphore, count) in needs(definition, hasConsumed: !isFirst) { free[semaphore, default: 0] -= count }
        if isFirst { firstStarts.append(id) }
        if !request.acquired.isEmpty { lent[request.run] = request.acquired }
        runs[request.run] = ActiveRun(
            id: request.run, queue: request.queue, definition: definition,
            chain: Set(chain),
            perhaps: isReloaded ? Set(self.chain(request.queue, in: queuesBefore)) : [],
            isInteractive: request.qos == .userInteractive)
        countStart(request.queue)
        let item = items[id] ?? newItem(request)
        if !item.hasStarted {
            let isSerial = isSerial(request.queue)
            let isTold =
                !isReloaded || queuesBefore[request.queue]?.definition.kind == queues[request.queue]?.definition.kind
            let isBarrier = definition.constraints.isBarrier
            item.startedAsBarrier = isTold || !isBarrier ? isBarrier && !isSerial : nil
            item.startedExclusive = definition.overlap != .parallel || definition.constraints.once != nil
        }
        item.hasStarted = true
        item.startedWith = definition
        item.pause = nil
        items[id] = item
    }

    /// One that was made and started in the same batch.
    private func newItem(_ request: StartRequest) -> Item {
        let view = OperationView(
            id: request.run.operation, handler: request.definition.value.name, queue: request.queue,
            origin: request.origin, key: nil, state: .executing, events: request.events, entries: request.events.count,
            deliveries: 0, depth: 0, submitted: now.realtime, attempt: 1)
        return Item(view, created: batch, createdAt: now.monotonic)
    }

    // MARK: Order

    /// Whoever started first was not overtaken by, and did not overtake, whom it may not.
    func checkStarts() -> String? {
        guard !isReloaded else { return nil }
        for id in firstStarts {
            guard let item = items[id] else { continue }
            if let wrong = overtaking(item) ?? barriers(item) ?? keys(item) { return wrong }
        }
        return nil
    }

    private func overtaking(_ item: Item) -> String? {
        let (id, queue) = (item.id, item.view.queue)
        for other in board.submitted(on: queue) where other.id != id {
            guard isBefore(other, item) == true else { continue }
            if isSerial(queue) { return "\(id) overtook \(other.id) on a serial queue" }
            guard !other.hasStarted, let mine = board.kind(item), let others = board.kind(other),
                mine.priority <= others.priority, others.isExec, others.firstNeeds.isEmpty,
                obstacles(other).allSatisfy({ $0 == .width || $0 == .processSlot || $0 == .rateLimit })
            else { continue }
            return "\(id) overtook \(other.id), which was ready"
        }
        return nil
    }

    private func barriers(_ item: Item) -> String? {
        let id = item.id
        for queue in chain(item.view.queue) {
            for other in board.barriers(of: queue) where other.id != id && isBarrier(other) == true {
                if isBefore(other, item) == true { return "\(id) started beside or before barrier \(other.id)" }
                if !isWaiting(other) { return "\(id) runs beside barrier \(other.id)" }
            }
        }
        guard isBarrier(item) == true else { return nil }
        for other in board.submitted(through: item.view.queue) where other.id != id && isBefore(other, item) == true {
            return "barrier \(id) started before \(other.id) had ended"
        }
        return nil
    }

    private func keys(_ item: Item) -> String? {
        for other in board.submitted(of: item.view.handler) where other.id != item.id {
            guard item.view.key == other.view.key || handlers[item.view.handler]?.constraints.once != nil,
                exclude(item, other)
            else { continue }
            // Under another `Overlap=` they may not have excluded each other.
            guard item.created > lastReload, other.created > lastReload else { continue }
            if other.hasStarted { return "\(item.id) runs beside \(other.id), which has its key" }
            if isBefore(other, item) == true {
                return "\(item.id) overtook \(other.id), which has the same key"
            }
        }
        return nil
    }
}
