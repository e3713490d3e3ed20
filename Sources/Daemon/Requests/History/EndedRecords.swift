import ControlInterface
import Engine
import LinuxSystem
import WatchFile

// Operations that have ended, as they travel.

extension OperationSummary {
    init(_ operation: EndedOperation, _ role: Peer.Role) {
        let role = role.over(operation.handler, operation.events)
        self.init(
            id: Int(operation.id), handler: operation.handler, queue: operation.queue, source: operation.sourceName,
            state: operation.result == .cancelled ? .cancelled : .finished, entries: operation.entries,
            deliveries: operation.deliveries, cause: operation.cause(role), submitted: wireTime(operation.submitted),
            attempt: operation.started == nil ? operation.attempt - 1 : operation.attempt)
        result = Result(operation.result)
        successor = operation.successor.map { Int($0) }
        started = operation.started.map(wireTime)
        ended = wireTime(operation.ended)
        tookUsec = operation.started.map { Int(operation.ended - $0) }
        pid = operation.pid.map { Int($0) }
        (exitStatus, signal) = operation.exit.wire
        used = ResourcesUsed(operation.usage)
        (foundAgain, leftProcesses) = operation.usage.remarks
        (unit, invocationID) = operation.usage.place
        durable = operation.isDurable
        redelivered = operation.isRedelivered
        byHand = operation.isRunByHand ? true : nil
        if operation.result.isFailure { settled = operation.isSettled }
        tell(
            operation.trace,
            spanOf: operation.started.map { _ in RunID(operation: operation.id, attempt: operation.attempt) })
        guard role == .administrator else { return }
        key = operation.key.flatMap { $0.isEmpty ? nil : $0.printable }
        reason = operation.reason
    }
}

extension EndedOperation {
    fileprivate var sourceName: String? {
        if case .source(let id) = origin { id.description } else { nil }
    }

    func cause(_ role: Peer.Role) -> String {
        if role == .administrator { return cause }
        return entries > 1 ? "\(origin), \(entries) events" : "\(origin)"
    }
}

extension OperationDetail {
    /// With attempts of an earlier watchd, the first one first.
    func adding(_ attempts: [EndedOperation.Attempt], _ role: Peer.Role) -> OperationDetail {
        var detail = self
        let known = Set(runs.map(\.attempt))
        let more = attempts.compactMap { OperationRun($0, of: UInt64(summary.id), role) }
        detail.runs = more.filter { !known.contains($0.attempt) } + runs
        return detail
    }

    init(_ operation: EndedOperation, _ role: Peer.Role) {
        self.init(summary: OperationSummary(operation, role), events: [], eventsOmitted: operation.entries)
        runs = operation.attempts.compactMap { OperationRun($0, of: operation.id, role) }
        // One that ended between two attempts stands as its last one left it.
        if operation.attempts.last?.started != operation.started, let last = OperationRun(operation, role) {
            runs.append(last)
        }
        guard role == .administrator else {
            withheld = true
            return
        }
        tell(operation.events, of: operation.origin, entries: operation.entries)
        tell(output: operation.output)
    }
}

extension OperationRun {
    /// `nil`: it has not started.
    fileprivate init?(_ attempt: EndedOperation.Attempt, of operation: UInt64, _ role: Peer.Role) {
        guard let started = attempt.started else { return nil }
        self.init(attempt: attempt.number, pid: attempt.pid.map { Int($0) }, started: wireTime(started))
        ended = attempt.ended.map(wireTime)
        result = .failed
        (exitStatus, signal) = attempt.exit.wire
        used = ResourcesUsed(attempt.usage)
        (foundAgain, leftProcesses) = attempt.usage.remarks
        (unit, invocationID) = attempt.usage.place
        if role == .administrator { reason = attempt.reason }
        spanID = TraceNumbers.own.spanID(of: RunID(operation: operation, attempt: attempt.number))
    }

    /// The last attempt; `nil`: it has not started.
    fileprivate init?(_ operation: EndedOperation, _ role: Peer.Role) {
        guard let started = operation.started else { return nil }
        self.init(attempt: operation.attempt, pid: operation.pid.map { Int($0) }, started: wireTime(started))
        ended = wireTime(operation.ended)
        result = OperationSummary.Result(operation.result)
        (exitStatus, signal) = operation.exit.wire
        used = ResourcesUsed(operation.usage)
        (foundAgain, leftProcesses) = operation.usage.remarks
        (unit, invocationID) = operation.usage.place
        if role == .administrator { reason = operation.reason }
        spanID = TraceNumbers.own.spanID(of: RunID(operation: operation.id, attempt: operation.attempt))
    }
}

extension ResourcesUsed {
    /// `nil`: nobody has counted it.
    init?(_ usage: ResourceUsage) {
        guard usage.isCounted else { return nil }
        func number(_ value: UInt64?) -> Int? { value.map { Int(clamping: $0) } }
        self.init(
            usage.isOfProcess ? .process : .cgroup, cpuUsec: number(usage.processorTime),
            peakMemoryBytes: number(usage.peakMemory), readBytes: number(usage.bytesRead),
            writtenBytes: number(usage.bytesWritten))
    }
}

extension ResourceUsage {
    /// Members of the wire; `nil`: there is nothing to say.
    var remarks: (foundAgain: Bool?, leftProcesses: Int?) {
        (lacksBeginning ? true : nil, leftProcesses > 0 ? leftProcesses : nil)
    }

    /// Of a run that is a service.
    var place: (unit: String?, invocation: String?) {
        (service?.unit, service.flatMap { $0.invocation.isEmpty ? nil : $0.invocation })
    }
}
