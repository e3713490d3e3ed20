import ControlInterface
import Varlink

extension Verb {
    static let follow = Verb(
        name: "follow", options: [.since], summary: "print events and what becomes of them, as they happen"
    ) { (invocation, session) throws(Failure) in
        let since = try invocation.number(.since)
        let client = try session.connect()
        let timeout = session.timeout(taking: nil)
        try session.attempt(Follow.name) { () throws(ClientError) in
            try client.start(Follow.fullName, Follow.Parameters(since: since), timeout: timeout)
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
}
