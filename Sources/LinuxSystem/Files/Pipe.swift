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

    /// `pipe2(2)` with O_CLOEXEC, of which the read end alone has O_NONBLOCK.
    package static func pipeReadWithoutWaiting() throws(SystemError) -> Pipe {
        let pipe = try Linux.pipe()
        do throws(SystemError) {
            // It has no other flags that could be set.
            try call("fcntl F_SETFL") { fcntl(pipe.readEnd.rawValue, F_SETFL, O_NONBLOCK) }
        } catch {
            pipe.readEnd.close()
            pipe.writeEnd.close()
            throw error
        }
        return pipe
    }

    /// `tee(2)` without waiting: shows the other pipe what is in this one, of which nothing is consumed; how many
    /// bytes, 0 when nothing is there and nobody writes. EAGAIN: nothing is there now, or the other pipe is full.
    package static func tee(_ pipe: Int32, to other: Int32, atMost limit: Int) throws(SystemError) -> Int {
        try call("tee") { clinux_tee(pipe, other, limit) }
    }

    /// `fcntl(2)` F_GETPIPE_SZ: bytes that a pipe can hold when its pages are full.
    package static func pipeSize(_ pipe: Int32) throws(SystemError) -> Int {
        Int(try call("fcntl F_GETPIPE_SZ") { fcntl(pipe, Int32(CLINUX_F_GETPIPE_SZ)) })
    }

    /// `fcntl(2)` F_SETPIPE_SZ: at least this many bytes. EPERM: above `fs.pipe-max-size`, or the user's share
    /// (`fs.pipe-user-pages-soft`) is used up.
    package static func setPipeSize(_ pipe: Int32, _ size: Int) throws(SystemError) {
        try call("fcntl F_SETPIPE_SZ") { fcntl(pipe, Int32(CLINUX_F_SETPIPE_SZ), Int32(clamping: size)) }
    }

    /// `ioctl(2)` FIONREAD: bytes in a pipe, or in the next datagram of a socket.
    package static func bytesAvailable(_ descriptor: Int32) throws(SystemError) -> Int {
        var count: Int32 = 0
        try call("ioctl FIONREAD") { ioctl(descriptor, UInt(FIONREAD), &count) }
        return Int(count)
    }

    /// `ioctl(2)` SIOCOUTQ, TIOCOUTQ: bytes written to a socket or a terminal that nobody has taken yet. ENOTTY:
    /// neither.
    package static func bytesUnsent(_ descriptor: Int32) throws(SystemError) -> Int {
        var count: Int32 = 0
        try call("ioctl TIOCOUTQ") { ioctl(descriptor, UInt(TIOCOUTQ), &count) }
        return Int(count)
    }

    /// A number from 0 (nothing) to 64 on an open file, found by whoever shares or inherits it: `fcntl(2)` F_SETSIG,
    /// which means nothing to the kernel without O_ASYNC.
    package static func setMark(_ descriptor: Int32, _ mark: Int32) throws(SystemError) {
        try call("fcntl F_SETSIG") { fcntl(descriptor, Int32(CLINUX_F_SETSIG), mark) }
    }

    /// `fcntl(2)` F_GETSIG: 0 where nothing is, and of what is not open.
    package static func mark(_ descriptor: Int32) -> Int32 {
        max(0, fcntl(descriptor, Int32(CLINUX_F_GETSIG)))
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
