import CLinux
import Glibc

/// The status of a file by `stat(2)`.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Sendable {
        case regular, folder, symbolicLink, fifo, socket, characterDevice, blockDevice, unknown
    }

    package var kind: Kind
    /// The twelve permission bits.
    package var permissions: UInt32
    package var device: UInt64
    package var inode: UInt64
    package var links: UInt64
    package var userID: UInt32
    package var groupID: UInt32
    /// Bytes.
    package var size: Int64
    /// Nanoseconds since the epoch.
    package var modified: Int64
    /// Nanoseconds since the epoch; the last change of the inode.
    package var changed: Int64

    init(_ status: stat) {
        kind = Kind(mode: status.st_mode)
        permissions = status.st_mode & 0o7777
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        links = UInt64(status.st_nlink)
        userID = status.st_uid
        groupID = status.st_gid
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }
}

extension FileStatus.Kind {
    init(mode: mode_t) {
        self =
            switch mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .folder
            case S_IFLNK: .symbolicLink
            case S_IFIFO: .fifo
            case S_IFSOCK: .socket
            case S_IFCHR: .characterDevice
            case S_IFBLK: .blockDevice
            default: .unknown
            }
    }

    /// `a folder`, for messages.
    package var phrase: String {
        switch self {
        case .regular: "a file"
        case .folder: "a folder"
        case .symbolicLink: "a symbolic link"
        case .fifo: "a FIFO"
        case .socket: "a socket"
        case .characterDevice, .blockDevice: "a device"
        case .unknown: "something unknown"
        }
    }
}

extension Linux {
    /// `statx(2)` STATX_BTIME: when the open file was made, in nanoseconds since the epoch; 0 where the file system
    /// does not know.
    package static func birthTime(_ descriptor: Int32) -> Int64 { max(0, clinux_birth_time(descriptor)) }
}
