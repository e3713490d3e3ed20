import ControlInterface
import Schedule

extension Verb {
    static let suspend = Verb(
        name: "suspend", operands: "NAME…", operandCount: 1...Int.max, options: [.duration, .reason],
        names: .pausable,
        changes: true, summary: "suspend sources or queues; what runs goes on"
    ) { (invocation, session) throws(Failure) in
        let until = try end(invocation, now: session.screen.now)
        try invocation.forEachOperand { name throws(Failure) in
            try session.show(
                Suspend.self, .init(name: name, reason: invocation.options[.reason], until: until?.description)
            ) { reply in
                let often = reply.suspended == 1 ? "" : " \(reply.suspended) times"
                let till = until.map { " until \(session.screen.local.until($0, now: session.screen.now))" } ?? ""
                return [Styled("\(reply.name) is suspended\(often)\(till)")]
            }
        }
        return .done
    }

    private static func end(_ invocation: Invocation, now: Timestamp) throws(Failure) -> Timestamp? {
        guard let span = try invocation.span(.duration), let text = invocation.options[.duration] else { return nil }
        guard span > .zero else { throw .usage("--for takes a span longer than 0") }
        if span == .infinity { return nil }
        let (end, overflow) = now.microseconds.addingReportingOverflow(Int64(clamping: span.microseconds))
        guard !overflow, end <= Timestamp.latest.microseconds else {
            throw .usage("“\(text)” is too long", help: "without --for it is suspended until it is resumed")
        }
        return Timestamp(microseconds: end)
    }
}
