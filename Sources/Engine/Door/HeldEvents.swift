import WatchFile

/// Events of a source that is held back or suspended, folded as far as their kind allows.
struct HeldEvents: HasInitialValue {
    static let initial = HeldEvents()

    /// Signals, exits and elapses that are caught up kept: the first are always read, the others never come again.
    static let keptLimit = 4096
    /// The most that a source of the rim may still hand in after it has been told to hold: the events of one turn, with
    /// names of the greatest length.
    static let turn = Load(entries: 1000, bytes: 1000 * (Event.cost + 4096))

    private var list = EntryList()

    var isEmpty: Bool { list.isEmpty }
    var load: Load { list.load }
    var count: Int { list.count }
    var deliveries: Int { list.deliveries }
    var events: [Event] { list.events }
    var oldest: Event? { list.oldest }
    /// Events the store was told of one by one since it had all of them as a whole.
    var appended = 0
    /// Since when it holds any: wall clock, microseconds. `nil`: that is not known.
    var since: Int64?
    /// Events there was no room for since it holds any.
    var refused = 0

    /// A change that `Events=` does not ask for (`EntryList.note(unasked:)`).
    mutating func note(unasked fact: PathFact) -> Bool { list.note(unasked: fact) }

    /// Adds what was held already: there is always room for it. `keepsElapses`: those of a timer do not fold. Returns
    /// the deliveries that came to nothing.
    mutating func restore(_ event: Event, merge: CustomTrigger.Merge?, keepsElapses: Bool) -> Int {
        switch event.fact {
        case .signal(let fact) where fold(event, fact): 0
        case .signal, .process, .unit: list.add(event, merge: nil).annulled
        case .timer: list.add(event, merge: keepsElapses ? nil : .add).annulled
        case .path: list.add(event, merge: .add).annulled
        case .line, .custom, .group, .finalizer, .completion, .silence, .command, .problem:
            list.add(event, merge: merge).annulled
        }
    }

    /// Returns what became of the deliveries (for one handler), or `nil`: there was no room.
    mutating func add(
        _ event: Event, merge: CustomTrigger.Merge?, events: PathEvents, keepsElapses: Bool, limit: Load
    ) -> EntryList.Change? {
        switch event.fact {
        case .signal(let fact):
            if fold(event, fact) { return EntryList.Change() }
            return add(event, merge: nil, within: kept(limit))
        case .process, .unit:
            return add(event, merge: nil, within: kept(limit))
        case .timer:
            return keepsElapses
                ? add(event, merge: nil, within: kept(limit, atLeast: limit.entries))
                : add(event, merge: .add, within: limit)
        case .path:
            return add(event, merge: .add, within: limit + Self.turn, events: events)
        case .line:
            // Read before the descriptor was held: one read of the rim, and nothing of it may be lost.
            return list.add(event, merge: merge)
        case .custom, .group, .finalizer, .completion, .silence, .command, .problem:
            return add(event, merge: merge, within: limit)
        }
    }

    /// Events that nobody tells again have room for so many, whatever `Backlog=` says; they are small.
    private func kept(_ limit: Load, atLeast entries: Int = 0) -> Load {
        Load(entries: max(entries, Self.keptLimit), bytes: max(limit.bytes, Self.keptLimit * Event.cost))
    }

    private mutating func add(
        _ event: Event, merge: CustomTrigger.Merge?, within limit: Load, events: PathEvents = .all
    ) -> EntryList.Change? {
        if !list.load.hasRoom(for: event.load, within: limit) {
            guard let merge, list.wouldMerge(event, merge: merge) else { return nil }
        }
        return list.add(event, merge: merge, events: events)
    }

    /// Signals fold per number and sender; real-time ones carry a value each.
    private mutating func fold(_ event: Event, _ fact: SignalFact) -> Bool {
        guard fact.number < LinuxSignal.realTimeMinimum else { return false }
        return list.replaceLast { older in
            guard case .signal(let other) = older.fact, other.number == fact.number,
                other.senderPID == fact.senderPID, other.senderUID == fact.senderUID
            else { return nil }
            return Event(id: event.id, time: event.time, count: older.count + event.count, fact: event.fact)
        }
    }

    func wouldMerge(_ event: Event, merge: CustomTrigger.Merge) -> Bool { list.wouldMerge(event, merge: merge) }

    /// The event to let go first.
    mutating func next() -> Event? { list.nextInTurn() }

    mutating func removeNext() -> Event? { list.removeNextInTurn() }
}
