import LinuxSystem
import ProgramKit
import Testing

/// watchd as a service of a real systemd manager, with the units of the package.
@Suite("Service", .serialized) struct ServiceTests {
    private static let root: String = {
        // …/Tests/SystemdTests/ServiceTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

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

    /// A manager that runs, with watchd installed and its socket and service started.
    private struct Machine {
        let folder: Folder
        private var script: String { "\(ServiceTests.root)/Tests/SystemdTests/real-systemd.sh" }
        private var state: String { folder["machine"] }

        func tool(_ words: String..., input: String = "") throws -> Finished {
            try Program.run(["bash", script, state] + words, input: input)
        }

        func run(_ words: String...) throws -> Finished {
            try Program.run(["bash", script, state, "exec"] + words)
        }

        func write(_ path: String, _ text: String) throws {
            try folder.write("file", text)
            let end = try tool("put", folder["file"], path)
            #expect(end.code == 0, "\(end)")
        }

        func property(_ name: String) throws -> String {
            try run("systemctl", "show", "--value", "--property", name, "watchd.service").text
                .replacing("\n", with: "")
        }

        func install() throws {
            for (file, path) in [
                (try Products.path("watchd"), "/usr/bin/watchd"), (try Products.path("watchctl"), "/usr/bin/watchctl"),
                ("\(ServiceTests.root)/systemd/watchd.service", "/etc/systemd/system/watchd.service"),
                ("\(ServiceTests.root)/systemd/watchd.socket", "/etc/systemd/system/watchd.socket"),
            ] {
                let end = try tool("put", file, path)
                try #require(end.code == 0, "\(end)")
            }
            try write("/etc/watchd/test.watch", ServiceTests.watchFile)
            // A hang is to be found out in a test's time.
            try write(
                "/etc/systemd/system/watchd.service.d/test.conf", "[Service]\nWatchdogSec=2s\nTimeoutAbortSec=2s\n")
            for words in [["daemon-reload"], ["start", "watchd.socket"], ["start", "watchd.service"]] {
                let end = try Program.run(["bash", script, state, "ctl"] + words)
                try #require(end.code == 0, "\(words): \(end)")
            }
        }
    }

    private func with(_ body: (Machine) throws -> Void) throws {
        try Folder.with { folder in
            let machine = Machine(folder: folder)
            let start = try machine.tool("start")
            defer { _ = try? machine.tool("stop") }
            if start.code == 77 { return print("SKIPPED: \(start.errorText.replacing("\n", with: ""))") }
            try #require(start.code == 0, "\(start)")
            do {
                try machine.install()
                try body(machine)
            } catch {
                Issue.record("\(error)\n\(try machine.run("journalctl", "-u", "watchd*").text.suffix(5000))")
            }
        }
    }

    @Test func itRunsReloadsLogsAndStopsAsSystemdExpects() throws {
        try with { machine in
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
        #expect(status.contains("TriggeredBy:") && status.contains("watchd.socket"), "\(status)")
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
        #expect(try machine.run("journalctl", "-u", "watchd.service").text.contains("Watchdog timeout"))
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
        // A call starts it again: the socket is the manager's.
        #expect(try machine.run("watchctl", "status").code == 0)
        #expect(try machine.property("ActiveState") == "active")
    }
}
