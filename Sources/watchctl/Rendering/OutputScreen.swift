import ControlInterface
import FoundationEssentials

/// `watchctl output`: what an operation wrote, below a line that says which one it is.
struct OutputScreen {
    let operation: OperationDetail
    let screen: Screen

    /// For a program there is no line above.
    var lines: [Styled] {
        guard screen.isTerminal else { return text ?? [] }
        return heading + (cut.map { [Styled($0, .dim)] } ?? []) + (text ?? [Styled(nothing, .dim)])
    }

    /// What there is to say to whom the lines do not say it.
    var remark: String? { screen.isTerminal ? nil : rawRemark }

    /// Besides the bytes.
    var rawRemark: String? { bytes.isEmpty ? nothing : cut }

    /// Where the beginning is missing.
    private var cut: String? {
        operation.outputCut == true ? "… the last \(bytes.count >> 10) KiB: watchd keeps no more of a run" : nil
    }

    private var heading: [Styled] {
        let summary = operation.summary
        let name = Styled("\(summary.handler) \(summary.id), ", .bold)
        let time = Styled(summary.ended.map { ", \(screen.full($0))" } ?? "")
        return (name + OperationText.brief(summary) + time).wrapped(to: screen.width)
    }

    /// Byte for byte.
    var bytes: [UInt8] {
        operation.outputBase64.flatMap { Data(base64Encoded: $0) }.map(Array.init)
            ?? Array((operation.output ?? "").utf8)
    }

    /// `nil`: there is none.
    var text: [Styled]? {
        bytes.isEmpty ? nil : Styled.block(operation.output ?? String(decoding: bytes, as: UTF8.self))
    }

    var nothing: String {
        if operation.withheld == true { return "Its output is not for you: that needs root or the group watchd." }
        if operation.summary.result == nil { return "It has written nothing so far." }
        let isForgotten = operation.events.isEmpty && operation.eventsOmitted > 0
        return isForgotten ? "Its output is kept no more." : "It wrote nothing."
    }
}
