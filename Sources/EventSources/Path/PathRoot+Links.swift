import LinuxSystem
import WatchFile

/// Symbolic links: the path itself stands for what it leads to, and so do the entries of a folder with
/// `FollowSymlinks=yes`.
///
/// Each link on the way is watched, and the end of the way: what happens there is found by comparing. So a link that is
/// switched is a change of all that is read through it, whichever of the links on the way it is.
extension PathRoot {
    /// The status of a path, or of its target: a link that leads nowhere stands for itself.
    static func followed(_ status: FileStatus, _ path: [UInt8]) -> FileStatus {
        status.kind == .symbolicLink ? (try? Linux.stat(path)) ?? status : status
    }

    /// Whether the entries stand for what they lead to.
    var followsEntries: Bool { owner.followsLinks || !isFolder }

    /// The events at the end of a way, where it is another folder that would be told of it.
    var maskOfEnds: InotifyMask {
        var mask: InotifyMask = [.closedAfterWriting]
        if events.contains(.modified) { mask.insert(.modified) }
        if events.contains(.attributes) { mask.insert(.attributes) }
        return mask
    }

    // MARK: The path itself

    /// To be called before what it leads to is watched.
    func followRoot() throws(SystemError) {
        rootLink = LinkAnchors.needed(for: path, rootLink) {
            LinkAnchors(path, hub: hub, mask: maskOfEnds, beside: { [owner] in owner.makeWays($0, then: $1) }) {
                [weak self] change in
                guard let self, !isOver else { return }
                if case .modified = change { return endModified([]) }
                rearmWhenAnswered()
            }
        }
        try rootLink?.followAll()
    }

    // MARK: Entries

    /// - Parameter names: of all links that stand there.
    func followEntries(_ names: Set<[UInt8]>) {
        let wanted = owner.followsLinks && isFolder && !isUnwatched ? names : []
        for name in links.keys where !wanted.contains(name) { leaveLink(name) }
        for name in wanted where links[name] == nil {
            followEntry(name)
            // Something may have changed before it was watched.
            isDirty = true
        }
    }

    func followEntry(_ name: [UInt8]) {
        guard owner.followsLinks, isFolder, !isUnwatched else { return }
        let link =
            links[name]
            ?? LinkAnchors(
                fullPath(name), hub: hub, mask: maskOfEnds, beside: { [owner] in owner.makeWays($0, then: $1) }
            ) { [weak self] change in
                guard let self, !isOver else { return }
                if case .modified = change { return endModified(name) }
                if isListing { isDirty = true } else { list() }
            }
        links[name] = link
        link.follow()
    }

    /// The file at the end of a way is written to.
    private func endModified(_ name: [UInt8]) {
        let own = isFolder ? name : anchorName
        keepOrTake(FolderEvent(change: .modified, watch: 0, name: own, isFolder: false))
    }

    func leaveLink(_ name: [UInt8]) {
        if !links.isEmpty { links.removeValue(forKey: name)?.disarm() }
    }

    func leaveLinks() {
        rootLink?.disarm()
        rootLink = nil
        for link in links.values { link.disarm() }
        links = [:]
    }

    // MARK: Ways that may hang

    /// Calls back when the way to an entry has answered, unless the root is over by then. A file system that hangs holds
    /// up this source alone.
    private func whenAnswered(_ name: [UInt8], _ then: @escaping () -> Void) {
        owner.beside { [path = fullPath(name)] () throws(SystemError) in
            _ = try? Linux.stat(path)
        } then: { [weak self] _ in
            if let self, !isOver { then() }
        }
    }

    func rearmWhenAnswered() { whenAnswered([]) { [weak self] in self?.rearm() } }

    /// Whether an event is about a name that stands for what it leads to, which may hang.
    func mayLeadElsewhere(_ event: FolderEvent) -> Bool {
        guard event.change.isOfName, followsEntries, !isUnwatched else { return false }
        return (try? Linux.lstat(fullPath(event.name)))?.kind == .symbolicLink
    }

    /// Takes an event when where the link leads has answered; those after it wait as well.
    func takeWhenAnswered(_ event: FolderEvent) { takeWhenAnswered(keepEvents(with: event), event.name) }

    private func takeWhenAnswered(_ number: Int, _ name: [UInt8]) {
        whenAnswered(name) { [weak self] in
            guard let self, var events = takeKeptEvents(number)?[...] else { return }
            while !isOver, let event = events.first {
                // `ln -sf` renames a link that is gone when it is asked about: of the new name nobody has asked.
                if event.name != name, mayLeadElsewhere(event) {
                    carry(Array(events))
                    return takeWhenAnswered(keepEvents(), event.name)
                }
                take(event)
                events = events.dropFirst()
            }
            guard !isOver else { return }
            if isDirty, !isListing { list() }
            owner.rootChanged()
        }
    }

    /// Why what becomes of the end of a link is found by comparing alone.
    var linkFailure: SystemError? {
        rootLink?.failure ?? (links.isEmpty ? nil : links.values.lazy.compactMap(\.failure).first)
    }
}
