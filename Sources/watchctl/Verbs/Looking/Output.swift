import ControlInterface
import Varlink

extension Verb {
    static let output = Verb(
        name: "output", operands: "NAME|ID", operandCount: 1...1, options: [.raw, .follow],
        names: .runnable,
        summary: "print the end of what an operation wrote, or the newest one of a handler or source",
        notes: [
            "A line above it says which operation that was, on a terminal only. What a terminal would act on is escaped;",
            "--raw prints the bytes as they are. With -f it goes on until the run has ended.",
            "With --json: the reply of GetOperation, which has bytes that are no text as Base64.",
        ]
    ) { (invocation, session) throws(Failure) in
        if invocation.has(.follow), invocation.has(.json) { throw .usage("-f and --json exclude each other") }
        let target = invocation.operands[0]
        let id = if let id = Int(target) { id } else { try newest(target, session) }
        if invocation.has(.follow) {
            let isRaw = invocation.has(.raw) || !session.screen.isTerminal
            var following = FollowedOutput(id: id, isRaw: isRaw)
            return code(try following.print(session))
        }
        guard !invocation.has(.raw) else { return try showBytes(id, invocation, session) }
        let reply = try session.show(GetOperation.self, .init(id: id)) {
            let screen = OutputScreen(operation: $0.operation, screen: session.screen)
            if let remark = screen.remark { session.remark("watchctl: \(remark)\n") }
            return screen.lines
        }
        return code(reply.operation)
    }

    private static func code(_ operation: OperationDetail) -> ExitCode {
        if operation.withheld == true { return .permissionDenied }
        return .done
    }

    private static func showBytes(_ id: Int, _ invocation: Invocation, _ session: Session) throws(Failure) -> ExitCode {
        if invocation.has(.json) { throw .usage("--raw and --json exclude each other") }
        let operation = try session.reply(GetOperation.self, .init(id: id)).operation
        let screen = OutputScreen(operation: operation, screen: session.screen)
        session.writeBytes(screen.bytes)
        if let remark = screen.rawRemark { session.remark("watchctl: \(remark)\n") }
        return code(operation)
    }

    /// The one that runs, or else the one that ended last.
    private static func newest(_ name: String, _ session: Session) throws(Failure) -> Int {
        let running = try? session.reply(ListOperations.self, .init(handler: name, state: .executing)).operations.last
        if let running { return running.id }
        let history = try session.reply(ListHistory.self, .init(name: name, limit: 1))
        guard let newest = history.operations.first else {
            throw Failure(
                message: "nothing of “\(name)” has ended, or it is kept no more",
                help: "watchctl operations shows what waits", exitCode: .failed)
        }
        return newest.id
    }
}
