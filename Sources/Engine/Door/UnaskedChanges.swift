import Schedule
import WatchFile

/// Changes of a path source that its `Events=` do not ask for and that no operation carries. They begin none; but
/// the net effect is that of all that happens to a path while an operation waits, or would (Semantics.md, "Net effect"):
/// the end of a temporary file is no news to a source of `Events=deleted` either.
struct UnaskedChanges: HasInitialValue {
    static let initial = UnaskedChanges()
    /// Beyond it those are forgotten that nothing waits for, and all where that is not enough: the end of a temporary
    /// file is told then.
    static let limit = 4096

    struct Change {
        var fact: PathFact
        /// Monotonic microsecond of the first change of its path, and of the last.
        var since: Int64
        var time: Int64
        /// The source held its events back.
        var isHeld: Bool
    }

    private var byPath: [[UInt8]: Change] = [:]

    var isEmpty: Bool { byPath.isEmpty }
    var isFull: Bool { byPath.count >= Self.limit }
    var changes: some Collection<Change> { byPath.values }

    mutating func add(_ change: Change) { byPath[change.fact.path] = change }

    mutating func take(_ path: [UInt8]) -> Change? { byPath.removeValue(forKey: path) }

    mutating func makeRoom(without past: [Change]) {
        for change in past { byPath[change.fact.path] = nil }
        if isFull { byPath = [:] }
    }

    /// Nothing is held back any more.
    mutating func endHold() { byPath = byPath.filter { !$0.value.isHeld } }
}

extension Engine {
    /// Takes in a change of a path, with what has happened there that nobody asked for.
    mutating func acceptPath(_ fact: PathFact, count: Int, from source: Int, depth: Int, trace: TraceContext?) {
        let events = sources[source].pathEvents
        let isAsked = events.contains(PathEvents(fact.change))
        guard sources[source].hasUnasked, let (effects, since) = withUnasked(fact, source: source) else {
            guard isAsked, !fact.isUntold else { return amend(fact, source: source, since: now.monotonic) }
            return enter(.path(fact), count: count, from: source, depth: depth, trace: trace)
        }
        var isTold = false
        for effect in effects {
            if let told = NetEffect.chosen(effect, by: events) {
                isTold = true
                enter(.path(told), count: count, from: source, depth: depth, trace: trace)
            } else {
                amend(effect, source: source, since: since)
            }
        }
        if isAsked, !isTold { annul(fact, count: count, source: source) }
    }

    /// The net effects of a change on top of those that nobody asked for at its paths, and when the first of them was;
    /// `nil`: there are none.
    private mutating func withUnasked(_ fact: PathFact, source: Int) -> (effects: [PathFact], since: Int64)? {
        var list = EntryList()
        var since = now.monotonic
        for path in [fact.oldPath, fact.path].compactMap(\.self) {
            guard let change = sources[source].unasked.take(path), isBelieved(change) || !isPast(change, source: source)
            else { continue }
            since = min(since, change.since)
            _ = list.add(Event(id: 0, time: now.realtime, fact: .path(change.fact)), merge: .add)
        }
        guard !list.isEmpty else { return nil }
        _ = list.add(Event(id: 0, time: now.realtime, fact: .path(fact)), merge: .add)
        let effects = list.events.compactMap { event in if case .path(let fact) = event.fact { fact } else { nil } }
        return (effects, since)
    }

    /// Handlers know the folder that stood there before, and of this one its end alone tells them.
    private func isBelieved(_ change: UnaskedChanges.Change) -> Bool {
        change.fact.isFolder && change.fact.stood == .folder
    }

    /// Whether an operation that had been begun for it would have run by now.
    private func isPast(_ change: UnaskedChanges.Change, source: Int) -> Bool {
        if let rule = sources[source].settle,
            now.monotonic < min(change.time + Self.span(rule.quiet), change.since + Self.span(rule.longest))
        {
            return false
        }
        if change.isHeld { return false }
        let event = Event(id: 0, time: now.realtime, fact: .path(change.fact))
        return !sources[source].targets.contains { target in
            mergeCandidates(event, source: source, target).contains { operations[$0].times.made <= change.since }
        }
    }

    /// A change that `Events=` does not choose counts only where it changes what one that waits comes to, or one that
    /// comes behind it.
    private mutating func amend(_ path: PathFact, source: Int, since: Int64) {
        var event = Event(id: 0, time: now.realtime, fact: .path(path))
        if sources[source].holds, sources[source].held.wouldMerge(event, merge: .add) {
            event.id = takeEventID()
            actions.append(.report(accepted(event, source)))
            return hold(event, source: source)
        }
        guard let merge = sources[source].merge else { return }
        if sources[source].holds, sources[source].held.note(unasked: path) { return }
        let isHeld = sources[source].holds || sources[source].isSuspended
        var (isWaitedFor, isNoted) = (isHeld || sources[source].settle != nil, false)
        for target in sources[source].targets {
            let candidates = mergeCandidates(event, source: source, target)
            if !candidates.isEmpty { isWaitedFor = true }
            for ref in candidates where operations[ref].entries.note(unasked: path) {
                isNoted = true
                break
            }
            guard let ref = candidates.first(where: { operations[$0].entries.wouldMerge(event, merge: merge) })
            else { continue }
            if event.id == 0 {
                event.id = takeEventID()
                actions.append(.report(accepted(event, source)))
            }
            enter(event.count, at: .pending, source: source, target)
            join(event, ref, source: source, target)
            noteReached(ref)
        }
        guard isWaitedFor, !isNoted, event.id == 0, !path.isUntold else { return }
        note(unasked: path, source: source, since: since, isHeld: isHeld)
    }

    /// Keeps what a list of entries knew until now. Several handlers may have been told differently.
    mutating func note(unasked change: EntryList.Change, source: Int, since: Int64, isHeld: Bool) {
        guard !change.unasked.isEmpty, sources[source].targets.count == 1 else { return }
        for fact in change.unasked { note(unasked: fact, source: source, since: since, isHeld: isHeld) }
    }

    private mutating func note(unasked fact: PathFact, source: Int, since: Int64, isHeld: Bool) {
        if sources[source].unasked.isFull {
            let past = sources[source].unasked.changes.filter { isPast($0, source: source) }
            sources[source].unasked.makeRoom(without: past)
        }
        let change = UnaskedChanges.Change(fact: fact, since: since, time: now.monotonic, isHeld: isHeld)
        sources[source].unasked.add(change)
    }

    /// A change that comes to nothing, or to nothing that `Events=` asks for, before any operation has taken it in.
    private mutating func annul(_ fact: PathFact, count: Int, source: Int) {
        let event = makeEvent(.path(fact), count: count)
        sources[source].lastEvent = event.time
        actions.append(.report(accepted(event, source)))
        for target in sources[source].targets {
            refuse(event, .annulled, "it undoes a change that nobody asked for", source: source, target)
        }
    }
}
