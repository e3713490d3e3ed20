import Schedule
import WatchFile

/// `Process=` of a handler: the run of one that restarts a process lasts until that is up again; nothing of it is in the
/// rim.
extension Engine {
    /// A run that waits for a process.
    struct Steering: Sendable {
        var operation: OperationRef
        var part: Int
    }

    /// Tokens of runs, beside those of callers.
    private static let firstOwnToken: UInt64 = 1 << 63

    mutating func steer(_ ref: OperationRef, part: Int, _ action: ProcessAction, _ definition: HandlerDefinition) {
        let name = "process/\(action.process)"
        guard let source = sources.index(of: .source(SourceID(.process, action.process))),
            !sources[source].isRemoved, let supervision = supervisor[source],
            sources[source].definition?.value.command != nil
        else {
            let reason = "Process=: there is no \(name) any more that watchd starts itself"
            return attemptEnded(ref, part: part, Verdict(result: .failed, reason: reason))
        }
        switch action.verb {
        case .restart:
            guard supervision.command.process.killMode != .none else {
                let reason = "\(name) has KillMode=none: watchd does not end it, so it cannot restart it"
                return attemptEnded(ref, part: part, Verdict(result: .failed, reason: reason))
            }
            if let index = operations[ref].runs.firstIndex(where: { $0.part == part }) {
                operations[ref].runs[index].phase = .running(pid: nil)
            }
            setDeadline(ref, part: part, after: definition.timeout.microseconds)
            let token = Token(Self.firstOwnToken | steerings.count)
            steerings.count += 1
            steerings.runs[token] = Steering(operation: ref, part: part)
            perform(supervisor.steer(.restart, source, token, ids: &journal.ids.lastOperation, at: now))
        case .signal(let number), .reload(let number):
            let runs = supervision.copies.filter { $0.stage == .up }.compactMap(\.life?.run)
            for run in runs { actions.append(.signal(run, number: number, mode: .process)) }
            let reason = "\(name) is not up: nobody gets the signal"
            attemptEnded(
                ref, part: part,
                runs.isEmpty ? Verdict(result: .failed, reason: reason) : Verdict(result: .done))
        }
    }

    /// The process that a run has restarted is up, or will not be. False: the token is a caller's.
    mutating func endSteering(_ token: Token, reason: String?) -> Bool {
        guard token.value >= Self.firstOwnToken else { return false }
        guard let steering = steerings.runs.removeValue(forKey: token), operations.isAlive(steering.operation),
            let run = operations[steering.operation].runs.first(where: { $0.part == steering.part })
        else { return true }
        let verdict =
            reason.map { Verdict(result: .failed, reason: $0) } ?? Self.judge(run, .exited(0), nil)
        attemptEnded(steering.operation, part: steering.part, verdict)
        return true
    }

    /// A run that waits for a process is ended before that is up. False: it is no such run.
    mutating func endSteering(_ ref: OperationRef, part: Int) -> Bool {
        guard let token = steerings.runs.first(where: { $0.value.operation == ref && $0.value.part == part })?.key,
            let run = operations[ref].runs.first(where: { $0.part == part })
        else { return false }
        steerings.runs[token] = nil
        supervisor.abandon(token)
        attemptEnded(ref, part: part, Self.judge(run, nil, nil))
        return true
    }
}

/// The runs that wait for processes.
struct Steerings: Sendable {
    var runs: [Token: Engine.Steering] = [:]
    /// So many there were.
    var count: UInt64 = 0
}
