import Engine
import LinuxSystem
import Schedule
import WatchFile

/// An engine with a steady load, and the rim that is played to it: each turn submits one operation and ends the oldest
/// that runs, so that the next one starts. After a turn as many wait as before it.
struct EngineLoad {
    /// One in so many operations is a barrier: one stands in a line of 1 000, a hundred stand in one of 100 000.
    static let barrierSpacing = 1000
    /// Operations that wait in the suspended queue, beside the others.
    static let suspended = 1000
    /// Microseconds after which a change is not taken for one of the run before it (`Loop=`).
    private static let doubt: Int64 = 200_000
    /// What each operation is about, 40 bytes.
    private static let path = "/srv/uploads/2026/11/20/image-000000.jpg"
    private static let root = Array("/srv".utf8)
    /// Turns after which everything that is made once has been made.
    private static let warmUp = 5000

    private let file: QueueWatchFile
    private var engine: Engine
    /// Virtual; a microsecond passes from one input to the next.
    private var now = Moment(realtime: 1_700_000_000_000_000, boottime: 1_000_000_000, monotonic: 1_000_000_000)
    /// Those that run, the oldest at `head`.
    private var running: [RunID] = []
    private var head = 0
    private var submitted = 0
    private var started = 0
    private var ended = 0
    /// Those in the suspended queue.
    private var parked = 0
    /// Of the allocator, for each operation that waits.
    private(set) var bytesPerOperation = 0.0

    /// Fills the line until so many wait.
    /// - Throws: `Failure`, when the engine does not what it is to do.
    init(pending: Int, queues: Int) throws(Failure) {
        file = QueueWatchFile(queues: queues)
        engine = Engine(file.configuration, at: now)
        perform(engine.start())
        while waiting < 1 { submit(nextFact()) }
        _ = try run(operations: Self.warmUp)

        let before = (bytes: Linux.allocatedBytes, operations: waiting)
        for parked in 0..<Self.suspended {
            input(.event(file.suspended[parked % file.suspended.count], Self.fact(parked)))
        }
        parked = Self.suspended
        while waiting < pending { submit(nextFact()) }
        let added = waiting - before.operations + parked
        bytesPerOperation = Double(Linux.allocatedBytes - before.bytes) / Double(added)
        try check()
    }

    /// Puts so many operations through; nanoseconds of a processor for each.
    mutating func run(operations: Int) throws(Failure) -> Double {
        let facts = (0..<operations).map { Self.fact(submitted + $0) }
        let began = Linux.threadTime
        for fact in facts {
            if head == running.count { pass(Self.doubt) }
            submit(fact)
            guard head < running.count else {
                throw Failure(message: "nothing runs, though \(waiting) operations wait")
            }
            let oldest = running[head]
            head += 1
            ended += 1
            input(.runEnded(oldest, .exited(0)))
        }
        let time = Linux.threadTime - began
        running.removeFirst(head)
        head = 0
        try check()
        return Double(time) / Double(operations)
    }

    // MARK: The rim

    private var waiting: Int { submitted - started }

    private mutating func submit(_ fact: Fact) {
        let number = submitted
        submitted += 1
        let isBarrier = number % Self.barrierSpacing == Self.barrierSpacing / 2
        let source =
            isBarrier
            ? file.barriers[number / Self.barrierSpacing % file.barriers.count]
            : file.ordinary[number % file.ordinary.count]
        input(.event(source, fact))
    }

    private mutating func pass(_ microseconds: Int64) {
        now.realtime += microseconds
        now.boottime += microseconds
        now.monotonic += microseconds
    }

    private mutating func input(_ input: Input) {
        pass(1)
        perform(engine.handle(input, at: now))
    }

    private mutating func perform(_ actions: [Action]) {
        for case .start(let request) in actions {
            started += 1
            running.append(request.run)
            input(.runStarted(request.run, pid: 1))
        }
    }

    private func nextFact() -> Fact { Self.fact(submitted) }

    private static func fact(_ number: Int) -> Fact {
        var path = Array(path.utf8)
        var (rest, digit) = (number % 1_000_000, path.count - 5)
        while rest > 0 {
            path[digit] += UInt8(rest % 10)
            (rest, digit) = (rest / 10, digit - 1)
        }
        return .path(PathFact(.written, path: path, root: root))
    }

    /// What is measured must be what was meant: every operation is where it is to be.
    private func check() throws(Failure) {
        let totals = engine.totals
        let found = [totals[.pending], totals[.running], totals[.done], totals.accepted - totals.outstanding]
        let meant = [waiting + parked, running.count - head, ended, ended]
        guard found == meant else {
            throw Failure(message: "waiting, running, done, ended: the engine counts \(found), not \(meant)")
        }
    }
}
