import ControlInterface
import JSON

/// `watchctl output`: what an operation or a process wrote, below a line that says whose output it is.
struct OutputScreen {
    let reply: GetOutput.Reply
    let asked: GetOutput.Parameters
    let screen: Screen

    /// There is an operation, with this attempt, or a process, with this copy.
    var isKnown: Bool { reply.process != nil || reply.attempt != nil && reply.operation != nil }

    /// For a program there is no line above.
    var lines: [Styled] {
        guard screen.isTerminal else { return text ?? [] }
        guard isKnown else { return [] }
        return heading + (cut.map { Styled($0, .dim).wrapped(to: screen.width) } ?? [])
            + (text ?? [Styled(nothing, .dim)])
    }

    /// A sentence that the lines do not have.
    var remark: String? { screen.isTerminal && isKnown ? nil : rawRemark }

    /// Besides the bytes.
    var rawRemark: String? { bytes.isEmpty ? cut ?? nothing : cut }

    /// Where the beginning is missing.
    private var cut: String? {
        if reply.lacksBeginning == true, reply.outputCut != true { return RunText.lacksBeginning }
        let keeper = reply.source == nil ? "a run" : "a process"
        return reply.outputCut == true ? "… the last \(bytes.count >> 10) KiB: watchd keeps no more of \(keeper)" : nil
    }

    private var heading: [Styled] {
        if let source = reply.source, let process = reply.process {
            let name = Styled(process.copy == 1 ? source : "\(source), copy \(process.copy)", .bold)
            return (name + Styled(", " + ProcessText.standing(process, screen))).wrapped(to: screen.width)
        }
        guard let summary = reply.operation else { return [] }
        let name = Styled("\(summary.handler) \(summary.id), ", .bold)
        if let attempt = reply.attempt, attempt != summary.attempt {
            return (name + Styled("attempt \(attempt) of \(summary.attempt)")).wrapped(to: screen.width)
        }
        let time = Styled(summary.ended.map { ", \(screen.full($0))" } ?? "")
        return (name + OperationText.brief(summary) + time).wrapped(to: screen.width)
    }

    /// Byte for byte.
    var bytes: [UInt8] { RunText.bytes(reply.output, reply.outputBase64) }

    private var text: [Styled]? { RunText.lines(reply.output, reply.outputBase64) }

    private var nothing: String {
        if reply.process != nil { return "It has written nothing since watchd started\(Self.elsewhere)." }
        if let source = reply.source {
            guard let summary = reply.operation else { return "\(source) has no copy \(asked.copy ?? 1)" }
            return "A line for a worker has no output of its own: watchctl output \(summary.handler)"
        }
        guard let summary = reply.operation else {
            let name = asked.name ?? ""
            return "nothing of “\(name)” has run, or it is no longer kept; watchctl operations shows what waits"
        }
        guard let attempt = reply.attempt else {
            if summary.attempt == 0, let result = summary.result {
                return "operation \(summary.id) ended before its start: \(result.rawValue)"
            }
            if summary.attempt == 0 { return "operation \(summary.id) has not started" }
            return "operation \(summary.id) has had \(Phrases.count(summary.attempt, "attempt", "attempts")) so far"
        }
        if reply.forgotten == true { return "Its output is no longer kept." }
        if reply.lacksBeginning == true { return "It has written nothing since." }
        let isOver = attempt < summary.attempt || summary.result != nil
        return "It \(isOver ? "wrote nothing" : "has written nothing so far")\(Self.elsewhere)."
    }

    private static let elsewhere = ", but for what StandardOutput= or StandardError= sends elsewhere"
}

/// Output of a run, as it comes over the control socket.
enum RunText {
    /// In the place of what an earlier watchd has read.
    static let lacksBeginning = "… watchd was restarted while this ran: what it had written before is in the log only"

    /// Byte for byte.
    static func bytes(_ text: String?, _ base64: String?) -> [UInt8] {
        base64.flatMap(Base64.decode) ?? Array((text ?? "").utf8)
    }

    /// For a person; `nil`: there is nothing.
    static func lines(_ text: String?, _ base64: String?) -> [Styled]? {
        let bytes = bytes(text, base64)
        return bytes.isEmpty ? nil : Styled.block(text ?? String(decoding: bytes, as: UTF8.self))
    }
}
