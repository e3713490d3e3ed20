// A test target sees the module; a build with Swift's runtime linked in (README, "Set up") has none.
#if canImport(Testing)
    import Dispatch
    import Synchronization
    package import Testing

    /// Threads beside the few of Swift's concurrency, which has as many as there are processors: a test that waits for
    /// a program blocks one of these, and those that compute go on.
    private final class OwnThreads: Sendable {
        /// As many programs under test may wait at once; each test begins to count its time when it has a thread.
        static let shared = OwnThreads(count: 9)

        private struct Jobs {
            var chains: [(UnownedJob, UnownedTaskExecutor)] = []
            var others: [(UnownedJob, UnownedTaskExecutor)] = []
        }

        private let jobs = Mutex(Jobs())
        private let arrivals = DispatchSemaphore(value: 0)

        init(count: Int) {
            for number in 1...count { DispatchQueue(label: "test.own.\(number)").async { self.work() } }
        }

        func enqueue(_ job: UnownedJob, of executor: UnownedTaskExecutor, isOfChain: Bool) {
            jobs.withLock { isOfChain ? $0.chains.append((job, executor)) : $0.others.append((job, executor)) }
            arrivals.signal()
        }

        private func work() -> Never {
            while true {
                arrivals.wait()
                let (job, executor) = jobs.withLock {
                    $0.chains.isEmpty ? $0.others.removeFirst() : $0.chains.removeFirst()
                }
                job.runSynchronously(on: executor)
            }
        }
    }

    /// Hands jobs to the threads. Tests of a serialized suite are a chain: the next link goes before all other tests, so
    /// that the longest chain does not begin when the rest has ended.
    private final class OwnThreadExecutor: TaskExecutor {
        static let ofChains = OwnThreadExecutor(isOfChain: true)
        static let ofOthers = OwnThreadExecutor(isOfChain: false)

        private let isOfChain: Bool

        init(isOfChain: Bool) { self.isOfChain = isOfChain }

        func enqueue(_ job: consuming ExecutorJob) {
            OwnThreads.shared.enqueue(UnownedJob(job), of: asUnownedTaskExecutor(), isOfChain: isOfChain)
        }
    }

    /// The tests of a suite that wait for programs, threads or the kernel have threads of their own.
    package struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
        let isChain: Bool

        /// A suite is on these threads as a whole. A test that had to begin on the threads of those that compute would wait
        /// behind them all, between two links of a chain as well.
        package var isRecursive: Bool { false }

        package func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
        ) async throws {
            let executor = isChain ? OwnThreadExecutor.ofChains : OwnThreadExecutor.ofOthers
            try await withTaskExecutorPreference(executor) { try await function() }
        }
    }

    extension Trait where Self == OwnThreadTrait {
        package static var ownThread: Self { Self(isChain: false) }

        /// For a suite that is `.serialized`, or whose tests take long.
        package static var ownThreadChain: Self { Self(isChain: true) }
    }
#endif
