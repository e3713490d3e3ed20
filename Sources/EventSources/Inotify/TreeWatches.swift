import LinuxSystem

/// An observer that has folders of a tree watched.
package protocol TreeObserver: AnyObject {
    /// Something happened to a name in a folder of it; a rename may come from another one of its folders.
    func observe(_ event: FolderEvent, in folder: FileTree.ID, from oldFolder: FileTree.ID?)
    /// The watch of a folder is gone, with the folder or the file system that it was on.
    func watchEnded(_ watch: Int32, of folder: FileTree.ID, isUnmounted: Bool)
    /// The kernel's queue overflowed: anything may have happened anywhere.
    func eventsWereLost()
    /// The symbolic link that a folder is reached through: of the ways to a folder, each has its own.
    func linkAbove(_ folder: FileTree.ID) -> FileTree.ID
}

/// The watches of folders of trees, without anything else for each of a hundred thousand folders, and the events that
/// come of a folder before it is known whose it is.
///
/// A scan beside the core adds watches and lists what stands there; the events are read on the core meanwhile. They are
/// kept until the scan has told of its watches (`claim`).
struct TreeWatches {
    struct Place {
        let tree: any TreeObserver
        let folder: FileTree.ID
    }

    /// A place by the number of its tree, which no other tree gets after it.
    private struct Key: Equatable {
        let tree: UInt32
        let folder: FileTree.ID
    }

    private enum Keys {
        case one(Key)
        case many([Key])
    }

    /// Events kept while scans go on: as many as the kernel keeps by default, four times.
    private static let logLimit = 65_536

    private var places: [Int32: Keys] = [:]
    private var observers: [UInt32: any TreeObserver] = [:]
    private var numbers: [ObjectIdentifier: UInt32] = [:]
    private var lastNumber: UInt32 = 0
    /// Scans that go on.
    private(set) var scans = 0
    private var log: [Int32: [InotifyEvent]] = [:]
    private var logged = 0
    private var hasOverflowed = false
    /// Watches that nobody has any more, or yet: they may be claimed as long as scans go on.
    private var loose: Set<Int32> = []

    var count: Int { places.count }

    /// Watches of these trees, and others that may be among them.
    func count(of trees: [any TreeObserver], _ others: Set<Int32>) -> Int {
        let wanted = Set(trees.compactMap { numbers[ObjectIdentifier($0)] })
        return places.reduce(others.count) { count, entry in
            guard !others.contains(entry.key) else { return count }
            let isOfThem =
                switch entry.value {
                case .one(let key): wanted.contains(key.tree)
                case .many(let keys): keys.contains { wanted.contains($0.tree) }
                }
            return count + (isOfThem ? 1 : 0)
        }
    }

    var trees: [any TreeObserver] { Array(observers.values) }

    mutating func add(_ tree: any TreeObserver) {
        guard numbers[ObjectIdentifier(tree)] == nil else { return }
        lastNumber += 1
        numbers[ObjectIdentifier(tree)] = lastNumber
        observers[lastNumber] = tree
    }

    /// To be called when it has given up its watches.
    mutating func remove(_ tree: any TreeObserver) {
        if let number = numbers.removeValue(forKey: ObjectIdentifier(tree)) { observers[number] = nil }
    }

    private func key(_ tree: any TreeObserver, _ folder: FileTree.ID) -> Key? {
        numbers[ObjectIdentifier(tree)].map { Key(tree: $0, folder: folder) }
    }

    func isWatched(_ watch: Int32) -> Bool { places[watch] != nil }

    func places(_ watch: Int32) -> [Place] {
        switch places[watch] {
        case .one(let key): place(key).map { [$0] } ?? []
        case .many(let keys): keys.compactMap(place)
        case nil: []
        }
    }

    private func place(_ key: Key) -> Place? { observers[key.tree].map { Place(tree: $0, folder: key.folder) } }

    func contains(_ watch: Int32, _ tree: any TreeObserver, _ folder: FileTree.ID) -> Bool {
        guard let key = key(tree, folder) else { return false }
        return switch places[watch] {
        case .one(let only): only == key
        case .many(let keys): keys.contains(key)
        case nil: false
        }
    }

    /// Where a tree reaches both folders of a rename in several ways, a name stays on its way.
    ///
    /// - Parameter left: the places it has left; those that stay are no part of a pair.
    static func pairs(_ entered: [Place], _ left: inout [Place]) -> [(place: Place, from: Place?)] {
        var pairs = entered.map { (place: $0, from: Place?.none) }
        for isOnOneWay in [true, false] {
            for index in pairs.indices where pairs[index].from == nil {
                let tree = pairs[index].place.tree
                let way = tree.linkAbove(pairs[index].place.folder)
                let found = left.firstIndex { $0.tree === tree && (!isOnOneWay || tree.linkAbove($0.folder) == way) }
                if let found { pairs[index].from = left.remove(at: found) }
            }
        }
        return pairs
    }

    // MARK: Scans

    mutating func beginScan() { scans += 1 }

    /// Gives the watches that nobody has, when the last scan ends.
    ///
    /// - Parameter watches: those that the scan has added.
    mutating func endScan(_ watches: [Int32]) -> [Int32] {
        loose.formUnion(watches)
        scans -= 1
        guard scans == 0 else { return [] }
        (log, logged, hasOverflowed) = ([:], 0, false)
        defer { loose = [] }
        return loose.filter { places[$0] == nil }
    }

    /// A watch that somebody has given up, while scans go on.
    mutating func loosen(_ watch: Int32) { loose.insert(watch) }

    mutating func note(_ event: InotifyEvent) {
        guard scans > 0, event.watch > 0 else { return }
        if logged >= Self.logLimit {
            hasOverflowed = true
            return
        }
        logged += 1
        log[event.watch, default: []].append(event)
    }

    /// Names that are known to be gone from the folder of a watch that is not claimed yet: that was reported last.
    func namesGone(_ watch: Int32) -> Set<[UInt8]> {
        guard let events = log[watch] else { return [] }
        var gone: Set<[UInt8]> = []
        for event in events {
            if !event.mask.isDisjoint(with: [.deleted, .movedFrom]) {
                gone.insert(event.name)
            } else if !event.mask.isDisjoint(with: [.created, .movedTo]) {
                gone.remove(event.name)
            }
        }
        return gone
    }

    mutating func noteOverflow() { if scans > 0 { hasOverflowed = true } }

    /// A folder has this watch from now on: what has happened there since its scan began, in that order; `nil`: too
    /// much to be kept.
    mutating func claim(_ watch: Int32, _ tree: any TreeObserver, _ folder: FileTree.ID) -> [InotifyEvent]? {
        guard !contains(watch, tree, folder), let key = key(tree, folder) else { return [] }
        switch places[watch] {
        case nil: places[watch] = .one(key)
        case .one(let other): places[watch] = .many([other, key])
        case .many(let others): places[watch] = .many(others + [key])
        }
        return hasOverflowed ? nil : log[watch] ?? []
    }

    mutating func giveUp(_ watch: Int32, _ tree: any TreeObserver, _ folder: FileTree.ID) {
        guard let key = key(tree, folder) else { return }
        switch places[watch] {
        case .one(let only) where only == key: places[watch] = nil
        case .many(let others):
            let left = others.filter { $0 != key }
            places[watch] = left.isEmpty ? nil : .many(left)
        case .one, nil: break
        }
    }

    /// The kernel has taken it back.
    mutating func end(_ watch: Int32) -> [Place] {
        defer { places[watch] = nil }
        return places(watch)
    }
}
