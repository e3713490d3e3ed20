import ControlInterface
import JSON
import Schedule
import Varlink

extension Verb {
    static let follow = Verb(
        name: "follow", operands: "[NAME]", operandCount: 0...1, options: [.since, .output], names: .names,
        summary: "print events and what becomes of them, as they happen; of a handler, source or queue",
        notes: [
            "Of several that have one bare name, all are followed. --output adds what runs and processes write.",
            "A daemon that is started anew within 30s is followed again, from its start; standard error says so.",
        ]
    ) { (invocation, session) throws(Failure) in
        var start = try start(invocation, session)
        while try !follow(start, session) {
            let began = try session.waitForReturn(of: "what happens", help: "when it runs again: watchctl follow")
            // All that is kept of the new one.
            (start.since, start.sinceTime) = (nil, began)
        }
        return .done
    }

    /// False: the daemon has gone.
    private static func follow(_ start: Follow.Parameters, _ session: Session) throws(Failure) -> Bool {
        let client = try session.connect()
        let timeout = session.timeout(taking: nil)
        let text = FollowText(screen: session.screen)
        do throws(ClientError) {
            try client.start(Follow.fullName, start, timeout: timeout)
            var continues = true
            while continues {
                let reply = try client.nextReply(timeout: timeout)
                continues = reply.continues
                if session.isJSON {
                    let record: JSONValue = try reply.parameters()
                    if let line = try? JSON.encode(record) { session.print(json: line) }
                } else {
                    session.print(text.lines(try reply.parameters(as: Follow.Reply.self)))
                }
            }
            return true
        } catch {
            if Session.isGone(error) { return false }
            if case .timedOut(let milliseconds) = error, session.statusSoon() != nil {
                throw Failure(quietFor: milliseconds)
            }
            throw Failure(error, socketPath: session.socketPath, Follow.name, session.screen)
        }
    }

    /// After a record, or from a time on.
    private static func start(_ invocation: Invocation, _ session: Session) throws(Failure) -> Follow.Parameters {
        var parameters = Follow.Parameters(
            name: invocation.operands.first, output: invocation.has(.output) ? true : nil)
        guard let text = invocation.options[.since] else { return parameters }
        if let sequence = Int(text) {
            parameters.since = sequence
            return parameters
        }
        guard let time = PastTime.parse(text, now: session.screen.now, local: session.screen.local) else {
            throw .usage("“\(text)” is neither a time nor the number of a record", help: PastTime.forms)
        }
        let status = try session.reply(GetStatus.self, NoParameters())
        if let began = session.screen.instant(status.started), time < began {
            session.remark(
                "watchctl: watchd runs since \(session.screen.full(status.started)); watchctl history has what was before\n"
            )
        }
        parameters.sinceTime = time.description
        return parameters
    }
}
