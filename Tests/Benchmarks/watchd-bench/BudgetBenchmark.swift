import CInstructions
import Engine
import LinuxSystem
import Schedule
import WatchFile

/// Ten operations on the way of an event through the engine, and the reading of a watch file, each between two marks:
/// `Tests/Benchmarks/check-budget` counts the instructions from mark to mark. Time is virtual, and nothing else comes from
/// outside.
struct BudgetBenchmark {
    /// Of each, in a row; the first ones pay for what is made once.
    static let warmUp = 100
    static let count = 200
    /// Of a watch file; the tables of keys are made before.
    static let readings = 20

    enum Measured: String, CaseIterable {
        /// An event makes an operation, which starts.
        case start
        /// An event with a key of its own makes an operation, which waits.
        case wait
        /// An event joins an operation that waits.
        case join
        /// An event makes an operation of each of three handlers.
        case three
        /// Ten lines of one read make an operation each.
        case lines
        /// An event makes an operation of a durable queue.
        case durable
        /// An event is dropped, since its queue is full.
        case refused
        /// A timer elapses, and its handler starts.
        case timer
        /// The process of a run is there.
        case started
        /// A run has ended, and the next one starts.
        case ended
    }

    /// Tells the names in the order of the marks.
    func run() throws(Failure) {
        for measured in Measured.allCases {
            let load = try BudgetLoad()
            let (warmUp, all) = (0..<Self.warmUp, 0..<(Self.warmUp + Self.count))
            let inputs = all.map { load.input(measured, $0) }
            for input in inputs[warmUp] { load.handle(input) }
            cinstructions_mark()
            for input in inputs[warmUp.upperBound...] { load.handle(input) }
            cinstructions_mark()
            WatchdBench.say("\(measured.rawValue) \(Self.count) \(load.summary)", to: 1)
        }
        try measureReading()
    }

    /// Most of what a start decides.
    private func measureReading() throws(Failure) {
        var (handlers, sources) = (0, 0)
        cinstructions_mark()
        for _ in 0..<Self.readings {
            let configuration = try BudgetLoad.configuration()
            handlers += configuration.handlers.count
            sources += configuration.sources.count
        }
        cinstructions_mark()
        WatchdBench.say("read \(Self.readings) handlers=\(handlers) sources=\(sources)", to: 1)
    }
}

/// An engine, and what is done to it.
private final class BudgetLoad {
    private static let text = """
        [Queue wide]
        Type=concurrent
        Width=1000
        [Queue one]
        [Queue suspended]
        Suspended=yes
        [Queue kept]
        Durable=yes
        Suspended=yes
        [Queue full]
        Suspended=yes
        Backlog=1
        Overflow=drop-newest

        [Handler a]
        Exec=/bin/true %@
        [Handler b]
        Exec=/bin/true %@
        [Handler c]
        Exec=/bin/true %@

        [Path start]
        Path=/srv
        Key=none
        Handler=a
        Queue=wide
        [Path next]
        Path=/srv
        Key=none
        Coalesce=no
        Handler=a
        Queue=one
        [Path wait]
        Path=/srv
        Key=%p
        Handler=a
        Queue=suspended
        [Path join]
        Path=/srv
        Handler=a
        Queue=suspended
        [Path three]
        Path=/srv
        Key=%p
        Handler=a b c
        Queue=suspended
        [Path durable]
        Path=/srv
        Key=%p
        Handler=a
        Queue=kept
        [Path refused]
        Path=/srv
        Key=%p
        Handler=a
        Queue=full
        [Descriptor lines]
        ListenFIFO=/run/lines
        Key=none
        Handler=a
        Queue=suspended
        [Timer tick]
        EverySec=1
        Key=none
        Handler=a
        Queue=wide
        """
    private static let root = Array("/srv".utf8)

    private var engine: Engine
    /// Virtual; a millisecond passes from one input to the next.
    private var now = Moment(realtime: 1_700_000_000_000_000, boottime: 1_000_000_000, monotonic: 1_000_000_000)
    private var runs: [RunID] = []
    private var actions = 0

    init() throws(Failure) {
        engine = Engine(try Self.configuration(), at: now)
        _ = engine.start()
    }

    static func configuration() throws(Failure) -> Configuration {
        let result = WatchFile.load(
            [WatchFileText(file: "budget.watch", bytes: Array((settings + text).utf8))],
            context: LoadContext(processors: 2))
        guard let configuration = result.configuration else {
            throw Failure(message: result.diagnostics.map(\.message).joined(separator: "\n"))
        }
        return configuration
    }

    private static let settings = "[Watchd]\nMaxProcesses=1000\n"

    /// The input of that number; the operations that it presupposes are made now.
    func input(_ measured: BudgetBenchmark.Measured, _ number: Int) -> Input {
        let id = SourceID(.path, measured.rawValue)
        switch measured {
        case .started:
            handle(.event(SourceID(.path, "start"), Self.fact(number)))
            return .runStarted(runs[number], pid: 1)
        case .ended:
            // Operations get their numbers in this order.
            handle(.event(SourceID(.path, "next"), Self.fact(number)))
            if number == 0 { handle(.event(SourceID(.path, "next"), Self.fact(number))) }
            let first = runs[0]
            return .runEnded(RunID(operation: first.operation + UInt64(number), attempt: 1), .exited(0))
        case .lines:
            return .lines(
                SourceID(.descriptor, "lines"), (0..<10).map { LineFact(Array("line \(number) \($0)".utf8)) })
        case .timer: return .clock
        case .join, .start: return .event(id, Self.fact(0))
        case .wait, .three, .durable, .refused: return .event(id, Self.fact(number))
        }
    }

    func handle(_ input: Input) {
        let span: Int64 = if case .clock = input { 1_000_000 } else { 1000 }
        now.realtime += span
        now.boottime += span
        now.monotonic += span
        for action in engine.handle(input, at: now) {
            actions += 1
            if case .start(let request) = action { runs.append(request.run) }
        }
    }

    /// The outcome: a count of other work would be no budget.
    var summary: String {
        let totals = engine.totals
        return "actions=\(actions) starts=\(runs.count) pending=\(totals[.pending]) running=\(totals[.running]) "
            + "done=\(totals[.done]) dropped=\(totals[.dropped])"
    }

    private static func fact(_ number: Int) -> Fact {
        .path(PathFact(.written, path: Array("/srv/uploads/image-\(1000 + number).jpg".utf8), root: root))
    }
}
