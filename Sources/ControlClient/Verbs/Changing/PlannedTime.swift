import Schedule

/// `--at`, `--in`, `--after SPAN`: when something is to be started.
extension Verb {
    /// The options that give `run NAME` and `emit` a time.
    static let timeOptions: [Option] = [.at, .delay, .after]

    /// The time of `--at`, as the daemon takes it; of a calendar expression the next one.
    static func plannedTime(_ invocation: Invocation, _ session: Session) throws(Failure) -> String? {
        guard let text = invocation.options[.at] else { return nil }
        guard let time = ComingTime.parse(text, now: session.screen.now, local: session.screen.local) else {
            guard let next = try nextElapse(text, invocation, session) else {
                throw .usage(
                    "“\(text)” is not a time",
                    help: "a time is \(ComingTime.forms), or a calendar expression; --in takes a span")
            }
            return next.description
        }
        guard time > session.screen.now else { throw .usage("“\(text)” has passed") }
        return time.description
    }

    private static func nextElapse(
        _ text: String, _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> Timestamp? {
        let answer = CalendarAnswer(text, try CalendarRequest(invocation, session))
        guard answer.normalized != nil else { return nil }
        guard let next = answer.elapses.first else { throw .usage("“\(text)” never comes again") }
        return Timestamp(microseconds: next)
    }

    /// When a handler, source or event is to be started: a time, or microseconds from now. `nil`: at once.
    static func startTime(
        _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> (at: String?, inUsec: Int?)? {
        let given = timeOptions.filter(invocation.has)
        guard let option = given.first else { return nil }
        if let twice = given.first(where: { invocation.values[$0]?.count ?? 0 > 1 }) {
            throw .usage("\(twice.rawValue) is given twice")
        }
        if given.count > 1 { throw .usage("\(given[0].rawValue) and \(given[1].rawValue) exclude each other") }
        if invocation.has(.wait) {
            throw .usage(
                "--wait and \(option.rawValue) exclude each other",
                help: "watchctl wait ID waits until it is started")
        }
        if option == .at { return (try plannedTime(invocation, session), nil) }
        if option == .after, let text = invocation.options[.after], Int(text) != nil {
            throw .usage(
                "--after takes a span here, such as \(text)s, not “\(text)”",
                help: "an operation is waited for with run --queue QUEUE --after ID")
        }
        return (nil, try finiteSpan(option, invocation))
    }

    /// `operation 12: run backup, Sat 21 Nov 02:30`
    static func planned(
        _ operation: Int, _ words: String, _ start: (at: String?, inUsec: Int?), _ session: Session
    ) -> Styled {
        let now = session.screen.now
        let time = start.at ?? Timestamp(microseconds: now.microseconds &+ Int64(start.inUsec ?? 0)).description
        return Styled("operation \(operation): \(words), \(session.screen.planned(time))")
    }
}
