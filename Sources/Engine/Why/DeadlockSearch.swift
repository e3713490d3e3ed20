import WatchFile

/// `WouldDeadlock`: the `dispatch_sync` onto one's own queue, reported instead of suffered.
///
/// A client that is a part of a run waits for something. Whether that can ever come is found by letting end, on paper,
/// whatever can: an operation that runs and whose clients wait for nothing that is left, then an operation that has all
/// it needs of what is free by then, and so on until nobody more can end. Those who are left are stuck, as only one of
/// them could free what another one lacks. Several callers that hold a queue together are found so, too.
///
/// Time, people and clients from outside count as able to go on: delays, suspensions, rates, time-outs of waits,
/// semaphores that nobody holds. Each pass looks at every operation that is left, but only when a handler waits; most
/// wait for older ones, so that one or two passes in order of age are enough.
struct DeadlockSearch {
    /// A wait of a run.
    enum Wait {
        case operations([OperationRef])
        case queue(Int, name: String)
        case group(Int, name: String)
        case reload
        /// So much to be taken in, by queue.
        case room([Int: Load])
    }

    /// Why an operation that is left cannot end.
    enum Obstacle {
        case wait(Wait)
        case dependency(OperationRef)
        case key(OperationRef)
        case serial(OperationRef)
        case barrier(OperationRef)
        case barrierBehind(OperationRef)
        case width(Int)
        case slots
        case semaphore(Int)
        case line(OperationRef, Int)
    }

    /// Of those that are left, the first that a pass has met.
    private struct Ahead {
        var onQueue: [Int: OperationRef] = [:]
        var through: [Int: OperationRef] = [:]
        var barriers: [Int: OperationRef] = [:]
        var keys: [Int: OperationRef] = [:]
        /// In the lines of semaphores.
        var lines: [Int: OperationRef] = [:]
    }

    let engine: Engine
    let caller: OperationRef
    /// The wait that the caller is about to begin.
    let wait: Wait
    /// Operations that are left: first those that have started, then in order of submission, then those not submitted.
    private(set) var left: [OperationRef]
    private(set) var obstacles: [UInt64: Obstacle] = [:]
    /// Waits of clients, by the operation whose run they are a part of.
    private var waits: [UInt64: [Wait]] = [:]

    // The holdings of the remaining operations: places by queue, units by semaphore, process slots, room by queue, and
    // how many there are by queue that they run through and by group.
    private var isLeft: [Bool]
    private var taken: [Int]
    private var kept: [Int]
    private var slots: Int
    private var loads: [Load]
    private var through: [Int]
    private var members: [Int]

    init(engine: Engine, caller: OperationRef, wait: Wait) {
        (self.engine, self.caller, self.wait) = (engine, caller, wait)
        left = Self.ordered(engine)
        isLeft = Array(repeating: false, count: engine.operations.slotCount)
        taken = Array(repeating: 0, count: engine.queues.count)
        through = taken
        loads = Array(repeating: Load(), count: engine.queues.count)
        kept = Array(repeating: 0, count: engine.semaphores.count)
        members = Array(repeating: 0, count: engine.sources.count)
        slots = engine.scheduler.slots.taken
        for ref in left {
            isLeft[ref.slot] = true
            count(ref, 1)
        }
        waits = engine.waits(of: left)
        waits[caller.id, default: []].append(wait)
        while pass() {}
    }

    private static func ordered(_ engine: Engine) -> [OperationRef] {
        var order: [(rank: UInt64, ref: OperationRef)] = []
        order.reserveCapacity(engine.operations.count)
        engine.operations.forEachRef { ref, operation in
            let rank =
                operation.turn.place == 0
                ? UInt64.max : operation.turn.place + (operation.progress.hasStarted ? 0 : 1 << 62)
            order.append((rank, ref))
        }
        order.sort { ($0.rank, $0.ref.id) < ($1.rank, $1.ref.id) }
        return order.map(\.ref)
    }

    private mutating func count(_ ref: OperationRef, _ change: Int) {
        let operation = engine.operations[ref]
        for run in operation.runs {
            // Several lines of a worker take one place; the worker's next one may be a free one.
            if run.seat == nil { for place in run.queues { taken[place] += change } }
            for share in run.held { kept[share.semaphore] += change * share.count }
        }
        if !operation.progress.isRunning {
            let load = operation.entries.load
            loads[operation.queue] += change > 0 ? load : -load
        }
        for place in engine.scheduler[operation.queue].chain { through[place] += change }
        for group in engine.handlers[operation.handler].groups { members[group] += change }
    }

    func isStuck(_ ref: OperationRef) -> Bool { isLeft[ref.slot] }

    // MARK: Operations that can end

    /// Lets end whoever can, oldest first. False: nobody can.
    private mutating func pass() -> Bool {
        var ahead = Ahead()
        var stay: [OperationRef] = []
        for ref in left {
            guard let obstacle = obstacle(of: ref, ahead) else {
                isLeft[ref.slot] = false
                count(ref, -1)
                slots -= engine.operations[ref].runs.count { $0.definition.value.needsProcess }
                continue
            }
            obstacles[ref.id] = obstacle
            note(ref, in: &ahead)
            stay.append(ref)
        }
        defer { left = stay }
        return stay.count < left.count
    }

    /// It keeps its place before those that come later.
    private func note(_ ref: OperationRef, in ahead: inout Ahead) {
        let operation = engine.operations[ref]
        // Those that are not submitted stand in no line yet.
        guard operation.turn.place != 0 else { return }
        func keep(_ index: Int, _ first: inout [Int: OperationRef]) { if first[index] == nil { first[index] = ref } }
        keep(operation.queue, &ahead.onQueue)
        for place in engine.scheduler[operation.queue].chain { keep(place, &ahead.through) }
        if operation.turn.isBarrier { keep(operation.queue, &ahead.barriers) }
        if operation.turn.isExclusive { for key in operation.keys { keep(key, &ahead.keys) } }
        let ticket = engine.operations.ticket(ref)
        if operation.turn.station == .semaphores, engine.scheduler.mayStartNow(ticket, on: operation.queue) {
            for demand in engine.scheduler.needs[operation.handler].semaphores where demand.need(operation) > 0 {
                keep(demand.semaphore, &ahead.lines)
            }
        }
    }

    private func obstacle(of ref: OperationRef, _ ahead: Ahead) -> Obstacle? {
        let operation = engine.operations[ref]
        if !operation.runs.isEmpty {
            return waits[ref.id]?.first { isVain($0) }.map { .wait($0) }
        }
        for id in engine.dependencies.dependencies(of: ref.id) {
            if let other = engine.operations.ref(id: id), isLeft[other.slot] { return .dependency(other) }
        }
        return order(operation, ahead) ?? width(operation) ?? slot(ref, operation) ?? semaphore(operation, ahead)
    }

    /// It does not come, however long one waits.
    func isVain(_ wait: Wait) -> Bool {
        switch wait {
        case .operations(let refs): refs.contains { isLeft[$0.slot] }
        case .queue(let queue, _): through[queue] > 0
        case .group(let group, _): members[group] > 0
        case .reload: engine.queues.index(of: "main").map { taken[$0] > 0 } ?? false
        case .room(let needs): needs.contains { lacksRoom($0.key, $0.value) }
        }
    }

    /// Operations that wait there still take up the room that is needed, or keep those before them in the line of
    /// `Overflow=`.
    private func lacksRoom(_ queue: Int, _ needed: Load) -> Bool {
        func isShort(_ load: Load, of bound: Load, _ line: WaitingLine) -> Bool {
            !load.hasRoom(for: needed, within: bound) || (!line.isEmpty && !load.isRoomy(within: bound))
        }
        return isShort(loads[queue], of: engine.queues[queue].definition.bound, engine.queues[queue].heldSources)
            || isShort(loads.reduce(Load(), +), of: engine.settings.bound, engine.door.heldByTotal)
    }

    private func order(_ operation: Operation, _ ahead: Ahead) -> Obstacle? {
        if operation.turn.isExclusive {
            for key in operation.keys { if let other = ahead.keys[key] { return .key(other) } }
        }
        let queue = operation.queue
        if engine.scheduler[queue].rules.isSerial, let other = ahead.onQueue[queue] { return .serial(other) }
        for place in engine.scheduler[queue].chain {
            if let other = ahead.barriers[place] { return .barrier(other) }
        }
        return operation.turn.isBarrier ? ahead.through[queue].map { .barrierBehind($0) } : nil
    }

    private func width(_ operation: Operation) -> Obstacle? {
        engine.scheduler[operation.queue].chain.first { taken[$0] >= engine.scheduler[$0].rules.width }
            .map { .width($0) }
    }

    private func slot(_ ref: OperationRef, _ operation: Operation) -> Obstacle? {
        let limit = engine.scheduler.slots.limit(engine.scheduler.qos(on: operation.queue, operation.turn))
        return slots >= limit && engine.scheduler.needsProcess(engine.operations.ticket(ref)) ? .slots : nil
    }

    /// Semaphores that nobody holds may be signalled.
    private func semaphore(_ operation: Operation, _ ahead: Ahead) -> Obstacle? {
        for demand in engine.scheduler.needs[operation.handler].semaphores where demand.need(operation) > 0 {
            let state = engine.semaphores[demand.semaphore]
            if kept[demand.semaphore] > 0,
                state.available + state.held - kept[demand.semaphore] < demand.need(operation)
            {
                return .semaphore(demand.semaphore)
            }
            if let other = ahead.lines[demand.semaphore] { return .line(other, demand.semaphore) }
        }
        return nil
    }
}
