import ControlInterface
import Schedule

extension Verb {
    static let suspend = Verb(
        name: "suspend", operands: "NAME…", operandCount: 1...Int.max, options: [.duration, .reason, .wait],
        hasOwnTimeout: { $0[.wait] != nil }, names: .pausable,
        changes: true, summary: "suspend sources or queues; what runs goes on",
        notes: [
            "With --wait it returns when nothing runs there any more; what waits stays. --timeout is then how long at most: when it",
            "is over the exit status is 1, and the queue or source stays suspended.",
        ]
    ) { (invocation, session) throws(Failure) in
        let until = try end(invocation, now: session.screen.now)
        try invocation.forEachOperand(.pausable, session) { name throws(Failure) in
            var parameters = Suspend.Parameters(
                name: name, reason: invocation.options[.reason], until: until?.description)
            let waits = invocation.has(.wait)
            if waits { (parameters.wait, parameters.timeoutUsec) = (true, try timeout(invocation)) }
            let limit = waits ? parameters.timeoutUsec.map { ($0 + 999) / 1000 } : 0
            try session.show(Suspend.self, parameters, taking: limit) { reply in
                let often = reply.suspended == 1 ? "" : " \(reply.suspended) times"
                let till = until.map { " until \(session.screen.local.until($0, now: session.screen.now))" } ?? ""
                let unsaved = Phrases.unsaved(reply.unsaved, crash: "it is not suspended any more")
                return [Styled("\(reply.name) is suspended\(often)\(till)\(unsaved)")]
            }
        }
        return .done
    }

    /// Of a verb that waits, in microseconds; `nil`: for ever.
    static func timeout(_ invocation: Invocation) throws(Failure) -> Int? {
        guard let span = try invocation.span(.timeout), span != .infinity else { return nil }
        return Int(clamping: min(span.microseconds, UInt64(Int.max / 2)))
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
