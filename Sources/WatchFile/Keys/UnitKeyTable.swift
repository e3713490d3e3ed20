/// The keys of `systemd.exec(5)` and `systemd.resource-control(5)` that a handler with `RunIn=unit` passes to its unit,
/// as `Unit.KEY=`. Keys that a handler has itself are not among them.
enum UnitKeyTable {
    static let prefix = "Unit."

    static func isKey(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// `nil`: systemd has no such key, or its value has no form on the bus that is known here.
    static func key(_ name: String) -> Key? {
        guard isKey(name), let form = forms[String(name.dropFirst(prefix.count))] else { return nil }
        return form.isList ? .list(name, .unitProperty(form)) : .one(name, .unitProperty(form))
    }

    static var names: [String] { forms.keys.sorted().map { prefix + $0 } }

    /// Why a key of systemd is none of these, for those that are.
    static func refusal(_ name: String) -> String? {
        let own = String(name.dropFirst(prefix.count))
        if KeyTable.handlerNames.contains(own) { return "a handler has \(own)= itself, without “\(prefix)”" }
        if own == "SyslogIdentifier" { return "it is the handler's name, by which the lines of its runs are found" }
        if files.contains(own) { return "StandardInput=, StandardOutput= and StandardError= of the handler are meant" }
        return unreadable.contains(own) ? "watchd passes this key of systemd.exec(5) to no unit" : nil
    }

    private static let files: Set = [
        "StandardInputText", "StandardInputData", "TTYPath", "TTYReset", "TTYVHangup", "TTYVTDisallocate", "TTYRows",
        "TTYColumns",
    ]

    /// Their values are of several parts that are seldom needed, or have to be computed.
    private static let unreadable: Set = [
        "RootHash", "RootHashSignature", "RootImageOptions", "MountImages", "ExtensionImages", "RootImagePolicy",
        "MountImagePolicy", "ExtensionImagePolicy", "LoadCredentialEncrypted", "SetCredentialEncrypted",
        "LogFilterPatterns", "SocketBindAllow", "SocketBindDeny", "NFTSet", "BPFProgram", "IODeviceLatencyTargetSec",
        "BlockIOAccounting", "BlockIOWeight", "StartupBlockIOWeight", "BlockIODeviceWeight", "BlockIOReadBandwidth",
        "BlockIOWriteBandwidth", "CPUShares", "StartupCPUShares", "MemoryLimit",
    ]

    private static let forms: [String: UnitForm] = {
        var forms: [String: UnitForm] = [:]
        for (form, names) in table { for name in names { forms[name] = form } }
        return forms
    }()

    private static let table: [(UnitForm, [String])] = [
        (
            .flag,
            [
                "PrivateTmp", "PrivateDevices", "PrivateNetwork", "PrivateUsers", "PrivateMounts", "PrivateIPC",
                "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectClock",
                "ProtectControlGroups", "ProtectHostname", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality",
                "MemoryDenyWriteExecute", "DynamicUser", "RemoveIPC", "MountAPIVFS", "IgnoreSIGPIPE",
                "SyslogLevelPrefix", "CPUSchedulingResetOnFork", "RootEphemeral", "MemoryKSM", "SetLoginEnvironment",
                "MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting", "IPAccounting",
                "CoredumpReceive", "MemoryZSwapWriteback",
            ]
        ),
        (
            .text,
            [
                "ProtectSystem", "ProtectHome", "ProtectProc", "ProcSubset", "RootDirectory", "RootImage", "RootVerity",
                "RuntimeDirectoryPreserve", "Personality", "KeyringMode", "PAMName", "UtmpIdentifier", "UtmpMode",
                "SELinuxContext", "LogNamespace", "NetworkNamespacePath", "IPCNamespacePath",
                "PrivatePIDs", "Slice", "DevicePolicy", "ManagedOOMSwap", "ManagedOOMMemoryPressure",
                "ManagedOOMPreference", "MemoryPressureWatch", "DelegateSubgroup",
            ]
        ),
        (
            .texts,
            [
                "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "ExecSearchPath",
                "ExtensionDirectories", "RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory",
                "ConfigurationDirectory", "SystemCallArchitectures", "UnsetEnvironment", "DisableControllers",
                "IPIngressFilterPath", "IPEgressFilterPath", "ImportCredential",
            ]
        ),
        (
            .filter,
            [
                "SystemCallFilter", "SystemCallLog", "RestrictAddressFamilies", "RestrictFileSystems",
                "RestrictNetworkInterfaces",
            ]
        ),
        (
            .mode,
            [
                "RuntimeDirectoryMode", "StateDirectoryMode", "CacheDirectoryMode", "LogsDirectoryMode",
                "ConfigurationDirectoryMode",
            ]
        ),
        (
            .bytes,
            [
                "MemoryMin", "MemoryLow", "MemoryHigh", "MemorySwapMax", "MemoryZSwapMax", "DefaultMemoryLow",
                "DefaultMemoryMin", "StartupMemoryHigh", "StartupMemoryLow", "StartupMemoryMax",
                "StartupMemorySwapMax", "StartupMemoryZSwapMax",
            ]
        ),
        (.weight, ["StartupCPUWeight", "StartupIOWeight"]),
        (
            .processors,
            [
                "CPUAffinity", "AllowedCPUs", "StartupAllowedCPUs", "AllowedMemoryNodes",
                "StartupAllowedMemoryNodes", "NUMAMask",
            ]
        ),
        (.ioLimit, ["IOReadBandwidthMax", "IOWriteBandwidthMax", "IOReadIOPSMax", "IOWriteIOPSMax"]),
        (.addresses, ["IPAddressAllow", "IPAddressDeny"]),
        (.capabilities, ["CapabilityBoundingSet", "AmbientCapabilities"]),
        (.binds, ["BindPaths", "BindReadOnlyPaths"]),
        (.profile, ["AppArmorProfile", "SmackProcessLabel"]),
        (.level, ["SyslogLevel", "LogLevelMax"]),
        (.choice(["default": 0, "preferred": 1, "bind": 2, "interleave": 3, "local": 4]), ["NUMAPolicy"]),
        (.choice(UnitForm.facilities), ["SyslogFacility"]),
        (.span("LogRateLimitIntervalUSec"), ["LogRateLimitIntervalSec"]),
        (.span("CPUQuotaPeriodUSec"), ["CPUQuotaPeriodSec"]),
        (.nanoseconds, ["TimerSlackNSec"]),
        (.count, ["LogRateLimitBurst"]),
        (.share, ["ManagedOOMMemoryPressureLimit"]),
        (.namespaces, ["RestrictNamespaces"]),
        (.propagation, ["MountFlags"]),
        (.temporaryFolders, ["TemporaryFileSystem"]),
        (.devices, ["DeviceAllow"]),
        (.deviceWeight, ["IODeviceWeight"]),
        (.credential, ["LoadCredential"]),
        (.credentialText, ["SetCredential"]),
        (.field, ["LogExtraFields"]),
        (.delegation, ["Delegate"]),
        (.secureBits, ["SecureBits"]),
        (.errorNumber, ["SystemCallErrorNumber"]),
        (.dumpFilter, ["CoredumpFilter"]),
    ]
}
