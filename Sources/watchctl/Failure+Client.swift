import ControlInterface
import LinuxSystem
import Varlink

extension Failure {
    /// What went wrong with a call, for a person.
    init(_ error: ClientError, socketPath: String) {
        switch error {
        case .cannotConnect(let path, let errno): self.init(path: path, errno)
        case .remote(let reply): self.init(reply)
        case .disconnected:
            self.init(
                message: "watchd hung up before it answered", help: "is it stopping? journalctl -u watchd",
                exitCode: .unreachable)
        case .timedOut(let milliseconds):
            self.init(
                message: "watchd has not answered for \(Phrases.span(microseconds: Int64(milliseconds) * 1000))",
                help: "is it stopped (SIGSTOP) or stuck? systemctl status watchd", exitCode: .unreachable)
        case .unexpectedReply(let what):
            self.init(
                message: "watchd's reply is not understood: \(what)", help: "are watchctl and watchd of one version?",
                exitCode: .failed)
        case .system(let error):
            self.init(message: "talking to watchd at \(socketPath): \(error)", exitCode: .unreachable)
        }
    }

    private init(path: String, _ errno: Errno) {
        let start = "start it with “systemctl start watchd”, or name another socket with --socket"
        switch errno {
        case .noSuchFile, .notFolder:
            self.init(message: "watchd is not running (no socket at \(path))", help: start, exitCode: .unreachable)
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

    init(_ reply: ErrorReply) {
        if let error = ManagerError(reply) {
            self.init(error)
            return
        }
        let parameter = reply.parameters["parameter"]?.string ?? ""
        switch reply {
        case .permissionDenied:
            self.init(
                message: "permission denied",
                help: "this needs root, watchd's own user, or membership in the group watchd",
                exitCode: .permissionDenied)
        case .invalidParameter(parameter):
            self.init(message: "watchd refuses the value of “\(parameter)”", exitCode: .failed)
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

    private init(_ error: ManagerError) {
        var details: [String] = []
        var exitCode = ExitCode.failed
        let message: String
        var help: String?
        switch error {
        case .noSuchName(let name, let nearest):
            message = "there is no “\(name)”"
            help = nearest.map { "did you mean “\($0)”?" } ?? "watchctl sources, queues and handlers show what there is"
        case .ambiguousName(let name, let candidates):
            message = "“\(name)” is more than one thing"
            help = "say which: \(candidates.joined(separator: ", "))"
        case .noSuchOperation(let id):
            message = "there is no operation \(id), or it is forgotten"
            help = "watchctl operations shows what there is"
        case .invalidWatchFile(let diagnostics):
            details = diagnostics
            message = "the watch file has errors; nothing was changed"
            exitCode = .badWatchFile
        case .queueFull(let queue, let backlog):
            message = "queue “\(queue)” is full (Backlog=\(backlog))"
            help = "try again when it has worked some off: watchctl operations --queue \(queue)"
        case .wouldDeadlock(let reason): message = "that would wait for itself: \(reason)"
        case .notSuspended(let name): message = "“\(name)” is not suspended"
        case .notCustom(let name):
            message = "“\(name)” is not a [Custom] source"
            help = "watchctl run \(name) starts its handlers"
        case .draining: message = "watchd is stopping and accepts nothing new"
        case .notSupported(let what): message = "not supported by this version: \(what)"
        case .tooSlow:
            message = "watchd has cut this client off because it did not read"
            help = "follow again, --since the last record"
        }
        self.init(message: message, help: help, details: details, exitCode: exitCode)
    }
}
