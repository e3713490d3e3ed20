import LinuxSystem
import WatchFile

extension SpawnSpecification {
    /// What the keys of a process ask for, above the priority that its queue has given it.
    mutating func take(_ contract: ProcessContract) {
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

extension SpawnError.Step {
    /// Where the kernel wants a capability.
    var needsPrivilege: Bool {
        switch self {
        case .oomScore, .nice, .ioPriority, .policy, .limit: true
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
    fileprivate var number: Int32 {
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
        case .CPU: 0
        case .FSIZE: 1
        case .DATA: 2
        case .STACK: 3
        case .CORE: 4
        case .RSS: 5
        case .NPROC: 6
        case .NOFILE: 7
        case .MEMLOCK: 8
        case .AS: 9
        case .LOCKS: 10
        case .SIGPENDING: 11
        case .MSGQUEUE: 12
        case .NICE: 13
        case .RTPRIO: 14
        case .RTTIME: 15
        }
    }
}
