package import LinuxSystem

/// Keeps sight of a path that may not exist yet, may be replaced, or whose folders may be moved.
///
/// The folder the path stands in is watched for its name; every folder above it for the going, and the replacement, of
/// the next one; where one is missing, the last one there for its coming. Check, arm, check again: what appears between
/// two steps is found. A folder that may be passed but not read cannot be watched (`inotify(7)`): the way goes on
/// behind it without, and where it leads is looked at from time to time. Confined to its context.
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
        components = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    }

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
        // A folder that is watched still keeps its number, and so what is unread of it.
        var old = levels
        levels = []
        defer {
            unwatch(old)
            lookLater()
        }
        for _ in 0..<100 {
            disarm()
            do throws(SystemError) {
                if try climb(entryMask) { return parent != nil }
            } catch  where error.errno == .noSpace && !old.isEmpty {
                unwatch(old)
                old = []
            }
        }
        // The folders change faster than they can be followed; what was armed last tells of the next change.
        return parent != nil
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

    /// Down from the root. False: something changed on the way.
    private func climb(_ entryMask: InotifyMask) throws(SystemError) -> Bool {
        let replacing: InotifyMask = [.movedTo, .movedFrom, .deleted, .selfMoved, .selfDeleted, .unmounted]
        var folder: [UInt8] = [UInt8(ascii: "/")]
        for (depth, component) in components.enumerated() {
            let isParent = depth == components.count - 1
            let next = folder.count == 1 ? folder + component : folder + [UInt8(ascii: "/")] + component
            let isMissing = !isParent && !isFolder(next)
            var mask = replacing
            if isParent { mask.formUnion(entryMask.union(.created)) }
            if isMissing { mask.formUnion([.created, .attributes]) }
            do throws(SystemError) {
                let watch = try hub.watch(folder, mask, name: component, for: self)
                levels.append(Level(watch: watch, name: component))
                if isParent { parent = watch }
            } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
                return false
            } catch  where error.errno == .accessDenied && !isParent && !isMissing {
                unreadable = unreadable ?? folder
            }
            if isMissing { return !isFolder(next) }
            folder = next
        }
        return true
    }

    // MARK: Behind what may not be watched

    /// The folder the path stands in; empty: there is none.
    private static func parentFolder(_ components: [[UInt8]]) -> [UInt64] {
        let folder = components.dropLast().flatMap { [UInt8(ascii: "/")] + $0 }
        guard let status = try? Linux.stat(folder) else { return [] }
        return [status.device, status.inode]
    }

    private func lookLater() {
        guard unreadable != nil else { return }
        parentSeen = Self.parentFolder(components)
        planLook()
    }

    private func planLook() {
        guard !isLooking else { return }
        isLooking = true
        hub.after(interval) { [weak self] in self?.lookAgain() }
    }

    /// Beside the context: it may lead to a file system that hangs by now.
    private func lookAgain() {
        let seen = parentSeen
        hub.beside { [components] in
            Self.parentFolder(components)
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

    private func isFolder(_ path: [UInt8]) -> Bool { (try? Linux.stat(path))?.kind == .folder }

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
