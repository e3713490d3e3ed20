import ControlInterface
import Engine
import Handlers
import JSON
import LinuxSystem
import Schedule
import Store
import Varlink
import WatchFile

// The engine's views as they travel. A reader is told names, states, counts and times; paths, lines and output only
// whoever may change things.

func wireTime(_ microseconds: Int64) -> String { Timestamp(microseconds: microseconds).description }

extension ControlInterface.Counters {
    /// `over`: entries above a backlog now.
    init(_ counters: EngineCounters, over: Int = 0) {
        self.init()
        accepted = counters.accepted
        held = counters[.held]
        pending = counters[.pending]
        running = counters[.running]
        done = counters[.done]
        failed = counters[.failed]
        cancelled = counters[.cancelled]
        skipped = counters[.skipped]
        dropped = counters[.dropped]
        annulled = counters[.annulled]
        coalesced = counters.coalesced
        filtered = counters.filtered
        gap = counters.gap
        self.over = over
    }
}

extension ControlInterface.Suspension {
    init(_ suspension: EngineSuspension) {
        self.init(
            by: suspension.by, reason: suspension.reason, since: wireTime(suspension.since),
            until: suspension.until.map(wireTime))
    }
}

extension ListSemaphores.Semaphore {
    init(_ view: SemaphoreView) {
        self.init(
            name: view.definition.name, value: view.definition.value, available: view.available, waiting: view.waiting)
        members = view.definition.members.isEmpty ? nil : view.definition.members
        holders = view.holders.prefix(Self.holdersTold).map {
            .init(
                operation: Int($0.operation), handler: $0.handler, count: $0.count,
                members: $0.members.isEmpty ? nil : $0.members)
        }
    }

    private static let holdersTold = 100
}

extension GroupState {
    init(_ view: GroupView) {
        self.init(name: view.id.description, outstanding: view.outstanding, entered: view.entered)
    }
}

extension OperationSummary.Result {
    init(_ result: EngineResult) {
        self =
            switch result {
            case .done: .done
            case .failed: .failed
            case .cancelled: .cancelled
            case .skipped: .skipped
            case .dropped: .dropped
            case .annulled: .annulled
            case .superseded: .superseded
            case .stopped: .stopped
            }
    }
}

extension OperationSummary.State {
    init(_ state: OperationState) {
        self =
            switch state {
            case .pending: .pending
            case .ready: .ready
            case .executing: .executing
            case .finished: .finished
            case .cancelled: .cancelled
            }
    }
}

extension OperationView {
    /// `HoldUntil=` may name a path.
    fileprivate func waitingFor(_ role: Peer.Role) -> String? {
        role == .administrator || waitReason != .condition ? waitingFor : waitReason?.rawValue
    }
}

extension OperationSummary {
    init(_ view: OperationView, _ role: Peer.Role) {
        let role = role.over(view.handler, view.events)
        self.init(
            id: Int(view.id), handler: view.handler, queue: view.queue, source: view.sourceName,
            state: State(view.state), entries: view.entries, deliveries: view.deliveries,
            cause: view.cause(role), submitted: wireTime(view.submitted),
            // One that waits for an attempt has not made it yet.
            attempt: view.started == nil ? view.attempt - 1 : view.attempt)
        if role == .administrator { key = view.key.flatMap { $0.isEmpty ? nil : $0.printable } }
        result = view.result.map(Result.init)
        waitingFor = view.waitingFor(role)
        waitReason = view.waitReason?.rawValue
        dependencies = view.dependencies.map(Int.init)
        successor = view.successor.map(Int.init)
        nextAttempt = view.nextAttempt.map(wireTime)
        notBefore = view.notBefore.map(wireTime)
        if view.parts > 1 { (parts, partsEnded) = (view.parts, view.partsEnded) }
        started = view.started.map(wireTime)
        ended = view.ended.map(wireTime)
        if let started = view.started, let ended = view.ended { tookUsec = Int(ended - started) }
        pid = view.pid.map(Int.init)
        (exitStatus, signal) = view.exit.wire
        (reason, progress) = role == .administrator ? (view.reason, view.progress) : (nil, nil)
        used = ResourcesUsed(view.usage)
        (foundAgain, leftProcesses) = view.usage.remarks
        (unit, invocationID) = view.usage.place
        if !view.acquired.isEmpty {
            acquired = Dictionary(view.acquired.map { ($0.semaphore, $0.members) }) { $0 + $1 }
        }
        (durable, redelivered) = (view.isDurable, view.isRedelivered)
        byHand = view.isRunByHand ? true : nil
        tell(view.trace, spanOf: view.started.map { _ in RunID(operation: view.id, attempt: view.attempt) })
    }

    /// - Parameter run: its last one.
    mutating func tell(_ trace: TraceContext?, spanOf run: RunID?) {
        traceID = trace?.traceID
        if let trace, trace.span != 0 { parentSpanID = trace.spanID }
        if let run, traceID != nil { spanID = TraceNumbers.own.spanID(of: run) }
    }
}

extension TraceNumbers {
    /// Of this machine.
    static let own = TraceNumbers(host: Runtime.host)

    /// 16 digits.
    func spanID(of run: RunID) -> String { TraceContext(high: 0, low: 0, span: span(of: run)).spanID }
}

extension Exit? {
    var wire: (status: Int?, signal: String?) {
        switch self {
        case .exited(let code): (Int(code), nil)
        case .signaled(let number): (nil, LinuxSignal.name(number))
        case nil: (nil, nil)
        }
    }
}

extension OperationView {
    fileprivate var sourceName: String? {
        if case .source(let id) = origin { id.description } else { nil }
    }

    /// `watchctl run` made its events.
    var isRunByHand: Bool {
        if events.last?.isByHand == true { return true }
        // Of an older store. A client's own command is no run of a handler.
        if case .source = origin { return isByHand }
        return false
    }

    /// Why it exists, in a few words.
    func cause(_ role: Peer.Role) -> String {
        guard isRunByHand, var newest = events.last else { return eventCause(events.last, role) }
        newest.isByHand = true
        let isOfHandler = if case .run = origin { true } else { false }
        if newest.isMadeUp { return isOfHandler ? EventText.byHand : "\(origin), \(EventText.byHand)" }
        newest.isByHand = false
        return "\(eventCause(newest, role)), \(EventText.byHand)"
    }

    private func eventCause(_ newest: Event?, _ role: Peer.Role) -> String {
        // Of one that was found running, and was too young to be stored, the event is not known.
        guard let newest, newest.id != 0 else { return "\(origin)" }
        if entries > 1 { return "\(origin), \(entries) events" }
        if role != .administrator { return "\(origin)" }
        switch newest.fact {
        case .path(let fact): return fact.path.printable
        case .completion(let fact):
            // In a digest.
            let origin = newest.origin ?? origin
            return "\(origin.name) \(fact.operation) \(fact.result?.rawValue ?? fact.outcome.rawValue)"
        case .command(let fact): return fact.title
        case .timer, .signal, .line, .process, .unit, .custom, .group, .finalizer, .silence, .problem:
            return "\(origin), \(EventText.sentence(newest))"
        }
    }
}

extension OperationDetail {
    /// - Parameter attempts: those that failed and were tried again, the first one first.
    init(_ view: OperationView, attempts: [OperationView], _ role: Peer.Role) {
        self.init(summary: OperationSummary(view, role), events: [])
        runs = attempts.compactMap { OperationRun($0, role) }
        // While it is backing off it stands as its last attempt left it.
        if attempts.last?.started != view.started, let run = OperationRun(view, role) { runs.append(run) }
        guard role == .administrator else {
            eventsOmitted = view.entries
            withheld = true
            return
        }
        tell(view.events, of: view.origin, entries: view.entries)
        tell(output: view.output)
    }

    /// The newest ones, as far as a reply may hold them.
    mutating func tell(_ list: [Event], of origin: Origin, entries: Int) {
        var (shown, bytes) = ([JSONValue](), 0)
        for event in list.suffix(Manager.maximumEventsShown).reversed() {
            let text = EventMessage.object(event, origin: origin)
            bytes += text.count
            if bytes > Self.eventBytes, !shown.isEmpty { break }
            if let object = try? JSON.decode(JSONValue.self, from: text) { shown.append(object) }
        }
        events = shown.reversed()
        eventsOmitted = entries - events.count
    }

    private static let eventBytes = 4 << 20

    /// Of one that has not ended: what runs now, or the last attempt.
    mutating func tell(outputSoFar view: OperationView, _ runs: RunSet?, _ attempts: FailedAttempts) {
        guard view.state == .executing, let output = runs?.output(of: view.id) else {
            tell(output: attempts.output(of: view.id, attempt: summary.attempt) ?? [])
            outputBytes = runs?.bytesWritten(by: view.id)
            return
        }
        tell(output: output.end)
        outputBytes = output.total
    }

    mutating func tell(output bytes: [UInt8]) {
        let text = OutputText(bytes)
        (output, outputBase64, outputCut) = (text.text, text.base64, text.isCut ? true : nil)
    }
}

extension OperationRun {
    /// The attempt that a view tells of; `nil`: it has not started.
    init?(_ view: OperationView, _ role: Peer.Role) {
        guard let started = view.started else { return nil }
        self.init(attempt: view.attempt, pid: view.pid.map(Int.init), started: wireTime(started))
        ended = view.ended.map(wireTime)
        result = view.result.map(OperationSummary.Result.init)
        (exitStatus, signal) = view.exit.wire
        used = ResourcesUsed(view.usage)
        (foundAgain, leftProcesses) = view.usage.remarks
        (unit, invocationID) = view.usage.place
        reason = role == .administrator ? view.reason : nil
        spanID = TraceNumbers.own.spanID(of: RunID(operation: view.id, attempt: view.attempt))
    }
}

extension Follow.OutputLines {
    fileprivate init(_ output: FollowHub.Output) {
        self.init(
            object: (output.run?.handler ?? output.worker).map { "handler/\($0)" } ?? output.origin.description,
            operation: output.run.map { Int($0.operation) }, copy: output.copy,
            lines: output.lines.map { String(decoding: $0, as: UTF8.self) })
    }
}

enum FollowRecord {
    /// `nil`: nothing of it is for this role.
    static func reply(_ record: FollowHub.Record, _ role: Peer.Role) -> Follow.Reply? {
        let time = wireTime(record.time)
        switch record.content {
        case .operation(let view):
            return Follow.Reply(
                sequence: record.sequence, time: time, operation: OperationSummary(view, role),
                initial: record.isInitial ? true : nil)
        case .event(let event, let origin, let handlers):
            let text = EventMessage.object(event, origin: origin)
            guard let object = try? JSON.decode(JSONValue.self, from: text) else { return nil }
            return Follow.Reply(
                sequence: record.sequence, time: time, event: shown(object, role), handlers: handlers)
        case .output(let output):
            if role != .administrator { return nil }
            return Follow.Reply(sequence: record.sequence, time: time, output: Follow.OutputLines(output))
        // It has ended, and its end has been told or is among what is missed.
        case .state: return nil
        }
    }

    static func gap(_ missed: FollowHub.Missed) -> Follow.Reply {
        Follow.Reply(
            sequence: missed.last, time: wireTime(Linux.now(.realtime)),
            gap: Follow.Gap(first: missed.first, last: missed.last))
    }

    private static let forEverybody = ["id", "source", "kind", "event", "time", "count", "by_hand"]

    private static func shown(_ object: JSONValue, _ role: Peer.Role) -> JSONValue {
        guard role != .administrator, case .object(let members) = object else { return object }
        return .object(members.filter { forEverybody.contains($0.key) })
    }
}
