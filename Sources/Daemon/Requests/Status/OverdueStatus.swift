import ControlInterface
import Engine
import Schedule

/// Operations that are late or slow, in `GetStatus`: until they have started, or ended.
extension Runtime {
    func overdueProblems(_ role: Peer.Role) -> [GetStatus.Problem] {
        engine.overdueViews(Manager.maximumShownInStatus).map { view in
            let id = view.operation
            let count = view.others + 1
            let what = count == 1 ? "operation \(id)" : "\(count) operations, the oldest \(id),"
            if view.isSlow {
                return GetStatus.Problem(
                    object: "handler/\(view.handler)", since: wireTime(view.since),
                    problem: "\(what) still \(count == 1 ? "runs" : "run") after SlowSec=\(view.span)",
                    action: "nothing is ended for it", help: "watchctl output \(id) · watchctl cancel \(id)")
            }
            // It may name a path (`HoldUntil=`).
            let cause = role == .administrator ? view.waitingFor.map { ": waits for \($0)" } ?? "" : ""
            return GetStatus.Problem(
                object: "handler/\(view.handler)", since: wireTime(view.since),
                problem: "\(what) not started LateSec=\(view.span) after the event\(cause)",
                action: count == 1 ? "it starts when it can" : "they start when they can",
                help: "watchctl explain \(id) · watchctl cancel \(id)")
        }
    }
}
