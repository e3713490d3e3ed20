import CLinux

/// Threads, and what becomes of those that Dispatch cannot have.
extension Linux {
    /// How many of `count` threads can be had at once, beside those that there are: RLIMIT_NPROC or a cgroup's
    /// `pids.max` may allow fewer. They are started and ended; at most 64 are tried.
    package static func threadsToBeHad(of count: Int) -> Int { Int(clinux_threads_to_be_had(Int32(count))) }

    /// Calls `work` on a thread that is none of Dispatch's.
    package static func startThread(_ work: @escaping @Sendable () -> Void) throws(SystemError) {
        let box = Unmanaged.passRetained(Work(run: work))
        do throws(SystemError) {
            try call("pthread_create") {
                clinux_start_thread(
                    { context in
                        if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
                    }, box.toOpaque())
            }
        } catch {
            box.release()
            throw error
        }
    }

    private final class Work: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// From now on Dispatch does not wait for a thread that cannot be made for want of tasks: it is owed.
    ///
    /// - Parameter notice: an event descriptor, which is signalled when one has come to be owed; it has to stay open.
    package static func oweThreads(notice: Int32) { clinux_owe_threads(notice) }

    package static var areThreadsOwed: Bool { clinux_owed_threads() > 0 }

    /// Makes the threads that are owed; false: some are owed still.
    package static func makeOwedThreads() -> Bool { clinux_make_owed_threads() == 0 }

    /// The calling thread, which may be none of Dispatch's, is one that is owed: until it has had no work for 5 s.
    package static func beOwedThread() { clinux_be_owed_thread() }
}
