import Engine
import LinuxSystem
import WatchFile

/// Paths, and what is told of them.
extension TreeRoot {
    private static let slash = UInt8(ascii: "/")

    func fullPath(_ id: FileTree.ID) -> [UInt8] {
        guard id != FileTree.holder else { return path }
        let below = tree.path(of: id)
        return below.isEmpty ? path : joined(path, below)
    }

    /// Of a name in a folder; of the holder, the root.
    func fullPath(_ folder: FileTree.ID, _ name: [UInt8]) -> [UInt8] {
        if folder == FileTree.holder { return path }
        // Most come from the folder of the one before.
        let reference = tree.reference(folder)
        if let place = lastPlace, place.folder == reference { return joined(place.path, name) }
        let path = fullPath(folder)
        lastPlace = (reference, path)
        return joined(path, name)
    }

    func joined(_ folder: [UInt8], _ name: [UInt8]) -> [UInt8] {
        if name.isEmpty { return folder }
        return folder.last == Self.slash ? folder + name : folder + [Self.slash] + name
    }

    func tell(_ change: PathChange, _ node: FileTree.ID, isRecovered: Bool = false, isNew: Bool = false) {
        tell(
            PathFact(
                change, path: fullPath(node), root: path, isRecovered: isRecovered, isNew: isNew,
                isFolder: tree.isFolder(node)), change == .deleted ? gone : toldState(of: node))
    }

    /// Nothing stands there any more.
    func tellDeleted(_ path: [UInt8], isFolder: Bool) {
        tell(PathFact(.deleted, path: path, root: self.path, isFolder: isFolder), gone)
    }

    /// A folder that came goes at once. Another one may have stood there before, whose end waits to be told.
    func tellUntoldEnd(of folder: FileTree.ID) {
        var fact = PathFact(.deleted, path: fullPath(folder), root: path, isFolder: true)
        fact.isUntold = true
        tell(fact, nil)
    }

    private var gone: PathState? { isRecording ? .nothing : nil }

    /// Later, while the source is held: what a turn may still tell then has a bound.
    ///
    /// - Parameter state: what stands there; `nil`: nobody records it.
    func tell(_ fact: PathFact, _ state: PathState?) {
        hub.trail?("tell \(fact.change) \(fact.oldPath?.printable ?? "") \(fact.path.printable) \(fact.isRecovered)")
        if fact.change == .deleted, !record.started.isEmpty { record.started[fact.path] = nil }
        // A change of the root itself, which is no change below it, is told by the changes of the rest.
        if fact.isFolder, fact.path.count == path.count, fact.change != .attributes {
            if let state {
                owner.handled?.note(owner.id, [PathMoment(root: path, path: fact.path, state: state)])
            }
            return
        }
        guard !outbox.isEmpty || owner.isHeld, owner.wants(fact) else {
            _ = owner.tell(fact, state: state)
            return
        }
        outbox.append((fact, state))
    }

    // MARK: Renames

    /// A file or folder with everything below it has another path now.
    func tellRenamed(_ node: FileTree.ID, from oldPath: [UInt8], hasReplaced: Bool) {
        tellRenamed(node, node, from: oldPath, hasReplaced: hasReplaced)
        guard tree.isFolder(node) else { return }
        for id in tree.below(node) {
            tellRenamed(id, node, from: joined(oldPath, tree.path(of: id, below: node)), hasReplaced: false)
        }
    }

    private func tellRenamed(_ id: FileTree.ID, _ top: FileTree.ID, from oldPath: [UInt8], hasReplaced: Bool) {
        if tree.has(.isNew, id) {
            // Nobody knows of it: it is new at its new place.
            if tree.isFolder(id) {
                noteUntold([(id, oldPath)])
                if tree.has(.isUnseen, id) { return }
                // It may have come to where another one was deleted, which waits to be told.
                return tell(PathFact(.created, path: fullPath(id), root: path, isFolder: true), nil)
            }
            if hasReplaced { tree.clear(.isNew, id) }
            return addDue(id)
        }
        if tree.has(.isDue, id) { due.add(tree.reference(id)) }
        let isFolder = tree.isFolder(id)
        guard events.contains(.renamed) else {
            tellDeleted(oldPath, isFolder: isFolder)
            if isFolder { tell(.created, id) } else { tell(.written, id, isNew: !hasReplaced) }
            return
        }
        tell(
            PathFact(
                .renamed, path: fullPath(id), oldPath: oldPath, root: path, hasReplaced: hasReplaced,
                isFolder: isFolder), toldState(of: id))
    }

    // MARK: Files that are due

    /// The content is told when nobody writes it.
    func addDue(_ id: FileTree.ID) {
        hub.trail?("due \(fullPath(id).printable)")
        tree.set(.isDue, id)
        due.add(tree.reference(id))
    }

    func duePath(_ file: FileTree.Reference) -> [UInt8]? {
        guard !isOver, let id = tree.id(file), tree.has(.isDue, id), !tree.isFolder(id) else { return nil }
        return fullPath(id)
    }

    /// Nobody writes a file any more whose close was not reported.
    ///
    /// - Parameter known: how it stood then.
    func completed(_ file: FileTree.Reference, _ known: FileStatus?) {
        guard !isOver, let id = tree.id(file), tree.has(.isDue, id) else { return }
        // Its close is reported to its folder as well; or the folder is compared.
        if leavesForLater(tree.parent(of: id)) { return }
        // Where nothing is watched it may hang, and is not looked at again.
        guard let status = owner.polls || isLink(id) ? known : look(fullPath(id)) else { return doubt(id) }
        guard status.kind != .folder else { return doubt(id) }
        tree.setStamp(status, isFresh: status.isFresh, of: id)
        tellWritten(id)
    }

    /// Its content, which is complete.
    func tellWritten(_ id: FileTree.ID) {
        let flags = tree.flags(of: id)
        tree.clear([.isNew, .isDue, .isRecovered], id)
        due.forget(tree.reference(id))
        tell(.written, id, isRecovered: flags.contains(.isRecovered), isNew: flags.contains(.isNew))
    }

    // MARK: Looking

    /// The status of a path now; `nil`: nothing, or it cannot be known.
    func look(_ path: [UInt8]) -> FileStatus? { try? Linux.statusOfAny(path, follows: path.count == self.path.count) }
}
