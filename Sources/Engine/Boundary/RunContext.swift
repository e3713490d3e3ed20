import Schedule
package import WatchFile

/// The data of an operation for its handler: the value of every specifier and environment variable.
///
/// Where it carries several entries, scalars are those of the newest. A completion tells its own result and, of
/// everything else, what the reported run's event told.
package struct RunContext: Sendable {
    package var handler: String
    package var queue: String
    package var operation: UInt64
    package var attempt: Int
    package var origin: Origin
    package var events: [Event]
    /// A run of this operation may have happened before.
    package var isRedelivered: Bool
    /// The name of this machine.
    package var host: [UInt8]
    /// The members of semaphores that the run holds.
    package var acquired: [AcquiredMembers] = []
    /// The span of the run.
    package var trace: TraceContext?

    package init(
        handler: String, queue: String, operation: UInt64, attempt: Int, origin: Origin, events: [Event],
        isRedelivered: Bool = false, host: [UInt8] = []
    ) {
        self.handler = handler
        self.queue = queue
        self.operation = operation
        self.attempt = attempt
        self.origin = origin
        self.events = events
        self.isRedelivered = isRedelivered
        self.host = host
    }

    package init(_ request: StartRequest, host: [UInt8] = []) {
        self.init(
            handler: request.definition.value.name, queue: request.queue, operation: request.run.operation,
            attempt: request.run.attempt, origin: request.origin, events: request.events,
            isRedelivered: request.isRedelivered, host: host)
        (acquired, trace) = (request.acquired, request.trace)
    }

    /// The expansion of a specifier; nothing where it does not apply.
    package func value(_ specifier: Specifier) -> [UInt8] {
        switch specifier {
        // A supervised process has no event, and no handler.
        case .handler: events.isEmpty ? [] : Array(handler.utf8)
        case .queue: Array(queue.utf8)
        case .operation: Array(String(operation).utf8)
        case .attempt: Array(String(attempt).utf8)
        case .count: events.last.map { Array(String($0.count).utf8) } ?? []
        case .source: Array(cause?.origin.name.utf8 ?? origin.name.utf8)
        case .kind: Array((events.last?.fact.kind ?? origin.kind).utf8)
        case .event: Array((events.last?.fact.eventName ?? "").utf8)
        case .time: Array(events.last.map { Timestamp(microseconds: $0.time).description }?.utf8 ?? "".utf8)
        case .host: host
        case .acquired(let name): Array((acquired.first { $0.semaphore == name }?.text ?? "").utf8)
        case .ofHandler: Array((origin.completedHandler ?? "").utf8)
        // In place: nothing of the event is copied where it does not apply.
        default: events.isEmpty ? [] : events[events.count - 1].fact.value(specifier)
        }
    }

    /// For a completion, the event it reports on, all the way down.
    private var cause: (event: Event, origin: Origin)? {
        guard case .completion(let fact) = events.last?.fact else { return nil }
        var found = (event: fact.cause, origin: fact.causeOrigin)
        while case .completion(let inner) = found.event.fact { found = (inner.cause, inner.causeOrigin) }
        return found
    }

    /// The paths (or else the lines) of the operation, for `%@`.
    package var words: [[UInt8]] {
        events.flatMap { $0.fact.words }
    }
}

extension Fact {
    /// The expansion of a specifier of event data.
    package func value(_ specifier: Specifier) -> [UInt8] {
        switch self {
        case .timer(let scheduled):
            return specifier == .scheduled ? Array(Timestamp(microseconds: scheduled).description.utf8) : []
        case .signal(let fact):
            switch specifier {
            case .signal: return Array(LinuxSignal.name(fact.number).utf8)
            case .pid: return Array(String(fact.senderPID).utf8)
            default: return []
            }
        case .path(let fact): return fact.value(specifier)
        case .line(let fact):
            switch specifier {
            case .line: return fact.bytes
            case .peer: return Array((fact.peer ?? "").utf8)
            case .capture(let number):
                return fact.captures.indices.contains(number - 1) ? fact.captures[number - 1] : []
            default: return []
            }
        case .process(let fact):
            return specifier == .pid ? Array(String(fact.pid).utf8) : fact.exit.map { $0.value(specifier) } ?? []
        case .custom(let fact):
            return specifier == .data ? fact.data.map { Array(String($0).utf8) } ?? [] : []
        case .unit(let fact):
            switch specifier {
            case .result: return Array((fact.result ?? "").utf8)
            case .unit: return Array(fact.unit.utf8)
            case .unitState: return Array(fact.change.rawValue.utf8)
            default: return []
            }
        case .group, .finalizer, .silence, .command: return []
        case .problem(let fact): return fact.value(specifier)
        case .completion(let fact):
            switch specifier {
            case .result: return Array((fact.result?.rawValue ?? "").utf8)
            case .reason: return Array((fact.reason ?? "").utf8)
            case .outcome: return Array(fact.ending.utf8)
            case .exitStatus, .signal: return fact.exit.map { $0.value(specifier) } ?? []
            default: return fact.cause.fact.value(specifier)
            }
        }
    }

    /// Its words in `%@`, `paths` and `lines`.
    package var words: [[UInt8]] {
        switch self {
        case .path(let fact): [fact.path]
        case .line(let fact): [fact.bytes]
        case .completion(let fact): fact.cause.fact.words
        case .timer, .signal, .process, .unit, .custom, .group, .finalizer, .silence, .command, .problem: []
        }
    }
}

extension PathFact {
    func value(_ specifier: Specifier) -> [UInt8] {
        switch specifier {
        case .path: path
        case .oldPath: oldPath ?? []
        case .lastComponent: Array(path[lastSlash...])
        case .folder: lastSlash <= 1 ? Array("/".utf8) : Array(path[..<(lastSlash - 1)])
        case .relativePath: path.starts(with: root) ? Array(path[root.count...].drop { $0 == UInt8(ascii: "/") }) : path
        default: []
        }
    }

    /// The index behind the last slash.
    private var lastSlash: Int { (path.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1 }
}

extension Exit {
    func value(_ specifier: Specifier) -> [UInt8] {
        switch (self, specifier) {
        case (_, .outcome): Array(sentence.utf8)
        case (.exited(let code), .exitStatus): Array(String(code).utf8)
        case (.signaled(let number), .signal): Array(LinuxSignal.name(number).utf8)
        default: []
        }
    }
}
