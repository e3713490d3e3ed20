import ControlInterface
import Varlink

extension Verb {
    static let output = Verb(
        name: "output", operands: "NAME|ID", operandCount: 1...1, options: [.raw, .follow, .attempt, .copy],
        names: .runnable,
        summary: "print what an operation wrote, the newest one of a handler or source, or a process",
        notes: [
            "A line above it says whose output it is, on a terminal only. What a terminal would act on is escaped;",
            "--raw prints the bytes as they are. With -f it goes on until the run has ended. watchd keeps 64 KiB of each",
            "attempt, and of each copy of a [Process] with Command= over its restarts.",
            "With --json: the reply of GetOutput, which has bytes that are no text as Base64.",
        ]
    ) { (invocation, session) throws(Failure) in
        let target = try target(invocation)
        if invocation.has(.follow) {
            if invocation.has(.json) { throw .usage("-f and --json exclude each other") }
            var following = FollowedOutput(target, isRaw: invocation.has(.raw) || !session.screen.isTerminal)
            try following.print(session)
            return .done
        }
        guard !invocation.has(.raw) else { return try showBytes(target, invocation, session) }
        func screen(_ reply: GetOutput.Reply) -> OutputScreen {
            OutputScreen(reply: reply, asked: target, screen: session.screen)
        }
        let reply = try session.show(GetOutput.self, target) { reply in
            if let remark = screen(reply).remark { session.remark("watchctl: \(remark)\n") }
            return screen(reply).lines
        }
        return screen(reply).isKnown ? .done : .failed
    }

    private static func target(_ invocation: Invocation) throws(Failure) -> GetOutput.Parameters {
        let name = invocation.operands[0]
        let id = Int(name)
        return GetOutput.Parameters(
            id: id, name: id == nil ? name : nil, attempt: try invocation.number(.attempt),
            copy: try invocation.number(.copy))
    }

    private static func showBytes(
        _ target: GetOutput.Parameters, _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> ExitCode {
        if invocation.has(.json) { throw .usage("--raw and --json exclude each other") }
        let reply = try session.reply(GetOutput.self, target)
        let screen = OutputScreen(reply: reply, asked: target, screen: session.screen)
        session.writeBytes(screen.bytes)
        if let remark = screen.rawRemark { session.remark("watchctl: \(remark)\n") }
        return screen.isKnown ? .done : .failed
    }
}
