import WatchFile

/// The events an operation carries, as *entries*: those of one subject merged into their net effect, the others each
/// for itself, in the order they came.
package struct EntryList: Sendable {
    /// How many entries may be searched one by one before an index by path is kept.
    private static let searchLimit = 16

    /// Entries with `count == 0` have been merged away.
    private var slots: [Event] = []
    private var live = 0
    /// Path → slot, once there are many; always the path something stands at now, never an old path.
    private var index: [[UInt8]: Int]?

    init() {}

    package var count: Int { live }
    package var isEmpty: Bool { live == 0 }
    package var events: [Event] { live == slots.count ? slots : slots.filter { $0.count > 0 } }
    package var newest: Event? { slots.last { $0.count > 0 } }
    package var oldest: Event? { slots.first { $0.count > 0 } }
    /// The deliveries the entries stand for.
    var deliveries: Int { slots.reduce(0) { $0 + $1.count } }

    /// What `add` did.
    struct Change: Equatable {
        /// Entries more (or less).
        var entries = 0
        /// Deliveries whose net effect is nothing.
        var annulled = 0
    }

    /// Adds an event; with `merge`, into the entry of the same subject where there is one.
    mutating func add(_ event: Event, merge: CustomTrigger.Merge?) -> Change {
        let before = live
        var annulled = 0
        if let merge {
            switch event.fact {
            case .path(let fact): annulled = addPath(event, fact)
            case .timer: fold(event) { if case .timer = $0 { event.fact } else { nil } }
            case .custom(let fact): addCustom(event, fact, merge)
            case .signal, .line, .process, .completion: append(event)
            }
        } else {
            append(event)
        }
        return Change(entries: live - before, annulled: annulled)
    }

    /// Whether `add` would merge the event into an entry that is there, so that none is added.
    func wouldMerge(_ event: Event, merge: CustomTrigger.Merge) -> Bool {
        switch event.fact {
        case .path(let fact): slot(at: fact.path) != nil || fact.oldPath.flatMap(slot(at:)) != nil
        case .timer: live > 0
        case .custom(let fact): merge == .replace ? live > 0 : fact.payload == nil && foldableCustom() != nil
        case .signal, .line, .process, .completion: false
        }
    }

    /// Takes the oldest entry out.
    mutating func removeOldest() -> Event? {
        guard let slot = slots.firstIndex(where: { $0.count > 0 }) else { return nil }
        return remove(slot)
    }

    /// Takes all entries of another list in, oldest first.
    mutating func absorb(_ other: EntryList, merge: CustomTrigger.Merge?) -> Change {
        var change = Change()
        for event in other.events {
            let one = add(event, merge: merge)
            change.entries += one.entries
            change.annulled += one.annulled
        }
        return change
    }

    // MARK: Timer and custom

    private mutating func fold(_ event: Event, _ merged: (Fact) -> Fact?) {
        for slot in slots.indices.reversed() where slots[slot].count > 0 {
            guard let fact = merged(slots[slot].fact) else { continue }
            slots[slot] = Event(id: event.id, time: event.time, count: slots[slot].count + event.count, fact: fact)
            return
        }
        append(event)
    }

    private func foldableCustom() -> Int? {
        slots.lastIndex {
            guard $0.count > 0, case .custom(let fact) = $0.fact else { return false }
            return fact.payload == nil
        }
    }

    private mutating func addCustom(_ event: Event, _ fact: CustomFact, _ merge: CustomTrigger.Merge) {
        if merge == .replace {
            return fold(event) { if case .custom = $0 { event.fact } else { nil } }
        }
        guard fact.payload == nil, let slot = foldableCustom(), case .custom(let waiting) = slots[slot].fact else {
            return append(event)
        }
        let (old, new) = (waiting.data ?? 0, fact.data ?? 0)
        let data = merge == .or ? old | new : old &+ new
        slots[slot] = Event(
            id: event.id, time: event.time, count: slots[slot].count + event.count,
            fact: .custom(CustomFact(data: data)))
    }

    // MARK: Paths

    /// Returns the deliveries annulled.
    private mutating func addPath(_ event: Event, _ fact: PathFact) -> Int {
        if fact.change == .renamed, let oldPath = fact.oldPath {
            addRename(event, fact, from: oldPath)
            return 0
        }
        guard let slot = slot(at: fact.path), case .path(let waiting) = slots[slot].fact else {
            append(event)
            return 0
        }
        let merged = remove(slot)
        let count = merged.count + event.count
        guard let net = NetEffect.of(waiting, fact) else { return count }
        return put(Event(id: event.id, time: event.time, count: count, fact: .path(net)))
    }

    private mutating func addRename(_ event: Event, _ fact: PathFact, from oldPath: [UInt8]) {
        var result = fact
        var count = event.count
        var remainder: Event?
        if let slot = slot(at: fact.path), case .path(let overwritten) = slots[slot].fact {
            let old = remove(slot)
            let effect = NetEffect.replacing(overwritten)
            result.hasReplaced = effect.replaced
            if let rest = effect.remainder {
                remainder = Event(id: old.id, time: old.time, count: old.count, fact: .path(rest))
            } else {
                count += old.count
            }
        }
        if let slot = slot(at: oldPath), case .path(let waiting) = slots[slot].fact {
            count += remove(slot).count
            result = NetEffect.renaming(waiting, by: result)
        }
        if let remainder { _ = put(remainder) }
        _ = put(Event(id: event.id, time: event.time, count: count, fact: .path(result)))
    }

    /// Puts a net effect at its path, on top of what may wait there by now. Returns the deliveries annulled.
    private mutating func put(_ event: Event) -> Int {
        guard case .path(let fact) = event.fact, let slot = slot(at: fact.path),
            case .path(let other) = slots[slot].fact
        else {
            append(event)
            return 0
        }
        // A rename taken back to a path where something new stands: the older change is the one that moved.
        let merged = remove(slot)
        let count = merged.count + event.count
        guard let net = fact.change == .deleted ? NetEffect.of(fact, other) : NetEffect.of(other, fact) else {
            return count
        }
        append(Event(id: max(event.id, merged.id), time: max(event.time, merged.time), count: count, fact: .path(net)))
        return 0
    }

    // MARK: Slots

    private func slot(at path: [UInt8]) -> Int? {
        if let index { return index[path] }
        return slots.lastIndex {
            guard $0.count > 0, case .path(let fact) = $0.fact else { return false }
            return fact.path == path
        }
    }

    private mutating func append(_ event: Event) {
        slots.append(event)
        live += 1
        if index != nil {
            if case .path(let fact) = event.fact { index?[fact.path] = slots.count - 1 }
        } else if slots.count > Self.searchLimit, case .path = event.fact {
            rebuildIndex()
        }
    }

    private mutating func remove(_ slot: Int) -> Event {
        let event = slots[slot]
        live -= 1
        if case .path(let fact) = event.fact { index?[fact.path] = nil }
        if slot == slots.count - 1 {
            slots.removeLast()
        } else {
            slots[slot].count = 0
            if slots.count > Self.searchLimit, slots.count > 2 * live { compact() }
        }
        return event
    }

    private mutating func compact() {
        slots.removeAll { $0.count == 0 }
        if index != nil { rebuildIndex() }
    }

    private mutating func rebuildIndex() {
        var built: [[UInt8]: Int] = [:]
        for (slot, event) in slots.enumerated() where event.count > 0 {
            if case .path(let fact) = event.fact { built[fact.path] = slot }
        }
        index = built
    }
}

extension EntryList {
    /// Replaces the newest entry for which `replacement` gives one. False: there was none.
    mutating func replaceLast(where replacement: (Event) -> Event?) -> Bool {
        for slot in slots.indices.reversed() where slots[slot].count > 0 {
            guard let event = replacement(slots[slot]) else { continue }
            slots[slot] = event
            return true
        }
        return false
    }
}
