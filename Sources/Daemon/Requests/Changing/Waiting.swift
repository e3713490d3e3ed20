import ControlInterface
import Engine
import LinuxSystem
import Varlink
import WatchFile

/// `Wait`, and who may not wait for what. Each calls `done` once.
extension Runtime {
    func wait(_ parameters: Wait.Parameters, _ peer: Peer, _ ancestry: Ancestry, _ done: @escaping Request.Completion) {
        let awaited: Awaited
        if let id = parameters.id {
            guard let number = UInt64(exactly: id) else { return done(.of(.noSuchOperation(id: id))) }
            if engine.operation(number) == nil { return hasEnded(number, peer.role, done) }
            awaited = .operation(number)
        } else {
            awaited = .named(parameters.name ?? "")
        }
        if case .named(let name) = awaited, let refusal = refusal(of: ancestry, waitingForGroup: name) {
            return done(.of(refusal))
        }
        let request = EngineCommand.wait(
            awaited, after: parameters.timeoutUsec.map(Int64.init), caller: waiter(ancestry),
            raisesQoS: peer.role == .administrator)
        command(request, of: peer) { [unowned self] answer in
            switch answer {
            case .waited(let view):
                done(.of(Wait.Reply(operation: view.map { ended(OperationSummary($0, peer.role), peer.role) })))
            case .timedOut: done(.of(timedOut(awaited)))
            default: done(Self.failure(answer))
            }
        }
    }

    private func hasEnded(_ id: UInt64, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        ended(id) { [unowned self] result in
            switch result {
            case .success(let operation?):
                tellWhenSafe { [unowned self] in
                    done(.of(Wait.Reply(operation: ended(OperationSummary(operation, role), role))))
                }
            case .success(nil): done(.of(missing(id)))
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, role))))
            }
        }
    }

    /// An end is told when the store knows it, or when the store fails.
    private func tellWhenSafe(_ work: @escaping () -> Void) {
        if let persistence { persistence.whenSafe(orFailing: true, work) } else { work() }
    }

    /// One that has ended, with what a crash would do to it.
    func ended(_ summary: OperationSummary, _ role: Peer.Role) -> OperationSummary {
        var summary = summary
        summary.unsaved = unsavedEnd(of: UInt64(summary.id), role)
        return summary
    }

    func unsavedEnd(of id: UInt64, _ role: Peer.Role) -> String? {
        persistence?.unsavedEnd(of: id).map { Self.reason($0, role) }
    }

    /// The operation of whose run a client is a part.
    func operation(of ancestry: Ancestry) -> UInt64? {
        // A supervised process is started like a run, but by nobody who could wait for it.
        running.operation(of: ancestry) { engine.operation($0)?.state == .executing }
            .flatMap { engine.isSupervised(RunID(operation: $0, attempt: 1)) ? nil : $0 }
    }

    /// The operation that goes on while a client waits: that of whose run it is a part, else one that holds units of a
    /// semaphore for the client or a process above it.
    func waiter(_ ancestry: Ancestry) -> UInt64? {
        if let own = operation(of: ancestry) { return own }
        guard !holders.isEmpty else { return nil }
        let held = Dictionary(holders.map { ($0.value.process, $0.key) }, uniquingKeysWith: max)
        return ancestry.processes.lazy.compactMap { held[$0.id] }.first
    }

    /// Why a client may not wait for something.
    func refusal(of ancestry: Ancestry, waitingFor awaited: Awaited) -> ManagerError? {
        waiter(ancestry).flatMap { engine.deadlock(of: $0, waitingFor: awaited) }.map {
            .wouldDeadlock(chain: $0)
        }
    }

    /// Why a part of a handler's run may not wait for a group: it is inside itself, or the run that it is a part of is.
    private func refusal(of ancestry: Ancestry, waitingForGroup name: String) -> ManagerError? {
        guard let operation = operation(of: ancestry) else { return nil }
        // Above watchd is who started it, and he does not wait for the run.
        let run = ancestry.processes.lazy.map(\.id).prefix { $0 != Linux.processID }
        for group in engine.groupViews where [group.id.description, group.id.name].contains(name) {
            guard let (ticket, process) = tickets.held(in: group.id.description, by: run) else { continue }
            return .wouldDeadlock(chain: [
                "group \(group.id.name) is not empty before ticket \(ticket.number) is given back",
                "ticket \(ticket.number) lasts as long as process \(process)",
                "process \(process) is a part of operation \(operation), which waits",
            ])
        }
        return nil
    }

    /// The condition that was waited for, and how it stands.
    private func timedOut(_ awaited: Awaited) -> ManagerError {
        switch awaited {
        case .operation(let id):
            let view = engine.operation(id)
            let waiting = view?.waitingFor.map { "waits for \($0)" }
            let state = view?.state == .executing ? "runs" : waiting ?? "has not ended"
            return .timedOut(what: "operation \(id)", state: state)
        case .named(let name): return .timedOut(what: name, state: standing(name))
        case .reload: return .timedOut(what: "a reload", state: "not applied")
        case .drain: return .timedOut(what: "the end of watchd", state: "still there")
        }
    }

    private func standing(_ name: String) -> String {
        let bare = Self.shortName(name)
        if !name.hasPrefix("queue/"), let group = engine.groupViews.first(where: { $0.id.name == bare }) {
            return Self.standing(of: group)
        }
        let queues = engine.queueViews
        var through: Set = [QueueDefinition.aliases[bare] ?? bare]
        // Queues that run through it by Target= count too; there are no cycles.
        while let more = queues.first(where: { view in
            !through.contains(view.definition.name) && view.definition.target.map(through.contains) ?? false
        }) {
            through.insert(more.definition.name)
        }
        let own = queues.filter { through.contains($0.definition.name) }
        let (waiting, running) = own.reduce((0, 0)) { ($0.0 + $1.waiting, $0.1 + $1.running) }
        return "\(waiting) waiting, \(running) running"
    }

    static func standing(of group: GroupView) -> String {
        "\(group.outstanding) unfinished operation\(group.outstanding == 1 ? "" : "s"), "
            + "\(group.entered) client\(group.entered == 1 ? "" : "s") inside"
            + (group.lost > 0 ? ", \(group.lost) lost when the last watchd ended" : "")
    }
}
