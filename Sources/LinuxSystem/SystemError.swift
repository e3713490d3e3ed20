/// A system call that failed: which, on what, and why.
package struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The C name of the call.
    package let call: String
    /// The subject of the error, where there is something to name: a path, an address. Fit to print.
    package let detail: String?
    package let errno: Errno

    package init(call: String, detail: String? = nil, errno: Errno) {
        self.call = call
        self.detail = detail
        self.errno = errno
    }

    /// `open /srv/a: No such file or directory (ENOENT)`.
    package var description: String {
        detail.map { "\(call) \($0): \(errno)" } ?? "\(call): \(errno)"
    }
}
