import Schedule
import WatchFile

/// `Emit`: a call is taken in as a whole or not at all; where a queue holds back, its caller waits for the reply.
///
/// Callers that wait keep their order: nobody passes another one that waits for the same source or for the same queue,
/// so who needs much room does not wait behind who needs little for ever.
///
/// A caller that is a part of a run never waits for what can only come after the run: there, and only there, its events
/// are taken in above the bounds, as those of `Emit=` are, and count in the chain as those do.
extension Engine {
    private enum Room {
        case now
        /// `queue`: `nil` where a source that is suspended, or not yet let go, can keep no more.
        case later(queue: Int?)
        case refused(queue: Int, Load.Measure?)
        /// The store fails, and nobody may wait for it.
        case unsafe(String)
    }

    mutating func emit(
        _ emissions: [Command.Emission], caller: UInt64?, waits: Bool, _ token: Token
    ) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        let resolved = try resolve(emissions)
        let call = EmitCall(emissions: resolved, token: token, caller: caller, waits: waits)
        if waits, let caller, case .now = room(for: call), let chain = deadlock(of: caller, waitingFor: call) {
            throw .wouldDeadlock(chain: chain)
        }
        guard let waiting = tryAdmit(call, behind: door.calls) else { return }
        let queue = waiting.queue ?? resolved.first.flatMap { sources[$0.source].targets.first?.queue }
        if let queue, waitsForItself(call) { return try admitOver(call, queue) }
        if door.calls.count >= Self.waitingEmitLimit, let queue {
            if let reason = journal.failure, isDurable(call) { throw .storeFailing(reason) }
            throw full(queue)
        }
        door.wait(waiting)
    }

    /// Whether such a call would have to wait now, so that it matters who makes it.
    package func hasToWait(_ emissions: [Command.Emission]) -> Bool {
        guard life.isOpen, let resolved = try? resolve(emissions) else { return false }
        let call = EmitCall(emissions: resolved, token: Token(0))
        switch room(for: call) {
        case .later: return true
        case .now: return isBehind(call, door.calls)
        case .refused, .unsafe: return false
        }
    }

    // MARK: From inside a run

    private mutating func waitsForItself(_ call: EmitCall) -> Bool {
        guard let caller = call.caller, journal.isWorking || !isDurable(call) else { return false }
        let needed = roomNeeded(call, behind: door.calls[...])
        let places = Set(needed.keys.map { EmitCall.Place(caller: caller, queue: $0) })
        if door.isOwnRoom(places) { return true }
        guard deadlock(of: caller, .room(needed)) != nil else { return false }
        door.noteOwnRoom(places)
        return true
    }

    /// Room for itself, and before that for each call that it may not pass.
    func roomNeeded(_ call: EmitCall, behind others: ArraySlice<EmitCall>) -> [Int: Load] {
        let own = needs(call).filter { queues[$0.key].holdsBack }
        return others.filter { isBehind(call, [$0]) }.reduce(own) { needed, other in
            needed.merging(needs(other).filter { own[$0.key] != nil }) { Load.max($0, $1) }
        }
    }

    private mutating func admitOver(_ call: EmitCall, _ queue: Int) throws(CommandError) {
        let depth = call.caller.flatMap { operations.ref(id: $0) }.map { Int(operations[$0].descent.depth) + 1 } ?? 1
        let total = needs(call).values.reduce(Load(), +)
        guard depth <= Self.chainLimit, door.load.hasRoom(for: total, within: settings.bound + Self.overLimit) else {
            throw full(queue)
        }
        admit(call, depth: depth)
    }

    private func resolve(_ emissions: [Command.Emission]) throws(CommandError) -> [(source: Int, event: Event)] {
        var resolved: [(source: Int, event: Event)] = []
        for emission in emissions {
            guard case .source(let source) = try resolveCustom(emission.name) else { continue }
            var fact = emission.fact
            if fact.data == nil, fact.payload == nil { fact.data = 1 }
            var event = Event(id: 0, time: 0, fact: .custom(fact))
            if let trace = emission.trace { event.trace = trace }
            resolved.append((source, event))
        }
        return resolved
    }

    /// - Parameter measure: what there is too much of; `nil`: as the queue stands.
    func full(_ queue: Int, _ measure: Load.Measure? = nil) -> CommandError {
        let definition = queues[queue].definition
        let isBytes = (measure ?? queues[queue].fullness) == .bytes
        return .queueFull(
            queue: definition.name, backlog: definition.backlog, bytes: isBytes ? definition.backlogBytes : nil)
    }

    func resolveCustom(_ name: String) throws(CommandError) -> Named {
        let isCustom: (Named) -> Bool = { [sources] named in
            guard case .source(let index) = named, case .source(let id) = sources[index].origin else { return false }
            return id.kind == .custom
        }
        do {
            return try resolve(name, among: isCustom)
        } catch .noSuchName(_, let nearest) {
            guard isKnown(name) else { throw .noSuchName(name, nearest: nearest) }
            throw .notCustom(name)
        }
    }

    /// Takes in who has room now, and answers who never will.
    mutating func retryWaitingEmits() {
        var waiting: [EmitCall] = []
        for call in door.calls {
            if let call = tryAdmit(call, behind: waiting) { waiting.append(call) }
        }
        door.putBack(waiting)
    }

    /// Takes a call in or answers it; else gives it back with what it waits for.
    private mutating func tryAdmit(_ call: EmitCall, behind others: [EmitCall]) -> EmitCall? {
        var call = call
        switch room(for: call) {
        case .refused(let queue, let measure):
            refuse(call, queue, measure)
            return nil
        case .unsafe(let reason):
            actions.append(.reply(call.token, .failure(.storeFailing(reason))))
            return nil
        case .later(let queue):
            call.queue = queue
            return call
        case .now:
            call.queue = nil
            if isBehind(call, others) { return call }
            admit(call)
            return nil
        }
    }

    private func isBehind(_ call: EmitCall, _ others: [EmitCall]) -> Bool {
        guard !others.isEmpty else { return false }
        let sources = Set(call.emissions.map(\.source))
        let queues = needs(call)
        return others.contains { other in
            other.emissions.contains { sources.contains($0.source) } || other.queue.map { queues[$0] != nil } ?? false
        }
    }

    // MARK: Room

    /// Whether a whole call can be taken in. Events that would fold into one count as one.
    private func room(for call: EmitCall) -> Room {
        if let reason = journal.failure,
            let queue = durableQueues(call).min(by: { queues[$0].holdsBack && !queues[$1].holdsBack })
        {
            // `drop-newest` waits for nothing.
            let mayWait = durableQueues(call).allSatisfy { queues[$0].definition.overflow != .dropNewest }
            return mayWait ? .later(queue: queue) : .unsafe(reason)
        }
        if let room = call.emissions.compactMap({ roomInHeld(source: $0.source, in: call) }).first { return room }
        let needs = needs(call)
        let total = needs.values.reduce(Load(), +)
        let excessInAll = door.load.excess(adding: total, within: settings.bound)
        for (queue, needed) in needs.sorted(by: { $0.key < $1.key }) where needed.entries > 0 {
            let definition = queues[queue].definition
            let excess = queues[queue].load.excess(adding: needed, within: definition.bound) ?? excessInAll
            switch definition.overflow {
            case .dropOldest: continue
            case .dropNewest: if let excess { return .refused(queue: queue, excess) }
            case .block:
                if needed.entries > definition.backlog || total.entries > settings.maxOperations {
                    return .refused(queue: queue, .entries)
                }
                let isWaitedFor = !queues[queue].heldSources.isEmpty || !door.heldByTotal.isEmpty
                if excess != nil || isWaitedFor { return .later(queue: queue) }
            }
        }
        return .now
    }

    /// For a source that cannot keep the events of a call with those it holds: what then.
    private func roomInHeld(source: Int, in call: EmitCall) -> Room? {
        // Events that the rate holds back are kept, as while the source is suspended.
        let isSuspended = sources[source].isSuspended || sources[source].rateDeadline != nil
        guard isSuspended || sources[source].holds, let queue = sources[source].targets.first?.queue else {
            return nil
        }
        guard isSuspended else { return .later(queue: nil) }
        let limit = holdLimit(source)
        let needed = loadAdded(call, source) { sources[source].held.wouldMerge($0, merge: $1) }
        guard let excess = sources[source].held.load.excess(adding: needed, within: limit) else { return nil }
        let mayWait =
            needed.entries <= limit.entries && sources[source].targets.contains { queues[$0.queue].holdsBack }
        return mayWait ? .later(queue: nil) : .refused(queue: queue, excess)
    }

    /// The load that a call would add to each queue.
    private func needs(_ call: EmitCall) -> [Int: Load] {
        var needs: [Int: Load] = [:]
        var seen: Set<Int> = []
        for (source, event) in call.emissions where seen.insert(source).inserted && !sources[source].isSuspended {
            for target in sources[source].targets {
                let candidates = mergeCandidates(event, source: source, target)
                needs[target.queue, default: Load()] += loadAdded(call, source) { event, merge in
                    candidates.contains { operations[$0].entries.wouldMerge(event, merge: merge) }
                }
            }
        }
        return needs
    }

    /// The load that the events of one source in a call add where waiting operations take in what `wouldMerge` says.
    private func loadAdded(
        _ call: EmitCall, _ source: Int, _ wouldMerge: (Event, CustomTrigger.Merge) -> Bool
    ) -> Load {
        let events = call.emissions.filter { $0.source == source && !isNoEvent($0.event, source) }.map(\.event)
        guard let merge = sources[source].merge else { return events.reduce(Load()) { $0 + $1.load } }
        let folding = events.filter { merge == .replace || !$0.hasPayload }
        let others = events.filter { merge != .replace && $0.hasPayload }.reduce(Load()) { $0 + $1.load }
        let isFolded = folding.isEmpty || folding.contains { wouldMerge($0, merge) }
        return isFolded ? others : others + (folding.last?.load ?? Load())
    }

    // MARK: In or out

    mutating func admit(_ call: EmitCall, depth: Int = 0) {
        var ids: [UInt64] = []
        for (source, event) in call.emissions {
            if isNoEvent(event, source) {
                ids.append(0)
            } else {
                ids.append(nextEventID)
                if call.waits {
                    let wait = EmitWait(token: call.token, source: source, event: nextEventID, caller: call.caller)
                    emitWaits.append(wait)
                }
                accept(event.fact, from: source, depth: depth, trace: event.trace)
            }
        }
        if call.waits, ids.contains(where: { $0 > 0 }) { return }
        let reply = Action.reply(call.token, .events(ids))
        actions.append(isDurable(call) ? .committed(reply) : reply)
    }

    private func durableQueues(_ call: EmitCall) -> [Int] {
        call.emissions.flatMap { sources[$0.source].targets.map(\.queue) }.filter { queues[$0].definition.isDurable }
    }

    private func isDurable(_ call: EmitCall) -> Bool { !durableQueues(call).isEmpty }

    /// Events that a queue drops are counted; a call that is too large for any queue that holds back is not.
    private mutating func refuse(_ call: EmitCall, _ queue: Int, _ measure: Load.Measure?) {
        for (source, event) in call.emissions where !queues[queue].holdsBack && !isNoEvent(event, source) {
            let event = makeEvent(event.fact)
            for target in sources[source].targets {
                refuse(event, .dropped, "queue \(queues[queue].definition.name) is full", source: source, target)
            }
        }
        actions.append(.reply(call.token, .failure(full(queue, measure))))
    }

    /// Data 0 is no event, as in Dispatch. With `Merge=replace` it takes the place of data that waits, so that nothing
    /// is told.
    func isNoEvent(_ event: Event, _ source: Int) -> Bool {
        guard event.isNothing else { return false }
        guard let merge = sources[source].merge, merge == .replace else { return true }
        if sources[source].isSuspended || sources[source].holds {
            return !sources[source].held.wouldMerge(event, merge: merge)
        }
        return !sources[source].targets.contains { target in
            mergeCandidates(event, source: source, target).contains {
                operations[$0].entries.wouldMerge(event, merge: merge)
            }
        }
    }
}

extension Event {
    fileprivate var hasPayload: Bool {
        if case .custom(let fact) = fact { fact.payload != nil } else { false }
    }
}
