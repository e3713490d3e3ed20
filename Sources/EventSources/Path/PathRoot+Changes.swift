import Engine
import LinuxSystem
import WatchFile

/// The changes of the entries: found by comparing, and reported by the kernel. Both may see one change; it is told
/// once.
extension PathRoot {
    /// Tells a difference to what stands there now.
    func tell(_ found: FolderSnapshot.Found, _ newer: FolderSnapshot) {
        let (name, difference) = (found.name, found.difference)
        let (wasRecovered, isNew) = (snapshot.entries[name]?.isRecovered ?? false, isUntold(name))
        newFiles.remove(name)
        gone.remove(name)
        awaited.remove(name)
        if found.isBeingWritten { return wait(for: found, newer) }
        let old = snapshot.entries[name]
        snapshot.entries[name] = newer.entries[name]
        if isNew, difference == .disappeared { return }
        let isTold = tell(difference, name, isNew: isNew, isFolder: newer.entries[name]?.isFolder ?? false)
        if isTold, difference == .disappeared { gone.insert(name) }
        if difference == .contentChanged, let old, let new = newer.entries[name], old.areAttributesSet(in: new) {
            tell(.attributes, name, isRecovered: true)
        }
        let isOfAttributes = difference == .attributesChanged
        snapshot.entries[name]?.isRecovered = isOfAttributes ? wasRecovered : isTold
        snapshot.entries[name]?.areAttributesRecovered = isOfAttributes && isTold
    }

    /// A file stands in the place of a folder, or the other way round: of the old nothing is there any more.
    func tellAllGone() {
        let names = snapshot.entries.map(\.0).sorted { $0.lexicographicallyPrecedes($1) }
        for name in names where hasBegun && !isUntold(name) {
            newFiles.remove(name)
            snapshot.entries[name] = nil
            tell(.deleted, name, isRecovered: true)
        }
        (snapshot, gone, awaited) = (FolderSnapshot(), [], [])
    }

    /// The folder itself has come or gone, which `PathChanged=` and `PathModified=` tell, as systemd does.
    func tellFolder() {
        guard owner.trigger.ownEvents[path] != nil, !owner.isHeld else { return }
        owner.tell(PathFact(exists ? .created : .deleted, path: path, root: path, isFolder: true))
    }

    /// A file that somebody may still write is told when it is complete.
    private func wait(for found: FolderSnapshot.Found, _ newer: FolderSnapshot) {
        let name = found.name
        // Of what stood there before, the difference stays.
        if found.difference == .appeared {
            snapshot.entries[name] = newer.entries[name]
            tell(.created, name, isRecovered: true, isComplete: false)
            snapshot.entries[name]?.isOpen = true
        }
        awaited.insert(name)
        newFiles.add(name)
    }

    /// False: nobody wants to know.
    private func tell(
        _ difference: FolderSnapshot.Difference, _ name: [UInt8], isNew: Bool, isFolder: Bool
    ) -> Bool {
        switch difference {
        case .appeared:
            let isTold = tell(.created, name, isRecovered: true, isFolder: isFolder, isComplete: isFolder)
            let isNew = !events.contains(.created)
            return (!isFolder && tell(.written, name, isRecovered: true, isNew: isNew)) || isTold
        case .contentChanged:
            let change = events.contains(.modified) && !events.contains(.written) ? PathChange.modified : .written
            return tell(change, name, isRecovered: true, isNew: isNew)
        case .attributesChanged: return tell(.attributes, name, isRecovered: true)
        case .disappeared: return tell(.deleted, name, isRecovered: true)
        }
    }

    // MARK: Events

    /// - Parameter isOlder: than the snapshot, which shows what it did already, though nobody was told.
    func take(_ event: FolderEvent, isOlder: Bool = false) {
        if look?.isGenerated == true {
            isDirty = true
            return
        }
        if owner.isHeld {
            if isOlder || hub.isReplaying { unlist(event) }
            isDirty = true
            return
        }
        let name = event.name
        let (former, cameLast) = (lastRename, lastMovedIn)
        if event.change.isOfName { (lastRename, lastMovedIn) = (nil, nil) }
        switch event.change {
        case .created: created(name)
        case .closedAfterWriting: closed(name, isOlder: isOlder)
        case .modified where !event.isFolder: if !gone.contains(name) { mention(.modified, name) }
        // Of a folder, its time alone was set.
        case .modified, .attributes: if !gone.contains(name) { attributesChanged(name) }
        case .deleted, .movedOut:
            // A file that a comparison has told has stood there since.
            newFiles.remove(name)
            guard gone.remove(name) == nil, !stands(name) else { return }
            // It has changed places with the one that came just before.
            if name == cameLast, isInPlace(name) { return }
            let wasNew = isUntold(name)
            leaveLink(name)
            snapshot.entries[name] = nil
            if !wasNew { tell(.deleted, name) }
        case .movedIn:
            lastMovedIn = name
            newFiles.remove(name)
            gone.remove(name)
            guard !stands(name) else { return }
            let isNew = snapshot.entries[name] == nil || isUntold(name)
            let status = remember(name)
            // One that somebody writes is complete at its close.
            if isNew, status?.kind == .regular, Linux.writers(of: fullPath(name)) == .some {
                snapshot.entries[name]?.isOpen = true
                return newFiles.add(name)
            }
            arrived(name, status, isNew: isNew)
        case .renamed(_, let fromName):
            lastRename = NamePair(from: fromName, to: name)
            renamed(name, from: fromName, isReturn: former == NamePair(from: name, to: fromName))
        case .selfChanged, .overflowed: break
        }
    }

    /// Nobody was told that it is there: it was made, and was not closed yet.
    private func isUntold(_ name: [UInt8]) -> Bool {
        guard !events.contains(.created), let stamp = snapshot.entries[name] else { return false }
        return stamp.isOpen && !stamp.isMentioned
    }

    /// Tells of something that may be the first that is told of it: its end is told as well then.
    private func mention(_ change: PathChange, _ name: [UInt8]) {
        let isNew = isUntold(name)
        if tell(change, name, isNew: isNew), isNew { snapshot.entries[name]?.isMentioned = true }
    }

    private func created(_ name: [UInt8]) {
        gone.remove(name)
        // Created and gone again before it could be looked at.
        guard let status = remember(name) else {
            snapshot.entries[name]?.isOpen = true
            tell(.created, name)
            return
        }
        if snapshot.entries[name]?.isRecovered == true { return }
        snapshot.entries[name]?.isOpen = status.kind == .regular
        if status.kind == .regular { newFiles.add(name) }
        let isComplete = ![.regular, .symbolicLink].contains(status.kind)
        tell(.created, name, isFolder: status.kind == .folder, isComplete: isComplete)
        if status.kind == .symbolicLink { tell(.written, name, isNew: !events.contains(.created)) }
    }

    /// - Parameter status: how it stood; `nil`: that is looked at.
    private func closed(_ name: [UInt8], isOlder: Bool, isRecovered: Bool = false, _ status: FileStatus? = nil) {
        newFiles.remove(name)
        // It was closed before it went.
        guard !gone.contains(name) else { return }
        let (old, isNew) = (snapshot.entries[name], isUntold(name))
        _ = remember(name, status)
        guard let new = snapshot.entries[name], !new.isRecovered else { return }
        // A program that had it open for writing has not written.
        if let old, isSettled, !isOlder, !hub.isReplaying, old.isTold(as: new) { return }
        tell(.written, name, isRecovered: isRecovered, isNew: isNew)
    }

    /// Nobody writes a file any more whose close was not reported here.
    func completed(_ name: [UInt8], _ status: FileStatus?) {
        let isAwaited = awaited.contains(name)
        guard !isOver, isAwaited || snapshot.entries[name]?.isOpen == true else { return }
        if isListing { return newFiles.add(name) }
        if owner.isHeld {
            isDirty = true
            return
        }
        awaited.remove(name)
        // Where it may hang, it is not looked at again.
        closed(name, isOlder: false, isRecovered: isAwaited, mayHang ? status : nil)
    }

    /// The snapshot takes them over, unless it has to show that the content is still to be told.
    private func attributesChanged(_ name: [UInt8]) {
        if let old = snapshot.entries[name], var stamp = stamp(name) {
            let isSet = !old.isFolder && old.isTimeSet(in: stamp, at: fullPath(name))
            guard isSet || old.isSameContent(as: stamp) || (old.isFolder && old.inode == stamp.inode) else {
                return mention(.attributes, name)
            }
            if old.areAttributesRecovered, old.changed == stamp.changed { return }
            stamp.isFresh = stamp.isFresh || isSet
            (stamp.isRecovered, stamp.isOpen) = (old.isRecovered, old.isOpen)
            stamp.isMentioned = old.isMentioned
            snapshot.entries[name] = stamp
        }
        mention(.attributes, name)
    }

    /// One event where it was asked for, else what it means at each end. A comparison may have told either end.
    ///
    /// - Parameter isReturn: the reverse was reported just before.
    private func renamed(_ name: [UInt8], from oldName: [UInt8], isReturn: Bool) {
        newFiles.remove(oldName)
        newFiles.remove(name)
        if exchanged.remove(NamePair(from: oldName, to: name)) != nil { return }
        if haveExchanged(name, oldName) {
            exchanged.insert(NamePair(from: name, to: oldName))
            return exchange(name, oldName)
        }
        // They have changed places, which showed no more at the first report.
        if isReturn, stamp(oldName) != nil, Linux.writers(of: fullPath(oldName)) != .some {
            return exchange(name, oldName)
        }
        let (hasToldOld, hasToldNew, wasNew) = (gone.remove(oldName) != nil, stands(name), isUntold(oldName))
        let hasReplaced = snapshot.entries[name] != nil && !hasToldNew && !isUntold(name)
        gone.remove(name)
        leaveLink(oldName)
        snapshot.entries[oldName] = nil
        let status = remember(name)
        if hasToldOld, hasToldNew { return }
        if wasNew, !hasReplaced {
            guard !hasToldNew else { return }
            // Nobody writes a link.
            guard status?.kind != .symbolicLink else {
                tell(.written, name, isNew: true)
                return
            }
            snapshot.entries[name]?.isOpen = true
            return newFiles.add(name)
        }
        guard events.contains(.renamed), !wasNew else {
            if !hasToldOld, !wasNew { tell(.deleted, oldName) }
            if !hasToldNew { arrived(name, status, isNew: !hasReplaced) }
            return
        }
        owner.tell(
            PathFact(.renamed, path: fullPath(name), oldPath: fullPath(oldName), root: path, hasReplaced: hasReplaced),
            state: state(name).map { $0 == .nothing ? .untold() : $0 })
    }

    /// A folder that comes by a rename counts as made there, where nobody asks for written ones.
    private func arrived(_ name: [UInt8], _ status: FileStatus?, isNew: Bool) {
        let isMade = status?.kind == .folder && !events.contains(.written)
        tell(isMade ? .created : .written, name, isNew: isNew, isFolder: isMade)
    }

    /// Whether two names have changed places (`rename(2)` RENAME_EXCHANGE), which the kernel reports as two renames.
    private func haveExchanged(_ name: [UInt8], _ oldName: [UInt8]) -> Bool {
        guard let first = snapshot.entries[oldName], let second = snapshot.entries[name], first.inode != second.inode,
            let now = stamp(oldName), now.inode == second.inode, now.isFolder || now.isSameContent(as: second)
        else { return false }
        return stamp(name)?.inode == first.inode
    }

    private func exchange(_ name: [UInt8], _ oldName: [UInt8]) {
        for name in [oldName, name] {
            gone.remove(name)
            let (hasTold, isNew) = (stands(name), snapshot.entries[name] == nil || isUntold(name))
            _ = remember(name)
            if !hasTold { tell(.written, name, isNew: isNew) }
        }
    }

    /// Makes the snapshot differ where an event that cannot be told now is older than it: the comparison that follows
    /// tells what it says.
    private func unlist(_ event: FolderEvent) {
        let name = event.name
        switch event.change {
        case .created, .movedIn: snapshot.entries[name] = nil
        case .closedAfterWriting, .modified: snapshot.entries[name]?.inode = 0
        case .attributes: snapshot.entries[name]?.permissions = .max
        case .deleted, .movedOut: snapshot.entries[name] = snapshot.entries[name] ?? .nothing
        case .renamed(_, let fromName):
            snapshot.entries[fromName] = snapshot.entries[fromName] ?? .nothing
            snapshot.entries[name] = nil
        case .selfChanged, .overflowed: break
        }
    }

    /// Stamps what stands at a name now; `isRecovered` stays when it is what a comparison has already told. A file that
    /// is gone again by now is told nevertheless, and so its going is due as well.
    private func remember(_ name: [UInt8], _ known: FileStatus? = nil) -> FileStatus? {
        let path = fullPath(name)
        guard let status = try? known ?? Linux.lstat(path) else {
            leaveLink(name)
            snapshot.entries[name] = .nothing
            return nil
        }
        if status.kind == .symbolicLink { followEntry(name) } else { leaveLink(name) }
        let stamp = FolderSnapshot.Stamp(followsEntries ? Self.followed(status, path) : status)
        if let old = snapshot.entries[name], old.isRecovered, old.isSameContent(as: stamp) { return status }
        snapshot.entries[name] = stamp
        return status
    }

    private func stamp(_ name: [UInt8]) -> FolderSnapshot.Stamp? {
        let path = fullPath(name)
        return (try? Linux.lstat(path)).map {
            FolderSnapshot.Stamp(followsEntries ? Self.followed($0, path) : $0)
        }
    }

    /// Whether what stands there now was told by a comparison, and nothing has happened to it since.
    private func stands(_ name: [UInt8]) -> Bool {
        guard let old = snapshot.entries[name], old.isRecovered, let stamp = stamp(name) else { return false }
        return old.isSameContent(as: stamp) && old.changed == stamp.changed
    }

    /// Whether what is remembered of a name is what stands there now.
    private func isInPlace(_ name: [UInt8]) -> Bool {
        guard let old = snapshot.entries[name], let stamp = stamp(name) else { return false }
        return old.inode == stamp.inode
    }

    func fullPath(_ name: [UInt8]) -> [UInt8] { Self.fullPath(name, below: path, isFolder: isFolder) }

    static func fullPath(_ name: [UInt8], below path: [UInt8], isFolder: Bool) -> [UInt8] {
        guard isFolder, !name.isEmpty else { return path }
        return path.last == UInt8(ascii: "/") ? path + name : path + [UInt8(ascii: "/")] + name
    }

    /// - Parameter isComplete: false: its content is still to be told. Whatever is recorded before, a comparison finds a
    ///   difference. So it does of what is gone already, and whose end is not told yet.
    @discardableResult private func tell(
        _ change: PathChange, _ name: [UInt8], isRecovered: Bool = false, isNew: Bool = false, isFolder: Bool = false,
        isComplete: Bool = true
    ) -> Bool {
        var state = state(name)
        if change == .deleted, !record.started.isEmpty { record.started[fullPath(name)] = nil }
        if change != .deleted, state == .nothing { state = .untold() }
        if !isComplete { state?.size = -1 }
        return owner.tell(
            PathFact(change, path: fullPath(name), root: path, isRecovered: isRecovered, isNew: isNew),
            isFolder: isFolder, state: state)
    }
}
