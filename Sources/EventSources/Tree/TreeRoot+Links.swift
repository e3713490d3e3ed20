import Engine
import LinuxSystem
import WatchFile

/// `FollowSymlinks=yes`: the node of a symbolic link has the state of what the link leads to.
///
/// So a link to a folder is a folder with everything in it, by the names through the link, and a link to a file is that
/// file. A scan follows links by itself. Where a report is about a link, the link is looked at beside the core, and the
/// look is compared with the node: a link that is switched is a folder, or file, with another inode, and everything below
/// is compared by name. Each link on the way from where it stands, and its end, is watched (`LinkAnchors`): what happens
/// there has the link looked at again. One that stands behind another link is compared when that one is switched.
extension TreeRoot {
    /// Links looked at and taken in before others get their turn.
    private static let linksPerTurn = 64

    func isLink(_ id: FileTree.ID) -> Bool { !links.isEmpty && links[tree.reference(id)] != nil }

    /// Whether a status is that of a link which stands for something else, perhaps.
    func follows(_ status: FileStatus) -> Bool { status.kind == .symbolicLink && owner.followsLinks }

    /// Of the name itself, as reports have it.
    func inodeOfName(_ id: FileTree.ID) -> UInt64 {
        links.isEmpty ? tree[id].inode : links[tree.reference(id)]?.inode ?? tree[id].inode
    }

    /// The next link above a folder, or itself; the holder: none.
    func linkAbove(_ folder: FileTree.ID) -> FileTree.ID {
        if links.isEmpty { return FileTree.holder }
        var node = folder
        while node != FileTree.holder, links[tree.reference(node)] == nil { node = tree.parent(of: node) }
        return node
    }

    // MARK: Reports

    /// A link came, or another one in the place of something.
    func linkCame(_ folder: FileTree.ID, _ name: [UInt8], isNew: Bool) {
        let node = tree.child(of: folder, named: name) ?? insertUnseen(folder, name, isFolder: false, isNew: isNew)
        doubtLink(node)
    }

    /// It may lead elsewhere by now: until it is looked at, what is reported behind it is that of the place it has left,
    /// perhaps.
    private func doubtLink(_ node: FileTree.ID) {
        if isLink(node), tree.isFolder(node), !owner.polls {
            let reference = tree.reference(node)
            links.doubted[reference] = links.doubted[reference] ?? false
        }
        lookAtLink(node)
    }

    /// Whether an event is left out, and what it is about is compared soon.
    func leavesToLook(_ folder: FileTree.ID) -> Bool {
        if links.doubted.isEmpty { return false }
        var node = folder
        while node != FileTree.holder {
            let reference = tree.reference(node)
            if links.doubted[reference] != nil {
                links.doubted[reference] = true
                return true
            }
            node = tree.parent(of: node)
        }
        return false
    }

    /// Of a rename, the half that is not left out.
    func leavesToLook(_ event: FolderEvent, in folder: FileTree.ID, from oldFolder: FileTree.ID?) -> Bool {
        let isLeft = leavesToLook(folder)
        guard let oldFolder, case .renamed(_, let oldName) = event.change else { return isLeft }
        let isOldLeft = leavesToLook(oldFolder)
        guard isLeft || isOldLeft else { return false }
        var event = event
        if !isLeft {
            event.change = .movedIn
            observe(event, in: folder, from: nil)
        } else if !isOldLeft {
            (event.change, event.name) = (.movedOut, oldName)
            observe(event, in: oldFolder, from: nil)
        }
        return true
    }

    /// A report that a link was moved over something: what stands at either name now is looked at.
    func linkReplaces(
        _ oldFolder: FileTree.ID, _ oldName: [UInt8], _ folder: FileTree.ID, _ name: [UInt8], isFolder: Bool
    ) {
        observe(FolderEvent(change: .movedOut, watch: 0, name: oldName, isFolder: isFolder), in: oldFolder, from: nil)
        observe(FolderEvent(change: .movedIn, watch: 0, name: name, isFolder: isFolder), in: folder, from: nil)
    }

    /// Something that is no link stands there.
    func noLink(_ id: FileTree.ID) {
        if !links.isEmpty || !links.refused.isEmpty { links.remove(tree.reference(id))?.disarm() }
    }

    /// Folders were moved: links that say where they lead from where they stand lead elsewhere, perhaps.
    func linksMoved(_ top: FileTree.ID) {
        if links.isEmpty { return }
        for reference in links.all.keys {
            if let id = tree.id(reference), isAtOrBelow(id, top) { lookAtLink(id) }
        }
    }

    // MARK: Looks

    func lookAtLink(_ id: FileTree.ID) {
        if owner.polls { return }
        links.look(at: tree.reference(id))
        lookAtLinks()
    }

    func lookAtLinks() {
        guard !links.isLooking, !links.waiting.isEmpty, !isOver, !owner.isHeld || !hasBegun else { return }
        links.isLooking = true
        hub.after(0) { [weak self] in self?.askForLinks() }
    }

    private func askForLinks() {
        if isOver { return }
        let asked = links.takeWaiting(Self.linksPerTurn).compactMap { reference in
            tree.id(reference).map { (reference, fullPath($0)) }
        }
        let (number, mask) = (treeNumber, maskOfEnds)
        owner.beside { [path, ownPaths = owner.ownRealPaths, adder = hub.adderBeside] () throws(SystemError) in
            var way: LinkWay?
            return asked.map { LinkLook.at($0.1, below: path, ownPaths: ownPaths, &way)?.watched(mask, adder) }
        } then: { [weak self, hub] result in
            let looks = (try? result.get()) ?? []
            // Changes reported before are told first.
            hub.whenCaughtUp {
                // Of the ways that nobody has taken over.
                defer { for look in looks { look?.ways?.discard(hub) } }
                guard let self, !self.isOver else { return }
                self.links.isLooking = false
                if number == self.treeNumber { self.take(looks, of: asked) }
                self.lookAtLinks()
                self.pump()
            }
        }
    }

    private func take(_ looks: [LinkLook?], of asked: [(FileTree.Reference, path: [UInt8])]) {
        for ((reference, path), look) in zip(asked, looks) {
            guard let id = tree.id(reference) else { continue }
            // It was another one's look.
            guard fullPath(id) == path else {
                lookAtLink(id)
                continue
            }
            // It waits for the rest to be told.
            if owner.isHeld, hasBegun {
                links.look(at: reference)
                continue
            }
            guard let look else {
                noLink(id)
                lookAgain(id)
                continue
            }
            take(look, at: id)
        }
    }

    private func take(_ look: LinkLook, at node: FileTree.ID) {
        let (look, ways) = (admitted(look, at: node), look.ways)
        let (folder, name) = (tree.parent(of: node), tree.name(of: node))
        hub.trail?("link \(fullPath(node).printable) \(look.real?.printable ?? "") \(look.status.inode)")
        let isSwitched = isSwitched(node, look)
        if isSwitched { giveUpWatches(below: node) }
        let hasLeftOut = links.doubted.removeValue(forKey: tree.reference(node)) ?? false
        compare(node, with: look.status, isDue: isSwitched || hasLeftOut)
        guard let now = tree.child(of: folder, named: name) else { return }
        note(look, at: now)
        if let ways { arm(now, ways) }
    }

    /// What is told of the end of a link, or of what is read through one that was switched, is found by comparing.
    private func compare(_ node: FileTree.ID, with status: FileStatus, isDue: Bool) {
        let (old, new) = (tree.stamp(of: node), FolderSnapshot.Stamp(status))
        guard !tree.has(.isUnseen, node), tree.isOfKind(status.kind, node), old.inode == new.inode else {
            return take(status, at: node, isRecovered: !tree.has(.isUnseen, node))
        }
        if status.kind == .folder {
            let how = missed.removeValue(forKey: tree.reference(node)) ?? []
            // A scan that goes on lists it.
            let isUnlisted = tree.watch(of: node) == 0 && !isScanning && !tree.has(.isQueued, node)
            if isDue || isUnlisted || !how.isEmpty { enqueue(node, how.union([.isDeep, .isCompared])) }
        } else if !old.mayHaveSameContent(as: new) || tree.has(.isUntrusted, node) {
            return take(status, at: node, isRecovered: true)
        } else if tree.has(.isDue, node) {
            due.add(tree.reference(node))
        }
        if !old.isSameAccess(as: new), status.kind != .symbolicLink {
            tree.setStamp(status, isFresh: status.isFresh, of: node)
            tell(.attributes, node, isRecovered: true)
        }
    }

    /// Whether it leads to another place, which may have the number of the one before on another file system.
    func isSwitched(_ node: FileTree.ID, _ look: LinkLook) -> Bool {
        guard tree.isFolder(node), let link = links[tree.reference(node)], let real = link.real else { return false }
        return real != look.real
    }

    func giveUpWatches(below node: FileTree.ID) {
        for id in [node] + tree.below(node) where tree.isFolder(id) { giveUpWatch(id) }
    }

    // MARK: Knowledge

    /// The link, as far as a bound lets it be followed.
    func admitted(_ look: LinkLook, at node: FileTree.ID?) -> LinkLook {
        let reference = node.map(tree.reference)
        if let reference, links[reference] != nil { return look }
        // Another link in its place has its own try.
        if let node, let reference, links.refused[reference] == .tooLarge, tree[node].inode == look.own.inode {
            return look.refused(.tooLarge)
        }
        return links.hasRoom ? look : look.refused(.tooMany)
    }

    /// The status of a link that a listing shows. Where it leads elsewhere, that is not watched yet.
    func admit(_ link: LinkLook, at node: FileTree.ID?) -> FileStatus {
        let look = admitted(link, at: node)
        if let node, isSwitched(node, look) { giveUpWatches(below: node) }
        return look.status
    }

    /// Whether `FollowSymlinks=` alone makes something else of it than what is known.
    func isFollowedAnew(_ entry: TreeScan.Entry, at node: FileTree.ID) -> Bool {
        switch links.wereFollowed {
        case true?: entry.status.kind == .symbolicLink && tree[node].inode != entry.status.inode
        case false?: entry.link.map { $0.end != nil && tree[node].inode == $0.own.inode } ?? false
        case nil: false
        }
    }

    /// Another node comes in its place, which is no news.
    func giveWay(_ node: FileTree.ID) {
        for child in tree.children(of: node) { removeTree(child, isTold: false) }
        giveUpWatch(node)
        drop(node)
    }

    /// The node is that of this link.
    func note(_ look: LinkLook, at node: FileTree.ID) {
        let reference = tree.reference(node)
        let hasOwnFiles = look.real.map { real in owner.ownRealPaths.contains { $0.isAtOrBelow(real) } } ?? false
        links.note(look, hasOwnFiles: hasOwnFiles, at: reference)?.disarm()
        guard let link = links[reference] else { return }
        if look.isSilent {
            links.unwatched[reference] = .silent
        } else if links.unwatched[reference]?.failure == nil {
            links.unwatched[reference] = nil
        }
        if link.isStale { lookAtLink(node) }
    }

    /// Takes over what is watched of where it leads. Something may have changed before that: it is looked at once more.
    private func arm(_ node: FileTree.ID, _ ways: LinkWays) {
        let reference = tree.reference(node)
        guard let link = links[reference] else { return }
        let anchors = link.anchors ?? anchors(of: link, reference)
        links.setAnchors(anchors, of: reference)
        if anchors.take(ways) { lookAtLink(node) }
        noteFailure(of: anchors, reference)
    }

    private func anchors(of link: TreeLinks.Link, _ reference: FileTree.Reference) -> LinkAnchors {
        LinkAnchors(link.place, hub: hub, mask: maskOfEnds, isLazy: true) { [weak self] in
            self?.linkChanged(reference, $0)
        }
    }

    private var maskOfEnds: InotifyMask {
        mask.intersection([.closedAfterWriting, .modified, .attributes])
    }

    private func noteFailure(of anchors: LinkAnchors, _ reference: FileTree.Reference) {
        if let failure = anchors.failure {
            links.unwatched[reference] = .failed(failure)
        } else if links.unwatched[reference]?.failure != nil {
            links.unwatched[reference] = nil
        }
        if !links.unwatched.isEmpty { planPoll() }
    }

    private func linkChanged(_ reference: FileTree.Reference, _ change: FolderEvent.Change) {
        guard !isOver, let id = tree.id(reference) else { return }
        guard case .modified = change else { return doubtLink(id) }
        if !leavesForLater(tree.parent(of: id)) { tell(.modified, id) }
    }

    /// A node goes, and leaves its place to another link.
    func forgetLink(_ reference: FileTree.Reference) {
        if links.isEmpty && links.refused.isEmpty { return }
        links.remove(reference)?.disarm()
        if links.hasRoom, let next = links.next, let id = tree.id(next) { lookAtLink(id) }
    }

    func forgetLinks() {
        for link in links.all.values { link.anchors?.disarm() }
        let wereFollowed = links.wereFollowed
        links = TreeLinks()
        links.wereFollowed = wereFollowed
    }

    // MARK: Bounds

    /// Whether so much is seen through links that a folder is not walked: the link to it is not followed any more, which
    /// is no news of what it leads to.
    func isTooMuch(_ folder: FileTree.ID) -> Bool {
        if links.isCensusDue(tree.count) { links.behind = filesBehindLinks }
        guard links.behind > TreeLinks.fileLimit else { return false }
        let link = linkAbove(folder)
        guard link != FileTree.holder, let own = look(fullPath(link)), own.kind == .symbolicLink else { return false }
        links.behind -= tree.countBelow(link)
        let (parent, name) = (tree.parent(of: link), tree.name(of: link))
        giveWay(link)
        if let now = appear(parent, name, own, .silent) { note(LinkLook(own, refusal: .tooLarge), at: now) }
        return true
    }

    private var filesBehindLinks: Int {
        links.all.keys.reduce(0) { count, reference in
            guard let id = tree.id(reference), linkAbove(tree.parent(of: id)) == FileTree.holder else { return count }
            return count + tree.countBelow(id)
        }
    }

    /// The bounds that leave links unfollowed, or their ends unwatched: a sentence.
    var linkTrouble: String? {
        if let (reference, refusal) = links.refused.min(by: { $0.key.id < $1.key.id }) {
            let more = links.refused.count > 1 ? " and \(links.refused.count - 1) more" : ""
            let place = (tree.id(reference).map { fullPath($0).printable } ?? path.printable) + more
            return "\(place) not followed: \(refusal.reason ?? "")"
        }
        guard let (reference, unwatched) = links.unwatched.first(where: { $0.value.failure != nil }),
            let failure = unwatched.failure
        else { return nil }
        let place = tree.id(reference).map { fullPath($0).printable } ?? path.printable
        return "where \(place) leads is compared every \(owner.pollSpan): \(failure.reason)"
    }

    // MARK: Rounds

    /// Links whose end no watch tells of, and those that could not be looked at.
    var hasLinksToPoll: Bool {
        !links.unwatched.isEmpty || links.refused.values.contains { if case .failed = $0 { true } else { false } }
    }

    func pollLinks() {
        for reference in links.unwatched.keys { lookAgainAtEnd(reference) }
        for (reference, refusal) in links.refused {
            if case .failed = refusal { lookAgainAtEnd(reference) }
        }
    }

    private func lookAgainAtEnd(_ reference: FileTree.Reference) {
        if let id = tree.id(reference) { lookAtLink(id) }
    }

    /// Something else may stand at these places, and below.
    func linksMounted(_ places: [[UInt8]]) {
        for (reference, link) in links.all {
            guard let real = link.real, let id = tree.id(reference) else { continue }
            guard places.contains(where: { real.isAtOrBelow($0) || $0.isAtOrBelow(real) }) else { continue }
            if leavesForLater(tree.parent(of: id)) { continue }
            lookAtLink(id)
            if tree.isFolder(id) { enqueue(id, hasBegun ? [.isDeep, .isCompared] : [.isDeep, .isSilent]) }
        }
        pump()
    }

    // MARK: Files that watchd itself writes

    /// Whether a folder is reached through a link, and watchd writes there.
    func isOwnBehindLink(_ folder: [UInt8]) -> Bool {
        links.withOwnFiles.contains { reference in
            guard let real = links[reference]?.real, let id = tree.id(reference) else { return false }
            return owner.ownRealPaths.contains { own in
                own.isAtOrBelow(real) && folder == joined(fullPath(id), own.below(real))
            }
        }
    }
}
