package import LinuxSystem
package import WatchFile

extension SpawnSpecification {
    /// Takes over the keys of a process, above the priority that its queue has given it.
    package mutating func take(_ contract: ProcessContract, _ surroundings: LaunchSurroundings) {
        attributes.identity = surroundings.identity
        umask = contract.mask
        if let nice = contract.nice {
            self.nice = nice
            attributes.requiresNice = true
        }
        if let io = contract.io {
            ioPriority = IOPriority(io)
            attributes.requiresIOPriority = true
        }
        attributes.policy = contract.cpu.map { ($0.policy.number, $0.priority) }
        attributes.oomScore = contract.oomScoreAdjust
        attributes.limits = contract.limits.map { limit in
            ProcessAttributes.Limit(
                name: "Limit\(limit.resource.rawValue)=\(limit.text)", resource: limit.resource.number,
                soft: limit.soft, hard: limit.hard)
        }
        attributes.hasNoNewPrivileges = contract.hasNoNewPrivileges
    }
}

extension SpawnError {
    /// The missing privilege, where the kernel wants a capability for it.
    package var missingPrivilege: String? {
        guard [.notPermitted, .accessDenied].contains(errno), step.needsPrivilege else { return nil }
        return """
            it needs a privilege that watchd does not have: \
            see User=, CapabilityBoundingSet= and RestrictRealtime= of its unit
            """
    }
}

extension SpawnError.Step {
    fileprivate var needsPrivilege: Bool {
        switch self {
        case .oomScore, .nice, .ioPriority, .policy, .limit, .groups, .groupID, .userID: true
        default: false
        }
    }
}

extension IOPriority {
    fileprivate init(_ scheduling: IOScheduling) {
        switch scheduling.kind {
        case .none: self = .none
        case .realtime: self = .realTime(scheduling.level)
        case .bestEffort: self = .bestEffort(scheduling.level)
        case .idle: self = .idle
        }
    }
}

extension CPUScheduling.Policy {
    /// SCHED_OTHER, SCHED_FIFO, SCHED_RR, SCHED_BATCH, SCHED_IDLE of `linux/sched.h`.
    package var number: Int32 {
        switch self {
        case .other: 0
        case .fifo: 1
        case .rr: 2
        case .batch: 3
        case .idle: 5
        }
    }
}

extension ResourceLimit.Resource {
    /// RLIMIT_… of `asm-generic/resource.h`, which x86 and ARM have.
    fileprivate var number: Int32 {
        switch self {
        case .cpu: 0
        case .fsize: 1
        case .data: 2
        case .stack: 3
        case .core: 4
        case .rss: 5
        case .nproc: 6
        case .nofile: 7
        case .memlock: 8
        case .addressSpace: 9
        case .locks: 10
        case .sigpending: 11
        case .msgqueue: 12
        case .nice: 13
        case .rtprio: 14
        case .rttime: 15
        }
    }
}
