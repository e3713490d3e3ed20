import ControlInterface

/// One line for each record of `watchctl follow`, and for each line that was written.
struct FollowText {
    let screen: Screen

    func lines(_ record: Follow.Reply) -> [Styled] {
        guard let output = record.output else { return [line(record)] }
        let time = Styled(screen.clock(record.time) + "  ", .dim)
        return output.lines.map { time + Styled("\(name(of: output))| ", .dim) + Styled($0) }
    }

    /// `4711 backup`, `process/web`, `process/web 2`.
    private func name(of output: Follow.OutputLines) -> String {
        if let operation = output.operation {
            return "\(operation) \(output.object.split(separator: "/").last ?? "")"
        }
        return output.copy.map { $0 > 1 ? "\(output.object) \($0)" : output.object } ?? output.object
    }

    private func line(_ record: Follow.Reply) -> Styled {
        let time = Styled(screen.clock(record.time) + "  ", .dim)
        if let event = record.event {
            return time + Styled(EventText.describe(event, to: record.handlers ?? []))
        }
        if let operation = record.operation {
            let name = Styled("\(operation.id) \(operation.handler)  ", .bold)
            let before = record.initial == true ? Styled("already ", .dim) : Styled("")
            return time + name + before + OperationText.brief(operation)
                + Styled("  " + detail(of: operation, at: record.time))
        }
        if let gap = record.gap {
            if gap.last < gap.first {
                let text = "watchd was started anew after record \(gap.first - 1); what came next there is not kept"
                return time + Styled(text, .yellow)
            }
            return time + Styled("records \(gap.first) to \(gap.last) are no longer kept", .yellow)
        }
        return time + Styled("record \(record.sequence) of a kind that this watchctl does not know")
    }

    private func detail(of operation: OperationSummary, at time: String) -> String {
        var screen = screen
        screen.now = screen.instant(time) ?? screen.now
        return detail(of: operation, screen)
    }

    private func detail(of operation: OperationSummary, _ screen: Screen) -> String {
        switch operation.state {
        case .pending, .ready:
            operation.nextAttempt.map { "attempt \(operation.attempt + 1) \(screen.ahead($0))" }
                ?? operation.waitingFor.map { "waits for \($0)" } ?? operation.cause
        case .executing:
            operation.progress ?? operation.pid.map { "pid \($0), \(operation.cause)" } ?? operation.cause
        case .finished, .cancelled:
            [
                operation.tookUsec.map { OperationText.took($0) }, operation.reason.map(OperationText.short),
                operation.successor.map { "→ \($0)" }, Self.refused(operation),
            ].compactMap(\.self).joined(separator: ", ")
        }
    }

    /// `12 events`: of a record that stands for many deliveries, none of which made an operation.
    private static func refused(_ operation: OperationSummary) -> String? {
        guard operation.started == nil, operation.entries > 1,
            operation.result == .skipped || operation.result == .dropped
        else { return nil }
        return Phrases.count(operation.entries, "event")
    }
}
