import LinuxSystem
import ProgramKit
import Testing

/// The keys of `systemd.path(5)`, beside real `.path` units: what makes one fire makes the other fire.
@Suite("Path units", .ownThreadChain, .serialized) struct PathUnitTests {
    /// Key, what it is about, and what its service does besides noting its name.
    private static let cases: [(name: String, key: String, path: String, work: String)] = [
        ("changed", "PathChanged", "changed", ""), ("folder", "PathChanged", "folder", ""),
        ("modified", "PathModified", "modified", ""), ("later", "PathChanged", "later", ""),
        ("link", "PathExists", "link", "rm -f ROOT/link"),
        ("exists", "PathExists", "a/flag", "rm -f ROOT/a/flag"),
        ("glob", "PathExistsGlob", "g/[a-c]*.job", "rm -f ROOT/g/[a-c]*.job"),
        ("spool", "DirectoryNotEmpty", "spool", "rm -f ROOT/spool/*"),
    ]

    private static func work(_ one: (name: String, key: String, path: String, work: String), _ root: String) -> String {
        "/bin/sh -c 'echo \(one.name) >>\(root)/noted; \(one.work.replacing("ROOT", with: root))'"
    }

    private static let watchFile = cases.map { one in
        "[Path \(one.name)]\n\(one.key)=/srv/wd/\(one.path)\nExec=\(work(one, "/srv/wd"))\n"
    }.joined()

    /// Shell lines for both, and which units fire then.
    private static let steps: [(line: String, fires: Set<String>)] = [
        ("echo x >changed", ["changed"]),
        ("chmod 600 changed", ["changed"]),
        ("rm changed", ["changed"]),
        ("echo x >other", []),
        ("echo x >folder/f", ["folder"]),
        ("mkdir folder/sub", ["folder"]),
        ("rm folder/f", ["folder"]),
        ("echo x >folder/sub/deep", []),
        ("exec 3>>modified; echo x >&3; sleep 0.5; exec 3>&-", ["modified"]),
        ("mkdir later", ["later"]),
        ("echo x >later/f", ["later"]),
        ("mv later elsewhere", ["later"]),
        ("mv elsewhere later", ["later"]),
        ("rm later/f", ["later"]),
        ("rmdir later", ["later"]),
        ("ln -s nowhere link", []),
        ("echo x >nowhere", ["link"]),
        ("mkdir a; echo x >a/flag", ["exists"]),
        ("echo x >a/flag", ["exists"]),
        ("echo x >g/d.job", []),
        ("echo x >g/.a.job", []),
        ("echo x >g/a1.job; echo x >g/b.job", ["glob"]),
        ("echo x >spool/.hidden", []),
        ("echo x >spool/backup~", []),
        ("echo x >spool/file", ["spool"]),
        ("echo x >spool/backup~; mv spool/backup~ spool/whole", ["spool"]),
    ]

    private func noted(_ machine: Machine, _ root: String) throws -> [String] {
        try machine.run("cat", "\(root)/noted").text.split(separator: "\n").map(String.init)
    }

    @Test func whatMakesAPathUnitFireMakesTheSourceFire() throws {
        try Machine.with(Self.watchFile) { machine in
            for root in ["/srv/sd", "/srv/wd"] {
                let folders = ["folder", "g", "spool"].map { "\(root)/\($0)" }
                #expect(try machine.run(["mkdir", "-p"] + folders).code == 0)
            }
            for one in Self.cases {
                let unit = "[Path]\n\(one.key)=/srv/sd/\(one.path)\nTriggerLimitIntervalSec=0\n"
                try machine.write("/etc/systemd/system/\(one.name).path", unit)
                let service =
                    "[Unit]\nStartLimitIntervalSec=0\n[Service]\nType=oneshot\nExecStart=\(Self.work(one, "/srv/sd"))\n"
                try machine.write("/etc/systemd/system/\(one.name).service", service)
            }
            _ = try machine.run("systemctl", "daemon-reload")
            let units = Self.cases.map { "\($0.name).path" }
            #expect(try machine.run(["systemctl", "start"] + units).code == 0)
            for source in Self.cases {
                try wait(for: source.name) {
                    let state = try machine.run("watchctl", "sources", "--json").text
                    return state.contains("path/\(source.name)") && !state.contains("\"state\":\"opening\"")
                }
            }
            for step in Self.steps { try play(step, machine) }
        }
    }

    /// Nothing else fires: what comes last is told last.
    private func play(_ step: (line: String, fires: Set<String>), _ machine: Machine) throws {
        for root in ["/srv/sd", "/srv/wd"] {
            _ = try machine.run("rm", "-f", "\(root)/noted")
            #expect(try machine.run("sh", "-euc", "cd \(root); \(step.line)").code == 0)
            if !step.fires.isEmpty {
                try wait(for: "\(step.line) in \(root)") { try Set(noted(machine, root)) == step.fires }
            }
        }
        // Both have had the time that the other took; what fires late is seen by the next step.
        for root in ["/srv/sd", "/srv/wd"] {
            #expect(try Set(noted(machine, root)) == step.fires, "\(step.line) in \(root)")
        }
    }
}
