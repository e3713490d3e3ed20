import LinuxSystem
import WatchFile

/// Names that are looked at again when all reports are through.
extension TreeRoot {
    /// Microseconds in which the report of a rename comes that shows already.
    private static let rest = 200_000

    func doubt(_ id: FileTree.ID) {
        // The next round finds it.
        if owner.polls { return }
        doubts.insert(tree.reference(id))
        planDoubts()
    }

    func planDoubts() {
        guard !doubts.isEmpty || !doubtedNames.isEmpty, !areDoubtsPlanned else { return }
        areDoubtsPlanned = true
        hub.after(0) { [weak self] in
            self?.hub.whenCaughtUp { self?.lookAtDoubts() }
        }
    }

    private func lookAtDoubts() {
        areDoubtsPlanned = false
        guard !isOver else { return }
        // Another file system may stand there, or none: then nothing is known of the rest.
        if let root = tree.root, doubts.remove(tree.reference(root)) != nil {
            let number = treeNumber
            hub.trail?("look again at the root")
            lookAgain(root)
            if number != treeNumber { return pump() }
        }
        let (all, names) = (doubts, doubtedNames)
        (doubts, doubtedNames, looks) = ([], [], [])
        for reference in all {
            if let id = tree.id(reference) {
                hub.trail?("look again \(fullPath(id).printable) \(tree.flags(of: id).rawValue)")
                lookAgain(id)
            }
        }
        for name in names { lookAgain(name) }
        pump()
    }

    /// When all reports are through.
    func lookAgain(_ node: FileTree.ID) {
        if node == tree.root { return lookAtRoot() }
        let folder = tree.parent(of: node)
        if leavesForLater(folder) { return }
        let status: FileStatus
        do throws(SystemError) {
            status = try Linux.statusOfAny(fullPath(node))
        } catch {
            guard error.isOfNothing else { return cannotSee(folder, error) }
            noteGone(DoubtedName(folder: tree.reference(folder), name: tree.name(of: node)))
            return removeTree(node)
        }
        if follows(status) { return lookAtLink(node) }
        noLink(node)
        if looks.count < Self.looksLimit { looks.append(tree.reference(node)) }
        if tree.has(.isUnseen, node) || !tree.isOfKind(status.kind, node) || tree[node].inode != status.inode {
            return take(status, at: node, isRecovered: false)
        }
        if status.kind == .folder {
            let how = missed.removeValue(forKey: tree.reference(node)) ?? []
            if !how.isEmpty || tree.watch(of: node) == 0 || tree.has(.isQueued, node) {
                enqueue(node, how.union(.isDeep))
            }
        } else if tree.has(.isDue, node), status.kind == .regular {
            addDue(node)
        } else if !tree.stamp(of: node).mayHaveSameContent(as: FolderSnapshot.Stamp(status))
            || !tree.flags(of: node).isDisjoint(with: [.isDue, .isUntrusted])
        {
            take(status, at: node, isRecovered: false)
        }
    }

    /// When all reports are through.
    func lookAgain(_ doubted: DoubtedName) {
        guard let folder = tree.id(doubted.folder), tree.isFolder(folder) else { return }
        if let node = tree.child(of: folder, named: doubted.name) { return lookAgain(node) }
        if leavesForLater(folder) { return }
        guard let status = look(fullPath(folder, doubted.name)) else { return }
        if follows(status) { return linkCame(folder, doubted.name, isNew: true) }
        appear(folder, doubted.name, status, .listed(isRecovered: true))
    }

    /// The kernel reports a rename after it has made it, so a name may be missing because a folder above it stands
    /// elsewhere by now. Such a name is looked at once more when that is reported.
    private func noteGone(_ name: DoubtedName) {
        guard goneNames.count < Self.looksLimit else { return }
        goneNames.insert(name)
        guard goneNames.count == 1 else { return }
        hub.after(Self.rest) { [weak self] in self?.goneNames = [] }
    }

    /// A folder stands elsewhere: looks by the paths before may have met another file, or none.
    func doubtLooks() {
        doubts.formUnion(looks)
        doubtedNames.formUnion(goneNames)
        planDoubts()
    }
}
