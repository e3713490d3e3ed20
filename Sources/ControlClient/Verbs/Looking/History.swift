import ControlInterface
import JSON
import Schedule
import Varlink

extension Verb {
    /// Operations that are shown where nothing is said, and the most that can be asked for.
    private static let usual = 50
    private static let most = 100_000

    static let history = Verb(
        name: "history", operands: "[NAME]", operandCount: 0...1, options: [.since, .until, .failed, .count, .all],
        names: .runnable,
        summary: "list what has ended, the newest first; of a handler or source",
        notes: [
            "A time is today, yesterday, HH:MM, YYYY-MM-DD, “YYYY-MM-DD HH:MM:SS”, @SECONDS, or a span: so long ago.",
            "Runs of one handler that went well one after the other share a line; --all shows each.",
            "Without -n the last \(usual) are listed.",
        ]
    ) { (invocation, session) throws(Failure) in
        let limit = try count(invocation)
        let (since, until) = (try time(.since, invocation, session), try time(.until, invocation, session))
        let name = invocation.operands.first
        try session.showList(ListHistory.self, atMost: limit) { next, left in
            var parameters = ListHistory.Parameters(
                name: name, limit: min(left, Manager.maximumPage), after: next?.string)
            (parameters.since, parameters.until) = (since, until)
            if invocation.has(.failed) { parameters.result = .failed }
            return parameters
        } _: { reply in
            HistoryScreen(history: reply, isUnfolded: invocation.has(.all), screen: session.screen).lines
        }
        return .done
    }

    private static func count(_ invocation: Invocation) throws(Failure) -> Int {
        guard let count = try invocation.number(.count) else { return usual }
        guard (1...most).contains(count) else {
            throw .usage("-n takes a whole number from 1 to \(most), not “\(count)”")
        }
        return count
    }

    private static func time(
        _ option: Option, _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> String? {
        guard let text = invocation.options[option] else { return nil }
        guard let time = PastTime.parse(text, now: session.screen.now, local: session.screen.local) else {
            throw .usage("“\(text)” is not a time", help: PastTime.forms)
        }
        return time.description
    }
}
