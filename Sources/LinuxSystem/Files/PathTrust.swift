// The other users who could change the file at a path.
//
//   - Root and one user are trusted, and so is whoever owns `/`: that is root, but where root has no number here, as in
//     a user namespace of somebody else; and who owns `/` could replace all of it.
//   - A file or folder that belongs to another user is that user's to change.
//   - A folder that others may write lets them replace what is in it, except where its sticky bit is set and the entry
//     belongs to somebody trusted.

/// The rule for files that watchd believes: watch files, the state folder and what is in it. It asks and opens nothing.
package struct PathTrust: Sendable {
    /// Why somebody else could change it.
    package enum Flaw: Hashable, Sendable {
        /// It belongs to this user.
        case owner(UInt32)
        /// Its mode lets others write.
        case writable
    }

    /// A flaw, and the file or folder that has it.
    package struct Finding: Hashable, Sendable {
        /// Absolute, without links.
        package var path: [UInt8]
        package var flaw: Flaw
    }

    private let owners: Set<UInt32>
    private let refusedPermissions: UInt32

    /// - Parameters:
    ///   - user: is trusted beside root.
    ///   - refusedPermissions: mode bits that let others in: writing for group and others; 0: only owners count.
    package init(user: UInt32 = Linux.effectiveUserID, refusedPermissions: UInt32 = 0o022) {
        var owners: Set<UInt32> = [0, user]
        if let root = try? Linux.lstat("/") { owners.insert(root.userID) }
        self.owners = owners
        self.refusedPermissions = refusedPermissions
    }

    /// The flaw of a file or folder itself: a sticky bit does not mend it, since others could add to such a folder.
    /// `nil`: only trusted users can change it.
    package func flaw(of status: FileStatus) -> Flaw? {
        if !owners.contains(status.userID) { return .owner(status.userID) }
        // The mode of a link says nothing.
        return status.kind != .symbolicLink && status.permissions & refusedPermissions != 0 ? .writable : nil
    }

    /// The first folder on the way to a path, links followed, through which others could put something else there. The
    /// file at the path itself is not judged. `nil`: there is none.
    ///
    /// - Throws: ENOENT and the like where the path does not lead to anything.
    package func flaw(above path: some SystemPath) throws(SystemError) -> Finding? {
        var place = path.pathBytes.first == Self.slash ? [] : try Linux.realPath(".")
        // The folders above a relative path count as well.
        var rest = Array((place + [Self.slash] + path.pathBytes).split(separator: Self.slash).reversed())
        place = []
        var links = 0
        while let name = rest.popLast() {
            switch Array(name) {
            case Self.current: continue
            case Self.parent: place.removeLast(place.count - (place.lastIndex(of: Self.slash) ?? 0))
            case let name:
                let entry = place + [Self.slash] + name
                let status = try Linux.lstat(entry)
                if let finding = try flaw(of: place, holding: entry, status) { return finding }
                guard status.kind == .symbolicLink else {
                    place = entry
                    continue
                }
                links += 1
                if links > Self.mostLinks {
                    throw SystemError(call: "stat", detail: entry.printable, errno: .symbolicLinkLoop)
                }
                let target = try Linux.readlink(entry)
                if target.first == Self.slash { place = [] }
                rest += target.split(separator: Self.slash).reversed()
            }
        }
        return nil
    }

    private func flaw(
        of folder: [UInt8], holding entry: [UInt8], _ entryStatus: FileStatus
    ) throws(SystemError) -> Finding? {
        let folder = folder.isEmpty ? [Self.slash] : folder
        let status = try Linux.lstat(folder)
        guard let flaw = flaw(of: status) else { return nil }
        if flaw == .writable, status.permissions & Self.sticky != 0 {
            return owners.contains(entryStatus.userID)
                ? nil : Finding(path: entry, flaw: .owner(entryStatus.userID))
        }
        return Finding(path: folder, flaw: flaw)
    }

    /// As many as the kernel follows (`path_resolution(7)`).
    private static let mostLinks = 40
    private static let sticky: UInt32 = 0o1000
    private static let slash = UInt8(ascii: "/")
    private static let current = Array(".".utf8)
    private static let parent = Array("..".utf8)
}

extension PathTrust.Finding: CustomStringConvertible {
    /// `/srv/shared belongs to user 1000`, `/srv/shared may be written by others`.
    package var description: String {
        switch flaw {
        case .owner(let user): "\(path.printable) belongs to user \(user)"
        case .writable: "\(path.printable) may be written by others"
        }
    }
}
