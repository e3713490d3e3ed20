import Engine
import Schedule

/// The engine, with the benchmark as its rim, in virtual time: each command starts and ends at once.
final class EngineWork: SameWork {
    private var engine: Engine
    /// Virtual; a microsecond passes from one input to the next.
    private var now = Moment(realtime: 1_700_000_000_000_000, boottime: 1_000_000_000, monotonic: 1_000_000_000)
    private let fact = Fact.path(PathFact(.written, path: Array("/srv/a".utf8), root: Array("/srv".utf8)))
    private var running: [RunID] = []
    private var ended = 0
    private let queue = "queue/\(SameWatchFile.queue)"

    init(width: Int) {
        engine = Engine(SameWatchFile.configuration(width: width), at: now)
        perform(engine.start())
    }

    func run(operations: Int) throws(Failure) {
        ended = 0
        inBatches(operations) { count in
            input(.command(.suspend(name: queue, by: "watchd-bench", reason: nil, until: nil), Token(1)))
            for _ in 0..<count { input(.event(SameWatchFile.source, fact)) }
            input(.command(.resume(name: queue), Token(2)))
            var head = 0
            while head < running.count {
                let run = running[head]
                head += 1
                ended += 1
                input(.runEnded(run, .exited(0)))
            }
            running.removeAll(keepingCapacity: true)
        }
        try check(ended, operations)
    }

    private func input(_ input: Input) {
        now.realtime += 1
        now.boottime += 1
        now.monotonic += 1
        perform(engine.handle(input, at: now))
    }

    private func perform(_ actions: [Action]) {
        for case .start(let request) in actions {
            running.append(request.run)
            input(.runStarted(request.run, pid: 1))
        }
    }
}
