import Engine
import Handlers
import LinuxSystem
import Store
import WatchFile

extension StoreWrite {
    /// Somebody waits for it, or it must not be lost.
    var isUrgent: Bool {
        switch self {
        case .insert, .update, .held, .once, .suspensions, .reserved, .retried, .untried, .forgotten, .process, .booted,
            .lost, .tickets:
            true
        // An operation that the store has as running would have failed, after a crash, though its end was told.
        case .ended(let view): view.isDurable || view.isStored || view.result?.isFailure == true
        // Else a kill would repeat what was told, or forget what was missed.
        case .timer(_, let stamp): stamp.seen != nil || stamp.isTold
        case .position(_, _, let isUrgent): isUrgent
        // With the ends that it names.
        case .cancelledByStop(let text): !text.isEmpty
        case .retrying, .members, .tally, .waiting, .snapshot: false
        }
    }

    /// Only what people look at later.
    var isHistory: Bool {
        switch self {
        case .ended(let view): !view.isStored
        case .retrying, .timer, .members, .tally, .waiting, .lost, .cancelledByStop: true
        case .insert, .update, .held, .once, .suspensions, .position, .reserved, .retried, .untried, .forgotten,
            .process, .booted, .snapshot, .tickets:
            false
        }
    }

    /// About so many does it hold in memory.
    var bytes: Int {
        switch self {
        case .insert(let operation): operation.events.reduce(0) { $0 + $1.load.bytes }
        case .update(let operation): operation.appended.reduce(Event.cost) { $0 + $1.load.bytes }
        case .ended(let view), .retrying(let view): view.events.reduce(view.output.count) { $0 + $1.load.bytes }
        case .held(_, let events, _): events.reduce(0) { $0 + $1.load.bytes }
        case .waiting(let note): note.count
        case .tally(_, let tally): tally.failures.reduce(Event.cost) { $0 + $1.reason.utf8.count + 64 }
        case .tickets(_, let tickets): tickets.reduce(Event.cost) { bytes, _ in bytes + 32 }
        case .snapshot(_, _, .entries(let entries)): entries.reduce(Event.cost) { $0 + $1.path.count + 64 }
        case .snapshot, .once, .suspensions, .timer, .booted, .process, .members, .position, .reserved, .retried,
            .untried, .forgotten, .lost, .cancelledByStop:
            Event.cost
        }
    }

    /// As rows of the store.
    var changes: [StoreChange] {
        switch self {
        case .insert(let operation): [.put(OperationRow(operation))]
        case .update(let operation):
            [.update(id: operation.id, state: StateCoding.encode(operation))]
                + (operation.appended.isEmpty
                    ? [] : [.append(id: operation.id, events: StateCoding.encode(operation.appended))])
        case .ended(let view): (view.isStored ? [.remove(id: view.id)] : []) + [.record(HistoryRow(view))]
        case .retrying(let view): [.attempt(AttemptRow(view))]
        case .retried(let id, let successor): [.settle(id: id, by: successor)]
        case .untried(let id): [.unsettle(id: id)]
        case .forgotten(let id): [.settle(id: id, by: nil)]
        case .held(let source, let events, let replacing):
            [
                .hold(
                    source: source.description, events: events.isEmpty ? [] : StateCoding.encode(events),
                    replacing: replacing)
            ]
        case .once(let handler, let once):
            [.mark(name: "once/\(handler)", value: once.map { Self.bootMark($0) })]
        case .suspensions(let name, let suspensions):
            [
                .mark(
                    name: "suspended/\(name)",
                    value: suspensions.isEmpty ? nil : StateCoding.encode(suspensions))
            ]
        case .timer(let source, let stamp):
            [.mark(name: "timer/\(source)", value: StateCoding.encode(stamp))]
        case .booted(let source): [.mark(name: "booted/\(source)", value: Linux.bootID)]
        case .process(let source, let copy, let process):
            [.mark(name: "process/\(source.name)/\(copy)", value: process.map(StateCoding.mark))]
        case .members(let group, let count):
            [.mark(name: "\(group)", value: count == 0 ? nil : Array("\(count)".utf8))]
        case .tally(let group, let tally):
            [.mark(name: "tally/\(group.name)", value: tally == GroupFact() ? nil : StateCoding.encode(tally: tally))]
        case .tickets(let group, let tickets):
            [.mark(name: "tickets/\(group.name)", value: tickets.isEmpty ? nil : StateCoding.mark(tickets))]
        case .cancelledByStop(let text): [.mark(name: "cancelled", value: text.isEmpty ? nil : Array(text.utf8))]
        case .waiting(let note): [.mark(name: "waiting", value: note.isEmpty ? nil : note)]
        case .lost(let operation): [.record(HistoryRow(lost: operation))]
        case .position(let source, let position, _): [.mark(name: "position/\(source)", value: position)]
        case .snapshot(let source, let root, let write):
            [.snapshot(SnapshotChange(source.description, root, write))]
        case .reserved(let event, let operation):
            [.mark(name: "ids", value: Array("\(event) \(operation)".utf8))]
        }
    }

    /// `ever`, or the boot it holds for.
    private static func bootMark(_ once: Once) -> [UInt8] {
        switch once {
        case .ever: Array("ever".utf8)
        case .boot: Linux.bootID
        }
    }
}

extension OperationRow {
    init(_ operation: StoredOperation) {
        self.init(
            id: operation.id, handler: operation.handler, queue: operation.queue,
            source: operation.origin.description, state: StateCoding.encode(operation),
            events: StateCoding.encode(operation.events))
    }
}

extension HistoryRow {
    /// Events kept of an operation that did not fail.
    static let eventLimit = 100

    init(_ view: OperationView) {
        let result = view.result ?? .done
        // Only a failed command is tried again, with its environment; of others the history does not keep it.
        var events = result.isFailure ? view.events : view.events.suffix(Self.eventLimit).map(\.withoutSecrets)
        // The first one names the trace.
        if events.count < view.events.count { events[0].trace = view.trace }
        self.init(
            id: view.id, handler: view.handler, queue: view.queue, source: view.origin.description,
            result: result.rawValue, reason: view.reason, exitStatus: view.exit?.status, signal: view.exit?.signal,
            submitted: view.submitted, started: view.started, ended: view.ended ?? view.submitted,
            attempt: view.attempt, entries: view.entries, deliveries: view.deliveries,
            isRedelivered: view.isRedelivered, successor: view.successor,
            cause: view.cause(.administrator),
            events: StateCoding.encode(Array(events)), output: view.output)
        usage = UsageRow(view.usage)
    }
}

extension HistoryRow {
    /// An operation that the end of a watchd without a stop has lost. When that was is not known.
    fileprivate init(lost operation: WaitingOperation) {
        self.init(
            id: operation.id, handler: operation.handler, queue: operation.queue, source: operation.origin,
            result: EngineResult.cancelled.rawValue, reason: UncleanEnd.reason, submitted: operation.submitted,
            ended: Linux.now(.realtime), attempt: 1, entries: operation.entries, deliveries: operation.deliveries,
            isRedelivered: false, cause: operation.cause, events: StateCoding.encode([Event]()), output: [])
    }
}

extension Event {
    fileprivate var withoutSecrets: Event {
        guard case .command(var command) = fact else { return self }
        command.environment = []
        var event = self
        event.fact = .command(command)
        return event
    }
}

extension AttemptRow {
    init(_ view: OperationView) {
        self.init(
            operation: view.id, attempt: view.attempt, reason: view.reason, exitStatus: view.exit?.status,
            signal: view.exit?.signal,
            started: view.started, ended: view.ended ?? view.submitted, output: view.output)
        usage = UsageRow(view.usage)
    }
}

extension UsageRow {
    /// `nil`: nothing is known.
    fileprivate init?(_ usage: ResourceUsage) {
        guard usage.isKnown else { return nil }
        func number(_ value: UInt64?) -> Int64? { value.map { Int64(clamping: $0) } }
        self.init(
            isOfProcess: usage.isOfProcess, memory: number(usage.peakMemory), processor: number(usage.processorTime),
            read: number(usage.bytesRead),
            written: number(usage.bytesWritten))
        (lacksBeginning, left) = (usage.lacksBeginning, usage.leftProcesses)
        (unit, invocation) = (usage.service?.unit, usage.service?.invocation)
    }
}

extension ResourceUsage {
    init(_ row: UsageRow?) {
        self.init()
        isOfProcess = row?.isOfProcess ?? false
        (lacksBeginning, leftProcesses) = (row?.lacksBeginning ?? false, row?.left ?? 0)
        service = row?.unit.map { RunService(unit: $0, invocation: row?.invocation ?? "") }
        func number(_ value: Int64?) -> UInt64? { value.map { UInt64(clamping: $0) } }
        (peakMemory, processorTime) = (number(row?.memory), number(row?.processor))
        (bytesRead, bytesWritten) = (number(row?.read), number(row?.written))
    }
}

extension Exit {
    fileprivate var status: Int32? { if case .exited(let code) = self { code } else { nil } }
    fileprivate var signal: Int32? { if case .signaled(let number) = self { number } else { nil } }
}

extension StoredState {
    /// Records that cannot be read are left where they are, and told.
    init(_ contents: StoreContents, logger: Logger) {
        self.init()
        operations.reserveCapacity(contents.operations.count)
        for row in contents.operations {
            lastOperationID = max(lastOperationID, min(row.id, Self.largestNumber))
            guard row.id <= Self.largestNumber, var operation = StateCoding.operation(row.state),
                Self.isPlausible(operation), let events = StateCoding.events(row.events)
            else {
                logger.log(.err, "operation \(row.id) of \(row.handler) cannot be read from the store")
                continue
            }
            (operation.id, operation.events) = (row.id, events)
            operation.appended = row.appended.flatMap { StateCoding.events($0) ?? [] }
            operations.append(operation)
        }
        for (name, events) in contents.held {
            guard let source = SourceID(description: name) else { continue }
            held.append(StoredHold(source: source, events: events.flatMap { StateCoding.events($0) ?? [] }))
        }
        for (name, value) in contents.marks { take(name, value) }
        lastOperationID = max(lastOperationID, min(contents.lastRecorded, Self.largestNumber))
    }

    /// Nobody comes so far; beyond lies what a damaged file may say.
    private static let largestNumber: UInt64 = 1 << 60

    private static func isPlausible(_ operation: StoredOperation) -> Bool {
        let times =
            [operation.submitted, operation.notBefore ?? 0, operation.left ?? 0, operation.settleLeft ?? 0]
            + operation.runs.map(\.started)
        return operation.place <= largestNumber && times.allSatisfy { (0...Int64(1 << 60)).contains($0) }
    }

    /// With these times can be reckoned.
    private static func isPlausible(_ stamp: TimerStamp) -> Bool {
        let delayed = [stamp.delayedCalendar, stamp.delayedSlot].flatMap { [$0?.scheduled, $0?.due] }
        return ([stamp.lastElapse, stamp.after, stamp.seen, stamp.silenceLeft, stamp.silentSince] + delayed)
            .allSatisfy { (-Int64(1 << 60)...Int64(1 << 60)).contains($0 ?? 0) }
    }

    private mutating func take(_ name: String, _ value: [UInt8]) {
        let parts = name.split(separator: "/", maxSplits: 1).map(String.init)
        switch (parts.first, parts.last ?? "") {
        case ("once", let handler): if value == Array("ever".utf8) || value == Linux.bootID { once.insert(handler) }
        case ("suspended", let name): suspensions[name] = StateCoding.suspensions(value)
        case ("timer", let name):
            if let source = SourceID(description: name), let stamp = StateCoding.timer(value), Self.isPlausible(stamp) {
                timers[source] = stamp
            }
        case ("booted", let name):
            if value == Linux.bootID, let source = SourceID(description: name) { booted.insert(source) }
        case ("process", let name):
            if let process = StateCoding.process(value, of: name) { processes.append(process) }
        case ("group", let name):
            let count = Int(String(decoding: value, as: UTF8.self)) ?? 0
            if (1...StateCoding.largestCount).contains(count) { groups[SourceID(.group, name)] = count }
        case ("tally", let name):
            if let tally = StateCoding.tally(value) { tallies[SourceID(.group, name)] = tally }
        case ("tickets", let name): tickets[SourceID(.group, name)] = StateCoding.tickets(value)
        case ("waiting", _): waiting = value
        case ("cancelled", _): cancelledByStop = String(decoding: value, as: UTF8.self)
        case ("position", let name): if let source = SourceID(description: name) { positions[source] = value }
        case ("ids", _):
            let ids = String(decoding: value, as: UTF8.self).split(separator: " ").compactMap { UInt64($0) }
            guard ids.count == 2 else { return }
            lastEventID = max(lastEventID, min(ids[0], Self.largestNumber))
            lastOperationID = max(lastOperationID, min(ids[1], Self.largestNumber))
        default: break
        }
    }
}
