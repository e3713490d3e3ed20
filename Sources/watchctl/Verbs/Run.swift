import ControlInterface
import LinuxSystem

extension Verb {
    static let run = Verb(
        name: "run", operands: "NAME [PATH…]", operandCount: 1...Int.max, options: [.wait],
        names: .runnable,
        changes: true, summary: "start a handler, or the handlers of a source, now; for these paths",
        notes: [
            "What reads a descriptor that its source hands over (Accept=yes, Framing=ready) cannot be started by hand."
        ]
    ) { (invocation, session) throws(Failure) in
        let name = invocation.operands[0]
        let paths = try invocation.operands.dropFirst().map(absolute)
        let waits = invocation.has(.wait)
        let reply = try session.show(
            Run.self, .init(name: name, paths: paths.isEmpty ? nil : paths, wait: waits ? true : nil),
            taking: waits ? nil : 0
        ) { reply in
            if reply.operations.isEmpty { return [Styled("\(name): ") + refusal(reply)] }
            let ids = reply.operations.map(String.init).joined(separator: ", ")
            let text = Styled("\(name): \(reply.operations.count == 1 ? "operation" : "operations") \(ids)")
            guard let result = reply.result else { return [text] }
            let end = OperationText.result(result, exitStatus: reply.exitStatus, reason: reply.reason)
            return [text + Styled(": ") + end]
        }
        let isRefused = reply.operations.isEmpty
        return isRefused || (waits && reply.result != .done) ? .failed : .done
    }

    /// Nothing was started: `skipped, Overflow=skip: operation 4 has not ended`.
    private static func refusal(_ reply: Run.Reply) -> Styled {
        guard let result = reply.result else { return Styled("nothing was started", .yellow) }
        return OperationText.result(result) + Styled(reply.reason.map { ", \($0)" } ?? "")
    }

    /// The daemon has another working directory than the caller.
    private static func absolute(_ path: String) throws(Failure) -> String {
        if path.hasPrefix("/") { return path }
        guard let folder = try? Linux.readlink("/proc/self/cwd"), let text = String(validating: folder, as: UTF8.self)
        else {
            throw .usage("the path “\(path)” is relative to a folder without a usable name", help: "write it in full")
        }
        return (text == "/" ? "" : text) + "/" + path
    }
}
