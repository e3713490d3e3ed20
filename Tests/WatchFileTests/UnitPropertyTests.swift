import Testing

@testable import WatchFile

/// `RunIn=unit` and `Unit.KEY=`: each form of a value, as the manager's bus takes it.
@Suite("Properties of a unit") struct UnitPropertyTests {
    private func handler(_ lines: String, _ context: LoadContext = LoadContext(processors: 1)) throws
        -> HandlerDefinition
    {
        let text = "[Handler h]\nExec=/bin/true\nRunIn=unit\n\(lines)\n"
        let result = WatchFile.load([WatchFileText(file: "a.watch", bytes: Array(text.utf8))], context: context)
        return try #require(result.configuration?.handlers.first, "\(result.diagnostics)")
    }

    private func properties(_ lines: String) throws -> [UnitProperty] {
        try #require(try handler(lines).placement).properties
    }

    private typealias Value = UnitProperty.Value

    private static let forms: [(text: String, name: String, value: Value)] = [
        ("PrivateTmp=on", "PrivateTmp", .flag(true)),
        ("ProtectSystem=strict", "ProtectSystem", .text("strict")),
        ("ReadWritePaths=/srv \"/a b\"", "ReadWritePaths", .texts(["/srv", "/a b"])),
        (
            "SystemCallFilter=@system-service read", "SystemCallFilter",
            .structure([.flag(true), .texts(["@system-service", "read"])])
        ),
        ("SystemCallFilter=~@mount", "SystemCallFilter", .structure([.flag(false), .texts(["@mount"])])),
        ("StateDirectoryMode=0750", "StateDirectoryMode", .number(0o750)),
        ("MemoryHigh=2M", "MemoryHigh", .large(2 << 20)),
        ("MemoryHigh=infinity", "MemoryHigh", .large(.max)),
        ("MemoryHigh=50%", "MemoryHighScale", .number(0x8000_0000)),
        ("StartupCPUWeight=20", "StartupCPUWeight", .large(20)),
        ("AllowedCPUs=0-1,9 3", "AllowedCPUs", .bytes([0b1011, 0b10])),
        ("CPUAffinity=numa", "CPUAffinityFromNUMA", .flag(true)),
        (
            "IOReadBandwidthMax=/dev/sda 5M", "IOReadBandwidthMax",
            .array("(st)", [.structure([.text("/dev/sda"), .large(5_000_000)])])
        ),
        (
            "IPAddressAllow=localhost 10.0.0.0/8 ::2", "IPAddressAllow",
            .array(
                "(iayu)",
                [
                    .structure([.integer(2), .bytes([127, 0, 0, 0]), .number(8)]),
                    .structure([.integer(10), .bytes(Array(repeating: 0, count: 15) + [1]), .number(128)]),
                    .structure([.integer(2), .bytes([10, 0, 0, 0]), .number(8)]),
                    .structure([.integer(10), .bytes(Array(repeating: 0, count: 15) + [2]), .number(128)]),
                ])
        ),
        ("CapabilityBoundingSet=CAP_CHOWN CAP_KILL", "CapabilityBoundingSet", .large(0x21)),
        ("AmbientCapabilities=~CAP_CHOWN", "AmbientCapabilities", .large(.max - 1)),
        (
            "BindPaths=-/a:/b:norbind /c", "BindPaths",
            .array(
                "(ssbt)",
                [
                    .structure([.text("/a"), .text("/b"), .flag(true), .large(0)]),
                    .structure([.text("/c"), .text("/c"), .flag(false), .large(0x4000)]),
                ])
        ),
        ("AppArmorProfile=-p", "AppArmorProfile", .structure([.flag(true), .text("p")])),
        ("LogLevelMax=notice", "LogLevelMax", .integer(5)),
        ("SyslogFacility=local1", "SyslogFacility", .integer(17)),
        ("NUMAPolicy=bind", "NUMAPolicy", .integer(2)),
        ("LogRateLimitIntervalSec=1min 1s", "LogRateLimitIntervalUSec", .large(61_000_000)),
        ("TimerSlackNSec=5us", "TimerSlackNSec", .large(5000)),
        ("TimerSlackNSec=7", "TimerSlackNSec", .large(7)),
        ("LogRateLimitBurst=9", "LogRateLimitBurst", .number(9)),
        ("ManagedOOMMemoryPressureLimit=100%", "ManagedOOMMemoryPressureLimit", .number(.max)),
        ("RestrictNamespaces=yes", "RestrictNamespaces", .large(0)),
        ("RestrictNamespaces=~user", "RestrictNamespaces", .large(0x7E02_0000 & ~0x1000_0000)),
        ("MountFlags=slave", "MountFlags", .large(1 << 19)),
        (
            "TemporaryFileSystem=/a:size=1M /b", "TemporaryFileSystem",
            .array("(ss)", [.structure([.text("/a"), .text("size=1M")]), .structure([.text("/b"), .text("")])])
        ),
        ("DeviceAllow=/dev/null rw", "DeviceAllow", .array("(ss)", [.structure([.text("/dev/null"), .text("rw")])])),
        ("IODeviceWeight=/dev/sda 5", "IODeviceWeight", .array("(st)", [.structure([.text("/dev/sda"), .large(5)])])),
        ("LoadCredential=a:/b:c", "LoadCredential", .array("(ss)", [.structure([.text("a"), .text("/b:c")])])),
        (
            "SetCredential=a:x y", "SetCredential",
            .array("(say)", [.structure([.text("a"), .bytes(Array("x y".utf8))])])
        ),
        ("PrivateTmp=disconnected", "PrivateTmpEx", .text("disconnected")),
        ("StateDirectory=a b", "StateDirectory", .texts(["a", "b"])),
        (
            "StateDirectory=a:b", "StateDirectorySymlink",
            .array("(sst)", [.structure([.text("a"), .text("b"), .large(0)])])
        ),
        ("RootHash=00fF", "RootHash", .bytes([0, 255])),
        ("RootHash=/a", "RootHashPath", .text("/a")),
        ("RootHashSignature=base64:YWI=", "RootHashSignature", .bytes([0x61, 0x62])),
        ("RootHashSignature=/a", "RootHashSignaturePath", .text("/a")),
        (
            "RootImageOptions=home:ro noatime", "RootImageOptions",
            .array(
                "(ss)", [.structure([.text("home"), .text("ro")]), .structure([.text("root"), .text("noatime")])])
        ),
        (
            "MountImages=-/a:/b /c:/d:usr:ro:home:rw /e:/f:ro", "MountImages",
            .array(
                "(ssba(ss))",
                [
                    .structure([.text("/a"), .text("/b"), .flag(true), .array("(ss)", [])]),
                    .structure([
                        .text("/c"), .text("/d"), .flag(false),
                        .array(
                            "(ss)",
                            [
                                .structure([.text("usr"), .text("ro")]), .structure([.text("home"), .text("rw")]),
                            ]),
                    ]),
                    .structure([
                        .text("/e"), .text("/f"), .flag(false),
                        .array("(ss)", [.structure([.text("root"), .text("ro")])]),
                    ]),
                ])
        ),
        (
            "ExtensionImages=-/a", "ExtensionImages",
            .array("(sba(ss))", [.structure([.text("/a"), .flag(true), .array("(ss)", [])])])
        ),
        (
            "IODeviceLatencyTargetSec=/dev/sda 1s 5ms", "IODeviceLatencyTargetUSec",
            .array("(st)", [.structure([.text("/dev/sda"), .large(1_005_000)])])
        ),
        ("LoadCredential=a", "LoadCredential", .array("(ss)", [.structure([.text("a"), .text("a")])])),
        (
            "LoadCredentialEncrypted=a:/b", "LoadCredentialEncrypted",
            .array("(ss)", [.structure([.text("a"), .text("/b")])])
        ),
        (
            "SetCredentialEncrypted=a:YW Jj", "SetCredentialEncrypted",
            .array("(say)", [.structure([.text("a"), .bytes(Array("abc".utf8))])])
        ),
        (
            "SocketBindAllow=ipv6:tcp:80-89 udp any 7", "SocketBindAllow",
            .array(
                "(iiqq)",
                [
                    .structure([.integer(10), .integer(6), .short(10), .short(80)]),
                    .structure([.integer(0), .integer(17), .short(0), .short(0)]),
                    .structure([.integer(0), .integer(0), .short(0), .short(0)]),
                    .structure([.integer(0), .integer(0), .short(1), .short(7)]),
                ])
        ),
        (
            "BPFProgram=egress:/sys/fs/bpf/p", "BPFProgram",
            .array("(ss)", [.structure([.text("egress"), .text("/sys/fs/bpf/p")])])
        ),
        (
            "NFTSet=cgroup:inet:filter:users", "NFTSet",
            .array("(iiss)", [.structure([.integer(3), .integer(1), .text("filter"), .text("users")])])
        ),
        (
            "LogFilterPatterns=~a b", "LogFilterPatterns",
            .array("(bs)", [.structure([.flag(false), .text("a b")])])
        ),
        ("CoredumpFilter=default", "CoredumpFilter", .large(0x33)),
        ("CoredumpFilter=shared-anonymous elf-headers", "CoredumpFilter", .large(0x12)),
        ("LogExtraFields=A=b c", "LogExtraFields", .array("ay", [.bytes(Array("A=b c".utf8))])),
        ("Delegate=yes", "Delegate", .flag(true)),
        ("Delegate=cpu memory", "DelegateControllers", .texts(["cpu", "memory"])),
        ("SecureBits=noroot keep-caps", "SecureBits", .integer(17)),
        ("SystemCallErrorNumber=EPERM", "SystemCallErrorNumber", .integer(1)),
        ("CoredumpFilter=0x1f", "CoredumpFilter", .large(0x1F)),
    ]

    @Test func eachFormOfAValueIsReadIntoTheTypeOfTheBus() throws {
        for (text, name, value) in Self.forms {
            #expect(try properties("Unit.\(text)") == [UnitProperty(name, value)], "\(text)")
        }
    }

    @Test func aListGrowsAndAnEmptyOneClears() throws {
        let two = try properties("Unit.ReadOnlyPaths=/a\nUnit.ReadOnlyPaths=/b\nUnit.PrivateTmp=no")
        #expect(two.map(\.name) == ["PrivateTmp", "ReadOnlyPaths", "ReadOnlyPaths"])
        #expect(try properties("Unit.ReadOnlyPaths=/a\nUnit.ReadOnlyPaths=").isEmpty)
    }

    @Test func aUnitGoesOnBesideAStopUnlessItSaysOtherwise() throws {
        #expect(try handler("").onStop == .leave)
        #expect(try handler("OnStop=fail").onStop == .fail)
    }

    @Test func withoutAManagerThereIsOneWarning() {
        var context = LoadContext(processors: 1)
        context.lacksServiceManager = { true }
        let text = "[Handler]\nRunIn=unit\n[Custom a]\nExec=/bin/true\n[Custom b]\nExec=/bin/true\n[Custom c]\nLog=x\n"
        func found(_ text: String) -> [String] {
            WatchFile.load([WatchFileText(file: "a.watch", bytes: Array(text.utf8))], context: context).diagnostics
                .map { "\($0.severity.rawValue): \($0.sentence)" }
        }
        #expect(
            found(text) == ["warning: RunIn=unit needs systemd, which does not manage this machine: runs of it fail"])
        #expect(found("[Handler]\nRunIn=unit\n[Custom c]\nLog=x\n").isEmpty)
    }
}
