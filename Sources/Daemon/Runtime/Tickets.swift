import Engine
import EventSources
import LinuxSystem

/// The clients that have entered groups, and as long as what each of their tickets lasts. Confined to the core.
final class Tickets {
    /// Tickets at once; one that is bound to a process takes a descriptor.
    static let limit = 512

    struct Ticket: Hashable, CustomStringConvertible {
        /// `group/deploy`.
        var group: String
        var number: UInt64

        var description: String { "\(group), ticket \(number)" }
    }

    /// The end of the process that a ticket is bound to, from a pidfd: it counts when the process is a zombie.
    final class ProcessEnd {
        let process: Int32
        private let epoll: EpollSet
        private var pidfd: FileDescriptor?
        private var token: UInt64?
        /// Called once.
        var ended: () -> Void = {}

        init(_ process: Int32, epoll: EpollSet) throws(SystemError) {
            self.process = process
            self.epoll = epoll
            let descriptor = try Linux.pidfdOpen(process)
            let number = descriptor.rawValue
            pidfd = consume descriptor
            do throws(SystemError) {
                token = try epoll.add(number, .readable) { [unowned self] _ in
                    let ended = ended
                    cancel()
                    ended()
                }
            } catch {
                cancel()
                throw error
            }
        }

        /// Of one that has just ended nothing is known but that another of its number is another one.
        var holder: CommandFact.Holder {
            CommandFact.Holder(process: process, started: Linux.place(of: process)?.started ?? 0)
        }

        /// It has ended already.
        var hasEnded: Bool {
            guard let number = pidfd.number else { return true }
            return (try? !Linux.poll(number, .readable, timeout: 0).isEmpty) ?? false
        }

        func cancel() {
            ended = {}
            if let token { epoll.remove(token) }
            token = nil
            pidfd.take()?.close()
        }
    }

    private enum Owner {
        /// And the process at its other end.
        case connection(Int, Int32)
        case process(ProcessEnd)

        var process: Int32 {
            switch self {
            case .connection(_, let process): process
            case .process(let end): end.process
            }
        }
    }

    private var owners: [Ticket: Owner] = [:]

    var hasRoom: Bool { owners.count < Self.limit }

    func add(_ ticket: Ticket, of peer: Peer) { owners[ticket] = .connection(peer.connection, peer.processID) }

    /// A ticket of that group that lasts as long as one of these processes, and which.
    func held(in group: String, by processes: some Sequence<Int32>) -> (Ticket, process: Int32)? {
        for process in processes {
            let held = owners.filter { $0.key.group == group && $0.value.process == process }.keys
            if let ticket = held.min(by: { $0.number < $1.number }) { return (ticket, process) }
        }
        return nil
    }

    /// - Parameter leave: called when the process has ended before the ticket was given back.
    func add(_ ticket: Ticket, _ process: ProcessEnd, leave: @escaping () -> Void) {
        owners[ticket] = .process(process)
        process.ended = { [unowned self] in
            owners[ticket] = nil
            leave()
        }
    }

    func remove(_ ticket: Ticket) {
        if case .process(let process) = owners.removeValue(forKey: ticket) { process.cancel() }
    }

    /// The tickets of a group, and what each is bound to.
    func of(_ group: String) -> [(Ticket, owner: String)] {
        owners.filter { $0.key.group == group }.sorted { $0.key.number < $1.key.number }.map { ticket, owner in
            switch owner {
            case .connection: (ticket, "an open connection")
            case .process(let end): (ticket, "process \(end.process)")
            }
        }
    }

    /// Those that last as long as this connection; they are forgotten.
    func removeAll(of connection: Int) -> [Ticket] {
        let gone = owners.filter { if case .connection(connection, _) = $0.value { true } else { false } }.keys
        for ticket in gone { owners[ticket] = nil }
        return gone.sorted { $0.number < $1.number }
    }
}
