import LinuxSystem

/// The folders on the way to a path, watched from the root down: what a `PathAnchor` takes over.
///
/// Check, watch, check again: what appears between two steps is found. It may lead to a file system that hangs, so it is
/// made beside the context where one is possible. A watch that is given up before the anchor has taken it over has
/// another number the next time: whoever made it beside makes it once more, until two are the same.
struct AnchoredWay: Sendable {
    /// From the root down.
    private(set) var levels: [PathAnchor.Level] = []
    /// The events that each level is to be told.
    private(set) var masks: [InotifyMask] = []
    /// The watch of the folder the path stands in.
    private(set) var parent: Int32?
    /// The first folder on the way that may not be watched.
    private(set) var unreadable: [UInt8]?
    /// Where one is: the folder the path stands in, as it is now.
    private(set) var parentSeen: [UInt64] = []
    /// Why the way ends before the path.
    private(set) var failure: SystemError?
    /// Watches of earlier tries, which may be nobody's.
    private(set) var left: [Int32] = []

    /// All its watches.
    var added: [Int32] { left + levels.map(\.watch) }

    /// - Parameter entryMask: what to be told of the path's own entry, besides its coming and going.
    init(_ components: [[UInt8]], _ entryMask: InotifyMask, _ adder: WatchAdder) {
        for _ in 0..<100 {
            left += levels.map(\.watch)
            (levels, masks, parent, unreadable) = ([], [], nil, nil)
            do throws(SystemError) {
                if try climb(components, entryMask, adder) { break }
            } catch {
                failure = error
                break
            }
            // Where the folders change faster than they can be followed, the last way tells of the next change.
        }
        if unreadable != nil { parentSeen = Self.parentFolder(components) }
    }

    /// Down from the root. False: something changed on the way.
    private mutating func climb(
        _ components: [[UInt8]], _ entryMask: InotifyMask, _ adder: WatchAdder
    ) throws(SystemError) -> Bool {
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
                let watch = try adder.add(folder, mask)
                levels.append(PathAnchor.Level(watch: watch, name: component))
                masks.append(mask)
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

    private func isFolder(_ path: [UInt8]) -> Bool { (try? Linux.stat(path))?.kind == .folder }

    /// The folder the path stands in; empty: there is none.
    static func parentFolder(_ components: [[UInt8]]) -> [UInt64] {
        let folder = components.dropLast().flatMap { [UInt8(ascii: "/")] + $0 }
        guard let status = try? Linux.stat(folder) else { return [] }
        return [status.device, status.inode]
    }
}
