import ControlInterface
import LinuxSystem

extension Verb {
    /// A ticket lasts as long as a process: that of `--pid`, or the one that called watchctl, such as a shell's; for
    /// `run`, the command itself, which takes the place of watchctl.
    static let group = Verb(
        name: "group", operands: "enter NAME | leave NAME TICKET | run NAME COMMAND…", operandCount: 2...Int.max,
        options: [.pid], hasCommand: { words, _ in words.count > 3 && words[1] == "run" },
        names: .groups,
        changes: true, summary: "be in a group until a process ends, a ticket is given back, or while a command runs",
        notes: [
            "A ticket that “enter” prints lasts until “leave”, or until the process of --pid ends, over restarts of watchd too.",
            "Without --pid that is the parent of watchctl, which in $(…), a pipe or a script may end at once: say --pid $$",
            "for the shell itself.",
            "“run” ends with the status of its command: 127 if that is not found, 126 if it cannot be run.",
        ]
    ) { (invocation, session) throws(Failure) in
        let words = invocation.operands
        guard invocation.has(.pid) == false || words[0] == "enter" else { throw .usage("--pid is for “group enter”") }
        switch (words[0], words.count) {
        case ("enter", 2): return try enter(words[1], invocation, session)
        case ("leave", 3): return try leave(words[1], words[2], session)
        case ("run", 3...): return try run(words[1], Array(words[2...]), session)
        default: throw .usage("“group” has no such form", help: "usage: watchctl \(invocation.verb.synopsis)")
        }
    }

    private static func enter(
        _ name: String, _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> ExitCode {
        let parent = Int(Linux.parentProcessID)
        guard let pid = try invocation.number(.pid) ?? (parent > 1 ? parent : nil) else {
            throw .usage("the process that called watchctl is gone", help: "say whose end counts: --pid $$")
        }
        let reply = try session.show(EnterGroup.self, .init(name: name, pid: pid)) { [Styled(String($0.ticket))] }
        guard invocation.has(.pid) || Linux.parentProcessID == Int32(clamping: pid) else {
            throw Failure(
                message: "process \(pid), which called watchctl, has ended, and with it ticket \(reply.ticket)",
                help: "say whose end counts: --pid $$", exitCode: .failed)
        }
        return .done
    }

    private static func leave(_ name: String, _ ticket: String, _ session: Session) throws(Failure) -> ExitCode {
        guard let ticket = Int(ticket) else {
            throw .usage("a ticket is a number, not “\(ticket)”", help: "watchctl group enter prints it")
        }
        try session.show(LeaveGroup.self, .init(name: name, ticket: ticket)) { _ in [Styled("left \(name)")] }
        return .done
    }

    private static func run(_ name: String, _ command: [String], _ session: Session) throws(Failure) -> ExitCode {
        _ = try session.call(EnterGroup.self, .init(name: name, pid: Int(Linux.processID)))
        return try become(command)
    }
}
