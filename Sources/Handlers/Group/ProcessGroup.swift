import EventSources
import LinuxSystem

/// The rest of a run's process group after its leader has ended: processes that were asked to end get the same time.
///
/// Nothing is polled: each member has a pidfd, and when one ends the group is looked at again. The leader must not be
/// waited for meanwhile, since only the zombie keeps its number, the group's name, from being given to somebody else.
/// Confined to the core.
final class ProcessGroup {
    /// Members watched at once; the others are found when these have ended.
    private static let memberLimit = 64

    private let leader: Int32
    private let environment: RunEnvironment
    private let emptied: () -> Void
    private var members: [(pidfd: Int32, token: UInt64)] = []

    /// Calls `emptied` once, when no other process of the group is left.
    init(leader: Int32, in environment: RunEnvironment, emptied: @escaping () -> Void) {
        self.leader = leader
        self.environment = environment
        self.emptied = emptied
    }

    func look() {
        environment.groups.find(of: leader) { [self] in watch($0) }
    }

    private func watch(_ found: [Int32]) {
        for process in found.prefix(Self.memberLimit) {
            guard let pidfd = try? Linux.pidfdOpen(process) else { continue }
            let number = pidfd.release()
            if let token = try? environment.epoll.add(number, .readable, { [weak self] _ in self?.memberEnded() }) {
                members.append((number, token))
            } else {
                FileDescriptor(owning: number).close()
            }
        }
        // None could be watched: whatever the reason, the run must come to an end.
        if members.isEmpty { emptied() }
    }

    private func memberEnded() {
        for member in members {
            environment.epoll.remove(member.token)
            FileDescriptor(owning: member.pidfd).close()
        }
        members = []
        look()
    }
}
