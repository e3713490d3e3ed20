import ControlInterface
import Schedule
import WatchFile

/// `watchctl status`: everything that matters on one screen.
struct StatusScreen {
    /// Ended operations and elapses that are shown.
    private static let recentShown = 10
    private static let elapsesShown = 6

    let status: GetStatus.Reply
    let screen: Screen
    /// The owner of the watchd, such as `of the system`; `nil`: that of the user.
    var owner: String?

    var lines: [Styled] {
        var lines = head
        for section in [problems, running, waiting, semaphores, groups, next, finished] where !section.isEmpty {
            lines.append(Styled(""))
            lines += section
        }
        return lines
    }

    // MARK: Head

    private var head: [Styled] {
        let identity =
            "watchd \(status.version)\(owner.map { " " + $0 } ?? "") on \(status.host), up since \(screen.short(status.started)) "
            + "(\(SpanText.glance(Int64(status.uptimeUsec))))"
            + (status.isAfterUncleanEnd ? ", after an end without a stop" : "")
        let sections = Phrases.count(status.sections, "section")
        // A client that may only read is not told the names of files.
        let files =
            status.files.isEmpty && status.sections > 0
            ? sections : "\(folder): \(Phrases.count(status.files.count, "file")), \(sections)"
        let now = "\(screen.local.weekday(screen.now)) \(screen.local.clock(screen.now))"
        return screen.spread(Styled(identity, .bold), Styled(files)) + screen.spread(state, Styled(now))
            + [Self.totals(status.totals), load].flatMap { Styled($0).wrapped(to: screen.width) }
    }

    /// Where all the watch files are, or the one there is.
    private var folder: String {
        let folders = Set(status.files.map { $0.split(separator: "/", omittingEmptySubsequences: false).dropLast() })
        if status.files.count == 1 { return status.files[0] }
        guard folders.count == 1, let folder = folders.first else { return "watch files" }
        return folder.joined(separator: "/")
    }

    private var state: Styled {
        var counts: [String] = []
        if !status.problems.isEmpty { counts.append(Phrases.count(status.problems.count, "problem")) }
        if !status.pauses.isEmpty { counts.append(Phrases.count(status.pauses.count, "pause")) }
        if !status.stopped.isEmpty {
            counts.append("\(Phrases.count(status.stopped.count, "process", "processes")) stopped by hand")
        }
        let name = status.state.rawValue
        if counts.isEmpty { return Styled(name, status.state == .running ? .green : .yellow) }
        let all = counts.joined(separator: ", ")
        if status.problems.isEmpty { return Styled("\(name): \(all)", .yellow) }
        return Styled((status.state == .running ? "DEGRADED: " : "\(name), DEGRADED: ") + all, .red)
    }

    private var load: String {
        "\(Phrases.count(status.processes)) of at most \(Phrases.count(status.maxProcesses)) processes\(containment), "
            + "\(Phrases.count(status.operationsPending, "operation")) pending\(bytes)\(kept), "
            + Phrases.bytes(status.memoryBytes)
    }

    private var kept: String { status.operationsKept.map { ", \(Phrases.count($0)) for the next start" } ?? "" }

    /// How processes are held together.
    private var containment: String {
        ["cgroups", "process groups"].first { status.containment.hasPrefix($0) }.map { " in \($0)" } ?? ""
    }

    /// Of what is pending and of the history, where they are worth a look: from a tenth of what there may be.
    private var bytes: String {
        func share(_ bytes: Int, _ most: Int, _ what: String) -> String {
            guard bytes > 0, bytes >= most / 10 else { return "" }
            return ", \(what) \(ByteCount.rounded(bytes)) of at most \(ByteCount.exact(most))"
        }
        let history = status.store.map { share($0.historyBytes ?? 0, $0.maxHistoryBytes, "history") } ?? ""
        return share(status.pendingBytes, status.maxPendingBytes, "they carry") + history
    }

    /// `1 615 accepted = 1 605 done + 1 failed + 9 pending; 1 461 coalesced`: every term that is not 0 is there, so it
    /// adds up.
    static func totals(_ totals: Counters) -> String {
        let ends = [
            (totals.done, "done"), (totals.failed, "failed"), (totals.cancelled, "cancelled"),
            (totals.skipped, "skipped"), (totals.dropped, "dropped"), (totals.annulled, "annulled"),
            (totals.running, "running"), (totals.pending, "pending"), (totals.held, "held"),
        ]
        let shown = ends.filter { $0.0 != 0 || ["done", "failed", "pending"].contains($0.1) }
        let sum = shown.map { "\(Phrases.count($0.0)) \($0.1)" }.joined(separator: " + ")
        let besides = [
            (totals.coalesced, "coalesced"), (totals.filtered, "filtered"), (totals.gap, "lost before acceptance"),
            (totals.over, "above a backlog"),
        ].filter { $0.0 != 0 }.map { "; \(Phrases.count($0.0)) \($0.1)" }.joined()
        return "\(Phrases.count(totals.accepted)) accepted = \(sum)\(besides)"
    }

    // MARK: Sections

    private var problems: [Styled] {
        guard !(status.problems.isEmpty && status.pauses.isEmpty && status.stopped.isEmpty) else { return [] }
        let names = status.problems.map(\.object) + status.pauses.map(\.object) + status.stopped.map(\.object)
        let nameWidth = min(names.map { Styled($0).width }.max() ?? 0, screen.width / 3)
        var lines = [Styled("PROBLEMS", .bold)]
        func add(_ mark: Styled, _ object: String, _ text: String, _ more: String? = nil) {
            let name = Styled(object).cut(to: nameWidth).padded(to: nameWidth)
            let texts = Styled(text).wrapped(to: screen.width - nameWidth - 6)
            let below = more.map { Styled($0, .dim).wrapped(to: screen.width - nameWidth - 6) } ?? []
            lines += zip([Styled("  ") + mark + Styled(" ") + name + Styled("  ")], texts).map { $0 + $1 }
            lines += (texts.dropFirst() + below).map { Styled("").padded(to: nameWidth + 6) + $0 }
        }
        for problem in status.problems {
            add(
                Styled("x", .red), problem.object,
                "\(OperationText.short(problem.problem)), \(screen.ago(problem.since))",
                [problem.nextTry.map { "next try \(screen.ahead($0))" }, problem.action, problem.help]
                    .compactMap { $0 }.joined(separator: " · "))
        }
        for pause in status.pauses {
            add(Styled("=", .yellow), pause.object, self.text(of: pause))
        }
        for stopped in status.stopped {
            add(
                Styled("=", .yellow), stopped.object, "stopped by \(stopped.by), \(screen.ago(stopped.since))",
                "it starts again with watchd · watchctl start \(stopped.object.split(separator: "/").last ?? "")")
        }
        return lines
    }

    private func text(of pause: GetStatus.Pause) -> String {
        "paused \(Phrases.suspension(pause.suspension, screen)); \(Phrases.count(pause.kept, "event")) kept"
    }

    private var running: [Styled] {
        let isUsualKnown = status.running.contains { $0.usualUsec != nil }
        let usual = isUsualKnown ? [Table.Column(title: "USUALLY", isNumber: true)] : []
        let more = status.operationsRunning - status.running.count
        let lines = operations(
            "RUNNING (\(Phrases.count(status.operationsRunning)))", status.running,
            last: [.init(title: "FOR", isNumber: true)] + usual
                + [.init(title: "CAUSE", isFlexible: true, isWrapped: true)]
        ) { operation in
            let typical = Styled(operation.usualUsec.map { OperationText.took($0) } ?? "-")
            return [Styled(screen.age(operation.started))] + (isUsualKnown ? [typical] : [])
                + [
                    operation.waitingFor.map { Styled("waits for \($0)", .yellow) }
                        ?? (operation.progress.map { Styled("\($0) ", .green) } ?? Styled("")) + Styled(operation.cause)
                ]
        }
        return lines.isEmpty ? lines : lines + left(more)
    }

    /// The line about operations that the section does not show.
    private func left(_ count: Int) -> [Styled] {
        count > 0 ? [Styled("  \(Phrases.count(count)) more: watchctl operations", .dim)] : []
    }

    private var waiting: [Styled] {
        let more = status.operationsPending - status.waiting.count
        let held = status.held.map { events in
            [
                Styled("  -"), Styled(events.handlers.joined(separator: ", ")), Styled("-"),
                Styled(screen.age(events.since)),
                Styled("\(events.waitingFor): \(Phrases.count(events.events, "event")) of \(events.source)"),
            ]
        }
        let lines = operations(
            "WAITING (\(Phrases.count(status.operationsPending + held.count)))", status.waiting,
            last: [
                .init(title: "SINCE", isNumber: true), .init(title: "FOR", isFlexible: true, isWrapped: true),
            ], and: held
        ) { [Styled(screen.age($0.submitted)), Styled(reason($0))] }
        return lines.isEmpty ? lines : lines + left(more)
    }

    private func reason(_ operation: OperationSummary) -> String {
        let detail = OperationText.detail(operation, screen)
        return detail.isEmpty ? operation.cause : detail
    }

    private var semaphores: [Styled] {
        guard !status.semaphores.isEmpty else { return [] }
        return Lists(screen: screen).semaphoreTable("SEMAPHORES", status.semaphores, indent: "  ")
            .lines(width: screen.width)
    }

    private var groups: [Styled] {
        guard !status.groups.isEmpty else { return [] }
        var table = Table([
            .init(title: "GROUPS", isFlexible: true), .init(title: "OPERATIONS", isNumber: true),
            .init(title: "ENTERED", isNumber: true),
        ])
        for group in status.groups {
            table.add([
                Styled("  " + group.name), Styled(Phrases.count(group.outstanding)),
                Styled(Phrases.count(group.entered)),
            ])
        }
        return table.lines(width: screen.width)
    }

    private func operations(
        _ title: String, _ operations: [OperationSummary], last columns: [Table.Column], and others: [[Styled]] = [],
        _ cells: (OperationSummary) -> [Styled]
    ) -> [Styled] {
        guard !(operations.isEmpty && others.isEmpty) else { return [] }
        var table = Table(
            [
                .init(title: title), .init(title: "HANDLER", yields: true),
                .init(title: "QUEUE", isFlexible: true, rank: 1),
            ] + columns)
        for operation in operations {
            table.add(
                [Styled("  \(operation.id)"), Styled(operation.handler), Styled(operation.queue)] + cells(operation))
        }
        for other in others { table.add(other) }
        return table.lines(width: screen.width)
    }

    private var next: [Styled] {
        guard !status.next.isEmpty else { return [] }
        var table = Table([.init(title: ""), .init(title: ""), .init(title: "", isFlexible: true, isWrapped: true)])
        for elapse in status.next.prefix(Self.elapsesShown) {
            table.add([
                Styled(screen.planned(elapse.time)), Styled(screen.ahead(elapse.time)),
                Styled("\(elapse.source) → \(elapse.handlers.joined(separator: ", "))"),
            ])
        }
        return [Styled("NEXT", .bold)] + table.lines(width: screen.width, indent: 2, titled: false)
    }

    private var finished: [Styled] {
        FinishedTable(screen: screen).lines(status.recent, atMost: Self.recentShown)
    }
}
