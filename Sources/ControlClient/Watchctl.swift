import ControlInterface
import Glibc
import LinuxSystem
import Schedule
import Synchronization

/// `watchctl`: arguments → a call → a rendering for people, or JSON. It is the only place of this program that prints
/// and exits.
package enum Watchctl {
    /// - Returns: never; the program ends.
    package static func main() {
        keepStandardDescriptors()
        // A mistaken invocation may still ask for JSON.
        var isJSON = Linux.arguments.contains(Array(Option.json.rawValue.utf8))
        do throws(Failure) {
            let invocation = try Invocation(bytes: Linux.arguments)
            isJSON = invocation.has(.json)
            let code = try run(invocation)
            exit((code == .done && isOutputLost.load(ordering: .relaxed) ? .failed : code).rawValue)
        } catch {
            write((isJSON ? error.json : error.text).utf8, to: STDERR_FILENO)
            exit(error.exitCode.rawValue)
        }
    }

    /// A closed one would be the next that is opened: output would go to the daemon. What is there instead cannot be used
    /// as it is meant, and its use fails as before.
    private static func keepStandardDescriptors() {
        for number: Int32 in 0...2 where (try? Linux.fstat(number)) == nil {
            _ = try? Linux.open("/dev/null", number == 0 ? .writing : .reading).release()
        }
    }

    /// A service of the system may run as the user who calls.
    private static func isOwn(_ socket: String) -> Bool {
        (try? Linux.stat(Array(socket.utf8)))?.userID == Linux.effectiveUserID
    }

    private static func run(_ invocation: Invocation) throws(Failure) -> ExitCode {
        let usual = socketPath()
        var session = Session(
            socketPath: invocation.options[.socket] ?? usual.path, isDefaultSocket: !invocation.has(.socket),
            isJSON: invocation.has(.json), screen: screen(invocation), write: { write($0.utf8, to: STDOUT_FILENO) },
            remark: { write($0.utf8, to: STDERR_FILENO) }, writeBytes: { write($0, to: STDOUT_FILENO) })
        isFollowing.store(invocation.verb.name == "follow" || invocation.has(.follow), ordering: .relaxed)
        session.limit = try invocation.limit()
        session.later = invocation.later
        if invocation.has(.version) {
            session.write("watchctl \(Manager.softwareVersion)\n")
            return .done
        }
        if invocation.has(.help) {
            session.write(invocation.isBare ? Verb.helpText() : invocation.verb.helpText())
            return .done
        }
        if session.isDefaultSocket, invocation.verb.changes, usual.path != usual.own, !isOwn(usual.path) {
            session.remark("watchctl: you have no watchd of your own (\(usual.own)): this is for the system's\n")
        }
        return try invocation.verb.run(invocation, session)
    }

    private static func socketPath() -> ControlSocketPath {
        let runtime = environment("XDG_RUNTIME_DIR").map { ["XDG_RUNTIME_DIR": $0] } ?? [:]
        return ControlSocketPath.default(uid: Linux.effectiveUserID, environment: runtime) { path in
            (try? Linux.stat(path)) != nil
        }
    }

    private static func screen(_ invocation: Invocation) -> Screen {
        let isTerminal = Linux.isTerminal(STDOUT_FILENO)
        let columns = environment("COLUMNS").flatMap { Int($0) } ?? Linux.windowSize(STDOUT_FILENO)?.columns
        let wantsColour = environment("NO_COLOR") == nil && environment("TERM") != "dumb"
        return Screen(
            width: max(columns ?? (isTerminal ? 80 : Screen.unlimited), Screen.narrowest),
            isColoured: isTerminal && wantsColour && !invocation.has(.noColor),
            now: Timestamp(microseconds: Linux.now(.realtime)), local: .system, isTerminal: isTerminal)
    }

    /// `nil` for an empty value too.
    private static func environment(_ name: String) -> String? {
        Linux.environment(name).flatMap { $0.isEmpty ? nil : String(validating: $0, as: UTF8.self) }
    }

    /// Something could not be written to standard output. What was asked for was done all the same.
    private static let isOutputLost = Atomic(false)
    /// Printing is all that is asked for, and it has no end of its own.
    private static let isFollowing = Atomic(false)

    private static func write(_ bytes: some Collection<UInt8>, to descriptor: Int32) {
        do throws(SystemError) {
            try Linux.writeAll(descriptor, bytes)
        } catch {
            // The reader has gone: there is nobody to tell but the exit status.
            guard descriptor == STDOUT_FILENO, error.errno != .brokenPipe else { exit(ExitCode.failed.rawValue) }
            guard !isOutputLost.exchange(true, ordering: .relaxed) else { return }
            write("watchctl: standard output cannot be written to: \(error.errno)\n".utf8, to: STDERR_FILENO)
            if isFollowing.load(ordering: .relaxed) { exit(ExitCode.failed.rawValue) }
        }
    }
}
