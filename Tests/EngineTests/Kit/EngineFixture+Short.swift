import Schedule
import Testing
import WatchFile

@testable import Engine

/// Short ways to tell the fixture what happens, and to see what came of it.
extension EngineFixture {
    /// Ends the oldest run.
    func endFirst(
        _ exit: Exit? = .exited(0), output: String = "", reason: String? = nil,
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        guard let run = runs.first else {
            Issue.record("nothing runs", sourceLocation: sourceLocation)
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
        _ source: String, _ change: PathChange, _ path: String, from oldPath: String? = nil, replaced: Bool = false,
        isNew: Bool = false, isFolder: Bool = false, root: String = "/w"
    ) {
        let fact = PathFact(
            change, path: Array(path.utf8), oldPath: oldPath.map { Array($0.utf8) }, root: Array(root.utf8),
            hasReplaced: replaced, isNew: isNew, isFolder: isFolder)
        send(.event(SourceID(.path, source), .path(fact)))
    }

    /// A change of a source that keeps a snapshot. `state`: what stands there now; `nil`: nothing.
    func change(
        _ source: String, _ change: PathChange, _ path: String, _ state: UInt64?, from oldPath: String? = nil,
        replaced: Bool = false, isNew: Bool = false, isRecovered: Bool = false
    ) {
        let fact = PathFact(
            change, path: Array(path.utf8), oldPath: oldPath.map { Array($0.utf8) }, root: Array("/w".utf8),
            isRecovered: isRecovered, hasReplaced: replaced, isNew: isNew)
        send(.change(SourceID(.path, source), fact, state.map(PathState.numbered) ?? .nothing))
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

    // MARK: Commands in short

    func suspend(_ name: String) { command(.suspend(name: name, by: "test", reason: nil, until: nil)) }

    @discardableResult
    func resume(_ name: String) -> Token { command(.resume(name: name)) }

    func cancel(_ id: UInt64) { command(.cancel(operation: id)) }

    @discardableResult
    func run(_ name: String, waits: Bool = false, caller: UInt64? = nil) -> Token {
        command(.run(Engine.Command.RunCommand(name: name, waits: waits, caller: caller)))
    }

    @discardableResult
    func wait(_ awaited: Awaited, seconds: Int64? = nil, caller: UInt64? = nil) -> Token {
        command(.wait(awaited, after: seconds.map { $0 * 1_000_000 }, caller: caller))
    }

    /// Why a command failed.
    func error(_ token: Token) -> CommandError? {
        if case .failure(let error) = reply(token) { error } else { nil }
    }

    // MARK: What came of it

    /// `handler: event event …` of every run asked for.
    var story: [String] { starts.map(Self.describe) }

    /// The same of the runs that have not ended.
    var running: [String] { starts.filter { runs.contains($0.run) }.map(Self.describe) }

    /// `handler result` of every delivery that ended without an operation of its own, in order.
    var refusals: [String] { refused.map { "\($0.handler) \($0.result.rawValue)" } }

    /// The runs of that handler that have not ended, oldest first.
    func runs(of handler: String) -> [RunID] {
        starts.filter { $0.definition.value.name == handler && runs.contains($0.run) }.map(\.run)
    }

    /// Ends the oldest run of that handler.
    func end(
        _ handler: String, _ exit: Exit? = .exited(0), output: String = "",
        sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
        guard let run = runs(of: handler).first else {
            Issue.record("no run of \(handler)", sourceLocation: sourceLocation)
            return
        }
        end(run, exit, output: output)
    }

    /// The operations of that handler that have not ended, oldest first.
    func operations(_ handler: String) -> [OperationView] {
        engine.operationViews.filter { $0.handler == handler }
    }

    func semaphore(_ name: String) -> SemaphoreView? {
        engine.semaphoreViews.first { $0.definition.name == name }
    }

    func queue(_ name: String) -> QueueView? {
        engine.queueViews.first { $0.definition.name == name }
    }

    func group(_ name: String) -> GroupView? {
        engine.groupViews.first { $0.id.name == name }
    }

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
        case .unit(let fact): return "\(fact.change.rawValue):\(fact.unit)"
        case .finalizer: return "finalizer"
        case .command(let fact):
            return fact.arguments.map { String(decoding: $0, as: UTF8.self) }.joined(separator: " ")
        case .problem(let fact): return "\(fact.isSolved ? "solved" : "problem"):\(fact.problem.object)"
        case .silence(let fact): return fact.isOver ? "sound" : "silence"
        case .group(let fact): return "group:\(fact.ran)/\(fact.failed)/\(fact.cancelled)"
        case .custom(let fact):
            let payload = fact.payload.map { "/" + String(decoding: $0, as: UTF8.self) } ?? ""
            return "data:\(fact.data.map(String.init) ?? "-")" + payload + times
        case .completion(let fact): return "\(fact.outcome.rawValue)(\(fact.operation))"
        }
    }
}

extension PathState {
    static func numbered(_ number: UInt64) -> PathState {
        var state = PathState(.file)
        state.inode = number
        return state
    }
}

extension PathMoment {
    /// `a 3`; `a -`: nothing stands there.
    var shown: String {
        let name = String(decoding: path, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
        return "\(name) \(state.kind == .nothing ? "-" : "\(state.inode)")"
    }
}

extension PathFact {
    var shown: String {
        let name = String(decoding: path, as: UTF8.self).split(separator: "/").last.map(String.init) ?? ""
        let old = oldPath.map { (String(decoding: $0, as: UTF8.self).split(separator: "/").last ?? "") + ">" } ?? ""
        return "\(change.rawValue):\(old)\(name)\(hasReplaced ? "!" : "")"
    }
}
