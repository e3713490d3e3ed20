import Glibc
import LinuxSystem
import Synchronization

/// Runs `body` on a thread that has a table of descriptors of its own, and waits for it.
///
/// A program that another test starts meanwhile holds the descriptors of the test's process until it executes.
/// The last close of a file is that program's then, and comes later than the test's.
func withOwnDescriptors(_ body: @escaping @Sendable () throws(SystemError) -> Void) throws {
    let failure = Failure()
    Background {
        do throws(SystemError) {
            try leaveDescriptors()
            try body()
        } catch {
            failure.error.withLock { $0 = error }
        }
    }.join()
    if let error = failure.error.withLock({ $0 }) { throw error }
}

private final class Failure: Sendable {
    let error = Mutex<SystemError?>(nil)
}

/// Gives the thread an empty table of descriptors (`close_range(2)`).
private func leaveDescriptors() throws(SystemError) {
    typealias CloseRange = @convention(c) (UInt32, UInt32, Int32) -> Int32
    /// Behind `_GNU_SOURCE`, as the function is.
    let unshare: Int32 = 1 << 1
    let closeRange = unsafeBitCast(dlsym(nil, "close_range"), to: CloseRange.self)
    guard closeRange(0, .max, unshare) == 0 else { throw SystemError(call: "close_range", errno: Errno(errno)) }
}
