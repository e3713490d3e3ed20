import CLinux
import Glibc

/// An error of the kernel: a number of `errno(3)`.
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32

    package init(_ code: Int32) { self.code = code }

    /// `ENOENT`; for a number that glibc does not know, the number.
    package var name: String { clinux_errno_name(code).map { String(cString: $0) } ?? "errno \(code)" }

    /// `No such file or directory`, in English whatever the locale.
    package var text: String { clinux_errno_text(code).map { String(cString: $0) } ?? "Unknown error" }

    /// `No such file or directory (ENOENT)`.
    package var description: String { "\(text) (\(name))" }

    package static let notPermitted = Errno(EPERM)
    package static let noSuchFile = Errno(ENOENT)
    package static let noSuchProcess = Errno(ESRCH)
    package static let interrupted = Errno(EINTR)
    package static let ioError = Errno(EIO)
    package static let noSuchDevice = Errno(ENXIO)
    package static let argumentsTooLong = Errno(E2BIG)
    package static let badExecutable = Errno(ENOEXEC)
    package static let badDescriptor = Errno(EBADF)
    package static let noChild = Errno(ECHILD)
    /// EAGAIN, which is EWOULDBLOCK.
    package static let wouldBlock = Errno(EAGAIN)
    package static let outOfMemory = Errno(ENOMEM)
    package static let accessDenied = Errno(EACCES)
    package static let fileExists = Errno(EEXIST)
    package static let busy = Errno(EBUSY)
    package static let notFolder = Errno(ENOTDIR)
    package static let isFolder = Errno(EISDIR)
    package static let invalidArgument = Errno(EINVAL)
    /// ENFILE: the system's table is full.
    package static let systemDescriptorsExhausted = Errno(ENFILE)
    /// EMFILE: the process's table is full.
    package static let descriptorsExhausted = Errno(EMFILE)
    package static let fileTooLarge = Errno(EFBIG)
    package static let protocolNotSupported = Errno(EPROTONOSUPPORT)
    /// ENOBUFS: the reader was too slow.
    package static let noBufferSpace = Errno(ENOBUFS)
    package static let noSpace = Errno(ENOSPC)
    package static let readOnly = Errno(EROFS)
    package static let notSupported = Errno(EOPNOTSUPP)
    package static let brokenPipe = Errno(EPIPE)
    package static let nameTooLong = Errno(ENAMETOOLONG)
    package static let notEmpty = Errno(ENOTEMPTY)
    package static let symbolicLinkLoop = Errno(ELOOP)
    package static let notImplemented = Errno(ENOSYS)
    package static let notSocket = Errno(ENOTSOCK)
    package static let addressInUse = Errno(EADDRINUSE)
    package static let connectionReset = Errno(ECONNRESET)
    package static let connectionRefused = Errno(ECONNREFUSED)
    package static let notConnected = Errno(ENOTCONN)
    package static let noMedium = Errno(ENOMEDIUM)
    package static let timedOut = Errno(ETIMEDOUT)
    package static let canceled = Errno(ECANCELED)
}
