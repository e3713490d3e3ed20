import Schedule
import Testing
import WatchFile

@testable import Engine

/// An engine in virtual time, with a rim that starts and ends runs on demand.
///
/// Every input is followed by a check of all invariants (`EngineInvariants`), so that each test is also a test of
/// those.
final class EngineFixture {
    private(set) var engine: Engine
    private(set) var now: Moment
    /// Everything the engine asked for, in order.
    private(set) var actions: [Action] = []
    /// The runs asked for, in order, ended or not.
    private(set) var starts: [StartRequest] = []
    /// Runs that were asked for and have not ended, in order.
    private(set) var runs: [RunID] = []
    /// Runs the rim has told the pid of.
    private(set) var spawned: Set<RunID> = []
    private(set) var ended: [OperationView] = []
    /// Attempts that failed and are followed by another.
    private(set) var retried: [OperationView] = []
    /// `id reason` of each that was told to be late or slow, in order.
    private(set) var overdue: [String] = []
    /// Deliveries that ended without an operation of their own.
    private(set) var refused: [RefusedDelivery] = []
    /// Every event accepted, in order, with where it comes from and the handlers it is for.
    private(set) var events: [(event: Event, origin: Origin, handlers: [String])] = []
    /// Handlers that write what their source watches, as they were found.
    private(set) var loops: [FoundLoop] = []
    /// `name count: reason` of elapses that are not caught up.
    private(set) var missed: [String] = []
    /// `id state` of every change of an operation that was reported.
    private(set) var states: [String] = []
    /// Where sources that live in the engine stood, in order.
    private(set) var conditions: [(id: SourceID, condition: SourceCondition)] = []
    private(set) var replies: [Token: [Reply]] = [:]
    private(set) var reloads: [Token: ConfigurationChange] = [:]
    private(set) var logs: [String] = []
    private(set) var signals: [String] = []
    private(set) var armed: [Clock: Int64] = [:]
    /// How often a clock has come to its time.
    private(set) var wakeUps = 0
    private(set) var open: Set<SourceID> = []
    private(set) var held: Set<SourceID> = []
    /// Conditions of `HoldUntil=` that are looked at.
    private(set) var watched: Set<HoldCondition> = []
    private(set) var drained: [UInt64]?
    private(set) var leftBesideStop: [AdoptRequest] = []
    /// `name state` of every change of a path that is handled, in order.
    var handled: [String] = []
    /// Paths that some handlers were told of before others.
    var told: [String] = []
    /// What was to be written, in order.
    private(set) var writes: [StoreWrite] = []
    private(set) var begun: [StoredOperation] = []
    private(set) var adopted: [AdoptRequest] = []
    /// Workers that were asked for and have not ended, in order.
    private(set) var workers: [RunID] = []
    /// Workers that get no further line.
    private(set) var closing: Set<RunID> = []
    /// Lines that workers hold, in order.
    private(set) var lines: [(line: StartRequest, worker: RunID)] = []
    /// Every line that was handed over, in order.
    private(set) var handed: [StartRequest] = []
    /// Lines that are to be given up.
    private(set) var takenBack: [RunID] = []
    /// What has happened to workers, in order.
    private(set) var news: [WorkerNews] = []
    /// Lines that waited for the store, which the engine is to be told of.
    private var stored: [(run: RunID, worker: RunID)] = []
    private var lastToken: UInt64 = 0
    private let invariants = EngineInvariants()
    private var model = SchedulingModel()
    private var isModelled = true
    /// What the invariants found wrong, first of all.
    private(set) var violation: String?

    /// Off: only for programs so large that to look at every operation after every input takes too long.
    private let isChecked: Bool
    /// What is wrong is kept in `violation` only.
    private let isQuiet: Bool
    /// Where it was made: what is wrong inside is recorded there.
    private let sourceLocation: Testing.SourceLocation

    static let boot = Moment(realtime: 1_800_000_000_000_000, boottime: 1_000_000_000, monotonic: 900_000_000)

    init(
        _ configuration: Configuration, at now: Moment = EngineFixture.boot, restoring state: StoredState? = nil,
        isChecked: Bool = true, isQuiet: Bool = false, seed: UInt64 = 0, host: [UInt8] = [],
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        self.now = now
        self.isChecked = isChecked
        self.isQuiet = isQuiet
        self.sourceLocation = sourceLocation
        engine = Engine(configuration, at: now, seed: seed, host: host)
        // The model knows nothing of processes that no operation has started.
        if configuration.sources.contains(where: { $0.command != nil }) { isModelled = false }
        // Nor of workers, whose width several operations share.
        if configuration.handlers.contains(where: { $0.stream != nil }) { isModelled = false }
        // Nor of the state of the machine, nor of operations that are of several sources.
        if configuration.handlers.contains(where: { !$0.windows.holdUntil.isEmpty || $0.constraints.digest > .zero })
            || configuration.sources.contains(where: { !$0.windows.holdUntil.isEmpty })
        {
            isModelled = false
        }
        if let state {
            engine.restore(state)
            // The model begins with an engine that is empty.
            isModelled = false
        }
        let first = engine.start()
        take(first)
        check(nil, first)
    }

    // MARK: Inputs

    func send(_ input: Input) {
        let new = engine.handle(input, at: now)
        take(new)
        check(input, new)
        while !stored.isEmpty {
            let (run, worker) = stored.removeFirst()
            if let pid = engine.holder(of: run, worker) { send(.handed(run, pid: pid)) }
        }
    }

    private func check(_ input: Input?, _ new: [Action]) {
        guard isChecked, violation == nil else { return }
        // The model looks at every pair of operations: it leaves programs alone that have become large.
        if engine.operations.count > 300 { isModelled = false }
        let wrong = isModelled ? model.take(input, new, engine, at: now) : nil
        guard let found = wrong ?? invariants.check(engine, armed: armed) else { return }
        let last = input.map { String("\($0)".prefix(300)) } ?? "no input"
        violation = "\(found), after \(last)"
        if !isQuiet { Issue.record("\(found), after \(last)", sourceLocation: sourceLocation) }
    }

    private func take(_ new: [Action]) {
        actions += new
        for action in new { take(action) }
    }

    private func take(_ action: Action) {
        switch action {
        case .open(let definition):
            #expect(open.insert(definition.id).inserted, sourceLocation: sourceLocation)
        case .close(let id):
            #expect(open.remove(id) != nil, sourceLocation: sourceLocation)
            held.remove(id)
        case .hold(let id):
            #expect(open.contains(id) && held.insert(id).inserted, sourceLocation: sourceLocation)
        case .release(let id):
            #expect(held.remove(id) != nil, sourceLocation: sourceLocation)
        case .watch(let condition):
            #expect(watched.insert(condition).inserted, sourceLocation: sourceLocation)
        case .unwatch(let condition):
            #expect(watched.remove(condition) != nil, sourceLocation: sourceLocation)
        case .arm(let clock, let time):
            armed[clock] = time
        case .start(let request):
            #expect(
                !request.events.isEmpty || request.queue.isEmpty, "only a supervised process has no event",
                sourceLocation: sourceLocation)
            starts.append(request)
            runs.append(request.run)
        case .signal(let run, let number, let mode):
            #expect(
                runs.contains(run) || workers.contains(run), "a signal to a run that is not there",
                sourceLocation: sourceLocation)
            signals.append("\(run.operation) \(LinuxSignal.name(number)) \(mode)")
        case .log(_, _, let text): logs.append(String(decoding: text, as: UTF8.self))
        case .reply(let token, let reply): replies[token, default: []].append(reply)
        case .reloaded(let token, let change): reloads[token] = change
        case .drained(let leftBehind, let leftRunning): (drained, leftBesideStop) = (leftBehind, leftRunning)
        case .report(let report): take(report)
        case .adopt(let request):
            adopted.append(request)
            runs.append(request.run)
        case .store(let write): writes.append(write)
        case .began(let operation): begun.append(operation)
        case .handled(_, let paths, let isStored):
            told += paths.filter(\.state.isTold).map { $0.shown.prefix { $0 != " " } + (isStored ? " stored" : "") }
            handled += paths.filter { !$0.state.isTold }.map { $0.shown + (isStored ? " stored" : "") }
        case .startWorker(let request):
            #expect(request.events.isEmpty && !workers.contains(request.run), sourceLocation: sourceLocation)
            workers.append(request.run)
        case .hand(let line, let worker):
            #expect(
                spawned.contains(worker) && !closing.contains(worker), "a line for a worker that takes none",
                sourceLocation: sourceLocation)
            lines.append((line, worker))
            handed.append(line)
        case .takeBack(let run, let worker):
            #expect(lines.contains { $0.line.run == run && $0.worker == worker }, sourceLocation: sourceLocation)
            takenBack.append(run)
        case .closeInput(let worker):
            #expect(workers.contains(worker) && closing.insert(worker).inserted, sourceLocation: sourceLocation)
        case .committed(.hand(let line, let worker)):
            if engine.holder(of: line.run, worker) != nil {
                stored.append((line.run, worker))
                take(.hand(line, to: worker))
            }
        // What it waits for is safe at once.
        case .committed(let action), .stored(let action): take(action)
        }
    }

    private func take(_ report: Report) {
        switch report {
        case .event(let event, let origin, let handlers, _): events.append((event, origin, handlers))
        case .operation(let id, let state): states.append("\(id) \(state.rawValue)")
        case .ended(let view): ended.append(view)
        case .retrying(let view): retried.append(view)
        case .overdue(let view): overdue.append("\(view.id) \(view.reason ?? "")")
        case .condition(let id, let condition, _): conditions.append((id, condition))
        case .refused(let delivery): refused.append(delivery)
        case .progress: break
        case .loop(let loop): loops.append(loop)
        case .worker(let news): self.news.append(news)
        case .missed(let id, let count, let reason): missed.append("\(id.name) \(count): \(reason)")
        }
    }

    // MARK: Time

    /// Lets time pass on all clocks; whenever one that is armed comes to its time, the engine is told.
    func advance(seconds: Double) {
        let end = now.monotonic + Int64(seconds * 1_000_000)
        while true {
            let due = armed.map { clock, time in max(0, time - now[clock]) }.min() ?? .max
            guard due <= end - now.monotonic else { break }
            pass(due)
            armed = armed.filter { clock, time in time > now[clock] }
            wakeUps += 1
            send(.clock)
        }
        pass(end - now.monotonic)
        // Whatever has come to its time by now should have been armed for.
        check(nil, [])
    }

    /// The machine sleeps: the monotonic clock stands still.
    func machineSleeps(seconds: Double) {
        now.realtime += Int64(seconds * 1_000_000)
        now.boottime += Int64(seconds * 1_000_000)
        armed = armed.filter { clock, time in time > now[clock] }
        send(.clock)
    }

    /// Nobody looks at the clocks for a while.
    func passUnseen(seconds: Double) {
        pass(Int64(seconds * 1_000_000))
        armed = armed.filter { clock, time in time > now[clock] }
        send(.clock)
    }

    /// Somebody sets the wall clock.
    func stepWallClock(seconds: Int64) {
        now.realtime += seconds * 1_000_000
        armed[.realtime] = nil
        send(.clock)
    }

    /// The wall clock shows so many microseconds more, and nobody is told.
    func readWallClock(late microseconds: Int64) { now.realtime += microseconds }

    private func pass(_ microseconds: Int64) {
        now.realtime += microseconds
        now.boottime += microseconds
        now.monotonic += microseconds
    }

    // MARK: Commands

    @discardableResult
    func command(_ command: Engine.Command) -> Token {
        switch command {
        // Of commands of clients, which share a handler, each has its own rules; others stand for the client.
        case .submit, .drain, .acquire, .priority: isModelled = false
        default: break
        }
        let token = newToken()
        send(.command(command, token))
        return token
    }

    func newToken() -> Token {
        lastToken += 1
        return Token(lastToken)
    }

    @discardableResult
    func reload(_ configuration: Configuration) -> Token {
        if configuration.handlers.contains(where: { $0.stream != nil }) { isModelled = false }
        let token = newToken()
        send(.reload(configuration, token))
        return token
    }

    /// The answer to a command, once there is one.
    func reply(_ token: Token) -> Reply? { replies[token]?.first }

    // MARK: The rim

    func spawn(_ run: RunID) {
        guard runs.contains(run) || workers.contains(run), spawned.insert(run).inserted else { return }
        send(.runStarted(run, pid: Int32(1000 + run.operation % 1_000_000_000)))
    }

    func end(_ run: RunID, _ exit: Exit? = .exited(0), output: String = "", reason: String? = nil) {
        spawn(run)
        runs.removeAll { $0 == run }
        spawned.remove(run)
        send(.runEnded(run, exit, output: Array(output.utf8), reason: reason))
    }

    /// A worker is through with lines.
    func answer(_ runs: [RunID], _ outcome: LineAnswer.Outcome = .ok) {
        guard let worker = lines.first(where: { line in runs.contains(line.line.run) })?.worker else {
            Issue.record("no worker holds \(runs)", sourceLocation: sourceLocation)
            return
        }
        lines.removeAll { runs.contains($0.line.run) }
        send(.answered(worker: worker, runs.map { LineAnswer($0, outcome) }))
    }

    /// A worker has ended, with all that it held.
    func endWorker(_ worker: RunID, _ exit: Exit? = .exited(1), reason: String? = nil) {
        workers.removeAll { $0 == worker }
        spawned.remove(worker)
        lines.removeAll { $0.worker == worker }
        send(.runEnded(worker, exit, reason: reason))
    }

    /// A worker never came to be.
    func failWorker(toStart worker: RunID, reason: String) {
        workers.removeAll { $0 == worker }
        send(.runNotStarted(worker, reason: reason))
    }

    /// What its processes have used, which is told before its end.
    func use(_ run: RunID, _ usage: ResourceUsage) { send(.runUsed(run, usage)) }

    /// Its conditions do not hold.
    func skip(_ run: RunID, reason: String) {
        runs.removeAll { $0 == run }
        spawned.remove(run)
        send(.runSkipped(run, reason: reason))
    }

    func fail(toStart run: RunID, reason: String) {
        runs.removeAll { $0 == run }
        send(.runNotStarted(run, reason: reason))
    }
}
