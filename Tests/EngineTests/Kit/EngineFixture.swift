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
    private(set) var replies: [Token: [Reply]] = [:]
    private(set) var reloads: [Token: ConfigurationChange] = [:]
    private(set) var logs: [String] = []
    private(set) var signals: [String] = []
    private(set) var armed: [Clock: Int64] = [:]
    private(set) var open: Set<SourceID> = []
    private(set) var held: Set<SourceID> = []
    private(set) var drained: [UInt64]?
    private var lastToken: UInt64 = 0
    private var invariants = EngineInvariants()
    /// What the invariants found wrong, first of all.
    private(set) var violation: String?

    static let boot = Moment(realtime: 1_800_000_000_000_000, boottime: 1_000_000_000, monotonic: 900_000_000)

    init(_ configuration: Configuration, at now: Moment = EngineFixture.boot) {
        self.now = now
        engine = Engine(configuration, at: now)
        take(engine.start())
        check("start")
    }

    // MARK: Inputs

    func send(_ input: Input) {
        take(engine.handle(input, at: now))
        check("\(input)")
    }

    private func check(_ input: @autoclosure () -> String) {
        guard violation == nil else { return }
        if let found = invariants.check(engine, armed: armed) {
            violation = found + ", after " + String(input().prefix(300))
            Issue.record("\(found), after \(input().prefix(300))")
        }
    }

    private func take(_ new: [Action]) {
        actions += new
        for action in new { take(action) }
    }

    private func take(_ action: Action) {
        switch action {
        case .open(let definition):
            #expect(open.insert(definition.id).inserted)
        case .close(let id):
            #expect(open.remove(id) != nil)
            held.remove(id)
        case .hold(let id):
            #expect(open.contains(id) && held.insert(id).inserted)
        case .release(let id):
            #expect(held.remove(id) != nil)
        case .arm(let clock, let time):
            armed[clock] = time
        case .start(let request):
            #expect(!request.events.isEmpty)
            starts.append(request)
            runs.append(request.run)
        case .signal(let run, let number, let mode):
            #expect(runs.contains(run), "a signal to a run that is not there")
            signals.append("\(run.operation) \(LinuxSignal.name(number)) \(mode)")
        case .log(_, _, let text): logs.append(String(decoding: text, as: UTF8.self))
        case .reply(let token, let reply): replies[token, default: []].append(reply)
        case .reloaded(let token, let change): reloads[token] = change
        case .drained(let leftBehind): drained = leftBehind
        case .report(.ended(let view)): ended.append(view)
        case .report: break
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
            send(.clock)
        }
        pass(end - now.monotonic)
    }

    /// The machine sleeps: the monotonic clock stands still.
    func sleep(seconds: Double) {
        now.realtime += Int64(seconds * 1_000_000)
        now.boottime += Int64(seconds * 1_000_000)
        armed = armed.filter { clock, time in time > now[clock] }
        send(.clock)
    }

    /// Somebody sets the wall clock.
    func stepWallClock(seconds: Int64) {
        now.realtime += seconds * 1_000_000
        armed[.realtime] = nil
        send(.clock)
    }

    private func pass(_ microseconds: Int64) {
        now.realtime += microseconds
        now.boottime += microseconds
        now.monotonic += microseconds
    }

    // MARK: Commands

    @discardableResult
    func command(_ command: Engine.Command) -> Token {
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
        let token = newToken()
        send(.reload(configuration, token))
        return token
    }

    /// The answer to a command, once there is one.
    func reply(_ token: Token) -> Reply? { replies[token]?.first }

    // MARK: The rim

    func spawn(_ run: RunID) {
        guard runs.contains(run), spawned.insert(run).inserted else { return }
        send(.runStarted(run, pid: Int32(1000 + run.operation)))
    }

    func end(_ run: RunID, _ exit: Exit? = .exited(0), output: String = "", reason: String? = nil) {
        spawn(run)
        runs.removeAll { $0 == run }
        spawned.remove(run)
        send(.runEnded(run, exit, output: Array(output.utf8), reason: reason))
    }

    func fail(toStart run: RunID, reason: String) {
        runs.removeAll { $0 == run }
        send(.runNotStarted(run, reason: reason))
    }
}

extension EngineFixture {
    /// Ends the oldest run.
    func endFirst(_ exit: Exit? = .exited(0), output: String = "", reason: String? = nil) {
        guard let run = runs.first else {
            Issue.record("nothing runs")
            return
        }
        end(run, exit, output: output, reason: reason)
    }

    /// Ends runs, oldest first, until none is left.
    func endAll() {
        var count = 0
        while let run = runs.first, count < 100_000 {
            end(run)
            count += 1
        }
    }

    // MARK: Events

    @discardableResult
    func emit(_ name: String, _ data: Int64? = 1, payload: String? = nil) -> Token {
        emit([(name, data, payload)])
    }

    @discardableResult
    func emit(_ emissions: [(name: String, data: Int64?, payload: String?)]) -> Token {
        command(
            .emit(
                emissions.map {
                    Engine.Command.Emission(
                        name: $0.name, fact: CustomFact(data: $0.data, payload: $0.payload.map { Array($0.utf8) }))
                }))
    }

    func path(
        _ source: String, _ change: PathChange, _ path: String, from oldPath: String? = nil, replaced: Bool = false
    ) {
        let fact = PathFact(
            change, path: Array(path.utf8), oldPath: oldPath.map { Array($0.utf8) }, root: Array("/w".utf8),
            hasReplaced: replaced)
        send(.event(SourceID(.path, source), .path(fact)))
    }

    func line(_ source: String, _ text: String) {
        send(.event(SourceID(.descriptor, source), .line(LineFact(Array(text.utf8)))))
    }

    func signal(_ source: String, _ number: Int32, from pid: Int32 = 1, value: Int32? = nil) {
        let fact = SignalFact(number: number, senderPID: pid, senderUID: 0, value: value)
        send(.event(SourceID(.signal, source), .signal(fact)))
    }

    func exit(_ source: String, pid: Int32) {
        send(.event(SourceID(.process, source), .process(ProcessFact(pid: pid, exit: .exited(0)))))
    }

    // MARK: What came of it

    /// `handler: event event …` of every run asked for.
    var story: [String] { starts.map(Self.describe) }

    /// The same of the runs that have not ended.
    var running: [String] { starts.filter { runs.contains($0.run) }.map(Self.describe) }

    /// `handler result` of every operation that has ended, in order.
    var results: [String] { ended.map { "\($0.handler) \($0.result?.rawValue ?? "?")" } }

    func counters(source id: String) -> Counters? {
        engine.sourceViews.first { $0.id.description == id }?.counters
    }

    func counters(queue name: String) -> Counters? {
        engine.queueViews.first { $0.definition.name == name }?.counters
    }

    func counters(handler name: String) -> Counters? {
        engine.handlerViews.first { $0.definition.name == name }?.counters
    }

    private static func describe(_ request: StartRequest) -> String {
        ([request.definition.value.name + ":"] + request.events.map(\.shown)).joined(separator: " ")
    }
}

extension Event {
    /// In a few letters: `written:a`, `renamed:a>b`, `data:3`, `line:hello`, `x2` for a count of 2.
    var shown: String {
        let times = count > 1 ? "x\(count)" : ""
        switch fact {
        case .timer: return "timer" + times
        case .signal(let fact): return "signal:\(fact.number)/\(fact.senderPID)" + times
        case .path(let fact): return fact.shown + times
        case .line(let fact): return "line:" + String(decoding: fact.bytes, as: UTF8.self)
        case .process(let fact): return "exit:\(fact.pid)"
        case .custom(let fact):
            let payload = fact.payload.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ""
            return "data:\(fact.data.map(String.init) ?? "-")" + payload + times
        case .completion(let fact): return "\(fact.outcome.rawValue)(\(fact.operation))"
        }
    }
}

extension PathFact {
    var shown: String {
        let name = String(decoding: path, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
        let old = oldPath.map { (String(decoding: $0, as: UTF8.self).split(separator: "/").last ?? "") + ">" } ?? ""
        return "\(change.rawValue):\(old)\(name)\(hasReplaced ? "!" : "")"
    }
}
