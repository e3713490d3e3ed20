import Schedule
import WatchFile

/// A caller of `Emit` that waits until all that its event starts has ended.
struct EmitWait: Sendable {
    var token: Token
    var source: Int
    /// Its id; one that it was merged into while it was held has a higher one.
    var event: UInt64
    var caller: UInt64?
}

/// The end of what an event has started.
package enum EmitEnd: Sendable {
    /// The worst of its operations.
    indirect case ended(OperationView)
    /// The policies of its handlers have let nothing start.
    case refused(Result, reason: String)
    /// No handler wants it.
    case nothing
    /// watchd stops before. The operations that have not ended, and the worst of those that have; none: the event has
    /// not come to its handlers.
    case unfinished([UInt64])
}

extension Engine {
    /// Why a part of a run may not wait for an event that could be taken in now; `nil`: it may.
    func deadlock(of caller: UInt64, waitingFor call: EmitCall) -> [String]? {
        // An event whose operations could only wait for themselves is not emitted.
        var trial = self
        trial.admit(call)
        return trial.deadlock(
            of: caller,
            .operations(
                trial.calls.operations(of: call.token).compactMap { id in
                    trial.operations.ref(id: id)
                }))
    }

    /// Events that came while a source was held come to no handler.
    mutating func refuseWaits(_ source: Int, _ result: Result, _ reason: String, where isGone: (UInt64) -> Bool) {
        let own = emitWaits.filter { $0.source == source && isGone($0.event) }
        guard !own.isEmpty else { return }
        emitWaits.removeAll { $0.source == source && isGone($0.event) }
        for wait in own { reply(wait.token, .emitted(wait.event, .refused(result, reason: reason)), isSafe: false) }
    }

    /// An event of a source has come to its handlers, with those that were merged into it.
    mutating func noteAdmitted(_ event: Event, _ source: Int, _ admissions: [Admission]) {
        let own = emitWaits.filter { $0.source == source && $0.event <= event.id }
        guard !own.isEmpty else { return }
        emitWaits.removeAll { $0.source == source && $0.event <= event.id }
        var ids: [UInt64] = []
        var end = EmitEnd.nothing
        for admission in admissions {
            switch admission {
            case .operation(let id): if operations.ref(id: id) != nil, !ids.contains(id) { ids.append(id) }
            case .ended(let result, let reason, _): end = .refused(result, reason: reason)
            }
        }
        for wait in own {
            if ids.isEmpty {
                reply(wait.token, .emitted(wait.event, end), isSafe: false)
            } else {
                calls.run(ids, caller: wait.caller, event: wait.event, wait.token)
                hurry(ids, caller: wait.caller)
            }
        }
    }
}
