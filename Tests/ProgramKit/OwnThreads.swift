// A test target sees the module; a build with Swift's runtime linked in (README, "Set up") has none.
#if canImport(Testing)
    import Dispatch
    import Synchronization
    package import Testing

    /// Threads beside the few of Swift's concurrency, which has as many as there are processors: a test that waits for
    /// a program blocks one of these, and those that compute go on.
    private final class OwnThreads: TaskExecutor {
        /// As many programs under test may wait at once; each test begins to count its time when it has a thread.
        static let shared = OwnThreads(count: 6)

        private let jobs = Mutex<[UnownedJob]>([])
        private let arrivals = DispatchSemaphore(value: 0)

        init(count: Int) {
            for number in 1...count { DispatchQueue(label: "test.own.\(number)").async { self.work() } }
        }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            jobs.withLock { $0.append(job) }
            arrivals.signal()
        }

        private func work() -> Never {
            while true {
                arrivals.wait()
                let job = jobs.withLock { $0.removeFirst() }
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }

    /// The tests of a suite that wait for programs, threads or the kernel have threads of their own.
    package struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
        package var isRecursive: Bool { true }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            try await withTaskExecutorPreference(OwnThreads.shared) { try await function() }
        }
    }

    extension Trait where Self == OwnThreadTrait {
        package static var ownThread: Self { Self() }
    }
#endif
