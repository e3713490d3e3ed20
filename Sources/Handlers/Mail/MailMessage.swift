package import Engine
import Schedule
package import WatchFile

/// The mail of a `Mail=` (RFC 5322): about the run that is reported, or about the events.
///
/// Nothing that came from outside reaches a header but the subject, and that only as printable text
/// (`MailText.unstructured`). Lines end as on this machine: whoever submits the mail makes the network's ends of them.
package struct MailMessage {
    /// It reads addressees and text from standard input (`sendmail(8)`: `-t`), in which a dot is a letter (`-i`).
    package static let sender = Command(
        words: ["sendmail", "-t", "-i"].map { .template(Template(literal: $0)) })

    /// Beside the news that there is no such program.
    static let advice = "Mail= needs a mail-transport-agent, such as postfix, msmtp-mta or dma"

    /// More events are told by their number.
    private static let longestList = 100
    /// Bytes of the end of an output that are told.
    private static let outputLimit = 32 << 10
    /// Lines of an output that a digest tells.
    private static let digestLines = 10
    /// Letters of a subject.
    private static let longestSubject = 160

    private let context: RunContext
    private let addresses: [String]
    private let user: String
    private let time: Int64
    private let host: String
    private let mayRetry: Bool

    /// - Parameters:
    ///   - addresses: checked by the watch file: no letter of them means anything in a header.
    ///   - user: whose process sends it.
    ///   - time: wall clock, microseconds.
    ///   - mayRetry: `watchctl retry` would take the operation that it is about.
    package init(
        _ context: RunContext, to addresses: [String], from user: String, at time: Int64, mayRetry: Bool = true
    ) {
        self.context = context
        self.addresses = addresses
        self.user = user
        self.time = time
        self.mayRetry = mayRetry
        host = MailText.domain(context.host)
    }

    package var bytes: [UInt8] {
        let (encoding, text) = MailText.encoded(body)
        let head = [
            "From: watchd <\(MailText.domain(Array(user.utf8)))>",
            "To: \(addresses.joined(separator: ",\n "))",
            "Subject: \(MailText.unstructured(subject))",
            "Date: \(MailText.date(time))",
            "Message-ID: <\(context.operation).\(context.events.first?.id ?? 0).\(submitted)@\(host)>",
            "Auto-Submitted: auto-generated",
            "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8",
            "Content-Transfer-Encoding: \(encoding)",
            "X-Watchd-Handler: \(completion == nil ? context.handler : context.origin.name)",
        ]
        return Array((head.joined(separator: "\n") + "\n\n").utf8) + text
    }

    /// The time of the first event, which stays however often the mail is sent.
    private var submitted: Int64 { context.events.first?.time ?? time }

    private var isDigest: Bool { if case .digest = context.origin { true } else { false } }

    private var completion: CompletionFact? {
        guard let reported, case .completion(let fact) = reported.fact else { return nil }
        return fact
    }

    private var reported: Event? { isDigest ? nil : context.events.reported }

    // MARK: The text of the mail

    /// Machine, handler, outcome.
    var subject: String {
        let about = isDigest ? digestNews : completion.map(headline) ?? news
        let text = "[\(host)] \(about)"
        return text.count > Self.longestSubject ? text.prefix(Self.longestSubject - 1) + "…" : text
    }

    /// `backup failed: exit 3, and 2 more`.
    private func headline(_ fact: CompletionFact) -> String {
        let more = others.count
        return outcome(fact, of: context.origin) + (more > 0 ? ", and \(more) more" : "")
    }

    /// `backup failed: exit 3`.
    private func outcome(_ fact: CompletionFact, of origin: Origin) -> String {
        let name = origin.name
        switch fact.outcome {
        case .retry: return "\(name) failed and is tried again: \(fact.ending)"
        case .late: return "\(name) has not started yet"
        case .slow: return "\(name) still runs"
        case .success, .failure, .change, .finished:
            guard fact.isFailure else { return "\(name) \(fact.result?.rawValue ?? "")" }
            return "\(name) failed: \(fact.ending)"
        }
    }

    /// `tell: 5 reports, 2 of failures`.
    private var digestNews: String {
        let count = context.events.reduce(0) { $0 + $1.count }
        let failures = context.events.count(where: \.isOfFailure)
        let bad = failures == 0 ? "" : ", \(failures) of failures"
        return "\(context.handler): \(count) \(count == 1 ? "report" : "reports")\(bad)"
    }

    private var news: String {
        guard let newest = context.events.last else { return context.handler }
        if case .run = context.origin { return "\(context.handler): \(EventText.byHand)" }
        guard context.events.count == 1 else {
            let isByHand = context.events.allSatisfy(\.isByHand)
            return "\(context.origin.name): \(context.events.count) events\(isByHand ? ", \(EventText.byHand)" : "")"
        }
        return "\(context.origin.name): \(EventText.sentence(newest))"
    }

    private var body: String {
        let parts = isDigest ? digest : completion.map { report($0) } ?? [list]
        let sender =
            "watchd on \(host), handler \(context.handler), operation \(context.operation)"
            + (context.isRedelivered ? "\nIt may have been sent before: watchd ended while that went on." : "")
        return (parts + ["-- \n\(sender)"]).joined(separator: "\n\n") + "\n"
    }

    private func report(_ fact: CompletionFact) -> [String] {
        let cause =
            if case .run = fact.causeOrigin {
                EventText.sentence(fact.cause)
            } else {
                "\(fact.causeOrigin): \(EventText.sentence(fact.cause))"
            }
        var lines = [
            "\(outcome(fact, of: context.origin)).", "",
            "operation  \(fact.operation)",
            "caused by  \(cause)",
            "came       \(EventText.local(fact.cause.time))",
        ]
        if let reason = fact.reason, reason != fact.ending { lines.append("reason     \(reason)") }
        return [lines.joined(separator: "\n"), beside, output(fact), help(fact)].compactMap { $0 }
    }

    /// The events that tell of something else than the reported one. `OnFailure=` and `OnFinished=` tell of one end.
    private var others: [Event] {
        guard let reported, let about = completion else { return [] }
        return context.events.filter { event in
            guard case .completion(let fact) = event.fact, event.id != reported.id else { return false }
            return fact.operation != about.operation || !fact.outcome.isEnd
        }
    }

    /// Runs that ended while the mail about them waited.
    private var beside: String? {
        if others.isEmpty { return nil }
        let (events, left) = shown(others)
        let lines = events.compactMap { event -> String? in
            guard case .completion(let fact) = event.fact else { return nil }
            return
                "    \(EventText.local(event.time))  \(outcome(fact, of: context.origin)) (operation \(fact.operation))"
        }
        return "Beside it\(left.map { ", where \($0)" } ?? ""):\n\n" + lines.joined(separator: "\n")
    }

    /// As many as a mail tells, failures first, in their order; and a sentence about the others.
    private func shown(_ events: [Event]) -> (events: [Event], left: String?) {
        let count = events.count - Self.longestList
        if count <= 0 { return (events, nil) }
        let failures = events.indices.filter { events[$0].isOfFailure }
        let others = events.indices.filter { !events[$0].isOfFailure }
        let told = failures.suffix(Self.longestList)
        let chosen = told + others.suffix(Self.longestList - told.count)
        let hidden = failures.count - told.count
        let left = "\(count) \(count == 1 ? "is" : "are") not shown" + (hidden > 0 ? ", \(hidden) of failures" : "")
        return (chosen.sorted().map { events[$0] }, left)
    }

    private func output(_ fact: CompletionFact) -> String? {
        // A line has no output of its own: its worker writes.
        guard !fact.output.isEmpty else { return fact.exit == nil ? nil : "It wrote nothing." }
        var end = fact.output.suffix(Self.outputLimit)
        let isCut = end.count < fact.output.count
        if isCut, let start = end.firstIndex(of: UInt8(ascii: "\n")) { end = end[(start + 1)...] }
        let text = MailText.lines(Array(end)).map { "    \($0)" }.joined(separator: "\n")
        return "\(isCut ? "The end of its output:" : "Its output:")\n\n\(text)"
    }

    private func help(_ fact: CompletionFact) -> String {
        var lines = fact.outcome == .late ? [] : ["watchctl output \(fact.operation)    what it wrote"]
        lines.append("watchctl show \(fact.operation)      its events and attempts")
        if fact.isFailure, fact.outcome != .retry, mayRetry {
            lines.append("watchctl retry \(fact.operation)     runs it again")
        }
        return lines.joined(separator: "\n")
    }

    /// All that has come in the span, the newest last.
    private var digest: [String] {
        let (events, left) = shown(context.events)
        let first = context.events.first.map { "\(digestNews), since \(EventText.local($0.time))." } ?? digestNews
        return [first] + (left.map { ["Of them \($0)."] } ?? []) + events.map(digestEntry)
    }

    private func digestEntry(_ event: Event) -> String {
        let origin = event.origin ?? context.origin
        guard case .completion(let fact) = event.fact else {
            let text = "\(EventText.local(event.time))  \(origin)  \(EventText.sentence(event))"
            return text + payload(event) + advice(event)
        }
        var lines = ["\(EventText.local(event.time))  \(outcome(fact, of: origin))  (operation \(fact.operation))"]
        if let reason = fact.reason, reason != fact.ending { lines.append("    \(reason)") }
        if fact.isFailure { lines += MailText.lines(fact.output).suffix(Self.digestLines).map { "    | \($0)" } }
        return lines.joined(separator: "\n")
    }

    /// The events, the newest last.
    private var list: String {
        let (events, left) = shown(context.events)
        let lines = events.map { event in
            "\(EventText.local(event.time))  \(context.origin)  \(EventText.sentence(event))" + payload(event)
                + advice(event)
        }
        return ((left.map { ["Of \(context.events.count) events \($0)."] } ?? []) + lines).joined(separator: "\n")
    }

    private func advice(_ event: Event) -> String {
        guard case .problem(let fact) = event.fact, !fact.isSolved else { return "" }
        return [fact.problem.action, fact.problem.help ?? ""].filter { !$0.isEmpty }.map { "\n    \($0)" }.joined()
    }

    /// The bytes of an event that its sentence does not show.
    private func payload(_ event: Event) -> String {
        let bytes: [UInt8]? =
            switch event.fact {
            case .custom(let fact): fact.payload
            case .line(let fact) where fact.handover == nil && EventText.isCut(fact.bytes): fact.bytes
            default: nil
            }
        guard let bytes else { return "" }
        let cut = bytes.count > Self.outputLimit ? "\n    … (\(bytes.count) bytes)" : ""
        return "\n    " + MailText.lines(bytes.prefix(Self.outputLimit)).joined(separator: "\n    ") + cut
    }
}

extension Event {
    fileprivate var isOfFailure: Bool { if case .completion(let fact) = fact { fact.isFailure } else { false } }
}

extension CompletionFact.Outcome {
    /// It tells of the end of an operation.
    fileprivate var isEnd: Bool {
        switch self {
        case .success, .failure, .change, .finished: true
        case .retry, .late, .slow: false
        }
    }
}
