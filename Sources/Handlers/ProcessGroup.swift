import EventSources
import LinuxSystem

/// What is left of a run's process group after its leader has ended: whoever was asked to end gets the same time.
///
/// Nothing is polled: each member has a pidfd, and when one ends the group is looked at again. The leader must not be
/// waited for meanwhile, since only the zombie keeps its number, the group's name, from being given to somebody else.
/// Confined to the core; `/proc` is read beside it.
final class ProcessGroup {
    /// Members watched at once; the others are found when these have ended.
    private static let memberLimit = 64

    private let leader: Int32
    private let core: Context
    private let slow: Context
    private let epoll: EpollSet
    private let emptied: () -> Void
    private var members: [(pidfd: Int32, token: UInt64)] = []

    /// Calls `emptied` once, when no other process of the group is left.
    init(
        leader: Int32, core: Context, slow: Context, epoll: EpollSet, emptied: @escaping () -> Void
    ) {
        self.leader = leader
        self.core = core
        self.slow = slow
        self.epoll = epoll
        self.emptied = emptied
    }

    func look() {
        let bound = QueueBound(self, to: core)
        slow.async { [core, leader] in
            let found = Self.members(of: leader)
            core.async { bound.value.watch(found) }
        }
    }

    private func watch(_ found: [Int32]) {
        for process in found.prefix(Self.memberLimit) {
            guard let pidfd = try? Linux.pidfdOpen(process) else { continue }
            let number = pidfd.release()
            if let token = try? epoll.add(number, .readable, { [weak self] _ in self?.memberEnded() }) {
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
            epoll.remove(member.token)
            FileDescriptor(owning: member.pidfd).close()
        }
        members = []
        look()
    }

    private static func members(of leader: Int32) -> [Int32] {
        let entries = (try? Linux.readFolder("/proc")) ?? []
        return entries.compactMap { entry in
            guard let process = Int32(String(decoding: entry.name, as: UTF8.self)), process != leader,
                let place = Linux.place(of: process), !place.isZombie, place.groupID == leader
            else { return nil }
            return process
        }
    }
}
