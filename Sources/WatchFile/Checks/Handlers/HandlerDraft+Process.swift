extension HandlerDraft {
    /// `User=` to `Limit…=`.
    var contract: ProcessContract {
        var result = ProcessContract()
        result.user = entries["User"]?.words.first
        result.group = entries["Group"]?.words.first
        result.supplementaryGroups =
            entries.list("SupplementaryGroups").flatMap { $0.value?.words ?? [] }.withoutRepeats
        result.startsAtHome = entries["WorkingDirectory"]?.path == ValueReader.home
        result.environmentFiles = entries.list("EnvironmentFile").compactMap { $0.value?.environmentFile }
        result.passedEnvironment = entries.list("PassEnvironment").flatMap { $0.value?.words ?? [] }.withoutRepeats
        result.serviceCredentials = entries.list("Credential").flatMap { $0.value?.words ?? [] }.withoutRepeats
        result.mask = entries["UMask"]?.number.map { UInt32($0) } ?? result.mask
        result.nice = entries["Nice"]?.number.map { Int32($0) }
        result.io = io
        result.cpu = cpu
        result.oomScoreAdjust = entries["OOMScoreAdjust"]?.number.map { Int32($0) }
        result.hasNoNewPrivileges = entries["NoNewPrivileges"]?.flag ?? false
        result.limits = ResourceLimit.Resource.allCases.compactMap { entries["Limit\($0.rawValue)"]?.resourceLimit }
        result.resources.memoryMax = entries["MemoryMax"]?.limit.map { $0.map { UInt64($0) } ?? .max }
        result.resources.cpuQuota = entries["CPUQuota"]?.number
        result.resources.tasksMax = entries["TasksMax"]?.limit.map { $0.map { UInt64($0) } ?? .max }
        result.resources.cpuWeight = entries["CPUWeight"]?.number
        result.resources.ioWeight = entries["IOWeight"]?.number
        return result
    }

    private var io: IOScheduling? {
        let kind = entries["IOSchedulingClass"]?.word.flatMap(IOScheduling.Class.init)
        let level = entries["IOSchedulingPriority"]?.number.map { Int32($0) }
        guard kind != nil || level != nil else { return nil }
        return IOScheduling(kind ?? .bestEffort, level: level ?? 4)
    }

    private var cpu: CPUScheduling? {
        guard let policy = entries["CPUSchedulingPolicy"]?.word.flatMap(CPUScheduling.Policy.init) else { return nil }
        guard policy.isRealTime else { return CPUScheduling(policy) }
        return CPUScheduling(policy, priority: Int32(entries["CPUSchedulingPriority"]?.number ?? 1))
    }
}
