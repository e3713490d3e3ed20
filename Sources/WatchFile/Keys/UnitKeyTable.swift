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
        return successors[own].map { "it is one of cgroups of version 1: write \($0)=" }
    }

    private static let files: Set = [
        "StandardInputText", "StandardInputData", "TTYPath", "TTYReset", "TTYVHangup", "TTYVTDisallocate", "TTYRows",
        "TTYColumns",
    ]

    /// Keys of cgroups of version 1, and what systemd has in their place.
    private static let successors = [
        "BlockIOAccounting": "Unit.IOAccounting", "BlockIOWeight": "IOWeight",
        "StartupBlockIOWeight": "Unit.StartupIOWeight", "BlockIODeviceWeight": "Unit.IODeviceWeight",
        "BlockIOReadBandwidth": "Unit.IOReadBandwidthMax", "BlockIOWriteBandwidth": "Unit.IOWriteBandwidthMax",
        "CPUShares": "CPUWeight", "StartupCPUShares": "Unit.StartupCPUWeight", "MemoryLimit": "MemoryMax",
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
                "PrivateDevices", "PrivateNetwork", "PrivateMounts", "PrivateIPC",
                "ProtectKernelTunables", "ProtectKernelModules", "ProtectKernelLogs", "ProtectClock",
                "ProtectHostname", "RestrictRealtime", "RestrictSUIDSGID", "LockPersonality",
                "MemoryDenyWriteExecute", "DynamicUser", "RemoveIPC", "MountAPIVFS", "IgnoreSIGPIPE",
                "SyslogLevelPrefix", "CPUSchedulingResetOnFork", "RootEphemeral", "MemoryKSM", "SetLoginEnvironment",
                "MemoryAccounting", "CPUAccounting", "IOAccounting", "TasksAccounting", "IPAccounting",
                "CoredumpReceive", "MemoryZSwapWriteback",
            ]
        ),
        (
            .text,
            [
                "RootDirectory", "RootImage", "RootVerity", "RuntimeDirectoryPreserve", "PAMName", "UtmpIdentifier",
                "SELinuxContext", "LogNamespace", "NetworkNamespacePath", "IPCNamespacePath",
                "PrivatePIDs", "Slice", "MemoryPressureWatch", "DelegateSubgroup", "RootImagePolicy",
                "MountImagePolicy", "ExtensionImagePolicy",
            ]
        ),
        (.word(["yes", "no", "full", "strict"]), ["ProtectSystem"]),
        (.word(["yes", "no", "read-only", "tmpfs"]), ["ProtectHome"]),
        (.word(["noaccess", "invisible", "ptraceable", "default"]), ["ProtectProc"]),
        (.word(["all", "pid"]), ["ProcSubset"]),
        (.word(["inherit", "private", "shared"]), ["KeyringMode"]),
        (.word(["init", "login", "user"]), ["UtmpMode"]),
        (.word(["auto", "closed", "strict"]), ["DevicePolicy"]),
        (.word(["auto", "kill"]), ["ManagedOOMSwap", "ManagedOOMMemoryPressure"]),
        (.word(["none", "avoid", "omit"]), ["ManagedOOMPreference"]),
        (.word(UnitForm.architectures), ["Personality"]),
        (.flagOrWord(["disconnected"]), ["PrivateTmp"]),
        (.flagOrWord(["self", "identity", "full"]), ["PrivateUsers"]),
        (.flagOrWord(["private", "strict"]), ["ProtectControlGroups"]),
        (.folders, ["RuntimeDirectory", "StateDirectory", "CacheDirectory", "LogsDirectory"]),
        (.rootHash, ["RootHash"]),
        (.rootSignature, ["RootHashSignature"]),
        (.imageOptions, ["RootImageOptions"]),
        (.mountedImages, ["MountImages"]),
        (.images, ["ExtensionImages"]),
        (
            .texts,
            [
                "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "ExecPaths", "NoExecPaths", "ExecSearchPath",
                "ExtensionDirectories", "ConfigurationDirectory", "SystemCallArchitectures", "UnsetEnvironment",
                "DisableControllers",
                "IPIngressFilterPath", "IPEgressFilterPath", "ImportCredential",
            ]
        ),
        (
            .filter,
            [
                "SystemCallFilter", "SystemCallLog", "RestrictFileSystems", "RestrictNetworkInterfaces",
            ]
        ),
        (.families, ["RestrictAddressFamilies"]),
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
        (.deviceLatency, ["IODeviceLatencyTargetSec"]),
        (.credential, ["LoadCredential", "LoadCredentialEncrypted"]),
        (.credentialText, ["SetCredential"]),
        (.credentialSecret, ["SetCredentialEncrypted"]),
        (.sockets, ["SocketBindAllow", "SocketBindDeny"]),
        (.program, ["BPFProgram"]),
        (.sets, ["NFTSet"]),
        (.linePattern, ["LogFilterPatterns"]),
        (.field, ["LogExtraFields"]),
        (.delegation, ["Delegate"]),
        (.secureBits, ["SecureBits"]),
        (.errorNumber, ["SystemCallErrorNumber"]),
        (.dumpFilter, ["CoredumpFilter"]),
    ]
}
