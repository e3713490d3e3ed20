package import LinuxSystem

/// Keeps sight of a path that may not exist yet, may be replaced, or whose folders may be moved.
///
/// The folder the path stands in is watched for its name; every folder above it for the going, and the replacement, of
/// the next one; where one is missing, the last one there for its coming. Check, arm, check again: what appears between
/// two steps is found. Confined to its context.
package final class PathAnchor: FolderObserver {
    package let path: [UInt8]
    private let hub: InotifyHub
    private let handler: (Change) -> Void
    /// From the root down.
    package private(set) var levels: [Level] = []
    /// The watch of the folder the path stands in.
    package private(set) var parent: Int32?
    private let components: [[UInt8]]

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

    package init(_ path: [UInt8], hub: InotifyHub, handler: @escaping (Change) -> Void) {
        self.path = path
        self.hub = hub
        self.handler = handler
        components = path.split(separator: UInt8(ascii: "/")).map(Array.init)
    }

    /// The path's last component; empty for `/`.
    package var name: [UInt8] { components.last ?? [] }
    package var watchCount: Int { levels.count }

    /// Arms it; throws when a watch cannot be had. True: the folder the path stands in exists.
    ///
    /// - Parameter entryMask: what to be told of the path's own entry, besides its coming and going.
    package func arm(_ entryMask: InotifyMask) throws(SystemError) -> Bool {
        // A folder that is watched still keeps its number, and so what is unread of it.
        var old = levels
        levels = []
        defer { unwatch(old) }
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
            let watch: Int32
            do throws(SystemError) {
                watch = try hub.watch(folder, mask, name: component, for: self)
            } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
                return false
            }
            levels.append(Level(watch: watch, name: component))
            if isParent { parent = watch }
            if isMissing { return !isFolder(next) }
            folder = next
        }
        return true
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
