import Dispatch
import Glibc
import LinuxSystem
import Synchronization

/// Runs `body` on a thread that has other descriptors than the test's process, and waits for it.
///
/// A program that another test starts holds the descriptors of the test's process until it executes.
/// The last close of a file is that program's then, and comes later than the test's.
func withOtherDescriptors(_ body: @escaping @Sendable () throws(SystemError) -> Void) throws {
    try OtherDescriptors.shared.run(body)
}

/// A table of descriptors beside that of the process.
///
/// It is made once: the kernel makes one by a copy, which holds what the process closes meanwhile.
private final class OtherDescriptors: Sendable {
    static let shared = OtherDescriptors()

    private let bodies = Mutex<[@Sendable () -> Void]>([])
    private let count = DispatchSemaphore(value: 0)

    private init() {
        Background { [self] in
            Self.leaveDescriptors()
            while true {
                count.wait()
                // A thread has the table of the one that makes it, and may block (a FIFO without a reader).
                Background(bodies.withLock { $0.removeFirst() }).detach()
            }
        }.detach()
    }

    func run(_ body: @escaping @Sendable () throws(SystemError) -> Void) throws {
        let result = Result()
        bodies.withLock {
            $0.append {
                do throws(SystemError) { try body() } catch { result.error.withLock { $0 = error } }
                result.isThere.signal()
            }
        }
        count.signal()
        result.isThere.wait()
        if let error = result.error.withLock({ $0 }) { throw error }
    }

    private final class Result: Sendable {
        let error = Mutex<SystemError?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }

    /// Gives the thread an empty table (`close_range(2)`).
    private static func leaveDescriptors() {
        typealias CloseRange = @convention(c) (UInt32, UInt32, Int32) -> Int32
        /// Behind `_GNU_SOURCE`, as the function is.
        let unshare: Int32 = 1 << 1
        let closeRange = unsafeBitCast(dlsym(nil, "close_range"), to: CloseRange.self)
        precondition(closeRange(0, .max, unshare) == 0, "close_range: \(errno)")
    }
}
