import Engine
package import LinuxSystem

/// The state of a folder (or of a path) when it was last looked at, to be compared after events were lost.
package struct FolderSnapshot: Sendable, Equatable {
    package struct Stamp: Sendable, Equatable {
        package var inode: UInt64
        package var size: Int64
        package var modified: Int64
        package var changed: Int64
        package var permissions: UInt32 = 0
        package var userID: UInt32 = 0
        package var groupID: UInt32 = 0
        package var links: UInt64 = 0
        package var isFolder: Bool
        var isRegular = false
        /// A comparison has told that it came or was written; the kernel's own report of the same state is not told
        /// again.
        var isRecovered = false
        /// The same of its attributes.
        var areAttributesRecovered = false
        /// Its making was reported, but not yet that it was closed after writing: should that report be lost, it is due
        /// although the content may be what it already was when the making was reported.
        var isOpen = false
        /// Nobody was told of its making, but of something else since.
        var isMentioned = false
        /// Taken so soon after the last change that another one may have left the same times.
        var isFresh = false

        package init(_ status: FileStatus) {
            inode = status.inode
            size = status.size
            modified = status.modified
            changed = status.changed
            (permissions, userID, groupID) = (status.permissions, status.userID, status.groupID)
            links = status.kind == .folder ? 0 : status.links
            isFolder = status.kind == .folder
            isRegular = status.kind == .regular
            isFresh = isFresh(at: Linux.now(.realtime))
        }

        /// Where the kernel makes what is read, neither times nor numbers say anything of it (`proc(5)`).
        ///
        /// - Parameter content: a hash of what is in it, where that is compared.
        init(generated status: FileStatus, content: Int64 = 0) {
            self.init(status)
            (inode, size, modified, changed, isFresh, isRegular) = (1, content, 0, 0, false, false)
        }

        /// Something that stands nowhere.
        static let nothing = Stamp(inode: 0, size: 0, modified: 0, changed: 0, isFolder: false)

        init(inode: UInt64, size: Int64, modified: Int64, changed: Int64, isFolder: Bool) {
            self.inode = inode
            self.size = size
            self.modified = modified
            self.changed = changed
            self.isFolder = isFolder
        }

        func isSameContent(as other: Stamp) -> Bool {
            inode == other.inode && size == other.size && modified == other.modified
        }

        /// Whether another change may leave the times it has.
        ///
        /// - Parameter now: microseconds of the wall clock.
        func isFresh(at now: Int64) -> Bool { Self.isFresh(changed, at: now) }

        /// - Parameter changed: nanoseconds of the last change of the inode.
        static func isFresh(_ changed: Int64, at now: Int64) -> Bool {
            let isCoarse = changed % 1_000_000_000 == 0
            return now * 1000 - changed < (isCoarse ? 2_000_000_000 : 20_000_000)
        }

        /// Nothing was written since it was told with this stamp.
        func isTold(as other: Stamp) -> Bool {
            !isOpen && !isFresh && isSameContent(as: other) && changed == other.changed
        }

        /// The time of its content is an earlier one there, and nothing else of the content is another. No writer sets
        /// it back: it was set after the file was closed (`unzip`, `rsync -t`). Should it still be open, its close is told.
        func isSetBack(in newer: Stamp) -> Bool {
            inode == newer.inode && size == newer.size && newer.modified < modified
        }

        /// Its time alone was set there: nobody has the file at the path open for writing, and whoever closed it was told.
        func isTimeSet(in newer: Stamp, at path: [UInt8]) -> Bool {
            if isSetBack(in: newer) { return true }
            return inode == newer.inode && size == newer.size && modified != newer.modified
                && Linux.writers(of: path) == .none
        }

        /// Its mode, owner, links or an earlier time were set there, whatever else has changed.
        func areAttributesSet(in newer: Stamp) -> Bool {
            inode == newer.inode && (!isSameAccess(as: newer) || isSetBack(in: newer))
        }

        func isSameAccess(as other: Stamp) -> Bool {
            permissions == other.permissions && userID == other.userID && groupID == other.groupID
                && links == other.links
        }

        /// New content may have the old size and time (`cp --preserve`, `touch -r`), but the inode changes when it is
        /// written: for no other reason while owner, mode and links are what they were.
        func mayHaveSameContent(as other: Stamp) -> Bool {
            isSameContent(as: other) && (changed == other.changed || !isSameAccess(as: other))
        }
    }

    /// A difference that a comparison has found.
    struct Found: Sendable {
        var name: [UInt8]
        var difference: Difference
        /// Somebody may still write the file: it is told when nobody does any more.
        var isBeingWritten = false
    }

    package enum Difference: Equatable, Sendable {
        case appeared, contentChanged, attributesChanged, disappeared
    }

    package var entries = StampTable()
    /// Symbolic links that stand for what they lead to.
    var links: Set<[UInt8]> = []
    /// Entries that cannot be looked at, and why.
    var hidden: [[UInt8]: SystemError] = [:]

    package init() {}

    /// Lists a folder; one that is not there is empty. May take long: not on `watchd.core`.
    ///
    /// - Parameters:
    ///   - isGenerated: the kernel makes what is read there: entries only come and go.
    ///   - follows: symbolic links stand for what they lead to.
    /// - Throws: where it cannot be known what stands there (no descriptor is free, no permission, a disk that fails);
    ///   an entry of which that is so by itself is hidden.
    package init(listing folder: [UInt8], isGenerated: Bool = false, follows: Bool = false) throws(SystemError) {
        let names: [FolderEntry]
        do throws(SystemError) {
            names = try Linux.readFolder(folder)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return
        }
        for (number, entry) in names.enumerated() {
            if number & 1023 == 1023 { Lanes.goesOn() }
            let path = folder + (folder.last == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]) + entry.name
            let found: FileStatus?
            do throws(SystemError) {
                found = try Self.status(path)
            } catch {
                hidden[entry.name] = error
                continue
            }
            guard var status = found else { continue }
            if follows, status.kind == .symbolicLink {
                links.insert(entry.name)
                status = PathRoot.followed(status, path)
            }
            entries[entry.name] = isGenerated ? Stamp(generated: status) : Stamp(status)
        }
    }

    /// A path that is not a folder, or leads to none, under its own name.
    ///
    /// - Parameter isGenerated: the kernel makes what is read there: the content is compared.
    package init(of path: [UInt8], isGenerated: Bool = false) throws(SystemError) {
        let name = Array(path[((path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...])
        guard let status = try Self.status(path).map({ PathRoot.followed($0, path) }), status.kind != .folder else {
            return
        }
        let content = isGenerated && status.kind == .regular ? Self.hashOfContent(path) : 0
        entries[name] = isGenerated ? Stamp(generated: status, content: content) : Stamp(status)
    }

    /// As much of a file that the kernel makes is compared.
    private static let mostGenerated = 65_536

    /// FNV-1a; 0 for one that cannot be read.
    private static func hashOfContent(_ path: [UInt8]) -> Int64 {
        let content = (try? Linux.open(path, [.reading, .nonBlocking]))?.use { file in
            try? Linux.readPrefix(file, atMost: mostGenerated)
        }
        guard let content = content ?? nil else { return 0 }
        let hash = content.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        return Int64(bitPattern: hash)
    }

    /// Takes over the numbers that the same entries had, where those say nothing.
    mutating func takeNumbers(of older: FolderSnapshot) {
        for (name, stamp) in older.entries where entries[name]?.isFolder == stamp.isFolder {
            entries[name]?.inode = stamp.inode
        }
    }

    private static func status(_ path: [UInt8]) throws(SystemError) -> FileStatus? {
        do throws(SystemError) {
            return try Linux.lstat(path)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return nil
        }
    }

    /// The same, with whether somebody may still write what was found. May take long: not on `watchd.core`.
    ///
    /// - Parameter path: of an entry.
    func found(
        to newer: FolderSnapshot, trustsFresh: Bool, follows: Bool = false, path: ([UInt8]) -> [UInt8]
    ) -> [Found] {
        differences(to: newer, trustsFresh: trustsFresh).map { name, difference in
            let mayBeWritten = difference == .appeared || difference == .contentChanged
            let isRegular = newer.entries[name]?.isRegular ?? false
            let isBeingWritten = mayBeWritten && isRegular && Linux.writers(of: path(name), follows: follows) != .none
            return Found(name: name, difference: difference, isBeingWritten: isBeingWritten)
        }
    }

    /// The changes that a newer snapshot shows, in the order of the names.
    ///
    /// - Parameter trustsFresh: what was stamped so soon after a change that another one may be hidden counts as it is.
    package func differences(
        to newer: FolderSnapshot, trustsFresh: Bool = true
    ) -> [(name: [UInt8], difference: Difference)] {
        var found: [(name: [UInt8], difference: Difference)] = []
        for (name, stamp) in newer.entries {
            guard let old = entries[name] else {
                found.append((name, .appeared))
                continue
            }
            let isSame = old.mayHaveSameContent(as: stamp) && !old.isOpen && (trustsFresh || !old.isFresh)
            // A change within a folder is no change of the folder's own, though it changes its times.
            if !isSame, !stamp.isFolder || old.inode != stamp.inode {
                found.append((name, .contentChanged))
            } else if !old.isSameAccess(as: stamp)
                || (stamp.isFolder && old.isSameContent(as: stamp) && old.changed != stamp.changed)
            {
                found.append((name, .attributesChanged))
            }
        }
        for (name, _) in entries where newer.entries[name] == nil && newer.hidden[name] == nil {
            found.append((name, .disappeared))
        }
        return found.sorted { $0.name.lexicographicallyPrecedes($1.name) }
    }
}

extension PathState {
    /// Of something that stands, or stood, at a path, and whose content is still to be told: a comparison finds a
    /// difference, whatever stands there.
    static func untold(_ kind: Kind = .file) -> PathState {
        var state = PathState(kind)
        (state.inode, state.size) = (1, -1)
        return state
    }
}

extension FolderSnapshot.Stamp {
    init(_ state: PathState) {
        self = .nothing
        (inode, size, modified, changed) = (state.inode, state.size, state.modified, state.changed)
        (permissions, userID, groupID, links) = (state.permissions, state.userID, state.groupID, state.links)
        (isFolder, isFresh) = (state.kind == .folder, state.isFresh)
    }

    var state: PathState {
        // Something that stands nowhere.
        guard inode != 0 else { return .nothing }
        var state = PathState(isFolder ? .folder : .file)
        (state.inode, state.size, state.modified, state.changed) = (inode, size, modified, changed)
        (state.permissions, state.userID, state.groupID, state.links) = (permissions, userID, groupID, links)
        state.isFresh = isFresh
        return state
    }
}
