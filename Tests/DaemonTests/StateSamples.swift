import Engine
import Schedule
import SeedKit
import WatchFile

@testable import Daemon

/// Encoded values, and how each is read.
struct Sample {
    var bytes: [UInt8]
    /// What is read, written again.
    var again: ([UInt8]) -> [UInt8]?

    func reads(_ bytes: [UInt8]) -> Bool { again(bytes) != nil }

    /// Bytes that can be read are the bytes that would be written.
    func isOneSpelling(_ bytes: [UInt8]) -> Bool { again(bytes) == bytes }

    /// One of each kind.
    static func all(_ random: inout SeededGenerator) -> [Sample] {
        let events = random.list(4) { $0.event() }
        let suspensions = random.list(3) { $0.suspension() }
        return [
            Sample(bytes: StateCoding.encode(events)) { StateCoding.events($0).map { StateCoding.encode($0) } },
            Sample(bytes: StateCoding.encode(random.operation())) {
                StateCoding.operation($0).map { StateCoding.encode($0) }
            },
            Sample(bytes: StateCoding.encode(suspensions)) {
                StateCoding.suspensions($0).map { StateCoding.encode($0) }
            },
            Sample(bytes: StateCoding.encode(random.stamp())) {
                StateCoding.timer($0).map { StateCoding.encode($0) }
            },
            Sample(bytes: StateCoding.encode(random.pathState())) {
                StateCoding.pathState($0).map { StateCoding.encode($0) }
            },
            Sample(bytes: StateCoding.encode(random.snapshotRoot())) {
                StateCoding.snapshotRoot($0).map { StateCoding.encode($0) }
            },
        ]
    }

    static func completion(_ cause: Event) -> CompletionFact {
        CompletionFact(
            outcome: .failure, operation: 7, result: .failed, exit: .exited(3), output: Array("no".utf8), cause: cause,
            causeOrigin: .completion(handler: "h"))
    }
}

extension SeededGenerator {
    mutating func list<Element>(
        _ limit: Int, _ element: (inout SeededGenerator) -> Element
    ) -> [Element] {
        (0..<upTo(limit)).map { _ in element(&self) }
    }

    private mutating func optional<Value>(_ value: (inout SeededGenerator) -> Value) -> Value? {
        chance(50) ? value(&self) : nil
    }

    /// Of any size: most of them small.
    mutating func number() -> Int64 { Int64(bitPattern: next()) >> Int64(upTo(63)) }
    private mutating func unsigned() -> UInt64 { next() >> UInt64(upTo(63)) }
    private mutating func int32() -> Int32 { Int32(truncatingIfNeeded: number()) }
    private mutating func content() -> [UInt8] {
        (0..<upTo(chance(10) ? 300 : 20)).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
    private mutating func name() -> String { pick(["", "thumbnail", "Größe", "a b/c", "😀", "\0"]) }
    private mutating func exit() -> Exit? {
        optional { $0.chance(50) ? .exited($0.int32()) : .signaled($0.int32()) }
    }

    mutating func event(depth: Int = 0) -> Event {
        var event = Event(id: unsigned(), time: number(), count: 1 + upTo(1000), fact: fact(depth))
        event.isByHand = chance(20)
        if chance(10) { event.origin = origin() }
        if chance(20) {
            event.trace = TraceContext(high: next(), low: 1 | next(), span: unsigned(), isSampled: chance(50))
        }
        return event
    }

    private mutating func fact(_ depth: Int) -> Fact {
        switch upTo(depth < 5 ? 12 : 11) {
        case 0: return .timer(scheduled: number())
        case 1:
            return .signal(
                SignalFact(
                    number: int32(), senderPID: int32(), senderUID: UInt32(truncatingIfNeeded: next()),
                    value: optional { $0.int32() }, senderExecutable: optional { $0.content() }))
        case 2:
            var path = PathFact(
                pick(PathChange.allCases), path: content(), oldPath: optional { $0.content() }, root: content(),
                isRecovered: chance(50), hasReplaced: chance(50), isFolder: chance(50))
            path.before = pick([nil, .nothing, .file, .folder])
            return .path(path)
        case 3:
            var line = LineFact(
                content(), form: pick(LineFact.Form.allCases), isIncomplete: chance(50), peer: optional { $0.name() },
                captures: list(9) { $0.content() }, handover: optional { $0.unsigned() })
            line.isRepeated = chance(50)
            return .line(line)
        case 4:
            return .process(
                ProcessFact(
                    pick(ProcessEvent.allCases), pid: int32(), exit: exit(), runTime: optional { $0.number() },
                    executable: optional { $0.content() }))
        case 5: return .custom(CustomFact(data: optional { $0.number() }, payload: optional { $0.content() }))
        case 6:
            let lost = chance(50) ? upTo(300) : 0
            let failures = list(3) {
                GroupFact.Failure(handler: $0.name(), operation: $0.unsigned(), reason: $0.name())
            }
            return .group(
                GroupFact(ran: upTo(300), failed: upTo(3), cancelled: upTo(70_000), lost: lost, failures: failures))
        case 7:
            return .unit(
                UnitFact(unit: name(), change: pick(UnitChange.allCases), result: optional { $0.name() }))
        case 8: return .finalizer
        case 9: return .silence(SilenceFact(silent: number(), isOver: chance(50)))
        case 10: return .command(command())
        case 11:
            let problem = Problem(
                object: name(), sentence: name(), action: name(), help: optional { $0.name() }, since: name())
            return .problem(ProblemFact(problem, isSolved: chance(50)))
        default:
            return .completion(
                CompletionFact(
                    outcome: pick([.success, .failure, .retry, .change, .finished]), operation: unsigned(),
                    result: pick(EngineResult.allCases), reason: optional { $0.name() }, exit: exit(),
                    output: content(),
                    cause: event(depth: depth + 1), causeOrigin: origin()))
        }
    }

    private mutating func command() -> CommandFact {
        let credentials = UserCredentials(
            user: UInt32(truncatingIfNeeded: next()), group: UInt32(truncatingIfNeeded: next()),
            groups: list(4) { UInt32(truncatingIfNeeded: $0.next()) })
        var command = CommandFact(
            [content()] + list(3) { $0.content() },
            environment: list(3) { EnvironmentVariable(name: $0.name(), value: $0.content()) }, folder: content(),
            mask: UInt32(upTo(0o777)), user: chance(50) ? .named(name()) : .credentials(credentials))
        (command.name, command.key) = (optional { $0.name() }, optional { $0.content() })
        (command.notBefore, command.retries) = (optional { Int64($0.upTo(1 << 40)) }, upTo(1000))
        command.timeout = optional { TimeSpan(microseconds: UInt64($0.upTo(1 << 40))) } ?? .infinity
        (command.isBarrier, command.priority) = (chance(50), pick(OperationPriority.allCases))
        command.call = optional { $0.call() }
        command.holder = optional { CommandFact.Holder(process: Int32($0.upTo(1 << 22)), started: $0.number()) }
        return command
    }

    private mutating func call() -> CommandFact.Call {
        if chance(50) {
            return .run(
                name: name(), paths: list(3) { $0.content() }, lines: list(3) { $0.content() },
                data: optional { $0.number() })
        }
        return .emit(name: name(), CustomFact(data: optional { $0.number() }, payload: optional { $0.content() }))
    }

    private mutating func origin() -> Origin {
        switch upTo(6) {
        case 0: .source(SourceID(pick(SourceKind.allCases), name()))
        case 1: .silence(SourceID(pick(SourceKind.allCases), name()))
        case 2: .completion(handler: name())
        case 3: .run(handler: name())
        case 4: .problem(object: name())
        case 5: .digest(handler: name())
        default: .finalizer(queue: name())
        }
    }

    mutating func operation() -> StoredOperation {
        var operation = StoredOperation(
            id: unsigned(), handler: name(), queue: name(), origin: origin(), submitted: number())
        operation.keys = list(3) { $0.content() }
        operation.merge = optional { $0.pick(CustomTrigger.Merge.allCases) }
        (operation.depth, operation.place, operation.notBefore) = (upTo(16), unsigned(), optional { $0.number() })
        operation.attempt = 1 + upTo(200)
        (operation.countedAttempts, operation.temporaryAttempts) = (upTo(200), upTo(100))
        operation.dependencies = list(3) {
            StoredDependency(operation: $0.unsigned(), isRequired: $0.chance(50))
        }
        (operation.isExecuting, operation.isRedelivered, operation.isCancelled) = (chance(50), chance(50), chance(50))
        (operation.isClosed, operation.isByHand, operation.isRerun) = (chance(50), chance(50), chance(50))
        (operation.hasConsumed, operation.isDurable, operation.isOwn) = (chance(50), chance(50), chance(50))
        (operation.isLateTold, operation.isSlowTold) = (chance(50), chance(50))
        operation.stride = optional { 1 + $0.upTo(500) }
        for part in list(4, { $0.upTo(20) }) { operation.partsDone.insert(part..<part + 1) }
        operation.left = optional { $0.number() }
        operation.settleLeft = optional { $0.number() }
        operation.priority = optional { $0.pick(OperationPriority.allCases) }
        operation.runs = list(3) { samples in
            var run = StoredRun(part: samples.upTo(500), pid: samples.int32(), started: samples.number())
            run.acquired =
                samples.chance(30)
                ? samples.list(3) { AcquiredMembers(semaphore: $0.name(), members: $0.list(3) { $0.name() }) } : []
            return run
        }
        return operation
    }

    mutating func suspension() -> Suspension {
        Suspension(by: name(), reason: optional { $0.name() }, since: number(), until: optional { $0.number() })
    }

    mutating func stamp() -> TimerStamp {
        var stamp = TimerStamp(lastElapse: optional { $0.number() }, after: optional { $0.number() })
        stamp.seen = optional { $0.number() }
        stamp.silenceLeft = optional { $0.number() }
        stamp.silentSince = optional { $0.number() }
        (stamp.isLast, stamp.isCatchingUp) = (chance(50), chance(20))
        stamp.delayedCalendar = optional { DelayedElapse(scheduled: $0.number(), due: $0.number()) }
        stamp.delayedSlot = optional { DelayedElapse(scheduled: $0.number(), due: $0.number()) }
        return stamp
    }

    mutating func pathState() -> PathState {
        var state = PathState(chance(50) ? .file : .folder)
        (state.inode, state.links, state.size) = (UInt64.random(in: 0...(.max), using: &self), 2, -1)
        (state.permissions, state.userID, state.groupID) = (0o7777, .max, 0)
        (state.modified, state.changed, state.isFresh) = (number(), number(), chance(50))
        return state
    }

    mutating func snapshotRoot() -> SnapshotRoot {
        var root = SnapshotRoot(RootIdentity(device: 7, inode: .max, born: number()))
        if chance(50) { root.instead = .missing }
        if chance(70) {
            root.scope = SnapshotScope(
                isRecursive: true, prune: list(3) { $0.chance(50) ? ".git" : "" }, followsLinks: chance(50),
                patterns: list(3) { $0.chance(50) ? "/srv/*" : "/" })
            if !root.scope.patterns.isEmpty { root.scope.isDeepInPatterns = chance(50) }
        }
        root.startsWithout = upTo(4)
        return root
    }
}
