import ControlInterface
import Schedule
import Varlink

extension Verb {
    static let follow = Verb(
        name: "follow", operands: "[NAME]", operandCount: 0...1, options: [.since, .output], names: .names,
        summary: "print events and what becomes of them, as they happen; of a handler, source or queue",
        notes: ["Of several that have one bare name, all are followed. --output adds what runs and processes write."]
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
                session.print(FollowText(screen: session.screen).lines(record))
            }
        }
        return .done
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
