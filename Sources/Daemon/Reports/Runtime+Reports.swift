import ControlInterface
import Engine
import EventSources
import Handlers
import LinuxSystem
import WatchFile

/// The reports of the engine: to the log, to followers, and to the descriptors that are handed over.
extension Runtime {
    func take(_ report: Report) {
        if isLogged(report) { EventLog.log(report, logger) }
        note(report)
        switch report {
        case .ended(let view):
            holders.removeValue(forKey: view.id)?.cancel()
            recent.add(view)
            usual.add(view)
            failures.add(view)
            retryMayHaveEnded(view)
            if isStopping, view.result == .cancelled, view.started == nil, !view.isDurable {
                cancelled.add(view.handler)
            }
            memory?.isUsed()
            begun?.ended(view.id)
            follow.add(view)
        case .event(let event, let origin, let handlers, _): follow.add(event, from: origin, for: handlers)
        case .operation(let id, let state):
            follow.note(id)
            guard follow.isFollowed, var view = engine.operation(id) else { return follow.add(id, state) }
            view.state = state
            follow.add(view)
        case .retrying(var view):
            view.ended = view.ended ?? Linux.now(.realtime)
            attempts.add(view)
            begun?.ended(view.id)
            follow.add(view)
        case .condition(let id, let condition, _): note(condition, of: id)
        case .refused(let delivery):
            refused.add(delivery, now: Linux.now(.realtime))
            if isStopping, delivery.result == .cancelled, !isOfStop(delivery) { cancelled.add(delivery.handler) }
        case .missed(let id, let count, let reason):
            stands.missed(MissedText.sentence(count, reason), of: id, at: Linux.now(.realtime))
        case .progress(let id):
            if follow.isFollowed, let view = engine.operation(id) { follow.add(view) }
        case .overdue, .loop, .worker: break
        }
    }

    /// Of many events of a source in a second the log tells how many there were.
    private func isLogged(_ report: Report) -> Bool {
        guard case .event(_, let origin, _, _) = report, logger.isEnabled(EventLog.eventLevel(logger)) else {
            return true
        }
        return bursts.passes(origin, now: Linux.now(.monotonic))
    }

    /// A run has written these lines.
    func wrote(_ run: RunID, _ lines: [LineFramer.Line]) {
        guard follow.isOutputFollowed else { return }
        let lines = lines.map(\.bytes)
        if let (source, copy) = engine.owner(of: run) {
            follow.add(.init(origin: .source(source), copy: copy, lines: lines))
        } else if let (handler, copy) = engine.workplace(of: run) {
            follow.add(.init(origin: .run(handler: handler), copy: copy, worker: handler, lines: lines))
        } else if let view = engine.operation(run.operation) {
            let run = (operation: view.id, handler: view.handler, queue: view.queue)
            follow.add(.init(run: run, origin: view.origin, lines: lines))
        }
    }

    /// - Throws: nothing has the name.
    func filter(_ parameters: Follow.Parameters) throws(ManagerError) -> FollowFilter {
        let wantsOutput = parameters.output == true
        guard let name = parameters.name else { return FollowFilter(wantsOutput: wantsOutput) }
        return try FollowFilter(name, wantsOutput: wantsOutput, engine)
    }

    /// The end of a process that the stop itself has ended is no news that is lost.
    private func isOfStop(_ delivery: RefusedDelivery) -> Bool {
        guard case .process = delivery.event.fact, case .source(let id) = delivery.origin,
            case .process(.command)? = engine.definition(of: id)?.trigger
        else { return false }
        return stopBegan.map { delivery.event.time >= $0 } ?? false
    }

    /// By the time that a report is taken, a stop that waits for nobody is over.
    var isStopping: Bool { engine.phase == .draining || engine.phase == .drained }

    /// A descriptor that is handed over is closed when the last operation with it has gone.
    private func note(_ report: Report) {
        switch report {
        case .event(let event, _, let handlers, _):
            event.handover.map { handovers.accepted($0, deliveries: handlers.count) }
        case .refused(let delivery): delivery.event.handover.map { handovers.ended($0, hasFailed: true) }
        case .ended(let view) where view.result != .superseded:
            for event in view.events {
                event.handover.map { handovers.ended($0, hasFailed: view.result != .done) }
            }
        case .ended, .operation, .retrying, .condition, .missed, .overdue, .loop, .worker, .progress: break
        }
    }

    func note(_ condition: SourceCondition, of id: SourceID) {
        let before = stands[id].condition?.value
        guard stands.take(condition, of: id, at: Linux.now(.realtime)) else { return }
        readiness.take(condition, of: id)
        EventLog.source(id, condition, before: before, logger)
    }
}

extension Event {
    /// The number of the descriptor that it hands over. Reports of other operations hand over nothing.
    fileprivate var handover: UInt64? { fact.handover }
}
