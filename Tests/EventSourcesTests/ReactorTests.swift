import Dispatch
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("The wait of the main thread for a context", .ownThreadChain)
struct ReactorTests {
    /// A pipe whose read end is a source of a context with a reactor, which runs on a thread of its own.
    private final class Rig: Sendable {
        let core: Context
        let reactor: Reactor
        let ended = Mutex(0)

        init() throws { (core, reactor) = try Context.withReactor("test.core") }

        func run() {
            Context("test.main").async { [self] in
                try? reactor.run()
                ended.withLock { $0 += 1 }
            }
        }

        /// - Parameter handler: called on the context, with the read end.
        func source(_ handler: @escaping @Sendable (Int32) -> Void) throws -> (QueueBound<ReadSource>, write: Int32) {
            let (read, write) = try Linux.pipe(nonBlocking: true).split()
            let source = core.queue.sync {
                ReadSource(FileDescriptor(owning: read), on: core) { handler(read) }
            }
            return (QueueBound(source, to: core), write)
        }

        func end(_ count: Int = 1) throws {
            reactor.stop()
            try wait(for: "the end of \(count) threads") { ended.withLock { $0 } == count }
        }
    }

    private static func write(_ descriptor: Int32, _ count: Int = 1) throws {
        _ = try [UInt8](repeating: 1, count: count).withUnsafeBytes { bytes throws(SystemError) in
            try Linux.write(descriptor, bytes)
        }
    }

    private static func isWithoutReader(_ descriptor: Int32) throws -> Bool {
        try Linux.poll([(descriptor, .writable)], timeout: 0)[0].contains(.error)
    }

    @Test func whatThereIsToReadIsHandledOnTheContextUntilItIsRead() throws {
        let rig = try Rig()
        let read = Mutex(0)
        let (source, write) = try rig.source { [core = rig.core] descriptor in
            core.assertIsCurrent()
            // One byte of many: what is left is told again.
            if let byte = try? Linux.read(descriptor, atMost: 1) { read.withLock { $0 += byte.count } }
        }
        try Self.write(write, 5)
        rig.run()
        try wait(for: "five bytes") { read.withLock { $0 } == 5 }
        try Self.write(write, 2)
        try wait(for: "two more") { read.withLock { $0 } == 7 }
        rig.core.queue.sync { source.value.cancel() }
        try rig.end()
    }

    @Test func aSourceThatIsStoppedByAnotherOfTheSameWaitIsNotTold() throws {
        let rig = try Rig()
        let told = Mutex<[Int]>([])
        let others = Mutex<[QueueBound<ReadSource>]>([])
        let writeEnds = try (0..<2).map { index in
            let (source, write) = try rig.source { _ in
                told.withLock { $0.append(index) }
                // It has not read: without the stop it would be told for ever.
                for source in others.withLock({ $0 }) { source.value.cancel() }
            }
            others.withLock { $0.append(source) }
            return write
        }
        for end in writeEnds { try Self.write(end) }
        rig.run()
        // The read ends are closed on the context, after what was told.
        try wait(for: "the stop of both") { try writeEnds.allSatisfy(Self.isWithoutReader) }
        #expect(told.withLock { $0.count } == 1)
        try rig.end()
    }

    @Test func workOfOtherThreadsAndEventsTakeTurns() throws {
        let rig = try Rig()
        let counts = Mutex((events: 0, works: 0))
        let (source, write) = try rig.source { descriptor in
            if (try? Linux.read(descriptor, atMost: 1)) != nil { counts.withLock { $0.events += 1 } }
        }
        rig.run()
        for _ in 0..<1000 {
            try Self.write(write)
            rig.core.async { counts.withLock { $0.works += 1 } }
        }
        try wait(for: "all of both") { counts.withLock { $0 == (1000, 1000) } }
        rig.core.queue.sync { source.value.cancel() }
        try rig.end()
    }

    // MARK: Priority

    /// A socket whose other end sends bytes out of band, each of which is an event of priority.
    private final class UrgentRig: Sendable {
        let rig: Rig
        let other: Int32
        private let source: QueueBound<PrioritySource>
        /// The events that were told, each with whether the source is broken.
        let told: @Sendable () -> [Bool]

        /// - Parameter during: called in the handler with how often it was called.
        init(during: @escaping @Sendable (Int) -> Void = { _ in }) throws {
            rig = try Rig()
            let (own, other) = try Linux.socketPair(.stream).split()
            self.other = other
            let notes = Mutex<[Bool]>([])
            told = { notes.withLock { $0 } }
            source = try rig.core.queue.sync { [core = rig.core] in
                let source = try PrioritySource(FileDescriptor(owning: own), on: core) { isBroken in
                    core.assertIsCurrent()
                    during(
                        notes.withLock {
                            $0.append(isBroken)
                            return $0.count
                        })
                }
                return QueueBound(source, to: core)
            }
        }

        /// - Returns: the error of the kernel, or 0.
        @discardableResult func send() -> Int32 {
            Glibc.send(other, [1], 1, Int32(MSG_OOB) | Int32(MSG_NOSIGNAL)) == 1 ? 0 : errno
        }

        func cancel() { rig.core.sync { source.value.cancel() } }
    }

    @Test func anEventOfPriorityIsToldOnceThoughNobodyReads() throws {
        let urgent = try UrgentRig()
        urgent.rig.run()
        urgent.rig.run()
        for count in 1...5 {
            urgent.send()
            try wait(for: "event \(count)") { urgent.told().count == count }
        }
        try urgent.rig.end(2)
        #expect(urgent.told() == Array(repeating: false, count: 5))
        urgent.cancel()
        close(urgent.other)
    }

    @Test func whatComesWhileAnEventOfPriorityIsHandledIsTold() throws {
        let gate = DispatchSemaphore(value: 0)
        let urgent = try UrgentRig { if $0 == 1 { gate.wait() } }
        urgent.rig.run()
        urgent.rig.run()
        urgent.send()
        try wait(for: "the first") { urgent.told().count == 1 }
        urgent.send()
        gate.signal()
        try wait(for: "the second") { urgent.told().count == 2 }
        urgent.cancel()
        try urgent.rig.end(2)
        close(urgent.other)
    }

    @Test func aSourceOfPriorityThatIsOverIsBroken() throws {
        let urgent = try UrgentRig()
        urgent.rig.run()
        close(urgent.other)
        try wait(for: "its end") { urgent.told().last == true }
        urgent.cancel()
        try urgent.rig.end()
    }

    @Test func aSourceOfPriorityThatIsCancelledIsClosedAndNotTold() throws {
        let urgent = try UrgentRig()
        urgent.send()
        urgent.cancel()
        urgent.rig.run()
        // A program that another test starts may have it for a moment.
        try wait(for: "its end") { urgent.send() == EPIPE }
        try urgent.rig.end()
        #expect(urgent.told() == [])
        close(urgent.other)
    }

    // MARK: Lending

    /// What was done in a job, and where.
    private final class Work: Sendable {
        let gate = DispatchSemaphore(value: 0)
        let notes = Mutex<[String]>([])

        var job: Reactor.Job {
            { [self] in
                notes.withLock { $0.append("begun") }
                gate.wait()
                // Once open, it stays so: an event that is left may begin another job.
                gate.signal()
                return { [self] in notes.withLock { $0.append("rest") } }
            }
        }

        func has(_ expected: [String]) -> Bool { notes.withLock { $0 } == expected }
    }

    @Test func aThreadIsLentWhileAnotherWaits() throws {
        let (rig, work) = (try Rig(), Work())
        let lent = Mutex<[Bool]>([])
        let (source, write) = try rig.source { [reactor = rig.reactor] descriptor in
            guard (try? Linux.read(descriptor, atMost: 1)) != nil else { return }
            lent.withLock { $0.append(reactor.lend(to: work.job)) }
        }
        rig.run()
        rig.run()
        var written = 0
        // A thread that has not begun to wait cannot be left alone.
        try wait(for: "a thread that is lent") {
            try Self.write(write)
            written += 1
            return work.has(["begun"])
        }
        try Self.write(write, 3)
        written += 3
        // All of them: an event that is left would be handled after the job, and begin another.
        try wait(for: "events while the job goes on") { lent.withLock { $0.count } == written }
        #expect(lent.withLock { $0.count(where: \.self) } == 1)
        work.gate.signal()
        try wait(for: "the rest on the context") { work.has(["begun", "rest"]) }
        rig.core.queue.sync { source.value.cancel() }
        try rig.end(2)
    }

    @Test func aJobOutsideOfAnEventIsRefused() throws {
        let (rig, work) = (try Rig(), Work())
        rig.run()
        rig.run()
        #expect(rig.core.sync { rig.reactor.lend(to: work.job) } == false)
        try rig.end(2)
    }

    @Test func aThreadThatHangsInAJobDoesNotHoldUpTheEnd() throws {
        let (rig, work) = (try Rig(), Work())
        let (source, write) = try rig.source { [reactor = rig.reactor] descriptor in
            if (try? Linux.read(descriptor, atMost: 1)) != nil { _ = reactor.lend(to: work.job) }
        }
        rig.run()
        rig.run()
        try wait(for: "a thread that is lent") {
            try Self.write(write)
            return work.has(["begun"])
        }
        try rig.end(1)
        work.gate.signal()
        try rig.end(2)
        rig.core.queue.sync { source.value.cancel() }
    }

    @Test func aStopBeforeTheWaitEndsItAtOnce() throws {
        let rig = try Rig()
        rig.reactor.stop()
        try rig.reactor.run()
    }
}
