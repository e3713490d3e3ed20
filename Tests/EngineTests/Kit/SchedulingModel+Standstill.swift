import Schedule
import WatchFile

@testable import Engine

/// Nothing that still waits could start.
extension SchedulingModel {
    func checkStandstill() -> String? {
        for item in items.values.filter({ hasToStart($0) }).sorted(by: { $0.id < $1.id }) {
            // Most are kept by something that is found out without a look at the others.
            if item.submitted != nil, obstaclesOfItsOwn(item, chain(item.view.queue)).isEmpty, obstacles(item).isEmpty {
                return nothing(item)
            }
            if item.view.waitReason == .window, !isInWindow(item) {
                return "\(item.view.id) waits for a window that is not open: \(item.view.waitingFor ?? "")"
            }
            guard !item.hasStarted, phase == .running || phase == .reloading else { continue }
            guard item.created > lastReload else { continue }
            let constraints = handlers[item.view.handler]?.constraints
            let limits = [constraints?.delay, constraints?.startTimeout].map { min($0?.microseconds ?? 0, 1 << 60) }
            let settled = item.createdAt + settling[item.view.origin, default: 0]
            if now.monotonic >= max(item.createdAt + Int64(limits[0]), settled) + Int64(limits[1]), !isReloaded {
                return "\(item.view.id) should have started by now (StartTimeoutSec=)"
            }
        }
        return nil
    }

    /// Whether one of its `HoldDuring=` has begun, and began less than its span ago: looked for from the beginning of
    /// the span on, not back from now.
    private func isInWindow(_ item: Item) -> Bool {
        let windows =
            (handlers[item.view.handler]?.windows.holdDuring ?? []) + (sourceWindows[item.view.origin] ?? [])
        return windows.contains { window in
            let base = now.realtime - Int64(clamping: window.span.microseconds)
            return window.calendar.nextElapse(after: base, in: zones.rules(for: window.calendar)).map {
                $0 <= now.realtime
            } ?? false
        }
    }

    private func nothing(_ item: Item) -> String {
        let (view, reason) = (item.view, item.view.waitingFor ?? "nothing")
        let others = items.values.filter { $0.view.id != view.id }.sorted {
            $0.view.id < $1.view.id
        }.map {
            "\($0.view.id) \($0.view.handler) on \($0.view.queue) \($0.view.state) (\($0.view.waitingFor ?? "")) \(obstacles($0))"
        }
        return
            "\(view.id) (\(view.handler) on \(view.queue)) waits for nothing, it says for \(reason); there are \(others)"
    }

    /// What keeps a submitted operation from starting now, in the words of `ReasonCode`. Where the order of two cannot
    /// be told from outside, the other one counts as an obstacle. Asked for once in a batch, then remembered.
    func obstacles(_ item: Item) -> [ReasonCode] {
        if let known = board.obstacles[item.id] { return known }
        var found = obstaclesButSemaphores(item)
        let needs = board.needs(item)
        let isShort = needs.contains { free[$0.key, default: 0] < $0.value }
        if isShort || isBehindInLine(item, needs) { found.append(.semaphore) }
        board.obstacles[item.id] = found
        return found
    }

    /// Whether an older one stands in the line of a semaphore that it needs.
    private func isBehindInLine(_ item: Item, _ needs: [String: Int]) -> Bool {
        guard !needs.isEmpty else { return false }
        return board.inNeed.contains { other in
            guard other.id != item.id, isBefore(item, other) != true else { return false }
            return board.needs(other).contains { needs[$0.key] != nil } && mayStandInLine(other)
        }
    }

    /// It may well lack nothing but semaphores. Which of two that became one another's neighbours by a merge is the
    /// older cannot be told from outside; who is called ready has its keys. Nor can be told whether one that needs no
    /// process stood there before somebody without a slot came before it, and what width a run takes that began in the
    /// batch of a reload.
    private func mayStandInLine(_ item: Item) -> Bool {
        if let known = board.inLine[item.id] { return known }
        let chain = chain(item.view.queue)
        let certain =
            obstaclesOfItsOwn(item, chain)
            + obstaclesAhead(item, chain) { other in
                other.id != item.id && (other.hasStarted || isBefore(other, item) == true)
            }
        let isWide = chain.allSatisfy { certainlyTaken($0) < width($0) }
        let isInLine = certain.allSatisfy {
            $0 == .order || ($0 == .width && isWide) || ($0 == .key && item.view.state == .ready)
                || ($0 == .processSlot && !isExec(item))
        }
        board.inLine[item.id] = isInLine
        return isInLine
    }

    private func obstaclesButSemaphores(_ item: Item) -> [ReasonCode] {
        if let known = board.obstaclesButSemaphores[item.id] { return known }
        let chain = chain(item.view.queue)
        let found =
            obstaclesOfItsOwn(item, chain)
            + obstaclesAhead(item, chain) { other in
                other.id != item.id && (other.hasStarted || isBefore(item, other) != true)
            }
        board.obstaclesButSemaphores[item.id] = found
        return found
    }

    private func obstaclesOfItsOwn(_ item: Item, _ chain: [String]) -> [ReasonCode] {
        if let known = board.ownObstacles[item.id] { return known }
        var found: [ReasonCode] = []
        if phase == .draining || phase == .drained { found.append(.cancelled) }
        if phase == .reloading, chain.contains("main") { found.append(.reload) }
        if let pause = item.pause, now.monotonic < pause.upperBound { found.append(.backingOff) }
        if board.isSuspended(item.view.queue) { found.append(.suspended) }
        if chain.contains(where: { perhapsTaken($0) >= width($0) }) { found.append(.width) }
        if isAtItsRate(item.view.queue) { found.append(.rateLimit) }
        if isExec(item) ? lacksSlot(chain) : isBehindOneWithoutSlot(item) { found.append(.processSlot) }
        board.ownObstacles[item.id] = found
        return found
    }

    /// The obstacles that those ahead of it are: its key, its turn, a barrier.
    private func obstaclesAhead(_ item: Item, _ chain: [String], _ isAhead: (Item) -> Bool) -> [ReasonCode] {
        var found: [ReasonCode] = []
        if board.submitted(of: item.view.handler).contains(where: { isAhead($0) && exclude(item, $0) }) {
            found.append(.key)
        }
        let isBehind = chain.contains { queue in
            isSerial(queue) && board.submitted(through: queue).contains { isAhead($0) && isInTurn($0, before: item) }
        }
        if isBehind { found.append(.order) }
        if chain.contains(where: { board.barriers(of: $0).contains(where: { isAhead($0) }) })
            || isBarrier(item) != false && board.submitted(through: item.view.queue).contains(where: { isAhead($0) })
        {
            found.append(.barrier)
        }
        return found
    }

    /// On its own serial queue behind anybody; on a serial target behind who has started, or could if it were its turn.
    /// Those of one concurrent queue come by priority first.
    private func isInTurn(_ other: Item, before item: Item) -> Bool {
        if other.hasStarted { return true }
        guard other.view.queue == item.view.queue else { return !board.isSuspended(other.view.queue) }
        if isSerial(item.view.queue) { return true }
        guard let mine = board.kind(item), let others = board.kind(other) else { return true }
        return !board.isSuspended(other.view.queue) && others.priority >= mine.priority
    }

    private func isAtItsRate(_ queue: String) -> Bool {
        guard let limit = queues[queue]?.definition.rateLimit else { return false }
        let first = now.monotonic - Int64(clamping: limit.span.microseconds)
        return (starts[queue] ?? []).count { $0 > first } >= limit.count
    }

    /// Who waits for a process slot is not overtaken by who needs none. Who lacks semaphores besides stands in their
    /// lines if there was a slot when its turn came, and then may be; that cannot be told from outside.
    private func isBehindOneWithoutSlot(_ item: Item) -> Bool {
        guard let mine = board.kind(item) else { return false }
        return board.submitted(on: item.view.queue).contains { other in
            guard other.id != item.id, let others = board.kind(other), others.isExec, hasToStart(other) else {
                return false
            }
            let isAhead =
                others.priority > mine.priority || (others.priority == mine.priority && isBefore(item, other) != true)
            guard isAhead else { return false }
            let found = obstaclesButSemaphores(other)
            return found.contains(.processSlot)
                && found.allSatisfy {
                    // Of a pause with jitter, the view alone says that it is over.
                    $0 == .processSlot || $0 == .order || ($0 == .backingOff && other.view.state == .ready)
                }
        }
    }

    private func lacksSlot(_ chain: [String]) -> Bool {
        let qos = chain.compactMap { queues[$0]?.definition.qos }.min() ?? .default
        return runs.count >= settings.maxProcesses - (qos == .userInteractive ? 0 : reserve)
    }

    // MARK: Dependencies

    func checkDependencies() -> String? {
        guard phase == .running || phase == .reloading, !isReloaded else { return nil }
        for item in items.values where !item.dependencies.isEmpty && item.created > lastReload {
            let id = item.view.id
            for (handler, awaited) in item.dependencies
            where awaited.count > 1 && !item.hasStarted && handlers[item.view.handler]?.constraints.once == nil {
                return "the events of \(id) are in several operations of \(handler): \(awaited.sorted())"
            }
            let alive = item.dependencies.values.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
                .filter { items[$0] != nil }
            if !alive.isEmpty, item.submitted != nil { return "\(id) did not wait for \(alive.sorted())" }
            if item.submitted == nil, Set(item.view.dependencies) != alive {
                return "\(id) says it waits for \(item.view.dependencies), it has to for \(alive.sorted())"
            }
        }
        for item in items.values
        where item.submitted == nil && item.created > lastReload && !isHeldUp(item) {
            return nothing(item)
        }
        return nil
    }

    private func isHeldUp(_ item: Item) -> Bool {
        let delay = min(handlers[item.view.handler]?.constraints.delay.microseconds ?? 0, 1 << 60)
        let settled = item.createdAt + settling[item.view.origin, default: 0]
        return now.monotonic < item.createdAt + Int64(delay) || item.view.waitReason == .window
            || item.view.waitReason == .loop || item.view.waitReason == .join
            || (item.view.waitReason == .settle && now.monotonic < settled)
            || item.dependencies.values.contains { $0.contains { items[$0] != nil } }
    }

    // MARK: Semaphores and counts

    func checkSemaphores() -> String? {
        for (name, view) in semaphores where !view.isRemoved && view.available != free[name, default: 0] {
            return "semaphore \(name) says \(view.available) are free, \(free[name, default: 0]) are"
        }
        for name in Set(lent.values.flatMap { $0 }.map(\.semaphore)) {
            let members = lentMembers(name)
            if Set(members).count < members.count { return "a member of \(name) is lent twice: \(members)" }
        }
        return nil
    }

    private func told(_ result: Result) -> Int {
        ends[result, default: 0] + (result == .failed ? ends[.stopped, default: 0] : 0)
    }

    func checkCounts(_ engine: Engine) -> String? {
        for place in [Result.done, .failed, .cancelled, .skipped]
        where engine.totals[Place(place)] != told(place) {
            return "\(engine.totals[Place(place)]) are counted as \(place), \(told(place)) were told so"
        }
        for view in engine.groupViews {
            let source = engine.sourceViews.first { $0.id == view.id }
            guard case .group(let trigger) = source?.definition.trigger else { continue }
            let outstanding = items.values.count { trigger.members.contains($0.view.handler) }
            // A member that a stop leaves to the next start has not ended.
            if !(0...engine.setAsideCount).contains(view.outstanding - outstanding) {
                return "group \(view.id.name) counts \(view.outstanding), \(outstanding) are there"
            }
        }
        return nil
    }
}
