import Dispatch
import Engine
import EventSources
import Handlers
import LinuxSystem
import Synchronization
import WatchFile

/// What runs need, and what they say.
final class Rim: Sendable {
    struct End {
        var exit: Exit?
        var output: [UInt8]
        var reason: String?
    }

    /// `WATCHD_INSTANCE` of what is started here.
    static let instanceName = InstanceName(
        folder: "test-\(Linux.processID)-\(Linux.now(.boottime))", secret: Array("0123456789abcdef".utf8))
    static var instance: String { instanceName.own }

    private let core: Context
    private let reactor: Reactor
    private let said = Said()
    private let runs: QueueBound<RunSet>
    private let epoll: QueueBound<EpollSet>

    static func with(
        _ containment: Containment = Containment(reason: "a test"), _ body: (Rim) throws -> Void
    ) throws {
        let rim = try Rim(containment)
        defer {
            rim.core.queue.sync { rim.epoll.value.cancel() }
            rim.reactor.stop()
        }
        try body(rim)
    }

    private init(_ containment: Containment) throws {
        // As the daemon does: a worker that has gone is an error of the write.
        Linux.ignoreSignal(13)
        let (core, reactor) = try Context.withReactor("test.core")
        (self.core, self.reactor) = (core, reactor)
        Context("test.events").async { try? reactor.run() }
        (runs, epoll) = try core.queue.sync { [said] in
            let epoll = try EpollSet(on: core)
            let environment = RunEnvironment(
                core: core, slow: Lanes(core: core, count: 2), epoll: epoll, lanes: Lanes(core: core, count: 2),
                logger: Logger(level: .emerg), nice: Linux.nice, containment: containment,
                instance: { Self.instanceName },
                keep: { name, _ in said.kept.withLock { $0.append("keep \(name.name)") } },
                forget: { name in said.kept.withLock { $0.append("forget \(name.name)") } }
            ) { input in said.inputs.withLock { $0.append(input) } }
            return (QueueBound(RunSet(environment), to: core), QueueBound(epoll, to: core))
        }
    }

    func start(_ request: StartRequest) { core.queue.sync { runs.value.start(request) } }

    /// - Parameters:
    ///   - pidfd: to be owned.
    ///   - output: to be owned.
    func adopt(_ request: AdoptRequest, pidfd: Int32? = nil, output: Int32? = nil) {
        core.queue.sync {
            runs.value.adopt(
                request, pidfd: pidfd.map { FileDescriptor(owning: $0) },
                output: output.map { FileDescriptor(owning: $0) })
        }
    }

    func signal(_ run: RunID, _ number: Int32) {
        core.queue.sync { runs.value.signal(run, number: number, mode: .tree) }
    }

    func sweep() { core.queue.sync { runs.value.sweep() } }

    // MARK: Workers

    func startWorker(_ request: StartRequest) { core.queue.sync { runs.value.startWorker(request) } }

    /// Gives a worker lines, all at once.
    func hand(_ lines: [StartRequest], to worker: RunID) {
        core.queue.sync {
            for line in lines { runs.value.hand(line, to: worker) }
            runs.value.flush()
        }
    }

    func takeBack(_ run: RunID, from worker: RunID) {
        core.queue.sync {
            runs.value.takeBack(run, from: worker)
            runs.value.flush()
        }
    }

    func closeInput(of worker: RunID) { core.queue.sync { runs.value.closeInput(of: worker) } }

    /// `4711 ok` of every answer, in order, and `end` for the end of a worker.
    var answers: [String] {
        said.inputs.withLock { $0 }.flatMap { input -> [String] in
            switch input {
            case .answered(_, let answers): answers.map { "\($0.run.operation) \($0.outcome.rawValue)" }
            case .runEnded: ["end"]
            default: []
            }
        }
    }

    /// Workers that were said to be broken, with the reason.
    var broken: [RunID: String] {
        var broken: [RunID: String] = [:]
        for case .workerIsBroken(let run, let reason) in said.inputs.withLock({ $0 }) { broken[run] = reason }
        return broken
    }

    var started: Set<RunID> {
        Set(said.inputs.withLock { $0 }.compactMap { if case .runStarted(let run, _, _) = $0 { run } else { nil } })
    }

    var ended: [RunID: End] {
        var ends: [RunID: End] = [:]
        for case .runEnded(let run, let exit, let output, let reason) in said.inputs.withLock({ $0 }) {
            ends[run] = End(exit: exit, output: output, reason: reason)
        }
        return ends
    }

    /// Runs whose conditions did not hold, with the reason.
    var skipped: [RunID: String] {
        var skipped: [RunID: String] = [:]
        for case .runSkipped(let run, _, let reason) in said.inputs.withLock({ $0 }) { skipped[run] = reason }
        return skipped
    }

    /// What runs have used; told before their ends.
    var used: [RunID: ResourceUsage] {
        var used: [RunID: ResourceUsage] = [:]
        for case .runUsed(let run, let usage) in said.inputs.withLock({ $0 }) { used[run] = usage }
        return used
    }

    /// Runs that never came to be, with the reason.
    var notStarted: [RunID: String] {
        var notStarted: [RunID: String] = [:]
        for case .runNotStarted(let run, let reason) in said.inputs.withLock({ $0 }) { notStarted[run] = reason }
        return notStarted
    }

    /// Runs that were said to be long, as often as they were.
    var long: [RunID] {
        said.inputs.withLock { $0 }.compactMap { if case .runIsLong(let run) = $0 { run } else { nil } }
    }

    /// What was put into the service manager's store and taken out of it.
    var kept: [String] { said.kept.withLock { $0 } }

    func output(of run: RunID) -> String { String(decoding: ended[run]?.output ?? [], as: UTF8.self) }
}

/// What runs have said so far.
private final class Said: Sendable {
    let inputs = Mutex<[Input]>([])
    let kept = Mutex<[String]>([])
}
