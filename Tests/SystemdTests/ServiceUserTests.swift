import LinuxSystem
import ProgramKit
import Testing

/// watchd as another user than root: by `hardened.conf`, and as a service of a user's own manager.
@Suite("Service of another user", .ownThreadChain, .serialized) struct ServiceUserTests {
    private static let watchFile = """
        [Custom poke]
        Exec=/bin/sh -c 'id -un >"$STATE/who"'
        Environment=STATE=/var/lib/watchd
        [Descriptor net]
        ListenStream=127.0.0.1:4711
        Handler=poke

        """

    /// Dispatch says so where watchd may not lower the nice value of its threads.
    private func expectQuietThreads(_ machine: Machine) throws {
        let journal = try machine.run("journalctl", "-o", "cat", "-b").text
        #expect(!journal.contains("thread priority"), "\(journal.suffix(3000))")
    }

    @Test func theHardenedServiceRunsAsItsUserAndBackAsRoot() throws {
        try Machine.with(Self.watchFile) { machine in
            #expect(try machine.run("systemd-sysusers", "/usr/lib/sysusers.d/watchd.conf").code == 0)
            let dropIn = "/etc/systemd/system/watchd.service.d/50-hardened.conf"
            try machine.write(dropIn, try Repository.text("systemd/hardened.conf"))
            for user in ["watchd", "root"] {
                _ = try machine.run("systemctl", "daemon-reload")
                #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
                #expect(try machine.run("watchctl", "run", "--wait", "poke").code == 0)
                #expect(try machine.run("cat", "/var/lib/watchd/who").text == "\(user)\n")
                #expect(try machine.run("stat", "-c", "%U", "/run/watchd").text == "\(user)\n")
                #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
                // A restart keeps the socket that was bound before.
                #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
                #expect(try machine.run("systemctl", "start", "watchd.service").code == 0)
                let source = try machine.run("watchctl", "--json", "sources", "descriptor/net").text
                #expect(source.contains("\"state\":\"armed\"") == (user == "root"), "\(source)")
                _ = try machine.run("rm", dropIn)
            }
            try expectQuietThreads(machine)
        }
    }

    @Test func aUserHasOneWithItsStateInTheStateFolder() throws {
        try Machine.with(Self.watchFile) { machine in
            guard try machine.run("sh", "-c", "ls /usr/lib/*/security/pam_systemd.so").code == 0 else {
                return print("SKIPPED: no libpam-systemd for a user's manager")
            }
            #expect(try machine.run("useradd", "--create-home", "--uid", "4711", "alice").code == 0)
            #expect(try machine.run("systemctl", "start", "user@4711.service").code == 0)
            func alice(_ script: String) throws -> Finished {
                try machine.run([
                    "setpriv", "--reuid=4711", "--regid=4711", "--clear-groups", "env", "HOME=/home/alice",
                    "XDG_RUNTIME_DIR=/run/user/4711", "sh", "-c", script,
                ])
            }
            let script = """
                mkdir -p ~/.config/watchd
                printf '[Custom mine]\\nExec=/bin/true\\n' >~/.config/watchd/mine.watch
                systemctl --user start watchd
                systemctl --user restart watchd
                systemctl --user reload watchd && watchctl run --wait mine && ls ~/.config/watchd ~/.local/state/watchd
                """
            let end = try alice(script)
            #expect(end.code == 0 && end.text.contains("watchd.db"), "\(end)")
            #expect(try alice("ls ~/.config/watchd").text == "mine.watch\n")
            let containment = try alice("watchctl --json status").text
            #expect(containment.contains(#""containment":"cgroups below "#), "\(containment)")
            try expectQuietThreads(machine)
            #expect(try alice("systemctl --user stop watchd").code == 0)
            #expect(try alice("ls /run/user/4711/watchd").code != 0)
        }
    }
}
