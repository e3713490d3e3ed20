import ControlInterface
import Varlink

extension Verb {
    static let output = Verb(
        name: "output", operands: "NAME|ID", operandCount: 1...1, options: [.follow],
        summary: "print the end of what an operation wrote, or the last one of a handler or source",
        notes: ["With --json: the reply of GetOperation, which has bytes that are no text as Base64."]
    ) { (invocation, session) throws(Failure) in
        guard !invocation.has(.follow) else {
            throw .usage(
                "output -f is not there yet: what a run writes is known when it has ended",
                help: "watchctl follow tells when it has; watchctl output then shows the end of it")
        }
        let target = invocation.operands[0]
        let id = if let id = Int(target) { id } else { try newest(target, session) }
        let reply = try session.show(GetOperation.self, .init(id: id)) {
            OutputScreen(operation: $0.operation, screen: session.screen).lines
        }
        if reply.operation.withheld == true { return .permissionDenied }
        return reply.operation.summary.result == nil ? .failed : .done
    }

    private static func newest(_ name: String, _ session: Session) throws(Failure) -> Int {
        let reply = try session.call(ListHistory.self, .init(name: name, limit: 1))
        let history = try session.attempt { () throws(ClientError) in try reply.parameters(as: ListHistory.Reply.self) }
        guard let newest = history.operations.first else {
            throw Failure(
                message: "nothing of “\(name)” has ended, or it is kept no more",
                help: "watchctl operations shows what has not ended", exitCode: .failed)
        }
        return newest.id
    }
}
