import ControlInterface
import Engine
import EventSources
import Handlers
import Varlink
import WatchFile

/// `EnterGroup` and `LeaveGroup`, and leaving for those who go without. Each calls `done` once.
extension Runtime {
    func enterGroup(_ parameters: EnterGroup.Parameters, _ peer: Peer, _ done: @escaping Request.Completion) {
        guard tickets.hasRoom else { return done(.of(.tooManyTickets(limit: Tickets.limit))) }
        var process: Tickets.ProcessEnd?
        if let pid = parameters.pid {
            switch end(of: pid, as: peer) {
            case .failure(let refusal): return done(refusal.answer)
            case .success(let end): process = end
            }
        }
        let group = Self.fullGroupName(parameters.name)
        command(.enterGroup(name: group, for: process?.holder)) { [unowned self] answer in
            guard case .ticket(let number) = answer else {
                process?.cancel()
                return done(Self.failure(answer))
            }
            let ticket = Tickets.Ticket(group: group, number: number)
            if let process {
                watch(ticket, process)
            } else {
                tickets.add(ticket, of: peer)
            }
            let owner = parameters.pid.map { " for process \($0)" } ?? ""
            logger.log(.info, "\(ticket): entered by \(peer.name)\(owner)")
            done(.of(EnterGroup.Reply(ticket: Int(number))))
        }
    }

    func leaveGroup(_ parameters: LeaveGroup.Parameters, _ peer: Peer, _ done: @escaping Request.Completion) {
        let group = Self.fullGroupName(parameters.name)
        guard let number = UInt64(exactly: parameters.ticket) else {
            return done(.of(.noSuchTicket(group: group, ticket: parameters.ticket)))
        }
        let ticket = Tickets.Ticket(group: group, number: number)
        command(.leaveGroup(name: group, ticket: number)) { [unowned self] answer in
            guard case .done = answer else { return done(Self.failure(answer)) }
            tickets.remove(ticket)
            logger.log(.info, "\(ticket): left by \(peer.name)")
            done(.of(NoParameters()))
        }
    }

    /// A connection has closed: what it still waits for is withdrawn, and the groups it is in are left.
    func clientHasGone(_ connection: Int, abandoning isWaiting: Bool) {
        if isWaiting { abandonCall(of: connection) }
        for ticket in tickets.removeAll(of: connection) { leave(ticket, because: "its connection is closed") }
    }

    private func watch(_ ticket: Tickets.Ticket, _ process: Tickets.ProcessEnd) {
        // It may have ended while the store took it in.
        guard !process.hasEnded else {
            process.cancel()
            return leave(ticket, because: "process \(process.process) has ended")
        }
        tickets.add(ticket, process) { [unowned self] in
            leave(ticket, because: "process \(process.process) has ended")
        }
    }

    /// Tickets that an earlier watchd has given out; to be called when the engine has them.
    func watchTickets(_ state: StoredState) {
        for (group, stored) in state.tickets {
            for stored in stored {
                guard let holder = stored.holder else { continue }
                let ticket = Tickets.Ticket(group: group.description, number: stored.number)
                if case .success(let end) = end(of: Int(holder.process)) {
                    if end.holder == holder {
                        watch(ticket, end)
                        continue
                    }
                    end.cancel()
                }
                // When all are there that are told of an end.
                core.async { [bound] in
                    bound.value.leave(ticket, because: "process \(holder.process) has ended while watchd was down")
                }
            }
        }
    }

    private func leave(_ ticket: Tickets.Ticket, because reason: String) {
        logger.log(.info, "\(ticket): left, \(reason)")
        // A group that a reload has removed stays until its last client has left.
        command(.leaveGroup(name: ticket.group, ticket: ticket.number)) { _ in }
    }

    /// One name for a group, however it was written.
    private static func fullGroupName(_ name: String) -> String { name.contains("/") ? name : "group/\(name)" }
}
