import Schedule
import Testing
import WatchFile

@testable import Engine

/// A rim with a disk: writes become safe when it is told so, and a crash loses what is not.
///
/// Every event carries a payload of its own, so that the fate of each can be followed across crashes.
struct CrashRim {
    private(set) var engine: Engine
    private(set) var now: Moment
    private var configuration: Configuration
    /// What is safe.
    private var disk = StoredState()
    private var stored: [UInt64: StoredOperation] = [:]
    /// The writes of one `handle` each, and what waits for them.
    private var batches: [(writes: [StoreWrite], actions: [Action])] = []
    /// Runs that have been started and have not ended, oldest first.
    private(set) var runs: [StartRequest] = []
    /// Payloads whose `Emit` was answered.
    private(set) var accepted: Set<Int> = []
    /// Payloads that were answered by an error.
    private(set) var refused: Set<Int> = []
    /// How often each handler was started with each payload (`handler payload`).
    private(set) var starts: [String: Int] = [:]
    /// The same, of those that came to an end.
    private(set) var finished: Set<String> = []
    private(set) var crashes = 0
    /// What was found wrong, first of all.
    private(set) var violation: String?
    private var emits: [Token: [Int]] = [:]
    private var lastToken: UInt64 = 0

    init(_ configuration: Configuration) {
        self.configuration = configuration
        now = EngineFixture.boot
        engine = Engine(configuration, at: now)
        take(engine.start())
    }

    // MARK: What happens

    mutating func emit(_ name: String, _ payload: Int) {
        lastToken += 1
        let token = Token(lastToken)
        emits[token] = [payload]
        let fact = CustomFact(data: nil, payload: Array("\(payload)".utf8))
        send(.command(.emit([.init(name: name, fact: fact)]), token))
    }

    mutating func command(_ command: Engine.Command) {
        lastToken += 1
        send(.command(command, Token(lastToken)))
    }

    mutating func end(_ index: Int, _ exit: Exit) {
        let request = runs.remove(at: index)
        send(.runEnded(request.run, exit))
    }

    mutating func pass(seconds: Int64) {
        now.realtime += seconds * 1_000_000
        now.boottime += seconds * 1_000_000
        now.monotonic += seconds * 1_000_000
        send(.clock)
    }

    mutating func send(_ input: Input) { take(engine.handle(input, at: now)) }

    private mutating func take(_ actions: [Action]) {
        var writes: [StoreWrite] = []
        var waiting: [Action] = []
        for action in actions {
            switch action {
            case .store(let write): writes.append(write)
            case .report(.ended(let view)): writes.append(.ended(view))
            case .committed(let action), .stored(let action): waiting.append(action)
            default: perform(action)
            }
        }
        if !writes.isEmpty || !waiting.isEmpty { batches.append((writes, waiting)) }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .start(let request): start(request)
        case .reply(let token, let reply):
            guard let payloads = emits.removeValue(forKey: token) else { return }
            if case .failure = reply { refused.formUnion(payloads) } else { accepted.formUnion(payloads) }
        default: break
        }
    }

    private mutating func start(_ request: StartRequest) {
        for number in request.events.compactMap(\.payloadNumber) {
            let payload = "\(request.definition.value.name) \(number)"
            let before = starts[payload, default: 0]
            // A retry has a higher attempt; whatever else runs again has to say so.
            if before > 0, request.run.attempt == 1, !request.isRedelivered {
                violation = violation ?? "payload \(payload) runs again and is not redelivered: \(request.run)"
            }
            starts[payload] = before + 1
        }
        runs.append(request)
    }

    // MARK: The disk

    /// The oldest writes become safe.
    mutating func commit(_ count: Int = .max) {
        for _ in 0..<min(count, batches.count) {
            let batch = batches.removeFirst()
            for write in batch.writes { apply(write) }
            for action in batch.actions { perform(action) }
        }
    }

    private mutating func apply(_ write: StoreWrite) {
        switch write {
        case .insert(let operation): stored[operation.id] = operation
        case .update(var operation):
            guard let old = stored[operation.id] else {
                violation = violation ?? "operation \(operation.id) is changed and was never stored"
                return
            }
            (operation.events, operation.appended) = (old.events, old.appended + operation.appended)
            stored[operation.id] = operation
        case .ended(let view):
            if view.isStored != (stored[view.id] != nil) {
                violation = violation ?? "operation \(view.id) ends: isStored is \(view.isStored)"
            }
            stored[view.id] = nil
            guard let result = view.result, result != .annulled, result != .superseded else { return }
            for payload in view.events.compactMap(\.payloadNumber) { finished.insert("\(view.handler) \(payload)") }
        case .held(let id, let events, let replacing):
            let before = replacing ? [] : disk.held.first { $0.source == id }?.events ?? []
            disk.held.removeAll { $0.source == id }
            if !(before + events).isEmpty { disk.held.append(StoredHold(source: id, events: before + events)) }
        case .once(let handler, nil): disk.once.remove(handler)
        case .once(let handler, _): disk.once.insert(handler)
        case .suspensions(let name, let suspensions): disk.suspensions[name] = suspensions
        case .timer(let id, let stamp): disk.timers[id] = stamp
        case .booted(let id): disk.booted.insert(id)
        case .position(let id, let position, _): disk.positions[id] = position
        case .reserved(let event, let operation): (disk.lastEventID, disk.lastOperationID) = (event, operation)
        case .retrying, .retried, .untried, .forgotten, .process, .members, .tally, .tickets, .cancelledByStop,
            .snapshot, .waiting, .lost:
            break
        }
    }

    /// What is not safe is lost. Of the runs that were going on those live on that `survives` says; nobody has seen how
    /// the others ended.
    mutating func crash(survives: (Int) -> Bool) {
        crashes += 1
        batches = []
        emits = [:]
        let alive = runs.indices.filter(survives).map { runs[$0] }
        runs = []
        var state = disk
        state.operations = stored.values.map { operation in
            var operation = operation
            let mine = alive.filter {
                $0.run.operation == operation.id && $0.run.attempt == operation.attempt && operation.isExecuting
            }
            operation.runs = mine.map {
                StoredRun(part: $0.run.part, pid: Int32(truncatingIfNeeded: operation.id), started: now.realtime)
            }
            runs += mine
            return operation
        }
        engine = Engine(configuration, at: now)
        engine.restore(state)
        take(engine.start())
    }

    var isIdle: Bool { engine.operationViews.isEmpty && batches.isEmpty && disk.held.isEmpty }
}

extension Event {
    var payloadNumber: Int? {
        guard case .custom(let fact) = fact, let payload = fact.payload else { return nil }
        return Int(String(decoding: payload, as: UTF8.self))
    }
}
