import ControlInterface
import Schedule
import Varlink

extension Verb {
    static let follow = Verb(
        name: "follow", options: [.since], summary: "print events and what becomes of them, as they happen"
    ) { (invocation, session) throws(Failure) in
        let start = try start(invocation, session)
        let client = try session.connect()
        let timeout = session.timeout(taking: nil)
        try session.attempt(Follow.name) { () throws(ClientError) in
            try client.start(Follow.fullName, start, timeout: timeout)
        }
        var continues = true
        while continues {
            let reply = try session.attempt(Follow.name) { () throws(ClientError) in
                try client.nextReply(timeout: timeout)
            }
            continues = reply.continues
            if session.isJSON {
                try session.print(reply)
            } else {
                let record = try session.attempt(Follow.name) { () throws(ClientError) in
                    try reply.parameters(as: Follow.Reply.self)
                }
                session.print([FollowText(screen: session.screen).line(record)])
            }
        }
        return .done
    }

    /// After a record, or from a time on.
    private static func start(_ invocation: Invocation, _ session: Session) throws(Failure) -> Follow.Parameters {
        guard let text = invocation.options[.since] else { return Follow.Parameters() }
        if let sequence = Int(text) { return Follow.Parameters(since: sequence) }
        guard let time = PastTime.parse(text, now: session.screen.now, local: session.screen.local) else {
            throw .usage("“\(text)” is neither a time nor the number of a record", help: PastTime.forms)
        }
        let status = try session.reply(GetStatus.self, NoParameters())
        if let began = session.screen.instant(status.started), time < began {
            session.remark(
                "watchctl: watchd runs since \(session.screen.full(status.started)); watchctl history has what was before\n"
            )
        }
        return Follow.Parameters(sinceTime: time.description)
    }
}
