/// An operation's stand with the store: why it is kept there, what the store has of it, and what it has to be told.
struct Record: Sendable {
    /// The state of what the store has.
    private enum State: Equatable, Sendable {
        case absent
        /// Not there yet, and to be written.
        case new
        /// There, as it is. `appended`: events told one by one since it was written as a whole.
        case kept(appended: Int32)
        /// There, and changed since.
        case changed(appended: Int32)
        /// There with entries that have changed otherwise than by events that came.
        case rewritten
    }

    /// A write that is due.
    enum Write: Equatable, Sendable {
        /// The whole operation.
        case whole
        /// Everything but its events; those that have joined it come behind the ones that are there.
        case change
    }

    /// Kept safe until it has ended: its queue was durable at some time since it was made.
    var isDurable = false
    /// Its process is kept in mind beyond a crash of the daemon.
    var isLong = false
    private var state = State.absent

    init() {}

    /// One that an earlier watchd has left, in the store or, where it is `isYoung`, not.
    init(isDurable: Bool, isYoung: Bool) {
        (self.isDurable, isLong) = (isDurable, !isDurable)
        state = isYoung ? .absent : .kept(appended: 0)
    }

    /// The store has it.
    var isStored: Bool {
        switch state {
        case .absent, .new: false
        case .kept, .changed, .rewritten: true
        }
    }

    /// The store has to be told.
    var isUnsaved: Bool {
        switch state {
        case .absent, .kept: false
        case .new, .changed, .rewritten: true
        }
    }

    /// The operation has changed. True: since now the store has to be told.
    mutating func change() -> Bool {
        switch state {
        case .absent:
            guard isDurable || isLong else { return false }
            state = .new
            return true
        case .kept(let appended):
            state = .changed(appended: appended)
            return true
        case .new, .changed, .rewritten: return false
        }
    }

    /// An event has joined a changed operation that has so many entries by now. True: the event is told by itself.
    mutating func join(entries: Int) -> Bool {
        guard case .changed(let appended) = state else { return false }
        guard Int(appended) + 1 <= 2 * entries + 32 else {
            state = .rewritten
            return false
        }
        state = .changed(appended: appended + 1)
        return true
    }

    /// The entries of a changed operation are to be written anew. False: all of it is written anyway.
    mutating func rewrite() -> Bool {
        guard isStored else { return false }
        state = .rewritten
        return true
    }

    /// The store is told.
    mutating func write() -> Write {
        if case .changed(let appended) = state {
            state = .kept(appended: appended)
            return .change
        }
        state = .kept(appended: 0)
        return .whole
    }

    /// The store has lost it.
    mutating func lose() { state = isUnsaved ? .new : .absent }
}
