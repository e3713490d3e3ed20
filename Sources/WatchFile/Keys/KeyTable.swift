/// Every key of every kind of section: what `watchd.watch(5)` describes, in the same order.
enum KeyTable {
    /// The key of that name in a section of this kind.
    static func key(_ name: String, in kind: SectionKind) -> Key? {
        if let key = own(kind).first(where: { $0.name == name }) { return key }
        switch kind {
        case .watchd, .queue, .semaphore: return nil
        case .handler: return handlerByName[name] ?? UnitKeyTable.key(name)
        case .group, .timer, .signal, .path, .descriptor, .process, .unit, .custom:
            if let key = sourceByName[name] { return key }
            return kind == .unit && unitActionNames.contains(name) ? nil : handlerByName[name] ?? UnitKeyTable.key(name)
        }
    }

    static func names(in kind: SectionKind) -> [String] { keys(of: kind).map(\.name) }

    /// The keys that make an action, in handlers and in sources.
    static let actionNames = ["Exec", "Stream", "Unit", "Process", "Emit", "Log", "Mail"]

    /// Those of them that make one in a section of this kind: `Unit=` of a `[Unit]` is what it watches.
    static func actionNames(in kind: SectionKind) -> [String] {
        actionNames.filter { isHandlerKey($0, in: kind) }
    }

    /// The keys of a handler that mean something in a source without an action too.
    static let routeNames: Set<String> = ["Queue", "NotDuring", "HoldDuring", "HoldUntil"]

    static let handlerNames = Set((actions + handler).map(\.name))

    /// Whether this key of a section of this kind is that of a handler: in a source it belongs to the source's action.
    static func isHandlerKey(_ name: String, in kind: SectionKind) -> Bool {
        UnitKeyTable.isKey(name)
            || handlerNames.contains(name) && !routeNames.contains(name) && !own(kind).contains { $0.name == name }
    }

    /// A section's own keys come before those it shares with others, and win where both have the same name.
    static func keys(of kind: SectionKind) -> [Key] {
        switch kind {
        case .watchd, .queue, .semaphore: own(kind)
        case .handler: actions + handler
        case .group, .timer, .signal, .path, .descriptor, .process, .unit, .custom:
            withHandlerKeys(own(kind) + source, of: kind)
        }
    }

    private static func withHandlerKeys(_ keys: [Key], of kind: SectionKind) -> [Key] {
        let names = Set(keys.map(\.name))
        return keys
            + (actions + handler).filter { key in
                !names.contains(key.name) && !(kind == .unit && unitActionNames.contains(key.name))
            }
    }

    /// Beside `Unit=` of a handler: that of a `[Unit]` is what it watches.
    private static let unitActionNames: Set<String> = ["UnitAction", "UnitWait"]

    private static let handlerByName = byName(actions + handler)
    private static let sourceByName = byName(source)

    private static func byName(_ keys: [Key]) -> [String: Key] {
        Dictionary(keys.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Bounds of what is counted: entries, attempts, units of a semaphore.
    static let count = 1...1_000_000_000

    /// Bounds of bytes in memory or on the disk.
    static let bytes = 1...1 << 40

    /// The keys that no other kind of section shares.
    static func own(_ kind: SectionKind) -> [Key] {
        switch kind {
        case .watchd: watchd
        case .queue: queue
        case .semaphore: [.one("Value", .number(0...count.upperBound)), .list("Members", .members)]
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
                .list(
                    "Events", .choices(["failed", "active", "inactive", "activating", "deactivating"]),
                    usual: "failed"),
            ]
        case .custom: [.one("Merge", .choice(["add", "or", "replace"]), usual: "add")]
        }
    }

    private static let watchd: [Key] = [
        .one("ControlSocket", .path),
        .one("StateDirectory", .path),
        .one(
            "LogLevel", .choice(["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]), usual: "info"),
        .one("MaxProcesses", .number(1...4_194_304)),
        .one("MaxOperations", .number(count), usual: "100000"),
        .one("MaxMemory", .size(bytes), usual: "256M"),
        .one("MaxWatches", .watches, usual: "80%"),
        .one("KeepHistory", .number(0...count.upperBound), usual: "10000"),
        .one("KeepHistorySec", .span(.any), usual: "30d"),
        .one("KeepHistoryBytes", .size(0...bytes.upperBound), usual: "256M"),
        .one("DrainSec", .span(.any), usual: "60s"),
        .one("Sync", .choice(["full", "normal"]), usual: "full"),
        .list("OnProblem", .names),
        .list("OnSolved", .names),
    ]

    private static let queue: [Key] = [
        .one("Type", .choice(["serial", "concurrent"]), usual: "serial"),
        .one("Width", .number(1...1_000_000)),
        .one(
            "QoS", .choice(["user-interactive", "user-initiated", "default", "utility", "background"]), usual: "default"
        ),
        .one("Target", .names),
        .one("Backlog", .number(count), usual: "10000"),
        .one("BacklogBytes", .size(bytes), usual: "64M"),
        .one("Overflow", .choice(["block", "drop-oldest", "drop-newest"]), usual: "block"),
        .one("RateLimit", .rate),
        .one("Suspended", .flag, usual: "no"),
        .one("Durable", .flag, usual: "no"),
        .list("Environment", .environment),
        .one("Finalizer", .names),
        .one("Submit", .submitters),
    ]

    /// The keys that make an action.
    static let actions: [Key] = [
        .list("Exec", .command),
        .one("Stream", .command),
        .list("Unit", .unitTemplates),
        .one("Process", .names),
        .one("Emit", .emission),
        .one("Log", .template),
        .list("Mail", .mailAddresses),
    ]

    /// The keys that say how an action runs.
    static let handler: [Key] =
        [
            .one("Workers", .number(1...StreamAction.maximumWorkers), usual: "1"),
            .one("Ack", .flag, usual: "no"),
            .one("Prefetch", .number(1...StreamAction.maximumPrefetch), usual: "1"),
            .one("IdleSec", .span(.limit), usual: "infinity"),
            .one("RestartSec", .span(.delay), usual: "100ms"),
            .one("RestartMaxDelaySec", .span(.limit)),
            .one("UnitAction", .choice(UnitAction.Verb.allCases.map(\.rawValue)), usual: "start"),
            .one("UnitWait", .flag, usual: "no"),
            .one("DigestSec", .span(.period)),
            .one("ProcessAction", .choice(ProcessAction.Verb.names), usual: "restart"),
            .one("ProcessSignal", .signal),
            .one("Queue", .names),
            .one("Barrier", .flag, usual: "no"),
            .one("Priority", .choice(["very-low", "low", "normal", "high", "very-high"]), usual: "normal"),
            .list("Acquire", .counts(count)),
            .list("Release", .counts(count)),
            .list("Consume", .counts(count)),
            .list("After", .predecessors),
            .list("Requires", .names),
            .one("DelaySec", .span(.finite), usual: "0"),
            .one("BatchSize", .number(count)),
            .one("Once", .choice(["no", "boot", "ever"]), usual: "no"),
            .one("Overlap", .choice(["wait", "skip", "restart", "parallel"])),
            .one("Stride", .number(count)),
            .one("StartTimeoutSec", .span(.limit), usual: "infinity"),
            .one("LateSec", .span(.limit), usual: "infinity"),
            .one("TimeoutSec", .span(.limit), usual: "infinity"),
            .one("SlowSec", .span(.limit), usual: "infinity"),
            .one("KillSignal", .signal, usual: "SIGTERM"),
            .one("KillMode", .choice(["tree", "process", "none"]), usual: "tree"),
            .one("TimeoutStopSec", .span(.any), usual: "10s"),
            .one("OnStop", .choice(["fail", "again", "leave"])),
            .one("Retry", .numberOrInfinity(0...count.upperBound), usual: "0"),
            .one("RetrySec", .span(.delay), usual: "1s"),
            .one("RetryMaxSec", .span(.limit)),
            .list("RetryPreventExitStatus", .exitStatuses),
            .list("SuccessExitStatus", .exitStatuses),
            .list("OnSuccess", .names),
            .list("OnFailure", .names),
            .list("OnRetry", .names),
            .list("OnChange", .names),
            .list("OnFinished", .names),
            .list("OnLate", .names),
            .list("OnSlow", .names),
            .list("ExecCondition", .command),
            .list("ConditionPathExists", .pathCondition),
            .list("NotDuring", .window),
            .list("HoldDuring", .window),
            .list("HoldUntil", .holdConditions),
            .one("User", .account),
            .one("Group", .account),
            .list("SupplementaryGroups", .accounts),
            .one("WorkingDirectory", .folder),
            .list("Environment", .environment),
            .list("EnvironmentFile", .environmentFile),
            .list("PassEnvironment", .variableNames),
            .list("Credential", .credentials),
            .one("UMask", .mode, usual: "0022"),
            .one("Nice", .signed(-20...19)),
            .one("IOSchedulingClass", .choice(IOScheduling.Class.allCases.map(\.rawValue))),
            .one("IOSchedulingPriority", .number(0...7)),
            .one("CPUSchedulingPolicy", .choice(CPUScheduling.Policy.allCases.map(\.rawValue))),
            .one("CPUSchedulingPriority", .number(1...99)),
            .one("OOMScoreAdjust", .signed(-1000...1000)),
            .one("NoNewPrivileges", .flag, usual: "no"),
            .one("MemoryMax", .sizeOrInfinity(1...1 << 60)),
            .one("CPUQuota", .percent(1...100_000)),
            .one("TasksMax", .numberOrInfinity(1...4_194_304)),
            .one("CPUWeight", .number(1...10_000)),
            .one("IOWeight", .number(1...10_000)),
            .one("RunIn", .choice(["watchd", "unit"]), usual: "watchd"),
            .one("Progress", .flag, usual: "no"),
            .one(
                "StandardInput",
                .choice(["event", "paths", "paths0", "lines", "payload", "output", "socket", "null"])),
            .one("StandardOutput", .output, usual: "journal"),
            .one("StandardError", .output, usual: "journal"),
        ] + limits

    /// `Limit…=`: the resources of `setrlimit(2)`, as `systemd.exec(5)` spells them.
    private static let limits: [Key] = ResourceLimit.Resource.allCases.map {
        .one("Limit\($0.rawValue)", .resourceLimit($0))
    }

    /// The keys of every source.
    static let source: [Key] = [
        .list("Handler", .names),
        .one("Queue", .names),
        .one("Description", .text),
        .one("Suspended", .flag, usual: "no"),
        .one("Required", .flag, usual: "no"),
        .one("Key", .key),
        .one("Coalesce", .flag),
        .one("RateLimit", .rate),
        .one("SilenceSec", .span(.period)),
        .list("OnSilence", .names),
        .list("OnSound", .names),
        .list("NotDuring", .window),
        .list("HoldDuring", .window),
        .list("HoldUntil", .holdConditions),
    ]

    private static let timer: [Key] = [
        .list("OnCalendar", .calendar),
        .list("OnCron", .cron),
        .one("EverySec", .span(.period)),
        .one("AfterSec", .span(.period)),
        .one("OnStartupSec", .span(.delay)),
        .one("OnBootSec", .span(.delay)),
        .one("AccuracySec", .span(.finite), usual: "1ms"),
        .one("RandomizedDelaySec", .span(.finite), usual: "0"),
        .one("FixedRandomDelay", .flag, usual: "no"),
        .one("CatchUp", .choice(["none", "one", "all"]), usual: "none"),
        .one("CatchUpMaxSec", .span(.limit), usual: "1d"),
        .one("DaylightSaving", .choice(["run", "skip"]), usual: "run"),
    ]

    private static let path: [Key] = [
        .list("Path", .paths),
        .one("Recursive", .flag, usual: "no"),
        .list(
            "Events", .choices(["written", "renamed", "deleted", "created", "modified", "attributes", "changed"]),
            usual: "written"),
        .list("Include", .globs),
        .list("Exclude", .globs),
        .list("Prune", .globs),
        .one("IgnoreFile", .fileName),
        .one("FollowSymlinks", .flag, usual: "no"),
        .one("SettleSec", .span(.finite), usual: "0"),
        .one("MaxSettleSec", .span(.limit)),
        .one("Initial", .choice(PathTrigger.Initial.allCases.map(\.rawValue)), usual: "changed"),
        .one("Poll", .choice(["auto", "yes"]), usual: "auto"),
        .one("PollSec", .span(.period), usual: "30s"),
        .one("Join", .choice(["all"])),
        .one("Loop", .choice(["warn", "stop"]), usual: "warn"),
        .one("MakeDirectory", .flag, usual: "no"),
        .one("DirectoryMode", .mode, usual: "0755"),
        .list("PathChanged", .path),
        .list("PathModified", .path),
        .list("PathExists", .path),
        .list("PathExistsGlob", .pathPattern),
        .list("DirectoryNotEmpty", .path),
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
        .one("MaxLength", .size(1...1 << 30), usual: "64K"),
        .list("Include", .pattern),
        .list("Exclude", .pattern),
        .one("SocketMode", .mode, usual: "0600"),
        .one("SocketUser", .text),
        .one("SocketGroup", .text),
        .one("Ready", .choice(["readable", "writable"]), usual: "readable"),
        .one("Accept", .flag, usual: "no"),
        .one("MaxConnections", .number(1...100_000), usual: "64"),
    ]

    private static let process: [Key] = [
        .one("PIDFile", .path),
        .one("Command", .command),
        .one("Workers", .number(1...StreamAction.maximumWorkers), usual: "1"),
        .one("Restart", .choice(SupervisedCommand.Restart.allCases.map(\.rawValue)), usual: "no"),
        .one("RestartSec", .span(.delay), usual: "100ms"),
        .one("RestartMaxDelaySec", .span(.limit)),
        .one("ReadyLine", .pattern),
        .one("ReadyPath", .path),
        .one("NotifyReady", .flag, usual: "no"),
        .one("Match", .path),
        .list("Events", .processEvents, usual: "exit"),
    ]

    /// Keys of a handler that are about what its process is started with; the command of a `[Descriptor]` has them too.
    static let launchNames = Set(
        [
            "User", "Group", "SupplementaryGroups", "WorkingDirectory", "Environment", "EnvironmentFile",
            "PassEnvironment", "UMask", "Nice", "IOSchedulingClass", "IOSchedulingPriority", "CPUSchedulingPolicy",
            "CPUSchedulingPriority", "OOMScoreAdjust", "NoNewPrivileges",
        ] + limits.map(\.name))

    /// The keys of a `[Process]` without an action of its own.
    static let namesBesideCommand = keys(of: .process).map(\.name).filter {
        !isHandlerKey($0, in: .process) || processNames.contains($0)
    }

    /// Keys of a handler that are about the cgroup of its runs.
    static let containmentNames: Set = ["MemoryMax", "CPUQuota", "TasksMax", "CPUWeight", "IOWeight"]

    /// Actions that watchd or the service manager does, without a process of the run's own.
    static let processless: Set = ["Unit", "Process", "Emit", "Log"]

    /// Keys that mean nothing beside those.
    static let ofProcess: [String] = {
        let others = ["Credential", "StandardInput", "StandardOutput", "StandardError"]
        let names = launchNames.union(containmentNames).union(others)
        return handler.map(\.name).filter(names.contains)
    }()

    /// Keys of a handler that are about its process; a supervised command has them too.
    static let processNames = launchNames.union(containmentNames).union([
        "KillSignal", "KillMode", "TimeoutStopSec", "SuccessExitStatus", "StandardOutput", "StandardError",
        "Credential", "After",
    ])
}
