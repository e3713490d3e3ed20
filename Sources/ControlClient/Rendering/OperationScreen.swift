import ControlInterface
import JSON
import Varlink

/// `watchctl show ID`: one operation from its cause to its end.
struct OperationScreen {
    /// Events that are listed; `--json` has them all.
    private static let eventsShown = 20
    /// Lines of its output, the last ones; `watchctl output` has all that is kept.
    private static let linesShown = 20
    /// Runs, the last ones, whose resources are told.
    private static let usagesShown = 10

    let operation: OperationDetail
    let screen: Screen

    var lines: [Styled] {
        let sections = [head, events, runs, consequences, output]
        return Array(sections.filter { !$0.isEmpty }.joined(separator: [Styled("")]))
    }

    private var summary: OperationSummary { operation.summary }

    private var head: [Styled] {
        let title = Styled("\(summary.handler), \(screen.short(summary.submitted))", .bold)
        let state = Styled("operation \(summary.id), ") + OperationText.brief(summary)
        var facts: [(String, String?)] = [
            ("Queue", summary.queue), ("Source", summary.source), ("Key", summary.key), ("Cause", summary.cause),
            ("Submitted", screen.full(summary.submitted)), ("Started", summary.started.map(screen.full)),
            ("Ended", summary.ended.map(screen.full)), ("Took", summary.tookUsec.map { OperationText.took($0) }),
            ("Pid", summary.pid.map(String.init)), ("Progress", summary.progress), ("Holds", holds),
            ("Waits for", summary.waitingFor), ("Reason", summary.reason),
            ("Depends on", dependencies), ("Next try", summary.nextAttempt.map { screen.ahead($0) }),
            ("Parts", summary.parts.map { "\(summary.partsEnded ?? 0) of \($0) done" }),
            ("Followed by", summary.successor.map { "operation \($0)" }),
            ("Durable", summary.durable == true ? "yes: kept until it has run" : nil),
            ("Not stored", summary.unsaved.map { "\($0); after a crash of watchd it runs again" }),
            ("Left behind", leftBehind),
            (
                "Unit",
                summary.unit.map { [$0, summary.invocationID].compactMap { $0 }.joined(separator: ", invocation ") }
            ),
            ("Redelivered", summary.redelivered ? "yes: a run of it may have happened before" : nil),
            ("Dealt with", settled),
            ("Trace", summary.traceID.map { [$0, summary.spanID].compactMap { $0 }.joined(separator: "-") }),
        ]
        if summary.deliveries > 1 || summary.entries > 1 {
            let entries = Phrases.count(summary.entries, "entry", "entries")
            facts.append(("Carries", "\(entries), \(Phrases.count(summary.deliveries, "delivery", "deliveries"))"))
        }
        var table = Table([.init(title: ""), .init(title: "", isFlexible: true, isWrapped: true)])
        for case (let name, let value?) in facts { table.add([Styled(name, .dim), Styled(value)]) }
        return screen.spread(title, state) + table.lines(width: screen.width, indent: 2, titled: false)
    }

    /// `gpu 0 2, port 8080`.
    private var holds: String? {
        guard let acquired = summary.acquired, !acquired.isEmpty else { return nil }
        return acquired.sorted { $0.key < $1.key }.map { ([$0] + $1).joined(separator: " ") }.joined(separator: ", ")
    }

    /// `2 processes of its run went on after its end, as KillMode= says`.
    private var leftBehind: String? {
        summary.leftProcesses.map {
            "\(Phrases.count($0, "process", "processes")) of its run went on after its end, as KillMode= says"
        }
    }

    /// The later fate of a failure.
    private var settled: String? {
        guard let isSettled = summary.settled else { return nil }
        if isSettled { return summary.successor.map { "tried again as \($0)" } ?? "forgotten" }
        if let obstacle = summary.retryObstacle {
            return "no: watchctl forget \(summary.id) (it cannot be tried again: \(obstacle))"
        }
        return "no: watchctl retry \(summary.id), or watchctl forget \(summary.id)"
    }

    private var dependencies: String? {
        summary.dependencies.isEmpty ? nil : summary.dependencies.map(String.init).joined(separator: ", ")
    }

    private var events: [Styled] {
        guard !operation.events.isEmpty else { return [] }
        var table = Table([
            .init(title: ""), .init(title: "", isNumber: true), .init(title: "", isFlexible: true, isWrapped: true),
        ])
        for event in operation.events.prefix(Self.eventsShown) {
            table.add([
                Styled(screen.clock(event.members?["time"]?.string)),
                Styled(event.members?["id"]?.int.map { String($0) } ?? ""),
                Styled(EventText.describe(event, isOfHandler: summary.source == nil)),
            ])
        }
        let all = operation.events.count + operation.eventsOmitted
        let more = all - min(operation.events.count, Self.eventsShown)
        return [Styled("EVENTS (\(Phrases.count(all)))", .bold)]
            + table.lines(width: screen.width, indent: 2, titled: false)
            + (more > 0 ? [Styled("  and \(Phrases.count(more)) more", .dim)] : [])
    }

    private var runs: [Styled] {
        guard !operation.runs.isEmpty else { return [] }
        var table = Table([
            .init(title: "RUN", isNumber: true), .init(title: "STARTED"), .init(title: "ENDED"),
            .init(title: "PID", isNumber: true), .init(title: "RESULT", isFlexible: true),
            .init(title: "REASON", isFlexible: true, isWrapped: true),
        ])
        for run in operation.runs {
            let result = run.result.map {
                OperationText.result($0, exitStatus: run.exitStatus, signal: run.signal)
            }
            table.add([
                Styled(String(run.attempt)), Styled(screen.clock(run.started)), Styled(screen.clock(run.ended)),
                Styled(run.pid.map(String.init) ?? "-"), result ?? OperationText.state(.executing),
                Styled(run.reason ?? ""),
            ])
        }
        let hint = Styled("watchctl output \(summary.id) --attempt N: what an earlier run wrote", .dim)
        let used = operation.runs.suffix(Self.usagesShown).compactMap(Self.used).flatMap {
            Styled($0, .dim).wrapped(to: screen.width)
        }
        return table.lines(width: screen.width) + used + (operation.runs.count > 1 ? [hint] : [])
    }

    /// `run 3 used 1.5s of CPU, …`.
    private static func used(_ run: OperationRun) -> String? {
        guard let used = run.used, let text = OperationText.used(used) else { return nil }
        let whose = used.counted == .process ? " (without a cgroup: its process and what that has waited for)" : ""
        return "run \(run.attempt) used \(text)\(whose)"
    }

    private var consequences: [Styled] {
        guard !operation.startedOperations.isEmpty else { return [] }
        let ids = operation.startedOperations.map(String.init).joined(separator: " ")
        return [Styled("STARTED ", .bold) + Styled(ids)].flatMap { $0.wrapped(to: screen.width) }
    }

    private var output: [Styled] {
        let lost =
            summary.foundAgain == true
            ? Styled(RunText.lacksBeginning, .dim).wrapped(to: screen.width - 2).map { Styled("  ") + $0 } : []
        let text = RunText.lines(operation.output, operation.outputBase64) ?? []
        if text.isEmpty, lost.isEmpty { return [] }
        let more = text.count - Self.linesShown
        let earlier =
            more > 0 ? Styled("  \(Phrases.count(more)) lines before: watchctl output \(summary.id)", .dim) : nil
        return [Styled("OUTPUT", .bold)] + lost + (earlier.map { [$0] } ?? [])
            + text.suffix(Self.linesShown).map { Styled("  ") + $0 }
    }
}
