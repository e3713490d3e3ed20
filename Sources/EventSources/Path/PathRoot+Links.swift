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
    private var maskOfEnds: InotifyMask {
        var mask: InotifyMask = [.closedAfterWriting]
        if events.contains(.modified) { mask.insert(.modified) }
        if events.contains(.attributes) { mask.insert(.attributes) }
        return mask
    }

    // MARK: The path itself

    /// To be called before what it leads to is watched.
    func followRoot() throws(SystemError) {
        guard (try? Linux.lstat(path))?.kind == .symbolicLink else {
            rootLink?.disarm()
            rootLink = nil
            return
        }
        let link =
            rootLink
            ?? LinkAnchors(path, hub: hub, mask: maskOfEnds) { [weak self] in
                guard let self, !isOver else { return }
                rearm()
            }
        rootLink = link
        link.follow()
        if let failure = link.failure, failure.leavesUnwatched { throw failure }
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
            ?? LinkAnchors(fullPath(name), hub: hub, mask: maskOfEnds) { [weak self] in
                guard let self, !isOver else { return }
                if isListing { isDirty = true } else { list() }
            }
        links[name] = link
        link.follow()
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

    /// Why what becomes of the end of a link is found by comparing alone.
    var linkFailure: SystemError? {
        rootLink?.failure ?? (links.isEmpty ? nil : links.values.lazy.compactMap(\.failure).first)
    }
}
