import LinuxSystem

/// Those who observe one watched folder, found by the name that each of them waits for: thousands may wait in one
/// folder, each for a file of its own.
struct FolderObservers {
    /// An owner, and what it wants to be told.
    private struct Entry {
        let owner: any FolderObserver
        var mask: InotifyMask
        /// Told in the order in which they came.
        let order: Int
        /// How often it is in here with this name.
        var count = 1
    }

    /// `nil`: every name.
    private var entries: [[UInt8]?: [ObjectIdentifier: Entry]] = [:]
    private var lastOrder = 0

    var isEmpty: Bool { entries.isEmpty }

    /// - Parameter name: the entry that matters to it; `nil`: each. What happens to the folder itself always does.
    mutating func add(_ owner: any FolderObserver, _ mask: InotifyMask, of name: [UInt8]?) {
        lastOrder += 1
        var entry = entries[name]?[ObjectIdentifier(owner)] ?? Entry(owner: owner, mask: [], order: lastOrder, count: 0)
        entry.mask.formUnion(mask)
        entry.count += 1
        entries[name, default: [:]][ObjectIdentifier(owner)] = entry
    }

    /// Takes back one `add`.
    mutating func remove(_ owner: any FolderObserver, of name: [UInt8]?) {
        let id = ObjectIdentifier(owner)
        guard var entry = entries[name]?[id] else { return }
        entry.count -= 1
        entries[name]?[id] = entry.count > 0 ? entry : nil
        if entries[name]?.isEmpty == true { entries[name] = nil }
    }

    /// Whom an event concerns, each once.
    func owners(of event: InotifyEvent) -> [any FolderObserver] {
        let lists = event.name.isEmpty ? Array(entries.values) : [entries[event.name], entries[nil]].compactMap(\.self)
        // As nearly always.
        if lists.count == 1, lists[0].count == 1, let only = lists[0].values.first {
            return only.mask.isDisjoint(with: event.mask) ? [] : [only.owner]
        }
        var found: [ObjectIdentifier: Entry] = [:]
        for list in lists {
            for (id, entry) in list where !entry.mask.isDisjoint(with: event.mask) {
                if let other = found[id], other.order < entry.order { continue }
                found[id] = entry
            }
        }
        return found.values.sorted { $0.order < $1.order }.map(\.owner)
    }

    /// Whether it still waits for that name.
    func contains(_ owner: any FolderObserver, of name: [UInt8]) -> Bool {
        let id = ObjectIdentifier(owner)
        if name.isEmpty { return entries.values.contains { $0[id] != nil } }
        return entries[name]?[id] != nil || entries[nil]?[id] != nil
    }

    /// Everybody, each once.
    var all: [any FolderObserver] {
        var found: [ObjectIdentifier: any FolderObserver] = [:]
        for list in entries.values {
            for (id, entry) in list { found[id] = entry.owner }
        }
        return Array(found.values)
    }
}
