/// Every key of every kind of section: what `watchd.watch(5)` describes, in the same order.
enum KeyTable {
    /// The key of that name in a section of this kind.
    static func key(_ name: String, in kind: SectionKind) -> Key? { byName[kind]?[name] }

    static func names(in kind: SectionKind) -> [String] { keys(of: kind).map(\.name) }

    /// The keys that make an action, in handlers and in sources.
    static let actionNames = ["Exec", "Stream", "Unit", "Emit", "Log", "Mail"]

    /// Those of them that make one in a section of this kind: `Unit=` of a `[Unit]` is what it watches.
    static func actionNames(in kind: SectionKind) -> [String] {
        actionNames.filter { isHandlerKey($0, in: kind) }
    }

    /// The keys of a handler that mean something in a source without an action too.
    static let routeNames: Set<String> = ["Queue", "NotDuring", "HoldDuring"]

    static let handlerNames = Set((actions + handler).map(\.name))

    /// Whether this key of a section of this kind is that of a handler: in a source it belongs to the source's action.
    static func isHandlerKey(_ name: String, in kind: SectionKind) -> Bool {
        handlerNames.contains(name) && !routeNames.contains(name) && !own(kind).contains { $0.name == name }
    }

    /// A section's own keys come before those it shares with others, and win where both have the same name.
    static func keys(of kind: SectionKind) -> [Key] {
        switch kind {
        case .watchd, .queue, .semaphore: own(kind)
        case .handler: actions + handler
        case .group, .timer, .signal, .path, .descriptor, .process, .unit, .custom:
            own(kind) + source
                + (actions + handler).filter { key in
                    !(own(kind) + source).contains { $0.name == key.name }
                }
        }
    }

    private static let byName: [SectionKind: [String: Key]] = Dictionary(
        uniqueKeysWithValues: SectionKind.allCases.map { kind in
            (kind, Dictionary(keys(of: kind).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first }))
        })

    /// Bounds of what is counted: entries, attempts, units of a semaphore.
    static let count = 1...1_000_000_000

    /// Bounds of bytes in memory or on the disk.
    static let bytes = 1...1 << 40

    private static func own(_ kind: SectionKind) -> [Key] {
        switch kind {
        case .watchd: watchd
        case .queue: queue
        case .semaphore: [.one("Value", .number(0...count.upperBound))]
        case .group: [.list("Members", .names)]
        case .handler: []
        case .timer: timer
        case .signal: [.list("Signal", .claimedSignals)]
        case .path: path
        case .descriptor: descriptor
        case .process: process
        case .unit:
            [
                .list("Unit", .units),
                .list("Events", .choices(["failed", "active", "inactive", "activating", "deactivating"])),
            ]
        case .custom: [.one("Merge", .choice(["add", "or", "replace"]))]
        }
    }

    private static let watchd: [Key] = [
        .one("ControlSocket", .path),
        .one("StateDirectory", .path),
        .one("LogLevel", .choice(["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"])),
        .one("MaxProcesses", .number(1...4_194_304)),
        .one("MaxOperations", .number(count)),
        .one("MaxMemory", .size(bytes)),
        .later("MaxWatches", .text),
        .one("KeepHistory", .number(0...count.upperBound)),
        .one("KeepHistorySec", .span(.any)),
        .one("KeepHistoryBytes", .size(0...bytes.upperBound)),
        .one("DrainSec", .span(.any)),
        .one("Sync", .choice(["full", "normal"])),
    ]

    private static let queue: [Key] = [
        .one("Type", .choice(["serial", "concurrent"])),
        .one("Width", .number(1...1_000_000)),
        .one("QoS", .choice(["user-interactive", "user-initiated", "default", "utility", "background"])),
        .one("Target", .names),
        .one("Backlog", .number(count)),
        .one("BacklogBytes", .size(bytes)),
        .one("Overflow", .choice(["block", "drop-oldest", "drop-newest"])),
        .one("RateLimit", .rate),
        .one("Suspended", .flag),
        .one("Durable", .flag),
        .list("Environment", .environment),
        .one("Finalizer", .names),
    ]

    private static let actions: [Key] = [
        .list("Exec", .command),
        .later("Stream", .command),
        .laterList("Unit", .text),
        .one("Emit", .emission),
        .one("Log", .template),
        .later("Mail", .text),
    ]

    private static let handler: [Key] =
        [
            .later("Workers", .number(count)),
            .later("Ack", .flag),
            .later("Prefetch", .number(count)),
            .later("UnitAction", .choice([], later: ["start", "restart", "reload", "reload-or-restart", "stop"])),
            .later("UnitWait", .flag),
            .one("Queue", .names),
            .one("Barrier", .flag),
            .one("Priority", .choice(["very-low", "low", "normal", "high", "very-high"])),
            .list("Acquire", .counts(count)),
            .list("Release", .counts(count)),
            .list("Consume", .counts(count)),
            .list("After", .names),
            .list("Requires", .names),
            .one("DelaySec", .span(.finite)),
            .one("Once", .choice(["no", "boot", "ever"])),
            .one("Overlap", .choice(["wait", "skip", "restart", "parallel"])),
            .one("Stride", .number(count)),
            .one("StartTimeoutSec", .span(.limit)),
            .one("TimeoutSec", .span(.limit)),
            .one("KillSignal", .signal),
            .one("KillMode", .choice(["tree", "process", "none"])),
            .one("TimeoutStopSec", .span(.any)),
            .one("Retry", .numberOrInfinity(0...count.upperBound)),
            .one("RetrySec", .span(.delay)),
            .one("RetryMaxSec", .span(.limit)),
            .list("RetryPreventExitStatus", .exitStatuses),
            .list("SuccessExitStatus", .exitStatuses),
            .list("OnSuccess", .names),
            .list("OnFailure", .names),
            .list("OnRetry", .names),
            .list("OnChange", .names),
            .list("OnFinished", .names),
            .list("ExecCondition", .command),
            .list("ConditionPathExists", .pathCondition),
            .list("NotDuring", .window),
            .list("HoldDuring", .window),
            .later("User", .text),
            .later("Group", .text),
            .laterList("SupplementaryGroups", .text),
            .one("WorkingDirectory", .path),
            .list("Environment", .environment),
            .laterList("EnvironmentFile", .path),
            .laterList("PassEnvironment", .text),
            .later("UMask", .mode),
            .later("Nice", .number(-20...19)),
            .later("IOSchedulingClass", .text),
            .later("NoNewPrivileges", .flag),
            .later("MemoryMax", .text),
            .later("CPUQuota", .text),
            .later("RunIn", .choice([], later: ["watchd", "unit"])),
            .one(
                "StandardInput",
                .choice(["event", "paths", "paths0", "lines", "payload", "output", "socket", "null"])),
            .one("StandardOutput", .output),
            .one("StandardError", .output),
        ] + limits

    /// `Limit…=`: the resources of `setrlimit(2)`, as `systemd.exec(5)` spells them.
    private static let limits: [Key] = [
        "CPU", "FSIZE", "DATA", "STACK", "CORE", "RSS", "NOFILE", "AS", "NPROC", "MEMLOCK", "LOCKS", "SIGPENDING",
        "MSGQUEUE", "NICE", "RTPRIO", "RTTIME",
    ].map { .later("Limit" + $0, .text) }

    private static let source: [Key] = [
        .list("Handler", .names),
        .one("Queue", .names),
        .one("Description", .text),
        .one("Suspended", .flag),
        .one("Required", .flag),
        .one("Key", .key),
        .one("Coalesce", .flag),
        .one("RateLimit", .rate),
        .one("SilenceSec", .span(.period)),
        .list("OnSilence", .names),
        .list("OnSound", .names),
        .list("NotDuring", .window),
        .list("HoldDuring", .window),
    ]

    private static let timer: [Key] = [
        .list("OnCalendar", .calendar),
        .list("OnCron", .cron),
        .one("EverySec", .span(.period)),
        .one("AfterSec", .span(.period)),
        .one("OnStartupSec", .span(.delay)),
        .one("OnBootSec", .span(.delay)),
        .one("AccuracySec", .span(.finite)),
        .one("RandomizedDelaySec", .span(.finite)),
        .one("FixedRandomDelay", .flag),
        .one("CatchUp", .choice(["none", "one", "all"])),
        .one("CatchUpMaxSec", .span(.limit)),
        .one("DaylightSaving", .choice(["run", "skip"])),
    ]

    private static let path: [Key] = [
        .list("Path", .paths),
        .one("Recursive", .noFlag),
        .list(
            "Events", .choices(["written", "renamed", "deleted", "created", "modified", "attributes", "changed"])),
        .laterList("Include", .text),
        .laterList("Exclude", .text),
        .laterList("Prune", .text),
        .one("FollowSymlinks", .noFlag),
        .later("SettleSec", .span(.any)),
        .later("MaxSettleSec", .span(.any)),
        .later("Initial", .choice([], later: ["none", "existing", "once", "changed"])),
        .later("PollSec", .span(.period)),
        .later("Loop", .choice([], later: ["warn", "stop"])),
        .later("MakeDirectory", .flag),
        .later("DirectoryMode", .mode),
        .laterList("PathChanged", .path),
        .laterList("PathModified", .path),
        .laterList("PathExists", .path),
        .laterList("PathExistsGlob", .path),
        .laterList("DirectoryNotEmpty", .path),
    ]

    private static let descriptor: [Key] = [
        .one("ListenFIFO", .path),
        .one("ListenStream", .address),
        .one("ListenDatagram", .address),
        .one("ListenSequentialPacket", .address),
        .one("ListenSpecial", .path),
        .one("ListenNetlink", .netlink),
        .one("ListenMessageQueue", .path),
        .one("FileDescriptorName", .names),
        .one("Command", .command),
        .one("Tail", .path),
        .one("Pressure", .pressure),
        .one("Framing", .choice(["line", "datagram", "chunk", "ready"])),
        .one("MaxLength", .size(1...1 << 30)),
        .list("Include", .pattern),
        .list("Exclude", .pattern),
        .one("SocketMode", .mode),
        .one("SocketUser", .text),
        .one("SocketGroup", .text),
        .one("Ready", .choice(["readable", "writable"])),
        .one("Accept", .flag),
        .one("MaxConnections", .number(1...100_000)),
    ]

    private static let process: [Key] = [
        .one("PIDFile", .path),
        .one("Command", .command),
        .one("Workers", .number(1...1000)),
        .one("Restart", .choice(SupervisedCommand.Restart.allCases.map(\.rawValue))),
        .one("RestartSec", .span(.delay)),
        .one("RestartMaxDelaySec", .span(.limit)),
        .one("Match", .path),
        .list("Events", .processEvents),
    ]

    /// Keys of a handler that are about its process; a supervised command has them too.
    static let processNames = Set(
        [
            "KillSignal", "KillMode", "TimeoutStopSec", "SuccessExitStatus", "User", "Group", "SupplementaryGroups",
            "WorkingDirectory", "Environment", "EnvironmentFile", "PassEnvironment", "UMask", "Nice",
            "IOSchedulingClass", "NoNewPrivileges", "MemoryMax", "CPUQuota", "StandardOutput", "StandardError",
        ] + limits.map(\.name))
}
