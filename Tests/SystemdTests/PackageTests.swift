import LinuxSystem
import ProgramKit
import Testing

/// The Debian package under a real systemd manager, as `apt` handles it. `WATCHD_PACKAGE` names it; `Tests/run-long`
/// builds it.
@Suite("Debian package", .ownThreadChain, .serialized) struct PackageTests {
    /// Its job waits for a file.
    private static let watchFile = """
        [Watchd]
        DrainSec=60s
        [Custom job]
        Exec=/bin/sh -c 'echo $$ >/run/job; until [ -e /run/go ]; do sleep 0.1; done; echo finished'

        """

    @Test func itIsInstalledReloadedUpgradedRemovedAndPurged() throws {
        guard let package = Linux.environment("WATCHD_PACKAGE").map({ String(decoding: $0, as: UTF8.self) }) else {
            return print("SKIPPED: WATCHD_PACKAGE names no package (Tests/run-long builds one)")
        }
        try Machine.bare { machine in
            let installation = try Readme(root: Repository.root).block("Install")
            try #require(installation.count == 2 && installation[0].hasSuffix(" systemd/build-package"))
            #expect(try machine.tool("put", package, "/repository/.build/debian/watchd_1_all.deb").code == 0)
            #expect(try machine.tool("put", try next(package, machine.folder), "/root/second.deb").code == 0)
            // Containers forbid services by it.
            #expect(try machine.run("rm", "-f", "/usr/sbin/policy-rc.d").code == 0)
            try machine.type([installation[1]])
            try expectInstalled(machine)
            try expectReloads(machine)
            try upgradeDuringAJob(machine)
            try removeAndPurge(machine)
        }
    }

    @Test func itsExampleIsValidWithItsJobs() throws {
        let text = try Repository.text("config/debian/example.watch").split(separator: "\n").map { line in
            let isJob = line.hasPrefix("#") && !line.hasPrefix("# ")
            return isJob ? String(line.dropFirst()) : String(line)
        }
        #expect(text.count { $0.hasPrefix("[") } == 3)
        try Folder.with { folder in
            try folder.write("example.watch", text.joined(separator: "\n") + "\n")
            let end = try Program.run([try Products.path("watchd"), "--check", folder["example.watch"]])
            // The machine may have no mail program.
            #expect(end.code == 0 && !end.errorText.contains("error:"), "\(end)")
        }
    }

    @Test func itsVersionIsThatOfThePrograms() throws {
        let end = try Program.run([try Products.path("watchctl"), "--version"])
        let version = end.text.replacing("\n", with: "").replacing("watchctl ", with: "")
        #expect(try Repository.text("config/debian/changelog").hasPrefix("watchd (\(version)) "), "\(end)")
    }

    /// The same package as a later version.
    private func next(_ package: String, _ folder: Folder) throws -> String {
        let (tree, file) = (folder["tree"], folder["second.deb"])
        for words in [
            ["dpkg-deb", "--raw-extract", package, tree],
            ["sed", "-i", "s/^Version: .*/&+next/", "\(tree)/DEBIAN/control"],
            ["dpkg-deb", "-Znone", "--build", tree, file],
        ] {
            let end = try Program.run(words)
            try #require(end.code == 0, "\(words): \(end)")
        }
        return file
    }

    private func apt(_ machine: Machine, _ words: String...) throws {
        let end = try machine.run(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "--yes"] + words)
        try #require(end.code == 0, "\(words): \(end)")
    }

    private func expectInstalled(_ machine: Machine) throws {
        #expect(try machine.property("ActiveState") == "active")
        #expect(try machine.property("UnitFileState") == "enabled")
        #expect(try machine.run("watchctl", "status").code == 0)
        #expect(try machine.run("watchctl", "check", "/etc/watchd").code == 0)
        #expect(try machine.run("id", "watchd").code == 0)
        let catalog = try machine.run("journalctl", "--list-catalog", "42bd431f6bf749b7a5c85e22b5366fce").text
        #expect(catalog.contains("watchd is ready"), "\(catalog)")
        #expect(try machine.run("systemctl", "--global", "is-enabled", "watchd.service").text == "disabled\n")
        for file in [
            "bash-completion/completions/watchctl", "zsh/vendor-completions/_watchctl",
            "fish/vendor_completions.d/watchctl.fish", "doc/watchd/examples/hardened.conf",
        ] {
            #expect(try machine.run("test", "-s", "/usr/share/\(file)").code == 0, "\(file)")
        }
    }

    private func expectReloads(_ machine: Machine) throws {
        try machine.write("/etc/watchd/own.watch", Self.watchFile)
        #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
        try machine.write("/etc/watchd/bad.watch", "[Custom bad]\nExce=/bin/true\n")
        #expect(try machine.run("systemctl", "reload", "watchd.service").code != 0)
        #expect(try machine.run("rm", "/etc/watchd/bad.watch").code == 0)
        #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
    }

    /// The new watchd starts when the job has ended, and knows of it.
    private func upgradeDuringAJob(_ machine: Machine) throws {
        let daemon = try machine.property("MainPID")
        #expect(try machine.run("watchctl", "emit", "job").code == 0)
        let job = try machine.process(in: "/run/job")
        let install = "DEBIAN_FRONTEND=noninteractive apt-get -qq --yes install /root/second.deb"
        #expect(try machine.run("sh", "-c", "(\(install); echo $? >/run/upgraded) >/run/said 2>&1 &").code == 0)
        try wait(for: "the upgrade to wait for the job") { try machine.property("StatusText").hasPrefix("stopping") }
        #expect(try machine.isAlive(job))
        #expect(try machine.property("MainPID") == daemon)
        #expect(try machine.run("touch", "/run/go").code == 0)
        #expect(try machine.process(in: "/run/upgraded") == "0")
        #expect(try machine.property("ActiveState") == "active")
        #expect(try machine.property("MainPID") != daemon)
        #expect(try machine.run("dpkg-query", "-W", "-f", "${Version}", "watchd").text.hasSuffix("+next"))
        let output = try machine.run("watchctl", "output", "job")
        #expect(output.code == 0 && output.text == "finished\n", "\(output)")
        let history = try machine.run("watchctl", "--json", "history", "job").text
        #expect(history.contains("\"result\":\"done\""), "\(history)")
    }

    private func removeAndPurge(_ machine: Machine) throws {
        func isThere(_ path: String) throws -> Bool { try machine.run("test", "-e", path).code == 0 }
        try apt(machine, "remove", "watchd")
        #expect(try machine.run("systemctl", "is-active", "watchd.service").text != "active\n")
        for path in ["/usr/bin/watchd", "/run/watchd"] { #expect(try !isThere(path), "\(path)") }
        for path in ["/var/lib/watchd/watchd.db", "/etc/watchd/example.watch"] { #expect(try isThere(path), "\(path)") }
        try apt(machine, "purge", "watchd")
        for path in ["/var/lib/watchd", "/var/log/watchd", "/etc/watchd/example.watch"] {
            #expect(try !isThere(path), "\(path)")
        }
        #expect(try isThere("/etc/watchd/own.watch"), "what the administrator has written stays")
    }
}
