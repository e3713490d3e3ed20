import ControlInterface
import Engine
import Handlers
import LinuxSystem
import Schedule
import Store
import WatchFile

/// Failures in `GetStatus` and in the line of the service manager: all that `watchctl failed` lists but for the commands
/// of clients who could see them fail.
extension Runtime {
    /// Reads the failures of earlier watchds, and what ended last, once at the start.
    func readFailures() {
        let names = engine.handlerNames.prefix(Self.lastEndsRead)
        persistence?.read(
            { reader throws(StoreError) in
                var (query, last) = (HistoryQuery(), HistoryQuery())
                (query.isUnsettled, query.limit) = (true, OpenFailures.limit)
                last.limit = Manager.maximumShownInStatus
                let commands = try reader.failed(handler: CommandFact.handlerName, limit: OpenFailures.limit)
                let failures = (try reader.page(query) + commands).map { EndedOperation($0) }
                let ended = try reader.page(last).map { EndedOperation($0) }
                var own = HistoryQuery()
                (own.results, own.limit) = (EngineResult.allCases.filter(\.isOutcome).map(\.rawValue), 1)
                var ends: [HistoryRow] = []
                for name in names {
                    own.handler = name
                    ends += try reader.page(own)
                }
                return (failures: failures, last: ended, ends: ends, retries: try reader.unfinishedRetries())
            },
            then: { [unowned self] result in
                // A store that fails is told of elsewhere.
                guard let read = try? result.get() else { return refreshStatus() }
                recent.earlier = read.last
                for row in read.ends {
                    guard let result = EngineResult(rawValue: row.result) else { continue }
                    askEngine { $0.restoreLast(of: row.handler, result, ended: row.ended) }
                }
                for operation in read.failures where recent.settlement(of: operation.id) == nil {
                    failures.add(operation)
                }
                takeUpRetries(read.retries)
                refreshStatus()
            })
    }

    /// Handlers whose last end is read, at most.
    private static let lastEndsRead = 1000

    /// Reads how long the runs of earlier watchds took, once at the start.
    func readDurations() {
        persistence?.read(
            { reader throws(StoreError) in
                var query = HistoryQuery()
                (query.results, query.limit) = ([EngineResult.done.rawValue], UsualDurations.readAtStart)
                return try reader.page(query).map { EndedOperation($0) }
            }, then: { [unowned self] result in usual.addOlder((try? result.get()) ?? []) })
    }

    /// Newest first.
    var openFailures: [EndedOperation] {
        let span = Int64(clamping: engine.settings.keepHistorySpan.microseconds)
        let (oldest, isBefore) = Linux.now(.realtime).subtractingReportingOverflow(span)
        return failures.newestFirst(max(0, engine.settings.keepHistory), since: isBefore ? .min : oldest)
            .filter { recent.settlement(of: $0.id) == nil }
    }

    /// Handlers with a problem each.
    private static let mostHandlers = 1000

    /// One problem for each handler, and behind them for each of the last commands, the one that failed last first.
    func failureProblems(_ role: Peer.Role) -> [GetStatus.Problem] {
        var order: [String] = []
        var byHandler: [String: [EndedOperation]] = [:]
        for operation in openFailures {
            let name = operation.isCommand ? "operation \(operation.id)" : operation.handler
            if byHandler[name] == nil { order.append(name) }
            byHandler[name, default: []].append(operation)
        }
        guard !order.isEmpty else { return [] }
        let views = engine.handlerViews { byHandler[$0] != nil }.filter { !$0.isRemoved }
        // Commands hide no handler, however many are submitted.
        let handlers = order.filter { byHandler[$0]?.first?.isCommand == false }.prefix(Self.mostHandlers)
        let commands = order.filter { byHandler[$0]?.first?.isCommand == true }.prefix(Manager.maximumShownInStatus)
        return (handlers + commands).compactMap { name in
            byHandler[name].flatMap { failed in
                if let command = failed.first, command.isCommand { return problem(command, role) }
                return problem(name, failed, views.first { $0.definition.name == name }, role)
            }
        }
    }

    private func problem(_ command: EndedOperation, _ role: Peer.Role) -> GetStatus.Problem {
        let how = Self.end(command)
        return GetStatus.Problem(
            object: "operation \(command.id)", since: wireTime(command.ended),
            problem: role == .administrator ? "the command \(command.cause) \(how)" : "a command failed",
            action: "it does not run again by itself",
            help: role == .administrator
                ? (["output"] + (retryObstacle(command) == nil ? ["retry"] : []) + ["forget"])
                    .map { "watchctl \($0) \(command.id)" }.joined(separator: " · ") : "watchctl failed")
    }

    /// - Parameter view: `nil`: there is no such handler any more.
    private func problem(
        _ name: String, _ failed: [EndedOperation], _ view: HandlerView?, _ role: Peer.Role
    ) -> GetStatus.Problem? {
        guard let last = failed.first else { return nil }
        // Of what did not end by itself, the reason says why.
        let exit = last.exit.flatMap { $0 == .exited(0) ? nil : EventText.exit($0) }
        let how = [exit, role == .administrator ? last.reason : nil].compactMap { $0 }.joined(separator: ": ")
        let isLast = view?.lastEnded.map { $0 <= last.ended } ?? true
        let one = isLast ? "its last run failed" : "a run failed"
        let what = failed.count == 1 ? one : "\(failed.count) runs failed, the last"
        let verb = retryObstacle(last) == nil ? "retry" : "forget"
        let again =
            engine.isOnceDone(name)
            ? "no event starts it again (Once=)"
            : isLast && engine.isStartedByEvents(name)
                ? "runs again with the next event" : "shown until it is tried again or forgotten"
        return GetStatus.Problem(
            object: "handler/\(name)", since: wireTime(last.ended),
            problem: what + (how.isEmpty ? "" : failed.count == 1 ? ", \(how)" : " \(how)"),
            action: view == nil ? "it is in no watch file any more" : again,
            help: failed.count == 1
                ? "watchctl output \(view?.definition.stream == nil ? "\(last.id)" : name) · watchctl \(verb) \(last.id)"
                : "watchctl failed \(name) · watchctl \(verb) \(name)")
    }

    /// The operations that the end of the last watchd lost; told until the next stop.
    var lostProblem: GetStatus.Problem? {
        guard let problem = uncleanEnd?.problem else { return nil }
        return GetStatus.Problem(
            object: "watchd", since: wireTime(engine.started.realtime), problem: problem,
            action: "as noted up to 2s before its end; shown until watchd is restarted",
            help: ["watchctl history", WaitingByHandler(uncleanEnd?.lost.counts ?? [:]).help]
                .compactMap(\.self).joined(separator: " · "))
    }

    /// The operations that the last stop cancelled; told until the next one.
    var cancelledProblem: GetStatus.Problem? {
        guard !cancelledBefore.isEmpty else { return nil }
        return GetStatus.Problem(
            object: "watchd", since: wireTime(cancelledBefore.time ?? engine.started.realtime),
            problem: "the last stop cancelled \(cancelledBefore.sentence)",
            action: "shown until watchd is restarted", help: cancelledBefore.help)
    }
}
