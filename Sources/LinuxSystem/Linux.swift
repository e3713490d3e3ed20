// The rim to the kernel: one Swift function for each system call, named as in C, grouped by topic in the extensions of
// `Linux`. One policy for all:
//   - EINTR is never seen: the call is made again (`close` is the exception, and waits with a time-out count on).
//   - Every other error is thrown as a SystemError that names the call and what it was about. What a caller must expect
//     (EAGAIN of a read, ESRCH of a kill) is thrown too, unless the function has a better answer for it.
//   - Every descriptor that is made here is close-on-exec, and belongs to a FileDescriptor.

import Glibc

package enum Linux {
    /// Calls `body` until it is not interrupted.
    @discardableResult
    static func call<Result: FixedWidthInteger>(
        _ name: String, _ detail: @autoclosure () -> String? = nil, _ body: () -> Result
    ) throws(SystemError) -> Result {
        while true {
            let result = body()
            if result != -1 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call: name, detail: detail(), errno: Errno(code)) }
        }
    }

    /// Calls `body` with the path as a C string until it is not interrupted.
    @discardableResult
    static func call<Result: FixedWidthInteger>(
        _ name: String, _ path: some SystemPath, _ body: (UnsafePointer<CChar>) -> Result
    ) throws(SystemError) -> Result {
        let bytes = path.pathBytes
        if bytes.contains(0) { throw SystemError(call: name, detail: bytes.printable, errno: .invalidArgument) }
        return try call(name, bytes.printable) { bytes.withCString(body) }
    }

    /// A descriptor that a call has just made.
    static func descriptor(
        _ name: String, _ detail: @autoclosure () -> String? = nil, _ body: () -> Int32
    ) throws(SystemError) -> FileDescriptor {
        FileDescriptor(owning: try call(name, detail(), body))
    }
}

extension [UInt8] {
    /// The bytes with a NUL behind them.
    func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: count + 1, alignment: 1) { buffer in
            guard let start = buffer.baseAddress else { preconditionFailure("a C string has at least its end") }
            buffer.copyBytes(from: self)
            buffer[count] = 0
            return body(start.assumingMemoryBound(to: CChar.self))
        }
    }
}
