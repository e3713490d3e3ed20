/// A process's attributes that the kernel keeps, as `systemd.exec(5)` has them. `nil`, or empty: as watchd and
/// the queue's `QoS=` leave it.
package struct ProcessContract: Equatable, Sendable {
    /// `User=`: a name or a number; `nil`: watchd's own.
    package var user: String?
    /// `Group=`: a name or a number; `nil`: the user's.
    package var group: String?
    /// `SupplementaryGroups=`: names or numbers, besides those that the user is in.
    package var supplementaryGroups: [String] = []
    /// `WorkingDirectory=~`.
    package var startsAtHome = false
    /// `EnvironmentFile=`, in order; a later one wins.
    package var environmentFiles: [EnvironmentFile] = []
    /// `PassEnvironment=`: names of variables of watchd's own.
    package var passedEnvironment: [String] = []
    /// `Credential=`: names of credentials of watchd's own service.
    package var serviceCredentials: [String] = []
    /// `UMask=`.
    package var mask: UInt32 = 0o022
    /// `Nice=`, absolute.
    package var nice: Int32?
    /// `IOSchedulingClass=`, `IOSchedulingPriority=`.
    package var io: IOScheduling?
    /// `CPUSchedulingPolicy=`, `CPUSchedulingPriority=`.
    package var cpu: CPUScheduling?
    /// `OOMScoreAdjust=`: -1000, never killed for memory, to 1000.
    package var oomScoreAdjust: Int32?
    /// `NoNewPrivileges=`.
    package var hasNoNewPrivileges = false
    /// `Limit…=`, no resource twice.
    package var limits: [ResourceLimit] = []
    /// `MemoryMax=` to `IOWeight=`.
    package var resources = ResourceControl()
    /// Of a command that a client has submitted: it runs as this user with these groups, and no others.
    package var credentials: UserCredentials?

    package init() {}
}

/// User and groups as the kernel knows them of a client.
package struct UserCredentials: Hashable, Sendable {
    package var user: UInt32
    package var group: UInt32
    /// The supplementary ones.
    package var groups: [UInt32]

    package init(user: UInt32, group: UInt32, groups: [UInt32] = []) {
        self.user = user
        self.group = group
        self.groups = groups
    }
}

/// The launch of a `[Descriptor]`'s `Command=`: the keys that handlers have too.
package struct CommandLaunch: Equatable, Sendable {
    /// As `HandlerDefinition.workingDirectory`.
    package var workingDirectory: [UInt8]?
    package var environment: [EnvironmentVariable] = []
    package var contract = ProcessContract()

    package init() {}

    package init(_ handler: HandlerDefinition) {
        (workingDirectory, environment) = (handler.workingDirectory, handler.environment)
        contract = handler.contract
    }
}

/// `EnvironmentFile=`: read at each start.
package struct EnvironmentFile: Hashable, Sendable {
    /// An absolute path.
    package var path: [UInt8]
    /// `-PATH`: it may be missing.
    package var isOptional: Bool

    package init(path: [UInt8], isOptional: Bool = false) {
        self.path = path
        self.isOptional = isOptional
    }
}

/// Limits of all processes of a run together, as in `systemd.resource-control(5)`. `nil`: none was written.
package struct ResourceControl: Equatable, Sendable {
    /// `MemoryMax=`: bytes; `.max` is `infinity`.
    package var memoryMax: UInt64?
    /// `CPUQuota=`: hundredths of one processor.
    package var cpuQuota: Int?
    /// `TasksMax=`: `.max` is `infinity`.
    package var tasksMax: UInt64?
    /// `CPUWeight=`, `IOWeight=`: among the runs, 1 to 10 000; the kernel's usual one is 100.
    package var cpuWeight: Int?
    package var ioWeight: Int?

    package init() {}
}

/// `IOSchedulingClass=` with its level.
package struct IOScheduling: Equatable, Sendable {
    /// In the order of the kernel's numbers.
    package enum Class: String, CaseIterable, Sendable {
        case none, realtime
        case bestEffort = "best-effort"
        case idle
    }

    package var kind: Class
    /// 0, the most urgent, to 7; of `realtime` and `best-effort`.
    package var level: Int32

    package init(_ kind: Class, level: Int32 = 4) {
        self.kind = kind
        self.level = level
    }
}

/// `CPUSchedulingPolicy=` with its priority.
package struct CPUScheduling: Equatable, Sendable {
    package enum Policy: String, CaseIterable, Sendable {
        case other, batch, idle, fifo, rr

        package var isRealTime: Bool { self == .fifo || self == .rr }
    }

    package var policy: Policy
    /// 1 to 99 of the real-time policies, else 0.
    package var priority: Int32

    package init(_ policy: Policy, priority: Int32 = 0) {
        self.policy = policy
        self.priority = priority
    }
}

/// `Limit…=`: one limit of `setrlimit(2)`.
package struct ResourceLimit: Equatable, Sendable {
    /// The resources as keys spell them behind `Limit`.
    package enum Resource: String, CaseIterable, Sendable {
        case cpu = "CPU"
        case fsize = "FSIZE"
        case data = "DATA"
        case stack = "STACK"
        case core = "CORE"
        case rss = "RSS"
        case nofile = "NOFILE"
        case addressSpace = "AS"
        case nproc = "NPROC"
        case memlock = "MEMLOCK"
        case locks = "LOCKS"
        case sigpending = "SIGPENDING"
        case msgqueue = "MSGQUEUE"
        case nice = "NICE"
        case rtprio = "RTPRIO"
        case rttime = "RTTIME"
    }

    /// No limit: RLIM_INFINITY.
    package static let infinity = UInt64.max

    package var resource: Resource
    package var soft: UInt64
    /// Not less than `soft`.
    package var hard: UInt64

    package init(_ resource: Resource, soft: UInt64, hard: UInt64) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }

    /// Behind the `=`, as a file would have it: what the kernel counts in.
    package var text: String {
        func shown(_ value: UInt64) -> String {
            if value == Self.infinity { return "infinity" }
            return resource == .rttime ? "\(value)us" : "\(value)"
        }
        return soft == hard ? shown(soft) : "\(shown(soft)):\(shown(hard))"
    }
}
