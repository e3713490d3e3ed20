import LinuxSystem
import WatchFile

/// Watches folders of a tree and lists them, beside the core.
///
/// A folder is opened once, by its path; what is watched, listed and looked at is that open folder, wherever it is moved
/// meanwhile. It is watched first: what changes afterwards is reported, what changed before is listed.
struct TreeScan: Sendable {
    /// A folder that is to be listed.
    struct Request: Sendable {
        var folder: FileTree.Reference
        /// Of the folder; another one that stands there by now is not listed.
        var inode: UInt64
        /// Absolute.
        var path: [UInt8]
        /// With `isDeep` the folders in it are listed as well, as far as a scan goes.
        var how: FileTree.Flags
    }

    enum Place: Sendable {
        case folder(FileTree.Reference, FileTree.Flags)
        /// In the folder of that listing.
        case child(Int, name: [UInt8])
    }

    struct Entry: Sendable {
        var name: [UInt8]
        var status: FileStatus
        var isFresh: Bool
        /// Of a symbolic link that may be followed; the status is that of what it leads to, where it is.
        var link: LinkLook?
    }

    enum Outcome: Sendable {
        case listed([Entry])
        /// Another folder stands there, or none.
        case gone
        /// The scan came back before it got there.
        case left
        case failed(SystemError)
    }

    struct Listing: Sendable {
        var place: Place
        var inode: UInt64
        var outcome: Outcome
        var watch: Int32?
        /// Why it has no watch.
        var unwatched: SystemError?
        /// `nil`: it cannot be known.
        var fileSystem: FileSystemType?
        /// `nil`: there is no `IgnoreFile=`.
        var ignoreFile: IgnoreReading?
        /// Entries that cannot be looked at (another user's FUSE mount, a server that is gone), and why.
        var hidden: [(name: [UInt8], error: SystemError)] = []
    }

    /// Entries after which a scan comes back: what is taken in at once, and kept in memory until then.
    private static let entryLimit = 4096

    var requests: [Request]
    var mask: InotifyMask
    var prune: PathPrune
    /// Those of `IgnoreFile=` that are known.
    var ignoring: IgnoreRules?
    /// The root, which may be a symbolic link.
    var root: [UInt8]
    /// A copy, which is closed in the end; or why there is none. `nil`: nothing is to be watched.
    var inotify: Result<Int32, SystemError>?
    var room: WatchRoom
    /// `FollowSymlinks=yes`: links are followed, but to these files and folders, which watchd writes itself.
    var followedBeside: [[UInt8]]?

    private struct Task {
        var place: Place
        var inode: UInt64
        var path: [UInt8]
        var isDeep: Bool
    }

    private struct FileSystem {
        var device: UInt64
        var type: FileSystemType?
    }

    func run() -> [Listing] {
        defer { if case .success(let number)? = inotify { FileDescriptor(owning: number).close() } }
        var tasks = requests.reversed().map {
            Task(
                place: .folder($0.folder, $0.how), inode: $0.inode, path: $0.path, isDeep: $0.how.contains(.isDeep))
        }
        var (listings, entries, rules, fileSystem) = ([Listing](), 0, ignoring, FileSystem?.none)
        while entries < Self.entryLimit, let task = tasks.popLast() {
            let listing = list(task, &fileSystem)
            listings.append(listing)
            guard case .listed(let found) = listing.outcome else { continue }
            entries += found.count + 1
            if let reading = listing.ignoreFile { rules?[task.path.below(root)] = reading.file }
            guard task.isDeep else { continue }
            for entry in found where entry.status.kind == .folder {
                let path = LinkWay.joined(task.path, entry.name)
                if prune.prunes(path, below: root) { continue }
                if rules?.ignores(path.below(root), isFolder: true) ?? false { continue }
                let place = Place.child(listings.count - 1, name: entry.name)
                tasks.append(Task(place: place, inode: entry.status.inode, path: path, isDeep: true))
            }
        }
        // Those in folders that were listed are known by their parents' listing.
        let left = tasks.filter { if case .folder = $0.place { true } else { false } }
        return listings + left.map { Listing(place: $0.place, inode: $0.inode, outcome: .left) }
    }

    private func list(_ task: Task, _ known: inout FileSystem?) -> Listing {
        var listing = Listing(place: task.place, inode: task.inode, outcome: .gone)
        do throws(SystemError) {
            try Linux.openFolder(task.path, follows: followedBeside != nil || task.path == root).use {
                folder throws(SystemError) in
                let status = try Linux.fstat(folder)
                guard status.inode == task.inode else { return }
                watch(folder, &listing)
                listing.fileSystem = fileSystem(of: folder, on: status.device, &known)
                let entries = try entries(of: folder, task.path, &listing.hidden)
                // Without a watch nothing tells that it was moved meanwhile.
                guard inotify != nil || stands(task) else { return }
                listing.ignoreFile = ignoring.map { IgnoreReading($0.name, in: folder) }
                listing.outcome = .listed(entries)
            }
        } catch {
            listing.outcome = error.isOfNothing ? .gone : .failed(error)
        }
        return listing
    }

    /// That of the folder before, mostly.
    private func fileSystem(of folder: Int32, on device: UInt64, _ known: inout FileSystem?) -> FileSystemType? {
        if known?.device != device { known = FileSystem(device: device, type: try? FileSystemType(ofOpen: folder)) }
        return known?.type
    }

    private func stands(_ task: Task) -> Bool {
        let follows = followedBeside != nil || task.path == root
        return (try? Linux.statusOfAny(task.path, follows: follows))?.inode == task.inode
    }

    private func watch(_ folder: Int32, _ listing: inout Listing) {
        guard let inotify else { return }
        do throws(SystemError) {
            let inotify = try inotify.get()
            listing.watch = try room.add(inotify) { () throws(SystemError) in
                try Linux.inotifyAdd(
                    inotify, open: folder, mask.union([.adding, .onlyFolders, .excludesUnlinked]))
            }
        } catch {
            listing.unwatched = error
        }
    }

    private func entries(
        of folder: Int32, _ path: [UInt8], _ hidden: inout [(name: [UInt8], error: SystemError)]
    ) throws(SystemError) -> [Entry] {
        var (entries, way) = ([Entry](), LinkWay?.none)
        for (number, entry) in try Linux.readFolder(folder, of: path).enumerated() {
            if number & 1023 == 1023 { Lanes.goesOn() }
            do throws(SystemError) {
                let own = try Linux.status(of: entry.name, in: folder)
                let link = look(at: own, entry.name, path, &way)
                let status = link?.status ?? own
                entries.append(Entry(name: entry.name, status: status, isFresh: status.isFresh, link: link))
            } catch {
                // One that has gone by now is reported.
                if !error.isOfNothing { hidden.append((entry.name, error)) }
            }
        }
        // The store takes in names in their order several times faster than in any other.
        if entries.count > Self.entryLimit { entries.sort { $0.name.lexicographicallyPrecedes($1.name) } }
        return entries
    }

    private func look(
        at own: FileStatus, _ name: [UInt8], _ folder: [UInt8], _ way: inout LinkWay?
    ) -> LinkLook? {
        guard let ownPaths = followedBeside, own.kind == .symbolicLink else { return nil }
        let here = way ?? LinkWay(to: folder, below: root)
        way = here
        return LinkLook(name, own, here, ownPaths: ownPaths)
    }
}

extension TreeScan.Listing {
    /// Its watch and what stands in the folder, for those who look for a lost change.
    var trail: String {
        guard case .listed(let entries) = outcome else { return "watch \(watch ?? 0): \(outcome)" }
        return "watch \(watch ?? 0): \(entries.map { "\($0.name.printable) \($0.status.inode)" })"
    }
}

extension SystemError {
    /// Nothing stands at the path that was meant; any other error leaves that open.
    var isOfNothing: Bool { [.noSuchFile, .notFolder, .symbolicLinkLoop].contains(errno) }
}

extension FileStatus {
    /// It has no content of its own: a FIFO, a socket or a device.
    var isSpecial: Bool { ![.regular, .folder, .symbolicLink].contains(kind) }

    /// Another change may leave the times it has.
    var isFresh: Bool {
        FolderSnapshot.Stamp.isFresh(changed, at: Linux.now(.realtime))
    }
}
