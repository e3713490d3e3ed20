import Engine
import EventSources
import LinuxSystem
import WatchFile

/// The end of a run's cgroup: its first process has ended, and the others are ended too, or waited for after they were
/// asked to. Confined to the core.
final class LeafEnd {
    /// Microseconds from SIGKILL until the run counts as ended, whatever the kernel cannot end.
    private static let patience = 10_000_000

    private let group: ControlGroup
    private let name: String
    private let environment: RunEnvironment
    private let ended: (ResourceUsage) -> Void
    private let ends: Bool
    private var kills: Bool
    private var watch: PrioritySource?
    private var usage = ResourceUsage()
    private var isOver = false
    private var isTimed = false

    /// Calls `ended` once, with what the run has used.
    ///
    /// - Parameters:
    ///   - name: of the run.
    ///   - ends: nothing of it may go on; else what does is left alone.
    ///   - kills: nobody of it was asked to end: SIGKILL ends it at once.
    init(
        _ group: ControlGroup, of name: String, in environment: RunEnvironment, ends: Bool, kills: Bool,
        ended: @escaping (ResourceUsage) -> Void
    ) {
        self.group = group
        self.name = name
        self.environment = environment
        self.ends = ends
        self.kills = ends && kills
        self.ended = ended
    }

    func look() {
        let (group, kills, ends) = (group, kills, ends)
        let bound = QueueBound(self, to: environment.core)
        environment.slow.submit("the end of \(name)") { [core = environment.core] in
            let counted = ResourceUsage(of: group)
            let events = Self.remove(group, kills)
            let usage = ends || events == nil ? counted : counted.leaving(group.processes.count)
            core.async { bound.value.looked(usage, events) }
        }
    }

    /// Nobody is asked any more.
    func kill() {
        guard !isOver else { return }
        kills = true
        time()
        look()
    }

    /// - Returns: its events, where processes live in it; `nil`: it is gone.
    private static func remove(_ group: ControlGroup, _ kills: Bool) -> Int32? {
        if (try? group.remove()) != nil { return nil }
        if kills { group.kill() }
        guard let events = try? Linux.open(group.file("cgroup.events")).release() else { return nil }
        if ControlGroup.isPopulated(events: events) { return events }
        FileDescriptor(owning: events).close()
        try? group.remove()
        return nil
    }

    private func looked(_ found: ResourceUsage, _ events: Int32?) {
        usage = found.isKnown ? found : usage
        if isOver || watch != nil {
            if let events { FileDescriptor(owning: events).close() }
            if !isOver, events == nil { finish() }
            return
        }
        guard let events else { return finish() }
        guard ends else {
            FileDescriptor(owning: events).close()
            environment.containment.linger(group)
            return finish()
        }
        if kills { time() }
        do throws(SystemError) {
            // One that was emptied since it was read tells that now.
            watch = try PrioritySource(FileDescriptor(owning: events), on: environment.core) { [self] _ in changed() }
        } catch {
            environment.core.after(100_000) { [bound = QueueBound(self, to: environment.core)] in bound.value.look() }
        }
    }

    private func changed() {
        watch.take()?.cancel()
        look()
    }

    private func time() {
        guard !isTimed else { return }
        isTimed = true
        environment.core.after(Self.patience) { [bound = QueueBound(self, to: environment.core)] in
            bound.value.isLate()
        }
    }

    private func isLate() {
        guard !isOver else { return }
        environment.logger.log(.err, "\(name): processes in \(group.path.printable) do not end; they are left behind")
        finish()
    }

    private func finish() {
        watch.take()?.cancel()
        isOver = true
        ended(usage)
    }
}
