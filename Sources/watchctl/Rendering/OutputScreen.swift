import ControlInterface
import FoundationEssentials

/// `watchctl output`: what an operation wrote, below a line that says which one it is.
struct OutputScreen {
    let operation: OperationDetail
    let screen: Screen

    var lines: [Styled] {
        let summary = operation.summary
        let name = Styled("\(summary.handler) \(summary.id), ", .bold)
        let time = Styled(summary.ended.map { ", \(screen.full($0))" } ?? "")
        return (name + OperationText.brief(summary) + time).wrapped(to: screen.width)
            + (text ?? [Styled(nothing, .dim)])
    }

    /// `nil`: there is none.
    var text: [Styled]? {
        let bytes = operation.outputBase64.flatMap { Data(base64Encoded: $0) }
        let decoded = bytes.map { String(decoding: $0, as: UTF8.self) }
        guard let text = operation.output ?? decoded, !text.isEmpty else { return nil }
        return Styled.block(text)
    }

    private var nothing: String {
        if operation.summary.result == nil { return "What it writes is known when it has ended." }
        if operation.withheld == true { return "Its output is not for you: that needs root or the group watchd." }
        let isForgotten = operation.events.isEmpty && operation.eventsOmitted > 0
        return isForgotten ? "Its output is kept no more." : "It wrote nothing."
    }
}
