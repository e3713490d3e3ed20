import CLinux
import Glibc

/// Whether somebody can still write a file.
package enum Writers: Sendable {
    case none
    /// It is open for writing, or mapped so.
    case some
    /// The file has another owner, or its file system has no leases.
    case unknown
}

extension Linux {
    /// Asks by a read lease (`fcntl(2)` F_SETLEASE), which is taken and given back at once. Only of a regular file; may
    /// take long on a file system that hangs.
    ///
    /// - Parameter follows: whether the path may be a symbolic link.
    package static func writers(of path: [UInt8], follows: Bool = false) -> Writers {
        let flags: OpenOptions = [.reading, .nonBlocking, .noControllingTerminal]
        guard let file = try? open(path, follows ? flags : flags.union(.noFollow)) else { return .unknown }
        return file.use { file in
            guard (try? fstat(file))?.kind == .regular else { return .unknown }
            // A program that opens the file just then waits for so long; the signal that says so is one that does
            // nothing.
            _ = fcntl(file, Int32(CLINUX_F_SETSIG), SIGURG)
            guard fcntl(file, Int32(CLINUX_F_SETLEASE), F_RDLCK) == 0 else {
                return errno == EAGAIN ? .some : .unknown
            }
            _ = fcntl(file, Int32(CLINUX_F_SETLEASE), F_UNLCK)
            return .none
        }
    }
}
