import LinuxSystem
import ProgramKit
import Testing

/// `Unit.KEY=`: a real manager gets each as it gets it from `systemd-run --property=KEY=`.
@Suite("Keys of units", .ownThreadChain) struct UnitKeyTests {
    private static let keys = [
        "ProtectSystem=strict", "ProtectHome=tmpfs", "ProtectProc=invisible", "PrivateTmp=yes", "PrivateUsers=yes",
        "ReadWritePaths=/srv -/no/such", "ReadOnlyPaths=-/opt \"-/a b\"", "InaccessiblePaths=-/home",
        "ExecPaths=/usr", "NoExecPaths=-/no/such", "BindPaths=/etc:/mnt", "BindPaths=-/no/such:/mnt:norbind",
        "BindReadOnlyPaths=/etc:/mnt/x", "TemporaryFileSystem=/mnt:size=1M /srv", "MountFlags=slave",
        "StateDirectory=of-a b", "StateDirectory=of-c:of-d", "RuntimeDirectory=of-a", "RuntimeDirectoryMode=0750",
        "RestrictAddressFamilies=AF_UNIX AF_INET", "RestrictAddressFamilies=~AF_PACKET",
        "ProtectHome=yes", "UtmpMode=user",
        "SystemCallFilter=@system-service", "SystemCallFilter=~@mount @swap", "SystemCallLog=@clock",
        "SystemCallErrorNumber=EACCES", "SystemCallArchitectures=native", "RestrictNamespaces=~user net",
        "RestrictNamespaces=yes", "RestrictNetworkInterfaces=~lo",
        "IPAddressAllow=localhost", "IPAddressAllow=10.0.0.0/8 fe80::/10", "IPAddressDeny=any",
        "SocketBindAllow=ipv4:tcp:8000-8010",
        "SocketBindAllow=ipv6:udp:53", "SocketBindDeny=any", "BPFProgram=egress:/sys/fs/bpf/no-such",
        "NFTSet=cgroup:inet:filter:users",
        "DeviceAllow=/dev/null rw", "DeviceAllow=char-pts", "DevicePolicy=closed", "IODeviceWeight=/dev/null 500",
        "IOReadBandwidthMax=/dev/null 5M", "IOWriteIOPSMax=/dev/null 1K", "IODeviceLatencyTargetSec=/dev/null 25ms",
        "MemoryHigh=64M", "MemoryLow=1M", "MemorySwapMax=infinity", "StartupCPUWeight=20", "CPUQuotaPeriodSec=50ms",
        "AllowedCPUs=0-1", "CPUAffinity=0", "Delegate=memory cpu", "DisableControllers=io",
        "ManagedOOMMemoryPressureLimit=60%", "TimerSlackNSec=5us",
        "LoadCredential=b:/etc/hostname", "SetCredential=a:b c",
        "CapabilityBoundingSet=CAP_KILL CAP_CHOWN", "CapabilityBoundingSet=~CAP_SYS_ADMIN",
        "AmbientCapabilities=CAP_KILL", "SecureBits=noroot keep-caps", "AppArmorProfile=-nothing",
        "LogLevelMax=debug", "SyslogFacility=local1", "LogRateLimitIntervalSec=10s", "LogRateLimitBurst=9000",
        "LogFilterPatterns=~a b", "UnsetEnvironment=A B", "KeyringMode=private", "CoredumpFilter=default",
        "CoredumpFilter=private-anonymous elf-headers", "RootImagePolicy=root=verity",
        "MountImagePolicy=root=verity", "ExtensionImagePolicy=root=verity",
    ]
    /// `systemctl show` passes over them.
    private static let unshown: Set = ["LoadCredential=b:/etc/hostname", "SetCredential=a:b c"]
    /// The manager takes them, but what they name is not there, so that some units do not run.
    private static let vague = [
        "MountImages=-/no/image:/mnt", "ExtensionImages=-/no/image", "RootHash=000102030405060708090a0b0c0d0e0f",
        "RootHash=/no/such", "RootHashSignature=base64:YWI=",
        "RootHashSignature=/no/such", "RootImageOptions=root:ro home:noatime", "LoadCredentialEncrypted=a:/no/such",
        "SetCredentialEncrypted=a:YWJj", "LoadCredential=nobody-has-it",
    ]

    private static let watchFile: String = {
        let names = (keys + vague).enumerated().map { index, key in
            """
            [Handler k\(index)]
            Exec=/bin/sh -c 'while test ! -e /run/go; do sleep 0.2; done'
            RunIn=unit
            Queue=wide
            Unit.\(key)

            """
        }
        return "[Queue wide]\nType=concurrent\nWidth=\(names.count)\n[Watchd]\nMaxProcesses=\(2 * names.count)\n"
            + names.joined()
    }()

    /// What the manager says of units, by their numbers: all lines of properties.
    private func shown(_ machine: Machine, _ units: String) throws -> [Int: Set<String>] {
        let text = try machine.run(
            "sh", "-c", "for u in \(units); do echo \"UNIT $u\"; systemctl show --no-pager \"$u\"; done"
        ).text
        var found: [Int: Set<String>] = [:]
        for part in text.split(separator: "UNIT ") {
            let lines = part.split(separator: "\n").map(String.init)
            // o5.service; watchd-run-7-1.k5.TAG.service
            let name = lines.first?.split(separator: ".").first { $0.first == "o" || $0.first == "k" }
            guard let number = name.flatMap({ Int($0.dropFirst()) }) else { continue }
            found[number] = Set(lines.dropFirst())
        }
        return found
    }

    /// Lines about a key; its property may have another end.
    private func about(_ key: String, _ lines: Set<String>) -> Set<String> {
        let name = String(key.prefix { $0 != "=" })
        let stem = name.hasSuffix("NSec") ? name : name.hasSuffix("Sec") ? String(name.dropLast(3)) : name
        return lines.filter { $0.hasPrefix(stem) }
    }

    @Test func theManagerTakesEachAsItTakesItFromItsOwnTools() throws {
        try Machine.with(Self.watchFile) { machine in
            let all = Self.keys + Self.vague
            try machine.write("/run/keys", all.map { $0 + "\n" }.joined())
            let script = """
                i=0; while IFS= read -r key; do
                systemd-run --quiet --unit "o$i" --property="$key" /bin/sleep 1000 2>/dev/null </dev/null || echo "$i"
                i=$((i + 1)); done </run/keys
                """
            // A manager that is too old, or tools that are.
            let refused = try machine.run("sh", "-c", script).text.split(separator: "\n").compactMap { Int($0) }
            let begin = "for i in $(seq 0 \(all.count - 1)); do watchctl run k$i >/dev/null || echo $i; done"
            #expect(try machine.run("sh", "-c", begin).text == "")
            let running = Self.keys.indices.filter { !refused.contains($0) }
            var missing: [String] = []
            try wait(for: "all units; missing: \(missing)") {
                let list = try machine.run("sh", "-c", "ls /run/systemd/transient | grep '^watchd-run-'").text
                missing = running.filter { !list.contains(".k\($0).") }.map { all[$0] }
                return missing.isEmpty
            }
            let ours = try shown(machine, "$(cd /run/systemd/transient; echo watchd-run-*)")
            let theirs = try shown(machine, "$(cd /run/systemd/transient; echo o*)")
            for index in running {
                let (own, other) = (about(all[index], ours[index] ?? []), about(all[index], theirs[index] ?? []))
                #expect(own == other && own.isEmpty == Self.unshown.contains(all[index]), "\(all[index])")
            }
            #expect(try machine.run("touch", "/run/go").code == 0)
            for index in all.indices where refused.contains(index) || index >= Self.keys.count {
                try told(machine, index, all[index], isRefused: refused.contains(index))
            }
        }
    }

    private func told(_ machine: Machine, _ index: Int, _ key: String, isRefused: Bool) throws {
        var text = ""
        try wait(for: "the unit or the end of \(key)") {
            text = try machine.run("watchctl", "--json", "history", "-n", "1", "k\(index)").text
            let units = try machine.run("ls", "/run/systemd/transient").text
            return text.contains("\"result\"") || units.contains(".k\(index).")
        }
        #expect(text.contains("systemd refuses it: ") == isRefused, "\(key): \(text)")
        if isRefused { #expect(text.contains("unknown property"), "\(key): \(text)") }
    }
}
