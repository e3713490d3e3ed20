package import Engine
import EventSources
package import LinuxSystem
import Synchronization
import Systemd
import WatchFile

/// The cgroups of runs, below the one that the service manager has given to watchd's unit (`Delegate=yes`):
///
///     watchd.service/           no process: only then may limits be set below
///       daemon/                 watchd itself, and the commands of [Descriptor]
///       run-OPERATION-ATTEMPT/  a run, with everything that it starts; -PART behind it for one of several parts
///
/// The end of a run is the end of all its processes, whatever sessions and parents they have given themselves; limits
/// hold for all of them together; and a later watchd finds the run by the name.
package final class Containment: Sendable, CustomStringConvertible {
    /// Controllers that are switched on where there are such.
    private static let wanted = ["cpu", "memory", "pids", "io"]

    /// `nil`: runs have none.
    package let base: ControlGroup?
    /// Why.
    let reason: String
    /// Those whose limits hold.
    let controllers: [String]
    private let told = Mutex<Set<String>>([])
    private let sweeping = Mutex<Set<String>>([])
    /// Where processes of runs that have ended go on, with `KillMode=process` and `none`.
    private let lingering = Mutex<[ControlGroup]>([])

    /// Moves this process into a cgroup of its own, where the service manager has given watchd one. To be called before
    /// anything is started.
    package static func begin() -> Containment {
        guard let own = ControlGroup.own else { return Containment(reason: "no cgroup v2 is mounted") }
        // With DelegateSubgroup= the manager has done it.
        let base = own.name == daemonName && own.parent.isDelegated ? own.parent : own
        guard base.isDelegated || base.isOfUserManager && UserManager.delegates(to: base.name) else {
            return Containment(reason: "systemd does not say that its unit has Delegate=yes")
        }
        do throws(SystemError) {
            let daemon = base.child(daemonName)
            _ = try daemon.make()
            try daemon.take(0)
            return Containment(base: base)
        } catch {
            return Containment(reason: "the delegated cgroup cannot be used: \(error)")
        }
    }

    package init(reason: String) { (base, self.reason, controllers) = (nil, reason, []) }

    package init(base: ControlGroup) {
        (self.base, reason) = (base, "")
        // Remains of an earlier version there would stand in the way of limits.
        let earlier = base.child(Self.earlierName)
        let rest = base.ownProcesses
        if !rest.isEmpty, (try? earlier.make()) != nil { for process in rest { try? earlier.take(process) } }
        let available = Set(base.words(of: "cgroup.controllers"))
        for controller in Self.wanted where available.contains(controller) {
            try? base.write("+\(controller)", to: "cgroup.subtree_control")
        }
        controllers = base.words(of: "cgroup.subtree_control")
    }

    /// For `status`.
    package var description: String {
        guard let base else { return "process groups: \(reason)" }
        let limits = controllers.isEmpty ? "no controller" : controllers.joined(separator: " ")
        return "cgroups below \(base.path.printable) (\(limits))"
    }

    private static let daemonName = "daemon"
    private static let earlierName = "earlier"
    private static let prefix = "run-"

    /// `run-4711-1`, and `run-4711-1-2` of a part.
    package static func name(of run: RunID) -> String {
        "\(prefix)\(run.operation)-\(run.attempt)" + (run.part == 0 ? "" : "-\(run.part)")
    }

    static func run(named name: String) -> RunID? {
        guard name.hasPrefix(prefix) else { return nil }
        let numbers = name.dropFirst(prefix.count).split(separator: "-", omittingEmptySubsequences: false)
        guard (2...3).contains(numbers.count), let operation = UInt64(numbers[0]), let attempt = Int(numbers[1]),
            let part = numbers.count == 3 ? Int(numbers[2]) : 0
        else { return nil }
        let run = RunID(operation: operation, attempt: attempt, part: part)
        return self.name(of: run) == name ? run : nil
    }

    /// The cgroups of runs that there are, of this watchd and of earlier ones.
    var runs: [(run: RunID, group: ControlGroup)] {
        (base?.children ?? []).compactMap { group in Self.run(named: group.name).map { ($0, group) } }
    }

    /// That of a run which an earlier watchd has started.
    func living(_ run: RunID) -> ControlGroup? {
        guard let group = base?.child(Self.name(of: run)), (try? Linux.stat(group.path)) != nil else { return nil }
        return group
    }

    // MARK: Making one

    /// Where a run is to be.
    struct Place {
        var group: ControlGroup?
        /// Limits that do not hold, each told once in a life of watchd.
        var warnings: [String] = []
    }

    /// How long what is left of an earlier run of the same name may take to be gone (milliseconds).
    private static let patience: Int32 = 2000

    /// A new cgroup for a run, with its limits; may block.
    func enter(_ request: StartRequest) throws(SystemError) -> Place {
        let definition = request.definition.value
        let limits = definition.contract.resources
        guard let base else { return Place(warnings: warnings(limits, of: definition.name)) }
        tidy()
        let group = base.child(Self.name(of: request.run))
        waitForSweep(of: group.name)
        if try !group.make() {
            Self.empty(group, within: Self.patience)
            try? group.remove()
            _ = try group.make()
        }
        // A handler that says how nice it is says how its queue's urgency counts.
        if definition.contract.nice == nil, let weight = request.qos.weight {
            try? group.write("\(weight)", to: "cpu.weight")
        }
        return Place(group: group, warnings: set(limits, on: group, of: definition.name))
    }

    /// Sets the limits of a run which an earlier watchd has started anew: they are lost while no watchd runs.
    func restore(_ limits: ResourceControl, on group: ControlGroup, of handler: String) {
        _ = set(limits, on: group, of: handler)
    }

    private func warnings(_ limits: ResourceControl, of handler: String) -> [String] {
        let keys = limits.files.map { "\($0.key)=" }
        guard !keys.isEmpty, told.withLock({ $0.insert(handler).inserted }) else { return [] }
        return ["\(keys.joined(separator: ", ")) without effect: \(reason)"]
    }

    func set(_ limits: ResourceControl, on group: ControlGroup, of handler: String) -> [String] {
        var warnings: [String] = []
        for limit in limits.files {
            do throws(SystemError) {
                try write(limit, to: group)
            } catch {
                guard told.withLock({ $0.insert("\(handler) \(limit.key)").inserted }) else { continue }
                let reason =
                    error.errno == .noSuchFile
                        || error.errno == .accessDenied && !controllers.contains(limit.controller)
                    ? "the cgroup of watchd has no controller “\(limit.controller)”" : "\(error)"
                warnings.append("\(limit.key)= without effect: \(reason)")
            }
        }
        return warnings
    }

    private func write(_ limit: ResourceControl.File, to group: ControlGroup) throws(SystemError) {
        do throws(SystemError) {
            try group.write(limit.value, to: limit.name)
        } catch {
            // Of the scheduler bfq.
            guard limit.name == "io.weight", (try? group.write(limit.value, to: "io.bfq.weight")) != nil else {
                throw error
            }
        }
    }

    /// Ends all processes of a cgroup, and waits a moment for their end; may block.
    static func empty(_ group: ControlGroup, within milliseconds: Int32) {
        group.kill()
        guard let events = try? Linux.open(group.file("cgroup.events")) else { return }
        events.use { number in
            let deadline = Linux.now(.monotonic) + Int64(milliseconds) * 1000
            while ControlGroup.isPopulated(events: number) {
                let left = (deadline - Linux.now(.monotonic)) / 1000
                guard left > 0, (try? Linux.poll(number, .priority, timeout: Int32(left))) != nil else { return }
            }
        }
    }

    // MARK: Remains of earlier runs

    /// Its run has ended, and its processes may go on.
    func linger(_ group: ControlGroup) { lingering.withLock { $0.append(group) } }

    /// Removes a few of those that have emptied since.
    private func tidy() {
        let some = lingering.withLock { groups in
            let some = groups.prefix(4)
            groups.removeFirst(some.count)
            return some
        }
        for group in some where (try? group.remove()) == nil { linger(group) }
    }

    /// Ends what lives in these cgroups, and removes them; may block.
    ///
    /// - Returns: names of those in which processes were ended.
    func sweep(_ groups: [ControlGroup]) -> [String] {
        let names = Set(groups.map(\.name))
        sweeping.withLock { $0.formUnion(names) }
        var ended: [String] = []
        for group in groups {
            defer { sweeping.withLock { _ = $0.remove(group.name) } }
            if (try? group.remove()) != nil { continue }
            ended.append(group.name)
            Self.empty(group, within: Self.patience)
            try? group.remove()
        }
        try? base?.child(Self.earlierName).remove()
        return ended
    }

    private func waitForSweep(of name: String) {
        for _ in 0..<300 {
            if !sweeping.withLock({ $0.contains(name) }) { return }
            _ = try? Linux.poll([], timeout: 10)
        }
    }
}

extension QoS {
    /// `cpu.weight` of the runs of a queue; `nil`: the kernel's, 100. None is before watchd itself.
    var weight: Int? {
        switch self {
        case .userInteractive, .userInitiated, .default: nil
        case .utility: 50
        case .background: 10
        }
    }
}

extension ResourceControl {
    /// A file of a cgroup and what is written there for a key.
    struct File {
        var key: String
        var controller: String
        var name: String
        var value: String
    }

    var files: [File] {
        func file(_ key: String, _ controller: String, _ name: String, _ value: String?) -> [File] {
            value.map { [File(key: key, controller: controller, name: name, value: $0)] } ?? []
        }
        return file("MemoryMax", "memory", "memory.max", memoryMax.map { $0 == .max ? "max" : "\($0)" })
            + file("CPUQuota", "cpu", "cpu.max", cpuQuota.map { "\($0 * 1000) 100000" })
            + file("TasksMax", "pids", "pids.max", tasksMax.map { $0 == .max ? "max" : "\($0)" })
            + file("CPUWeight", "cpu", "cpu.weight", cpuWeight.map { "\($0)" })
            + file("IOWeight", "io", "io.weight", ioWeight.map { "default \($0)" })
    }
}
