import ControlInterface
import Varlink

extension Verb {
    static let status = Verb(
        name: "status", operands: "[NAME…]", operandCount: 0...Int.max,
        summary: "show everything that matters on one screen, or all about what has this name",
        notes: [
            "NAME is that of a source, group, handler, queue or semaphore; without its kind, all that have the name."
        ]
    ) { (invocation, session) throws(Failure) in
        if invocation.operands.isEmpty {
            let owner = session.isJSON ? nil : try session.owner()
            try session.show(GetStatus.self, NoParameters()) {
                StatusScreen(status: $0, screen: session.screen, owner: owner).lines
            }
        }
        let sheets = Sheets(session)
        try invocation.forEachOperand { name throws(Failure) in try sheets.show(name) }
        return .done
    }
}

/// `watchctl status NAME`: a sheet of facts for each thing that has the name.
private final class Sheets {
    private let session: Session
    /// One is printed, and the next one stands apart from it.
    private var hasPrinted = false

    /// Lines of output that are shown.
    private static let outputLines = 5

    init(_ session: Session) { self.session = session }

    func show(_ name: String) throws(Failure) {
        switch name.split(separator: "/", maxSplits: 1).dropLast().first {
        case "queue": try showQueues(name)
        case "handler": try showHandlers(name)
        case "semaphore": try showSemaphores(name)
        case nil: try showAll(name)
        default: try showSources(name)
        }
    }

    private func apart(_ lines: [Styled]) -> [Styled] {
        defer { hasPrinted = true }
        return (hasPrinted ? [Styled("")] : []) + lines
    }

    /// Everything that has the bare name.
    private func showAll(_ name: String) throws(Failure) {
        var failures: [Failure] = []
        let kinds = [showSources, showHandlers, showQueues, showSemaphores]
        for show in kinds {
            do throws(Failure) { try show(name) } catch {
                guard error.exitCode == .failed else { throw error }
                failures.append(error)
            }
        }
        guard failures.count == kinds.count, var failure = failures.first else { return }
        failure.message = "nothing has the name “\(name)”"
        failure.help = failures.compactMap(\.help).first { $0.hasPrefix("did you mean") } ?? failure.help
        throw failure
    }

    private func showSources(_ name: String) throws(Failure) {
        try session.show(ListSources.self, .init(name: name)) { reply in
            reply.sources.flatMap { source in
                let output = source.processes == nil ? [] : output(of: source.name)
                return apart(SourceScreen(source: source, screen: session.screen, output: output).lines)
            }
        }
    }

    private func showHandlers(_ name: String) throws(Failure) {
        try session.show(ListHandlers.self, .init(name: name)) { reply in
            reply.handlers.flatMap { handler in
                let running = running(.init(handler: handler.name, state: .executing))
                let output = output(of: "handler/\(handler.name)")
                return apart(
                    HandlerScreen(handler: handler, running: running, output: output, screen: session.screen).lines)
            }
        }
    }

    private func showQueues(_ name: String) throws(Failure) {
        try session.show(ListQueues.self, .init(name: name)) { reply in
            reply.queues.flatMap { queue in
                let running = running(.init(queue: queue.name, state: .executing))
                return apart(QueueScreen(queue: queue, running: running, screen: session.screen).lines)
            }
        }
    }

    private func showSemaphores(_ name: String) throws(Failure) {
        try session.show(ListSemaphores.self, .init(name: name)) { reply in
            reply.semaphores.flatMap { semaphore in
                let steps = try? session.reply(Explain.self, .init(name: "semaphore/\(semaphore.name)")).steps
                let users = (steps ?? []).dropFirst().map { step in
                    step.code == "running" ? step.sentence : "operation \(step.operation ?? 0): \(step.sentence)"
                }
                return apart(SemaphoreScreen(semaphore: semaphore, users: users, screen: session.screen).lines)
            }
        }
    }

    // MARK: Besides

    private func running(_ parameters: ListOperations.Parameters) -> [OperationSummary] {
        (try? session.reply(ListOperations.self, parameters).operations) ?? []
    }

    /// The last lines; none where they are not for the caller.
    private func output(of name: String) -> [Styled] {
        guard let reply = try? session.reply(GetOutput.self, .init(name: name)) else { return [] }
        return (RunText.lines(reply.output, reply.outputBase64) ?? []).suffix(Self.outputLines)
    }
}
