import ControlInterface
import Engine
import FoundationEssentials
import Handlers
import LinuxSystem
import Schedule
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
            by: suspension.by == "file" ? "watch file" : suspension.by, reason: suspension.reason,
            since: wireTime(suspension.since), until: suspension.until.map(wireTime))
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

extension OperationSummary {
    init(_ view: OperationView, _ role: Peer.Role) {
        self.init(
            id: Int(view.id), handler: view.handler, queue: view.queue, source: view.sourceName,
            state: State(view.state), entries: view.entries, deliveries: view.deliveries,
            cause: view.cause(role), submitted: wireTime(view.submitted),
            attempt: view.started == nil ? 0 : view.attempt)
        if role == .administrator { key = view.key.flatMap { $0.isEmpty ? nil : $0.printable } }
        result = view.result.map(Result.init)
        waitingFor = view.waitingFor
        started = view.started.map(wireTime)
        ended = view.ended.map(wireTime)
        if let started = view.started, let ended = view.ended { tookUsec = Int(ended - started) }
        pid = view.pid.map(Int.init)
        (exitStatus, signal) = view.exit.wire
        reason = role == .administrator ? view.reason : nil
    }
}

extension Exit? {
    fileprivate var wire: (status: Int?, signal: String?) {
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

    fileprivate func cause(_ role: Peer.Role) -> String {
        guard let newest = events.last else { return "\(origin)" }
        if entries > 1 { return "\(origin), \(entries) events" }
        if role == .reader { return "\(origin)" }
        switch newest.fact {
        case .path(let fact): return fact.path.printable
        case .completion(let fact): return "\(origin.name) \(fact.operation) \(fact.result.rawValue)"
        case .timer, .signal, .line, .process, .custom: return "\(origin), \(EventText.sentence(newest))"
        }
    }
}

extension OperationDetail {
    init(_ view: OperationView, _ role: Peer.Role) {
        self.init(summary: OperationSummary(view, role), events: [])
        if let started = view.started {
            var run = OperationRun(attempt: view.attempt, pid: view.pid.map(Int.init), started: wireTime(started))
            run.ended = view.ended.map(wireTime)
            run.result = view.result.map(OperationSummary.Result.init)
            (run.exitStatus, run.signal) = view.exit.wire
            run.reason = role == .administrator ? view.reason : nil
            runs = [run]
        }
        guard role == .administrator else {
            eventsOmitted = view.entries
            return
        }
        events = view.events.suffix(Manager.maximumEventsShown).compactMap { event in
            (try? EventMessage.object(event, origin: view.origin)).flatMap {
                try? JSON.decode(JSONValue.self, from: $0)
            }
        }
        eventsOmitted = view.entries - events.count
        guard !view.output.isEmpty else { return }
        output = String(decoding: view.output, as: UTF8.self)
        if String(validating: view.output, as: UTF8.self) == nil {
            outputBase64 = Data(view.output).base64EncodedString()
        }
    }
}

enum FollowRecord {
    /// `nil`: nothing of it is for this role.
    static func reply(_ record: FollowHub.Record, _ role: Peer.Role) -> Follow.Reply? {
        let time = wireTime(record.time)
        switch record.content {
        case .operation(let view):
            return Follow.Reply(sequence: record.sequence, time: time, operation: OperationSummary(view, role))
        case .event(let event, let origin, let handlers):
            guard let text = try? EventMessage.object(event, origin: origin),
                let object = try? JSON.decode(JSONValue.self, from: text)
            else { return nil }
            return Follow.Reply(
                sequence: record.sequence, time: time, event: shown(object, role), handlers: handlers)
        }
    }

    static func gap(_ missed: ClosedRange<Int>) -> Follow.Reply {
        Follow.Reply(
            sequence: missed.upperBound, time: wireTime(Linux.now(.realtime)),
            gap: Follow.Gap(first: missed.lowerBound, last: missed.upperBound))
    }

    private static let forEverybody = ["id", "source", "kind", "event", "time", "count"]

    private static func shown(_ object: JSONValue, _ role: Peer.Role) -> JSONValue {
        guard role == .reader, case .object(let members) = object else { return object }
        return .object(members.filter { forEverybody.contains($0.key) })
    }
}
