package import LinuxSystem

/// Keeps sight of a path that may not exist yet, may be replaced, or whose folders may be moved.
///
/// The folder the path stands in is watched for its name; every folder above it for the going, and the replacement, of
/// the next one; where one is missing, the last one there for its coming (`AnchoredWay`). A folder that may be passed but
/// not read cannot be watched (`inotify(7)`): the way goes on behind it without, and where it leads is looked at from
/// time to time. Confined to its context.
package final class PathAnchor: FolderObserver {
    package let path: [UInt8]
    private let hub: InotifyHub
    private let handler: (Change) -> Void
    /// From the root down.
    package private(set) var levels: [Level] = []
    /// The watch of the folder the path stands in.
    package private(set) var parent: Int32?
    private let components: [[UInt8]]
    /// The first folder on the way that may not be watched.
    private var unreadable: [UInt8]?
    /// Where one is, the folder the path stands in is looked at this often: microseconds.
    private let interval: Int
    private var parentSeen: [UInt64] = []
    private var isLooking = false

    /// A folder that is watched, and the name that matters in it.
    package struct Level: Equatable {
        let watch: Int32
        let name: [UInt8]
    }

    package enum Change {
        /// Something happened to the path's own entry in its folder.
        case entry(FolderEvent)
        /// The folders above changed: it must be armed anew.
        case moved
        case overflowed
    }

    /// - Parameter interval: microseconds from look to look where a folder on the way may not be watched.
    package init(
        _ path: [UInt8], hub: InotifyHub, interval: Int = 60_000_000, handler: @escaping (Change) -> Void
    ) {
        self.path = path
        self.interval = interval
        self.hub = hub
        self.handler = handler
        components = Self.components(of: path)
    }

    static func components(of path: [UInt8]) -> [[UInt8]] { path.split(separator: UInt8(ascii: "/")).map(Array.init) }

    /// The path's last component; empty for `/`.
    package var name: [UInt8] { components.last ?? [] }
    package var watchCount: Int { watches.count }
    var watches: Set<Int32> { Set(levels.map(\.watch)) }

    /// Why less is seen than there may be: a sentence.
    package var limit: String? {
        unreadable.map {
            "what replaces a folder in \($0.printable) may be noticed a minute late, as watchd may not read that"
        }
    }

    /// Arms it; throws when a watch cannot be had. True: the folder the path stands in exists.
    ///
    /// - Parameter entryMask: what to be told of the path's own entry, besides its coming and going.
    package func arm(_ entryMask: InotifyMask) throws(SystemError) -> Bool {
        var way = way(entryMask)
        if way.failure?.errno == .noSpace, !levels.isEmpty {
            hub.discard(way.added)
            disarm()
            way = self.way(entryMask)
        }
        take(way)
        if let failure = way.failure { throw failure }
        return parent != nil
    }

    private func way(_ entryMask: InotifyMask) -> AnchoredWay { AnchoredWay(components, entryMask, hub.adder) }

    /// Takes over what was watched on the way. False: it had that already.
    @discardableResult func take(_ way: AnchoredWay) -> Bool {
        let old = levels
        (levels, parent, unreadable, parentSeen) = (way.levels, way.parent, way.unreadable, way.parentSeen)
        for (level, mask) in zip(levels, way.masks) { hub.observe(level.watch, mask, name: level.name, for: self) }
        // A folder that is watched still keeps its number, and so what is unread of it.
        unwatch(old)
        hub.discard(way.left)
        if unreadable != nil { planLook() }
        return levels != old
    }

    package func disarm() {
        unwatch(levels)
        levels = []
        parent = nil
        unreadable = nil
    }

    private func unwatch(_ levels: [Level]) {
        for level in levels { hub.unwatch(level.watch, name: level.name, for: self) }
    }

    // MARK: Behind what may not be watched

    private func planLook() {
        guard !isLooking else { return }
        isLooking = true
        hub.after(interval) { [weak self] in self?.lookAgain() }
    }

    /// Beside the context: it may lead to a file system that hangs by now.
    private func lookAgain() {
        let seen = parentSeen
        hub.beside { [components] in
            AnchoredWay.parentFolder(components)
        } then: { [weak self] now in
            guard let self else { return }
            isLooking = false
            guard unreadable != nil else { return }
            // It was armed meanwhile.
            guard parentSeen == seen, now != seen else { return planLook() }
            parentSeen = now
            planLook()
            handler(.moved)
        }
    }

    package func observe(_ event: FolderEvent) {
        switch event.change {
        case .overflowed: handler(.overflowed)
        case .selfChanged: handler(.moved)
        case .renamed(let fromWatch, let fromName):
            let isFolder = event.isFolder
            tell(FolderEvent(change: .movedOut, watch: fromWatch, name: fromName, isFolder: isFolder))
            tell(FolderEvent(change: .movedIn, watch: event.watch, name: event.name, isFolder: isFolder))
        case .created, .closedAfterWriting, .modified, .attributes, .deleted, .movedIn, .movedOut:
            tell(event)
        }
    }

    private func tell(_ event: FolderEvent) {
        guard levels.contains(where: { $0.watch == event.watch && $0.name == event.name }) else { return }
        handler(event.watch == parent && event.name == name ? .entry(event) : .moved)
    }
}
