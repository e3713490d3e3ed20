import Engine
import LinuxSystem

/// The status of a watched path itself, as a lane has seen it: the file system may hang.
struct PathLook: Sendable {
    /// `nil`: nothing.
    var status: FileStatus?
    /// `nil`: it cannot be known.
    var fileSystem: FileSystemType?
    var identity: RootIdentity
    /// The file system it stands on; where nothing stands, that of the nearest folder on the way that does. `nil`: it
    /// cannot be known.
    var device: UInt64?

    init(_ path: [UInt8]) throws(SystemError) {
        do throws(SystemError) {
            status = PathRoot.followed(try Linux.lstat(path), path)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            status = nil
        }
        identity = RootIdentity(path, status)
        device = status?.device ?? Self.device(nearestTo: path)
        // A symbolic link that leads nowhere is what stands in its folder.
        let isLink = status?.kind == .symbolicLink
        let end = isLink ? path.lastIndex(of: UInt8(ascii: "/")) ?? 0 : path.count
        fileSystem = FileSystemType.nearest(to: end > 0 ? Array(path[..<end]) : [UInt8(ascii: "/")])
    }

    private static func device(nearestTo path: [UInt8]) -> UInt64? {
        var way = path[...]
        while let end = way.lastIndex(of: UInt8(ascii: "/")) {
            way = way[..<end]
            if let status = try? Linux.stat(way.isEmpty ? [UInt8(ascii: "/")] : Array(way)) { return status.device }
        }
        return nil
    }

    var isGenerated: Bool { fileSystem?.isGenerated ?? false }

    /// `nil`: nothing stands there.
    var isFolder: Bool? { status.map { $0.kind == .folder } }

    /// Whether it is what was there before, as far as that can be known.
    func isSame(as other: FileStatus?) -> Bool {
        guard let status, let other else { return status == nil && other == nil }
        if (status.kind == .folder) != (other.kind == .folder) { return false }
        // That of a file changes with what is written over it, which is a change of its content.
        guard status.kind == .folder, let fileSystem, fileSystem.hasLastingNumbers, !isGenerated else {
            return true
        }
        return status.inode == other.inode && status.device == other.device
    }
}

extension RootIdentity {
    /// - Parameter status: of the path, which may be gone by now; `nil`: nothing stands there.
    init(_ path: [UInt8], _ status: FileStatus?) {
        guard let status else {
            self = .missing
            return
        }
        let born = (try? Linux.open(path, [.pathOnly]))?.use { Linux.birthTime($0) } ?? 0
        self.init(device: status.device, inode: status.inode, born: born)
    }
}
