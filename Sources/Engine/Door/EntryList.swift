import WatchFile

/// The events an operation carries, as *entries*: those of one subject merged into their net effect, the others each
/// for itself, in the order of their newest event.
package struct EntryList: Sendable {
    /// How many entries may be searched one by one before an index by path is kept.
    private static let searchLimit = 16

    /// Entries with `count == 0` have been merged away.
    var slots: [Event] = []
    /// No entry stands before it.
    private var head = 0
    private var live = 0
    /// The deliveries the entries stand for.
    private(set) var deliveries = 0
    /// Bytes that the entries take up.
    private(set) var bytes = 0
    /// Path → slot, once there are many; always the path something stands at now, never an old path.
    private var index: [[UInt8]: Int]?
    /// Old path → slot of the rename that left it.
    private var left: [[UInt8]: Int] = [:]
    /// Old paths of renames where something stands again that `Events=` does not ask for: it is no entry.
    private var retaken: [[UInt8]: PathFact.Before] = [:]

    init() {}

    /// The entries of another list, as they were.
    init(_ events: [Event]) {
        for event in events where event.count > 0 { append(event) }
    }

    package var count: Int { live }
    package var isEmpty: Bool { live == 0 }
    package var load: Load { Load(entries: live, bytes: bytes) }
    package var events: [Event] { live == slots.count ? slots : slots.filter { $0.count > 0 } }
    package var newest: Event? { slots.last }
    package var oldest: Event? { live == 0 ? nil : slots[head] }

    /// The effect of `add`.
    struct Change: Equatable {
        /// Entries, and their bytes, more (or less).
        var load = Load()
        /// Deliveries whose net effect is nothing, or nothing that `Events=` asks for.
        var annulled = 0
        /// The net effect of the events was told otherwise, or not at all, as `Events=` asks for less.
        var isChosen = false
        /// Net effects that `Events=` does not ask for, and that the list no longer knows.
        var unasked: [PathFact] = []

        static func + (left: Change, right: Change) -> Change {
            var sum = left
            sum += right
            return sum
        }

        static func += (left: inout Change, right: Change) {
            left.load += right.load
            left.annulled += right.annulled
            left.isChosen = left.isChosen || right.isChosen
            if !right.unasked.isEmpty { left.unasked += right.unasked }
        }
    }

    /// Adds an event; with `merge`, into the entry of the same subject where there is one. `events`: those of the net
    /// effects of paths that are told.
    mutating func add(_ event: Event, merge: CustomTrigger.Merge?, events: PathEvents = .all) -> Change {
        let before = load
        var change = Change()
        if let merge {
            switch event.fact {
            case .path(let fact): addPath(event, fact, events, &change)
            case .timer: fold(event) { if case .timer = $0 { event.fact } else { nil } }
            case .custom(let fact): change.annulled = addCustom(event, fact, merge)
            case .signal, .line, .process, .unit, .group, .finalizer, .completion, .silence, .command, .problem:
                append(event)
            }
        } else {
            append(event)
        }
        change.load = load - before
        return change
    }

    /// Whether `add` would merge the event into an entry that is there.
    func wouldMerge(_ event: Event, merge: CustomTrigger.Merge) -> Bool {
        switch event.fact {
        case .path(let fact): slot(at: fact.path) != nil || fact.oldPath.flatMap(slot(at:)) != nil
        case .timer: slots.contains { if case .timer = $0.fact { $0.count > 0 } else { false } }
        case .custom(let fact): customSlot(fact, merge) != nil
        case .signal, .line, .process, .unit, .group, .finalizer, .completion, .silence, .command, .problem: false
        }
    }

    /// A change that `Events=` does not ask for, of the old path of a rename that waits. False: it is none of that.
    mutating func note(unasked fact: PathFact) -> Bool {
        guard left[fact.path] != nil else { return false }
        retaken[fact.path] = fact.change == .deleted ? nil : fact.kind
        return true
    }

    /// Takes the oldest entry out.
    mutating func removeOldest() -> Event? { live == 0 ? nil : remove(head) }

    /// Takes all entries of another list in. Both lists are net effects of the same time, not one after the other.
    mutating func absorb(_ other: EntryList, merge: CustomTrigger.Merge?, events: PathEvents = .all) -> Change {
        let before = load
        var change = Change()
        let all = (self.events + other.events).sorted { $0.id < $1.id }
        self = EntryList()
        for event in all {
            if case .path(let fact) = event.fact, slot(at: fact.path) == nil {
                append(event)
            } else {
                change += add(event, merge: merge, events: events)
            }
        }
        change.load = load - before
        return change
    }

    /// Puts the entries of an operation that had started, and was ended for this one, before its own. Of a path that
    /// both know the newer fact counts; nothing is annulled, since the handler may have seen it. A rename that is not
    /// told so is the end of its old path, if that is asked for.
    mutating func rejoin(_ older: EntryList, merge: CustomTrigger.Merge?, events: PathEvents) {
        let newer = self.events
        let newerPaths = Set(newer.compactMap(\.path))
        let olderPaths = Set(older.events.compactMap(\.path))
        var counts: [[UInt8]: Int] = [:]
        self = EntryList()
        for var event in older.events {
            if merge != nil, let path = event.path, newerPaths.contains(path) {
                counts[path, default: 0] += event.count
                guard events.contains(.deleted), var left = event.leftByRename, let leftPath = left.path,
                    !newerPaths.contains(leftPath), !olderPaths.contains(leftPath), older.retaken[leftPath] == nil
                else { continue }
                counts[path, default: 0] -= 1
                left.count = 1
                append(left)
            } else {
                event.tellKnown()
                append(event)
            }
        }
        for event in newer {
            guard let path = event.path else {
                if let merge, case .custom(let fact) = event.fact {
                    _ = addCustom(event, fact, merge, keepsNothing: true)
                } else {
                    _ = add(event, merge: merge)
                }
                continue
            }
            var event = event
            if let count = counts.removeValue(forKey: path) {
                event.count += count
                event.tellKnown()
            }
            append(event)
        }
    }

    // MARK: Paths

    private mutating func addPath(_ event: Event, _ fact: PathFact, _ events: PathEvents, _ change: inout Change) {
        if fact.change == .renamed, let oldPath = fact.oldPath {
            retaken[oldPath] = nil
            return addRename(event, fact, from: oldPath, events, &change)
        }
        if fact.change == .deleted { retaken[fact.path] = nil }
        guard let slot = slot(at: fact.path), let (older, waiting) = take(slot) else {
            if left[fact.path] == nil { return append(event) }
            // That what stood at the path before is gone, the rename that has left it tells.
            guard let told = fact.after(.nothing) else {
                change.annulled += event.count
                return
            }
            return append(event.telling(.path(told), count: event.count))
        }
        let results = NetEffect.of(waiting, fact)
        guard let first = results.first else {
            change.annulled += older.count + event.count
            return
        }
        if results.count > 1 {
            put(first, older, count: older.count, events, &change)
            put(results[1], event, count: event.count, events, &change)
        } else {
            // A change of the content, which nobody asks for, does not undo one of the attributes.
            let isKept = fact.change != .deleted && NetEffect.chosen(first, by: events) == nil
            let result = isKept && waiting.change == .attributes ? waiting : first
            putUntangled(result, event, count: older.count + event.count, events, &change)
        }
    }

    /// Puts what may be a rename that comes to stand behind the entry of what stands at its old path by now. Told in
    /// that order it would say that this is what has moved: so each path is told by itself; where `Events=` asks for
    /// neither, the entry stands behind the rename, unless renames go round in a circle: of them one is not told.
    private mutating func putUntangled(
        _ result: PathFact, _ event: Event, count: Int, _ events: PathEvents, _ change: inout Change
    ) {
        guard result.change == .renamed, let oldPath = result.oldPath, let slot = slot(at: oldPath),
            case .path(let waiting) = slots[slot].fact
        else { return put(result, event, count: count, events, &change) }
        guard !events.isDisjoint(with: [.written, .modified]) || closesCircle(result) else {
            let behind = remove(slot)
            put(result, event, count: count, events, &change)
            return append(behind)
        }
        let now = waiting.after(result.kind)
        if let told = now.flatMap({ NetEffect.chosen($0, by: events) }) {
            replace(slot, slots[slot].telling(.path(told), count: slots[slot].count))
        } else {
            if let now { change.unasked.append(now) }
            change.annulled += remove(slot).count
        }
        put(NetEffect.written(result), event, count: count, events, &change)
    }

    /// Whether renames that wait lead from the old path of a rename back to its new one.
    private func closesCircle(_ rename: PathFact) -> Bool {
        var place = rename.oldPath
        for _ in 0..<live {
            guard let slot = place.flatMap(slot(at:)), case .path(let fact) = slots[slot].fact, fact.change == .renamed
            else { return false }
            if fact.oldPath == rename.path { return true }
            place = fact.oldPath
        }
        return false
    }

    private mutating func addRename(
        _ event: Event, _ fact: PathFact, from oldPath: [UInt8], _ events: PathEvents, _ change: inout Change
    ) {
        var rename = fact
        var count = event.count
        if let slot = slot(at: fact.path), let (older, overwritten) = take(slot) {
            let effect = NetEffect.replaced(overwritten, by: rename)
            rename = effect.rename
            if let emptied = effect.emptied {
                put(emptied, older, count: older.count, events, &change)
            } else {
                count += older.count
            }
        }
        var result = rename
        if let slot = slot(at: oldPath), let (older, moved) = take(slot) {
            let effect = NetEffect.of(moved, rename: rename)
            result = effect.result
            if let emptied = effect.emptied {
                put(emptied, older, count: older.count, events, &change)
            } else {
                count += older.count
            }
            if moved.change == .renamed { return putUntangled(result, event, count: count, events, &change) }
        } else if left[oldPath] != nil {
            result = NetEffect.written(rename)
        }
        put(result, event, count: count, events, &change)
    }

    /// Puts a net effect at its path, as far as it is asked for. The state of the path is newer by now, and an earlier
    /// one that was unknown no longer counts as unknown.
    private mutating func put(
        _ result: PathFact, _ event: Event, count: Int, _ events: PathEvents, _ change: inout Change
    ) {
        var (result, id, time, count): (PathFact?, UInt64, Int64, Int) = (result, event.id, event.time, count)
        if let path = result?.path, let before = result?.stood, let slot = slot(at: path),
            let (newer, waiting) = take(slot)
        {
            result = waiting.after(before)
            (id, time, count) = (max(id, newer.id), max(time, newer.time), count + newer.count)
        } else if let fact = result, fact.change == .deleted, retaken.removeValue(forKey: fact.path) == fact.kind {
            // Something else of its kind stands there by now, and nobody asks for that.
            result = nil
        }
        let told = result.flatMap { NetEffect.chosen($0, by: events) }
        if told != result { change.isChosen = true }
        guard let told else {
            if let result { change.unasked.append(result) }
            change.annulled += count
            return
        }
        var effect = Event(id: id, time: time, count: count, fact: .path(told))
        effect.isByHand = event.isByHand
        append(effect)
    }

    // MARK: Slots

    private func slot(at path: [UInt8]) -> Int? {
        if let index { return index[path] }
        return slots.lastIndex {
            guard $0.count > 0, case .path(let fact) = $0.fact else { return false }
            return fact.path == path
        }
    }

    mutating func append(_ event: Event) {
        slots.append(event)
        live += 1
        deliveries += event.count
        bytes += event.load.bytes
        guard case .path(let fact) = event.fact else { return }
        if fact.change == .renamed, let oldPath = fact.oldPath { left[oldPath] = slots.count - 1 }
        if index != nil {
            index?[fact.path] = slots.count - 1
        } else if slots.count > Self.searchLimit {
            rebuildIndices()
        }
    }

    private mutating func take(_ slot: Int) -> (event: Event, fact: PathFact)? {
        guard case .path(let fact) = slots[slot].fact else { return nil }
        return (remove(slot), fact)
    }

    mutating func remove(_ slot: Int) -> Event {
        let event = slots[slot]
        live -= 1
        deliveries -= event.count
        bytes -= event.load.bytes
        if case .path(let fact) = event.fact {
            index?[fact.path] = nil
            if fact.change == .renamed, let oldPath = fact.oldPath, left[oldPath] == slot { left[oldPath] = nil }
        }
        guard live > 0 else {
            slots.removeAll(keepingCapacity: slots.count <= Self.searchLimit)
            head = 0
            return event
        }
        // Its event is dropped; the slot stays until the slots are compacted.
        slots[slot] = Event(id: event.id, time: event.time, count: 0, fact: .timer(scheduled: 0))
        while slots.last?.count == 0 { slots.removeLast() }
        while slots[head].count == 0 { head += 1 }
        if slots.count > Self.searchLimit, slots.count > 2 * live { compact() }
        return event
    }

    private mutating func compact() {
        slots.removeAll { $0.count == 0 }
        head = 0
        rebuildIndices()
    }

    private mutating func rebuildIndices() {
        var paths: [[UInt8]: Int] = [:]
        left = [:]
        for (slot, event) in slots.enumerated() where event.count > 0 {
            guard case .path(let fact) = event.fact else { continue }
            paths[fact.path] = slot
            if fact.change == .renamed, let oldPath = fact.oldPath { left[oldPath] = slot }
        }
        index = paths
    }
}

extension Event {
    fileprivate var path: [UInt8]? { if case .path(let fact) = fact { fact.path } else { nil } }

    /// The end of the old path of a rename.
    fileprivate var leftByRename: Event? {
        guard case .path(let fact) = fact, fact.change == .renamed, let oldPath = fact.oldPath else { return nil }
        var event = self
        event.fact = .path(
            PathFact(
                .deleted, path: oldPath, root: fact.root, isRecovered: fact.isRecovered, isFolder: fact.isFolder))
        return event
    }

    /// The handler may have been told of the path before: nothing is new about it any more.
    fileprivate mutating func tellKnown() {
        guard case .path(let fact) = fact, fact.change != .renamed, fact.stood == .nothing else { return }
        self.fact = .path(fact.told(after: fact.kind))
    }
}

extension PathFact {
    /// The fact of a thing that stands at the path, where this stood before; of a folder it is told even where another
    /// one stood.
    fileprivate func told(after before: Before) -> PathFact {
        var result = standing(after: before)
        if result.isFolder, result.change == .written { (result.change, result.before) = (.created, before) }
        return result
    }
}

extension EntryList {
    /// Replaces the newest entry for which `replacement` gives one. False: there was none.
    mutating func replaceLast(where replacement: (Event) -> Event?) -> Bool {
        for slot in slots.indices.reversed() where slots[slot].count > 0 {
            guard let event = replacement(slots[slot]) else { continue }
            replace(slot, event)
            return true
        }
        return false
    }

    /// Of the same path.
    private mutating func replace(_ slot: Int, _ event: Event) {
        deliveries += event.count - slots[slot].count
        bytes += event.load.bytes - slots[slot].load.bytes
        slots[slot] = event
    }

    // MARK: Event by event

    /// The entry to hand on first, if the entries are to be handed on one by one as events.
    ///
    /// That is the oldest, unless a rename has first to empty its path. Where things have changed places nobody is
    /// first: all of them are then told as `written`, which is as true.
    mutating func nextInTurn() -> Event? {
        guard live > 0 else { return nil }
        var chain = [head]
        while let slot = chain.last, case .path(let fact) = slots[slot].fact, let before = left[fact.path] {
            if let start = chain.firstIndex(of: before) {
                let facts = chain[start...].map { ($0, written($0)) }
                for (slot, fact) in facts { tell(fact, slot) }
                return slots[chain[0]]
            }
            chain.append(before)
        }
        return chain.last.map { slots[$0] }
    }

    /// Takes out what `nextInTurn` gives.
    mutating func removeNextInTurn() -> Event? {
        guard let next = nextInTurn() else { return nil }
        guard case .path(let fact) = next.fact, let slot = slot(at: fact.path) else { return removeOldest() }
        return remove(slot)
    }

    /// A rename to a path that another rename has left, as what it means at that path.
    private func written(_ slot: Int) -> PathFact? {
        guard case .path(var fact) = slots[slot].fact, let other = left[fact.path],
            case .path(let gone) = slots[other].fact
        else { return nil }
        (fact.change, fact.oldPath, fact.hasReplaced) = (.written, nil, false)
        return fact.told(after: gone.kind)
    }

    private mutating func tell(_ fact: PathFact?, _ slot: Int) {
        guard let fact, case .path(let rename) = slots[slot].fact, let oldPath = rename.oldPath else { return }
        left[oldPath] = nil
        bytes -= slots[slot].load.bytes
        slots[slot].fact = .path(fact)
        bytes += slots[slot].load.bytes
    }
}
