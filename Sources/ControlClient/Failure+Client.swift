import ControlInterface
import JSON
import LinuxSystem
import Schedule
import Varlink
import WatchFile

extension Failure {
    /// The failure of a call, for a person.
    /// - Parameters:
    ///   - awaited: what the daemon had to give.
    ///   - later: words about an answer that comes too late.
    init(_ error: ClientError, socketPath: String, _ awaited: String, _ screen: Screen, later: String = "") {
        switch error {
        case .cannotConnect(let path, let errno): self.init(path: path, errno)
        case .remote(let reply): self.init(reply, screen)
        case .disconnected:
            self.init(
                message: "watchd hung up before it answered",
                help: "is it stopping, or has it too many clients? journalctl -u watchd",
                exitCode: .unreachable)
        case .timedOut(let milliseconds):
            self.init(
                message: "watchd at \(socketPath) has not answered \(awaited) for \(Self.span(milliseconds))",
                help: "is it stopped (SIGSTOP) or stuck? systemctl status watchd\(later)",
                exitCode: .unreachable)
        case .unexpectedReply(let what):
            self.init(
                message: "watchd's reply is not understood: \(what)", help: "are watchctl and watchd of one version?",
                exitCode: .failed)
        case .system(let error):
            self.init(message: "talking to watchd at \(socketPath): \(error)", exitCode: .unreachable)
        }
    }

    /// A call that takes too long for who waits, though watchd answers others.
    init(unfinished awaited: String, after milliseconds: Int, later: String) {
        self.init(
            message: "\(awaited) has taken \(Self.span(milliseconds)) and is not over",
            help: "watchd answers, and “watchctl status” says what waits\(later)",
            exitCode: .failed)
    }

    /// Nothing that is followed has happened in that time.
    init(quietFor milliseconds: Int) {
        self.init(message: "nothing has happened for \(Self.span(milliseconds))", exitCode: .failed)
    }

    private static func span(_ milliseconds: Int) -> String {
        SpanText.glance(Int64(clamping: milliseconds.multipliedReportingOverflow(by: 1000).partialValue))
    }

    private init(path: String, _ errno: Errno) {
        let own = Linux.effectiveUserID == 0 ? "" : " (your own with “systemctl --user start watchd”)"
        let start = "start it with “systemctl start watchd”\(own), or name another socket with --socket"
        switch errno {
        case .noSuchFile, .notFolder:
            self.init(message: "watchd is not running (no socket at \(path))", help: start, exitCode: .unreachable)
        case .connectionRefused where (try? Linux.stat(path))?.kind ?? .socket != .socket:
            self.init(
                message: "\(path) is no socket", help: "name the control socket of watchd with --socket",
                exitCode: .unreachable)
        case .connectionRefused:
            self.init(
                message: "watchd is not running (nobody listens at \(path))", help: start, exitCode: .unreachable)
        case .wouldBlock:
            self.init(
                message: "watchd does not accept calls (too many wait at \(path))",
                help: "is it stopped (SIGSTOP) or stuck? systemctl status watchd", exitCode: .unreachable)
        case .accessDenied, .notPermitted:
            self.init(
                message: "no permission to open the socket \(path)", help: "look at its mode, and try sudo",
                exitCode: .permissionDenied)
        default:
            self.init(message: "watchd cannot be reached at \(path): \(errno)", exitCode: .unreachable)
        }
    }

    static let permissionDenied = Failure(
        message: "permission denied", help: "this needs root, watchd's own user, or membership in the group watchd",
        exitCode: .permissionDenied)

    private init(_ reply: ErrorReply, _ screen: Screen) {
        if let error = ManagerError(reply) {
            self.init(error, screen)
            return
        }
        let parameter = reply.parameters["parameter"]?.string ?? ""
        switch reply {
        case .permissionDenied:
            self = .permissionDenied
        case .invalidParameter(parameter):
            // Of a semaphore: the only count there is.
            let help = parameter == "count" ? "from 1 to 1000000000, and the semaphore cannot hold more than that" : nil
            self.init(message: "watchd refuses the value of “\(parameter)”", help: help, exitCode: .failed)
        default:
            let known = ["InterfaceNotFound", "MethodNotFound", "MethodNotImplemented"].map {
                "org.varlink.service.\($0)"
            }
            let parameters = (try? JSON.encode(reply.parameters)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            self.init(
                message: known.contains(reply.name)
                    ? "this watchd cannot do it" : "watchd answered \(reply.name) \(parameters)",
                help: "are watchctl and watchd of one version?", exitCode: .failed)
        }
    }

    private init(_ error: ManagerError, _ screen: Screen) {
        let (message, help) = Self.words(error, screen)
        self.init(message: message, help: help, exitCode: .failed)
        switch error {
        case .invalidWatchFile(let diagnostics):
            details = diagnostics
            exitCode = .badWatchFile
        case .wouldDeadlock(let chain): details = chain
        case .notPermitted: exitCode = .permissionDenied
        default: break
        }
    }

    /// The failure, and its remedy.
    private static func words(_ error: ManagerError, _ screen: Screen) -> (message: String, help: String?) {
        switch error {
        case .noSuchName(let name, let nearest, let kinds, let others): words(name, nearest, kinds, others)
        case .ambiguousName(let name, let candidates):
            ("“\(name)” is more than one thing", "say which: \(candidates.joined(separator: ", "))")
        case .noSuchOperation(let id):
            (
                "there is no operation \(id), or it is forgotten",
                "watchctl operations and watchctl history show what there is"
            )
        case .notFailed(let id, let state, let successor): Self.words(id, state, successor)
        case .hasEnded(let id, let result, let ended):
            ("operation \(id) has ended: \(result), \(screen.full(ended))", "watchctl show \(id)")
        case .storeFailing(let reason):
            (
                "watchd's store cannot be used now: \(reason)",
                "watchd tries again by itself; watchctl status shows how it stands"
            )
        case .invalidWatchFile: ("the watch file has errors; nothing was changed", nil)
        case .queueFull(let queue, let backlog, let bytes):
            (
                "queue “\(queue)” is full (\(bytes.map { "BacklogBytes=\(ByteCount.exact($0))" } ?? "Backlog=\(backlog)"))",
                "try again when it has worked some off: watchctl operations --queue \(queue)"
            )
        case .notSuspended(let name): ("“\(name)” is not suspended", nil)
        case .notCustom(let name): ("“\(name)” is not a [Custom] source", "watchctl run \(name) starts its handlers")
        case .takesNoPaths(let name):
            (
                "“\(name)” takes no paths: they are for a [Path], a [Custom] or a handler",
                "watchctl run \(name) starts its handlers"
            )
        case .needsDescriptor(let handler):
            (
                "“\(handler)” reads a descriptor that its source hands over, and there is none to give it now",
                "the source starts it with the next connection, or when its descriptor is ready"
            )
        case .notSupervised(let name):
            ("\(name) is no [Process] that watchd starts itself", "it has to have Command=")
        case .notUp(let name, let reason): ("\(name): \(reason)", "watchctl explain \(name)")
        case .draining:
            (
                "watchd is stopping: it accepts nothing new, and answers no wait",
                "what it had accepted before: watchctl history, and watchctl operations after the next start"
            )
        case .notSupported(let what): ("not possible: \(what)", nil)
        case .refused(let reason), .notPermitted(let reason): (reason, nil)
        case .tooSlow:
            (
                "watchd has cut this client off because it did not read",
                "follow again, --since the last record"
            )
        case .wouldDeadlock, .timedOut, .noSuchTicket, .noSuchProcess, .tooManyTickets: wordsOfWaiting(error)
        }
    }

    private static func words(_ id: Int, _ state: String, _ successor: Int?) -> (message: String, help: String?) {
        switch state {
        case "retried":
            let other = successor.map { "operation \($0)" } ?? "another operation"
            return ("operation \(id) was tried again already, as \(other)", successor.map { "watchctl show \($0)" })
        case "forgotten":
            return ("operation \(id) was forgotten or tried again already", "watchctl failed shows what is not")
        case "pending", "ready", "executing":
            return ("operation \(id) has not ended (\(state))", "watchctl cancel \(id) ends it")
        default: return ("operation \(id) has not failed: \(state)", "watchctl failed shows those that have")
        }
    }

    private static func words(
        _ name: String, _ nearest: String?, _ kinds: [String], _ others: [String]
    ) -> (message: String, help: String?) {
        if others == ["handler/\(name)"], kinds.last == "operation" {
            let others = kinds.dropLast().map { "a \($0)" }.joined(separator: ", ")
            return (
                "“\(name)” is a handler; this takes \(others) or the id of an operation",
                "watchctl operations --handler \(name) shows the ids"
            )
        }
        if let removed = others.first(where: { other in kinds.contains { other == "\($0)/\(name)" } }) {
            return ("\(removed) is in no watch file any more, and goes when its operations have ended", nil)
        }
        let before = kinds.dropLast().joined(separator: ", ")
        let wanted = (before.isEmpty ? "" : before + " or ") + (kinds.last.map { $0 + " " } ?? "")
        let similar = nearest.map { "did you mean “\($0)”?" }
        return (
            "there is no \(wanted)“\(name)”",
            others.isEmpty
                ? similar ?? "watchctl sources, queues, semaphores and handlers show what there is"
                : "of that name there is \(others.joined(separator: " and "))"
        )
    }

    private static func wordsOfWaiting(_ error: ManagerError) -> (message: String, help: String?) {
        switch error {
        case .timedOut(let what, let state):
            (
                "timed out waiting for \(what): \(state)",
                what == "all queues" ? "watchctl queues" : "watchctl explain \(what.split(separator: " ").last ?? "")"
            )
        case .noSuchTicket(let group, let ticket, let isEarlier):
            (
                "nobody is in \(group) with ticket \(ticket)",
                isEarlier
                    ? "this watchd never gave it out: it is mistyped, or was given back before watchd started"
                    : "it has been given back, or its process has ended"
            )
        case .noSuchProcess(let pid): ("there is no process \(pid)", nil)
        case .tooManyTickets(let limit):
            ("\(limit) clients are in groups already", "watchctl status shows the groups")
        default:
            (
                "this could only end after the handler that asks for it has ended, so it is refused",
                "do not wait for it here, or use another queue"
            )
        }
    }
}
