import ControlInterface
import Schedule

/// `watchctl explain`: what happened and what holds now, each with the place in the watch file that decided.
struct ExplainScreen {
    let explanation: Explain.Reply
    let screen: Screen

    var lines: [Styled] {
        guard !explanation.steps.isEmpty else { return head + [Styled("  nothing is known of it", .dim)] }
        var table = Table([
            .init(title: ""), .init(title: ""), .init(title: "", isFlexible: true, isWrapped: true),
            .init(title: "", isNumber: true),
        ])
        for step in explanation.steps {
            table.add([
                Styled(screen.precise(step.time), step.time == nil ? .bold : .plain), Styled(step.code),
                Styled(about(step) + step.sentence), Styled(place(of: step), .dim),
            ])
        }
        return head + table.lines(width: screen.width, indent: 2, titled: false)
    }

    private var head: [Styled] {
        guard let operation = explanation.operation else { return [Styled(explanation.object, .bold)] }
        let title = Styled("\(operation.handler), \(screen.short(operation.submitted))", .bold)
        return screen.spread(title, Styled("operation \(operation.id), ") + OperationText.brief(operation))
    }

    /// Of which the sentence begins with another operation.
    private static let namesAnother: Set<String> = ["key", "dependency"]

    /// The operation, where neither the head nor the sentence names it.
    private func about(_ step: Explain.Step) -> String {
        guard explanation.operation == nil, let operation = step.operation,
            !step.sentence.contains("operation \(operation) ")
        else { return "" }
        return step.time == nil && Self.namesAnother.contains(step.code)
            ? "\(operation) waits for " : "\(operation): "
    }

    /// `uploads.watch:13`; the section where its place is not told.
    private func place(of step: Explain.Step) -> String {
        guard let file = step.file, let line = step.line else { return step.section ?? "" }
        return "\(file.split(separator: "/").last ?? ""):\(line)"
    }
}
