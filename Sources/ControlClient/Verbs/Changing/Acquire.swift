import ControlInterface
import LinuxSystem
import WatchFile

extension Verb {
    /// The units are held as long as the command lives, which takes the place of watchctl.
    static let acquire = Verb(
        name: "acquire", operands: "SEMAPHORE[:N] COMMAND…", operandCount: 2...Int.max,
        brief: "[--timeout SPAN] SEMAPHORE[:N] [--] COMMAND…", options: [.timeout],
        hasCommand: { words, _ in words.count > 2 }, names: .semaphores, changes: true,
        summary: "run a command that holds a unit, or N, of a semaphore",
        notes: [
            "It waits in line among the operations that need the semaphore, with --timeout no longer than this (then the exit",
            "status is 1). The units are given back when the command has ended, however it ends and whatever becomes of watchd;",
            "“watchctl cancel” takes them back before.",
            "WATCHD_ACQUIRED_NAME tells the command its members of a semaphore with Members=.",
            "It ends with the status of its command: 127 if that is not found, 126 if it cannot be run.",
        ]
    ) { (invocation, session) throws(Failure) in
        let (name, count) = try units(invocation.operands[0])
        let command = Array(invocation.operands.dropFirst())
        let timeout = try timeout(invocation)
        let parameters = Acquire.Parameters(
            name: name, count: count, pid: Int(Linux.processID), command: Array(command.prefix(20)),
            timeoutUsec: timeout)
        let answer = try session.call(Acquire.self, parameters, taking: timeout.map { ($0 + 999) / 1000 }) {
            "waiting for \(Phrases.count(count ?? 1, "unit")) of \(name); watchctl semaphores shows its holders"
        }
        let reply = try session.decoded(Acquire.self, answer)
        if let members = reply.members {
            Linux.setEnvironment(
                SemaphoreDefinition.variable(reply.name), members.joined(separator: " "), isReplacing: true)
        }
        return try become(command)
    }

    /// Becomes the command, which keeps the number of the process.
    static func become(_ command: [String]) throws(Failure) -> ExitCode {
        let error = Linux.execute(command)
        throw Failure(
            message: "“\(command[0])” cannot be run: \(error.errno.text)",
            exitCode: error.errno == .noSuchFile ? .commandNotFound : .commandNotExecutable)
    }

    private static func units(_ text: String) throws(Failure) -> (String, Int?) {
        guard let colon = text.lastIndex(of: ":") else { return (text, nil) }
        guard let count = Int(text[text.index(after: colon)...]), count > 0 else {
            throw .usage("“\(text)”: behind the colon stands how many units, from 1")
        }
        return (String(text[..<colon]), count)
    }
}
