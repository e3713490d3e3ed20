import Engine
import LinuxSystem
import WatchFile

/// What is told of the entries: by comparing, and of what the kernel reports. Both may see one change; it is told once.
extension PathRoot {
    func compare(with newer: FolderSnapshot) {
        for (name, difference) in snapshot.differences(to: newer) {
            guard !isOver else { return }
            // What is not told now must differ from the snapshot the next time too.
            if owner.isHeld { return isDirty = true }
            let wasRecovered = snapshot.entries[name]?.isRecovered ?? false
            snapshot.entries[name] = newer.entries[name]
            gone.remove(name)
            let isTold = tell(difference, name, isFolder: newer.entries[name]?.isFolder ?? false)
            if isTold, difference == .disappeared { gone.insert(name) }
            let isOfAttributes = difference == .attributesChanged
            snapshot.entries[name]?.isRecovered = isOfAttributes ? wasRecovered : isTold
            snapshot.entries[name]?.areAttributesRecovered = isOfAttributes && isTold
        }
    }

    /// False: nobody wants to know.
    private func tell(_ difference: FolderSnapshot.Difference, _ name: [UInt8], isFolder: Bool) -> Bool {
        switch difference {
        case .appeared:
            let isTold = tell(.created, name, isRecovered: true)
            return (!isFolder && tell(.written, name, isRecovered: true)) || isTold
        case .contentChanged: return tell(events.contains(.written) ? .written : .modified, name, isRecovered: true)
        case .attributesChanged: return tell(.attributes, name, isRecovered: true)
        case .disappeared: return tell(.deleted, name, isRecovered: true)
        }
    }

    // MARK: Events

    /// - Parameter isOlder: than the snapshot, which shows what it did already, though nobody was told.
    func take(_ event: FolderEvent, isOlder: Bool = false) {
        if owner.isHeld {
            if isOlder || hub.isReplaying { unlist(event) }
            return isDirty = true
        }
        let name = event.name
        switch event.change {
        case .created: created(name)
        case .closedAfterWriting:
            // It was closed before it went.
            guard !gone.contains(name) else { return }
            _ = remember(name)
            if snapshot.entries[name]?.isRecovered != true { tell(.written, name) }
        case .modified: if !gone.contains(name) { tell(.modified, name) }
        case .attributes: if !gone.contains(name) { attributesChanged(name) }
        case .deleted, .movedOut:
            // What a comparison has told stands there since.
            guard gone.remove(name) == nil, !stands(name) else { return }
            snapshot.entries[name] = nil
            tell(.deleted, name)
        case .movedIn:
            gone.remove(name)
            guard !stands(name) else { return }
            _ = remember(name)
            tell(.written, name)
        case .renamed(_, let fromName): renamed(name, from: fromName)
        case .selfChanged, .overflowed: break
        }
    }

    private func created(_ name: [UInt8]) {
        gone.remove(name)
        // Created and gone again before it could be looked at.
        guard let status = remember(name) else {
            tell(.created, name)
            return
        }
        if snapshot.entries[name]?.isRecovered == true { return }
        snapshot.entries[name]?.isOpen = status.kind == .regular && status.links == 1
        tell(.created, name)
        if status.kind == .symbolicLink || (status.kind == .regular && status.links > 1) { tell(.written, name) }
    }

    /// The snapshot takes them over, unless it has to show that the content is still to be told.
    private func attributesChanged(_ name: [UInt8]) {
        if let old = snapshot.entries[name], var stamp = stamp(name),
            old.isSameContent(as: stamp) || (old.isFolder && old.inode == stamp.inode)
        {
            if old.areAttributesRecovered, old.changed == stamp.changed { return }
            (stamp.isRecovered, stamp.isOpen) = (old.isRecovered, old.isOpen)
            snapshot.entries[name] = stamp
        }
        tell(.attributes, name)
    }

    /// One event where it was asked for, else what it means at each end. A comparison may have told either end.
    private func renamed(_ name: [UInt8], from oldName: [UInt8]) {
        let (hasToldOld, hasToldNew) = (gone.remove(oldName) != nil, stands(name))
        let hasReplaced = snapshot.entries[name] != nil && !hasToldNew
        gone.remove(name)
        snapshot.entries[oldName] = nil
        _ = remember(name)
        if hasToldOld, hasToldNew { return }
        guard events.contains(.renamed) else {
            if !hasToldOld { tell(.deleted, oldName) }
            if !hasToldNew { tell(.written, name) }
            return
        }
        owner.tell(
            PathFact(.renamed, path: fullPath(name), oldPath: fullPath(oldName), root: path, hasReplaced: hasReplaced))
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

    /// Stamps what stands at a name now; `isRecovered` stays when it is what a comparison has already told. What is
    /// gone again by now is told nevertheless, and so its going is due as well.
    private func remember(_ name: [UInt8]) -> FileStatus? {
        guard let status = try? Linux.lstat(fullPath(name)) else {
            snapshot.entries[name] = .nothing
            return nil
        }
        let stamp = FolderSnapshot.Stamp(status)
        if let old = snapshot.entries[name], old.isRecovered, old.isSameContent(as: stamp) { return status }
        snapshot.entries[name] = stamp
        return status
    }

    private func stamp(_ name: [UInt8]) -> FolderSnapshot.Stamp? {
        (try? Linux.lstat(fullPath(name))).map { FolderSnapshot.Stamp($0) }
    }

    /// Whether what stands there now was told by a comparison, and nothing has happened to it since.
    private func stands(_ name: [UInt8]) -> Bool {
        guard let old = snapshot.entries[name], old.isRecovered, let stamp = stamp(name) else { return false }
        return old.isSameContent(as: stamp) && old.changed == stamp.changed
    }

    func fullPath(_ name: [UInt8]) -> [UInt8] {
        guard isFolder else { return path }
        return path.last == UInt8(ascii: "/") ? path + name : path + [UInt8(ascii: "/")] + name
    }

    @discardableResult private func tell(_ change: PathChange, _ name: [UInt8], isRecovered: Bool = false) -> Bool {
        owner.tell(PathFact(change, path: fullPath(name), root: path, isRecovered: isRecovered))
    }
}
