import CLinux
import Glibc

/// The two ends of a pipe, or of a socket pair. Frozen, so that other targets may take the ends apart.
@frozen package struct Pipe: ~Copyable, Sendable {
    package let readEnd: FileDescriptor
    package let writeEnd: FileDescriptor
}

extension Linux {
    /// `pipe2(2)`.
    package static func pipe(nonBlocking: Bool = false) throws(SystemError) -> Pipe {
        var ends: [Int32] = [-1, -1]
        try call("pipe2") { clinux_pipe2(&ends, O_CLOEXEC | (nonBlocking ? O_NONBLOCK : 0)) }
        return Pipe(readEnd: FileDescriptor(owning: ends[0]), writeEnd: FileDescriptor(owning: ends[1]))
    }

    /// `fcntl(2)` F_DUPFD_CLOEXEC: another descriptor of the same open file, at least 3.
    package static func duplicate(_ descriptor: Int32) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try call("fcntl F_DUPFD_CLOEXEC") { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) })
    }

    /// `fcntl(2)` F_SETFL. Of the open file: whoever shares it is concerned as well.
    package static func setNonBlocking(_ descriptor: Int32, _ nonBlocking: Bool = true) throws(SystemError) {
        let flags = try call("fcntl F_GETFL") { fcntl(descriptor, F_GETFL) }
        let wanted = nonBlocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        if wanted != flags { try call("fcntl F_SETFL") { fcntl(descriptor, F_SETFL, wanted) } }
    }

    /// `fcntl(2)` F_SETFD with FD_CLOEXEC: for descriptors that were inherited.
    package static func setCloseOnExec(_ descriptor: Int32) throws(SystemError) {
        try call("fcntl F_SETFD") { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    }
}
