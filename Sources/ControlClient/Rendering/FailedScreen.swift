import ControlInterface

/// `watchctl failed`: what needs attention, by handler or command line, with the commands that deal with it.
struct FailedScreen {
    /// Failures that are looked at.
    static let limit = 1000

    let history: ListHistory.Reply
    let screen: Screen

    var lines: [Styled] {
        guard !history.operations.isEmpty else {
            return [Styled("Nothing has failed that was not tried again or forgotten.", .green)]
        }
        let count = Phrases.count(history.operations.count)
        let title = Styled("FAILED (\(history.next == nil ? count : "the newest \(count)"))", .bold)
        let more = Styled("watchctl failed HANDLER lists those of one handler", .dim).wrapped(to: screen.width)
        let sections = groups.flatMap { [Styled("")] + section($0) }
        return [title] + (history.next == nil ? [] : more) + sections.dropFirst()
    }

    /// That of the newest failure first; of each the newest first.
    private var groups: [[OperationSummary]] {
        var order: [String] = []
        var lists: [String: [OperationSummary]] = [:]
        for operation in history.operations {
            let name = name(operation)
            if lists[name] == nil { order.append(name) }
            lists[name, default: []].append(operation)
        }
        return order.compactMap { lists[$0] }
    }

    /// Of a client's command the command itself, or the name that it was given; its number where that is told to others
    /// only.
    private func name(_ operation: OperationSummary) -> String {
        guard isCommand(operation) else { return operation.handler }
        return isOfOthers(operation) ? "operation \(operation.id)" : operation.cause
    }

    /// A command of another user, to whom alone it is told what it is.
    private func isOfOthers(_ operation: OperationSummary) -> Bool {
        isCommand(operation) && operation.cause == "run/\(operation.handler)"
    }

    private func isCommand(_ operation: OperationSummary) -> Bool { operation.handler == Submit.handlerName }

    private func section(_ failures: [OperationSummary]) -> [Styled] {
        let newest = failures[0]
        let tries = newest.attempt > 1 ? " after \(newest.attempt) tries" : ""
        let reason = newest.reason.map { ": \(OperationText.short($0))" } ?? ""
        let head =
            Styled("  x ", .red) + Styled(name(newest), .bold) + Styled("  ") + OperationText.brief(newest)
            + Styled("\(tries)\(reason)")
        let times = failures.count == 1 ? "" : "\(Phrases.count(failures.count)) times, the last "
        let facts =
            "\(times)\(screen.short(newest.ended)), \(screen.ago(newest.ended)) "
            + (isCommand(newest) ? "· a command on queue \(newest.queue)" : "· \(newest.cause)")
        let verbs = newest.retryObstacle == nil ? ["retry", "forget"] : ["forget"]
        var commands = (["output"] + verbs).map { "watchctl \($0) \(newest.id)" }
        if failures.count > 1, !isCommand(newest) { commands += verbs.map { "watchctl \($0) \(newest.handler)" } }
        return [head, Styled("    " + facts, .dim)].flatMap { $0.wrapped(to: screen.width) }
            + (isOfOthers(newest) ? [] : screen.flow(commands, indent: 4))
    }
}
