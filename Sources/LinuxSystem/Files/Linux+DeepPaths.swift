import CLinux
import Glibc

/// Paths of any length. The kernel takes 4095 bytes at once (`path_resolution(7)`): a longer path is gone step by step,
/// from folder to folder.
extension Linux {
    private static let slash = UInt8(ascii: "/")
    /// Bytes of a step.
    private static let longest = 4000

    /// `open(2)` of a folder for reading, by an absolute path of any length.
    ///
    /// - Parameter follows: whether its last component may be a symbolic link.
    package static func openFolder(_ path: [UInt8], follows: Bool = false) throws(SystemError) -> FileDescriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW)
        return try atEnd(of: path) { (folder, rest) throws(SystemError) in
            FileDescriptor(owning: try call("open", rest) { openat(folder, $0, flags) })
        }
    }

    /// `open(2)` for reading of a name in an open folder, which is no symbolic link. Nothing is waited for.
    package static func openFile(_ name: [UInt8], in folder: Int32) throws(SystemError) -> FileDescriptor {
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC
        return FileDescriptor(owning: try call("open", name) { openat(folder, $0, flags) })
    }

    /// `lstat(2)` of an absolute path of any length.
    ///
    /// - Parameter follows: of what a symbolic link leads to.
    package static func statusOfAny(_ path: [UInt8], follows: Bool = false) throws(SystemError) -> FileStatus {
        try atEnd(of: path) { (folder, rest) throws(SystemError) in
            try status(of: rest, in: folder, follows: follows)
        }
    }

    /// `fstatat(2)` of a name in an open folder.
    package static func status(
        of name: [UInt8], in folder: Int32, follows: Bool = false
    ) throws(SystemError) -> FileStatus {
        var status = Glibc.stat()
        try call("lstat", name) { fstatat(folder, $0, &status, follows ? 0 : AT_SYMLINK_NOFOLLOW) }
        return FileStatus(status)
    }

    /// Calls with an open folder, or AT_FDCWD, and the rest of the path from there, which is short enough.
    private static func atEnd<Result: ~Copyable>(
        of path: [UInt8], _ body: (Int32, [UInt8]) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        if path.count <= longest { return try body(AT_FDCWD, path) }
        var (folder, rest) = (AT_FDCWD, path[...])
        defer { if folder != AT_FDCWD { _ = Glibc.close(folder) } }
        while rest.count > longest {
            guard let end = rest.prefix(longest).lastIndex(of: slash), end > rest.startIndex else {
                throw SystemError(call: "open", detail: Array(path.prefix(100)).printable, errno: .nameTooLong)
            }
            let next = try call("open", Array(rest[..<end])) {
                openat(folder, $0, Int32(CLINUX_O_PATH) | O_DIRECTORY | O_CLOEXEC)
            }
            if folder != AT_FDCWD { _ = Glibc.close(folder) }
            folder = next
            rest = rest[(end + 1)...]
        }
        return try body(folder, Array(rest))
    }
}
