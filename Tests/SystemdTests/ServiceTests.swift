import LinuxSystem
import ProgramKit
import Testing

/// watchd as a service of a real systemd manager, with the units of the package.
@Suite("Service", .ownThreadChain, .serialized) struct ServiceTests {
    private static let watchFile = """
        [Custom poke]
        Exec=/bin/sh -c 'echo "said $WATCHD_DATA"'
        [Custom long]
        Exec=/bin/sh -c 'trap "" TERM; echo $$ >/run/long; exec sleep 1000'
        TimeoutStopSec=300ms
        [Timer tick]
        EverySec=1h
        Log=tick

        """

    @Test func itRunsReloadsLogsAndStopsAsSystemdExpects() throws {
        try Machine.with(Self.watchFile) { machine in
            try expectStatus(machine)
            try expectJournal(machine)
            try expectReloads(machine)
            try expectRestartWithItsSocket(machine)
            try expectWatchdogRestart(machine)
            try expectStop(machine)
        }
    }

    private func expectStatus(_ machine: Machine) throws {
        #expect(try machine.property("ActiveState") == "active")
        let status = try machine.run("systemctl", "status", "--no-pager", "watchd.service").text
        #expect(status.contains("Status: \"3 sources"), "\(status)")
        #expect(!status.contains("TriggeredBy:"), "\(status)")
        let own = try machine.run("watchctl", "--json", "status")
        #expect(own.code == 0, "\(own)")
        #expect(own.text.contains("\"state\":\"running\""))
        #expect(try machine.run("sh", "-c", "stat -c %a /run/watchd/io.watchd.Manager").text == "666\n")
    }

    private func expectJournal(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "emit", "poke", "--data", "12").code == 0)
        try wait(for: "the output in the journal") {
            let text = try machine.run("journalctl", "-o", "cat", "WATCHD_HANDLER=poke").text
            return text.contains("poke| said 12") && text.contains("done in")
        }
        let entry = try machine.run("journalctl", "-o", "export", "WATCHD_HANDLER=poke", "WATCHD_RESULT=done").text
        #expect(entry.contains("\nWATCHD_OPERATION=1\n"), "\(entry)")
        #expect(entry.contains("\nSYSLOG_IDENTIFIER=watchd\n"))
        #expect(entry.contains("\n_SYSTEMD_UNIT=watchd.service\n"))
    }

    private func expectReloads(_ machine: Machine) throws {
        let process = try machine.property("MainPID")
        try machine.write("/etc/watchd/test.watch", Self.watchFile + "[Custom more]\nExce=/bin/true\n")
        let refused = try machine.run("systemctl", "reload", "watchd.service")
        #expect(refused.code != 0)
        try wait(for: "the diagnostic in the journal") {
            let text = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
            return text.contains("did you mean Exec=?") && text.contains("the old watch file stays active")
        }
        let journal = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
        #expect(journal.split(separator: "did you mean Exec=?").count == 2, "told once:\n\(journal)")
        #expect(try machine.property("ActiveState") == "active")
        #expect(try machine.run("watchctl", "--json", "emit", "poke").code == 0)

        try machine.write("/etc/watchd/test.watch", Self.watchFile + "[Custom more]\nExec=/bin/true\n")
        #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
        // `systemctl reload` has waited: what is new is there.
        #expect(try machine.run("watchctl", "emit", "more").code == 0)
        try wait(for: "the new status") { try machine.property("StatusText").hasPrefix("4 sources") }
        #expect(try machine.property("MainPID") == process)
    }

    private func expectRestartWithItsSocket(_ machine: Machine) throws {
        let number = try machine.run("stat", "-c", "%i", "/run/watchd/io.watchd.Manager").text
        #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
        #expect(try machine.run("stat", "-c", "%i", "/run/watchd/io.watchd.Manager").text == number)
        #expect(try machine.run("watchctl", "status").code == 0)
    }

    private func expectWatchdogRestart(_ machine: Machine) throws {
        let process = try machine.property("MainPID")
        #expect(try machine.property("NRestarts") == "0", "it answers the watchdog")
        #expect(try machine.run("kill", "-STOP", process).code == 0)
        try wait(for: "the restart") { try machine.property("NRestarts") == "1" }
        try wait(for: "it to be active again") { try machine.property("ActiveState") == "active" }
        #expect(try machine.property("MainPID") != process)
        try wait(for: "the reason in the journal") {
            try machine.run("journalctl", "-u", "watchd.service").text.contains("Watchdog timeout")
        }
        #expect(try machine.run("watchctl", "status").code == 0)
    }

    private func expectStop(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "emit", "long").code == 0)
        try wait(for: "the handler") { try machine.run("cat", "/run/long").code == 0 }
        let handler = try machine.run("cat", "/run/long").text.replacing("\n", with: "")
        #expect(try machine.run("kill", "-0", handler).code == 0)
        // A drain waits for it; a second signal hurries.
        #expect(try machine.run("systemctl", "stop", "--no-block", "watchd.service").code == 0)
        try wait(for: "the drain") { try machine.property("StatusText").hasPrefix("stopping") }
        #expect(try machine.run("kill", "-TERM", try machine.property("MainPID")).code == 0)
        try wait(for: "the end") { try machine.property("ActiveState") == "inactive" }
        #expect(try machine.property("Result") == "success")
        #expect(try machine.run("kill", "-0", handler).code != 0, "no handler is left behind")
        // Whoever may connect does not start what the administrator has stopped.
        #expect(try machine.run("watchctl", "status").code == 3)
        #expect(try machine.property("ActiveState") == "inactive")
        try expectShortStatus(machine)
    }

    /// Each command of the unit is a file with a few words.
    private func expectShortStatus(_ machine: Machine) throws {
        let status = try machine.run("systemctl", "status", "--no-pager", "--lines=0", "watchd.service").text
        #expect(status.split(separator: "\n").allSatisfy { $0.count <= 100 }, "\(status)")
        let journal = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
        #expect(!journal.contains("SIGCONT"), "\(journal)")
    }

    private static let kept = "/var/lib/watchd/watchd.configuration"

    @Test func aBadFileLocksNobodyOut() throws {
        try Machine.with(Self.watchFile) { machine in
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.run("rm", "-f", Self.kept).code == 0)
            try machine.write("/etc/watchd/bad.watch", "[Custom more]\nExce=/bin/true\n")
            for _ in 0..<8 {
                #expect(try machine.run("systemctl", "restart", "watchd.service").code != 0)
                _ = try machine.run("watchctl", "status")
            }
            #expect(try machine.run("rm", "/etc/watchd/bad.watch").code == 0)
            let start = try machine.run("systemctl", "start", "watchd.service")
            #expect(start.code == 0, "\(start)")
            #expect(try machine.run("watchctl", "reload").code == 0)
            #expect(try machine.run("watchctl", "emit", "poke").code == 0)
        }
    }

    @Test func aBadFileStopsNoJobAtARestart() throws {
        try Machine.with(Self.watchFile) { machine in
            try wait(for: "the configuration to be kept") { try machine.run("test", "-e", Self.kept).code == 0 }
            try machine.write("/etc/watchd/bad.watch", "[Custom more]\nExce=/bin/true\n")
            let restart = try machine.run("systemctl", "restart", "watchd.service")
            #expect(restart.code == 0, "\(restart)")
            let status = try machine.run("systemctl", "status", "--no-pager", "watchd.service").text
            #expect(status.contains("Status: \"watch files refused, the last good configuration runs: "), "\(status)")
            #expect(try machine.run("watchctl", "run", "--wait", "poke").code == 0)
            #expect(try machine.run("systemctl", "reload", "watchd.service").code != 0)
            #expect(try machine.run("rm", "/etc/watchd/bad.watch").code == 0)
            #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
            #expect(try machine.property("StatusText").hasPrefix("3 sources"))
        }
    }

    @Test func itComesBackHoweverOftenItIsKilled() throws {
        try Machine.with(Self.watchFile, settings: "RestartSec=10ms") { machine in
            for round in 1...8 {
                let process = try machine.property("MainPID")
                #expect(try machine.run("kill", "-KILL", process).code == 0)
                // A client waits meanwhile.
                #expect(try machine.run("watchctl", "emit", "poke").code == 0)
                #expect(try machine.property("NRestarts") == String(round))
            }
        }
    }

    @Test func clientsWaitDuringARestart() throws {
        try Machine.with(Self.watchFile) { machine in
            let script = """
                (while [ ! -e /run/enough ]; do watchctl emit poke || echo refused; done) >/run/said 2>&1 &
                for round in 1 2 3 4; do systemctl restart watchd.service; done
                touch /run/enough
                wait
                """
            #expect(try machine.run("bash", "-c", script).code == 0)
            let said = try machine.run("cat", "/run/said").text
            #expect(said.contains("event ") && !said.contains("not running"), "\(said)")
        }
    }
}
