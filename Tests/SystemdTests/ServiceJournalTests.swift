import LinuxSystem
import ProgramKit
import Systemd
import Testing

/// What a real journal has of watchd, and what its catalog tells about it.
@Suite("Service journal", .ownThreadChain, .serialized) struct ServiceJournalTests {
    private static let watchFile = """
        [Custom good]
        Exec=/bin/sh -c 'echo $$; echo said'
        [Custom bad]
        Exec=/bin/sh -c 'exit 3'
        Retry=1
        RetrySec=10ms
        [Custom killed]
        Exec=/bin/sh -c 'kill -KILL $$'

        """

    /// Entries with their fields.
    private func entries(_ machine: Machine, _ matches: String...) throws -> [[String: String]] {
        let words = ["journalctl", "--no-pager", "-u", "watchd.service", "-o", "export"] + matches
        let end = try machine.run(words)
        #expect(end.code == 0, "\(end)")
        return end.text.split(separator: "\n\n").map { entry in
            entry.split(separator: "\n").reduce(into: [:]) { fields, line in
                let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                if parts.count == 2 { fields[String(parts[0])] = String(parts[1]) }
            }
        }
    }

    /// The only entry of a kind; waits for it.
    private func entry(_ machine: Machine, _ id: MessageID, _ matches: String) throws -> [String: String] {
        var found: [[String: String]] = []
        try wait(for: "\(id)") {
            found = try entries(machine, "MESSAGE_ID=\(id.rawValue)", matches)
            return !found.isEmpty
        }
        #expect(found.count == 1, "\(id)")
        return found[0]
    }

    @Test func entriesHaveFieldsAndAnExplanation() throws {
        try Machine.with(Self.watchFile) { machine in
            for name in ["good", "bad", "killed"] { #expect(try machine.run("watchctl", "emit", name).code == 0) }
            try expectDone(machine)
            try expectOutput(machine)
            try expectFailures(machine)
            try expectExplanations(machine)
        }
    }

    @Test func itsOwnMessagesAreOfKinds() throws {
        let watchFile = """
            [Descriptor lines]
            ListenFIFO=/srv/missing/fifo
            Log=line

            """
        try Machine.with(watchFile) { machine in
            let failed = try entry(machine, .sourceFailed, "WATCHD_SOURCE=descriptor/lines")
            #expect(failed["PRIORITY"] == "4")
            #expect(try machine.run("mkdir", "/srv/missing").code == 0)
            _ = try entry(machine, .sourceArmedAgain, "WATCHD_SOURCE=descriptor/lines")
            try machine.write("/etc/watchd/test.watch", watchFile + "Broken=yes\n")
            #expect(try machine.run("systemctl", "reload", "watchd.service").code != 0)
            _ = try entry(machine, .reloadRefused, "PRIORITY=3")
            try machine.write("/etc/watchd/test.watch", watchFile)
            #expect(try machine.run("systemctl", "reload", "watchd.service").code == 0)
            _ = try entry(machine, .reloaded, "PRIORITY=5")
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            _ = try entry(machine, .stopping, "PRIORITY=5")
            let stopped = try entry(machine, .stopped, "PRIORITY=5")
            #expect(stopped["MESSAGE"] == "stopped: nothing accepted")
        }
    }

    private func expectDone(_ machine: Machine) throws {
        let done = try entry(machine, .operationDone, "WATCHD_HANDLER=good")
        let expected = [
            "WATCHD_SOURCE": "custom/good", "WATCHD_QUEUE": "default", "WATCHD_OPERATION": "1", "WATCHD_ATTEMPT": "1",
            "WATCHD_RESULT": "done", "WATCHD_EXIT_STATUS": "0", "PRIORITY": "6", "SYSLOG_IDENTIFIER": "watchd",
        ]
        for (name, value) in expected { #expect(done[name] == value, "\(name)") }
        let duration = try #require(Int(done["WATCHD_DURATION_USEC"] ?? ""))
        #expect((1..<60_000_000).contains(duration))
        #expect(done["WATCHD_SIGNAL"] == nil)
        // The journal's own: it was sent natively, not as a line of standard error.
        #expect(done["_TRANSPORT"] == "journal")
    }

    private func expectOutput(_ machine: Machine) throws {
        let lines = try entries(machine, "WATCHD_HANDLER=good").filter { $0["WATCHD_RESULT"] == nil }
        #expect(lines.map { $0["MESSAGE"]?.hasPrefix("good| ") } == [true, true])
        let process = lines[0]["MESSAGE"]?.dropFirst("good| ".count)
        #expect(lines[1]["MESSAGE"] == "good| said")
        for line in lines {
            #expect(line["WATCHD_SOURCE"] == "custom/good")
            #expect(line["WATCHD_QUEUE"] == "default")
            #expect(line["WATCHD_OPERATION"] == "1")
            #expect(line["WATCHD_ATTEMPT"] == "1")
            #expect(line["OBJECT_PID"].map { $0[...] } == process)
            #expect(line["MESSAGE_ID"] == nil)
        }
    }

    private func expectFailures(_ machine: Machine) throws {
        let retried = try entry(machine, .attemptFailed, "WATCHD_HANDLER=bad")
        #expect(retried["WATCHD_ATTEMPT"] == "1" && retried["WATCHD_EXIT_STATUS"] == "3", "\(retried)")
        let failed = try entry(machine, .operationFailed, "WATCHD_HANDLER=bad")
        #expect(failed["WATCHD_ATTEMPT"] == "2" && failed["WATCHD_EXIT_STATUS"] == "3", "\(failed)")
        #expect(failed["WATCHD_OPERATION"] == retried["WATCHD_OPERATION"])
        #expect(failed["WATCHD_RESULT"] == "failed" && failed["PRIORITY"] == "4")
        let killed = try entry(machine, .operationFailed, "WATCHD_HANDLER=killed")
        #expect(killed["WATCHD_SIGNAL"] == "SIGKILL" && killed["WATCHD_EXIT_STATUS"] == nil, "\(killed)")
        _ = try entry(machine, .ready, "PRIORITY=5")
    }

    private func expectExplanations(_ machine: Machine) throws {
        let update = try machine.run("journalctl", "--update-catalog")
        #expect(update.code == 0 && !update.errorText.contains("watchd"), "\(update)")
        let list = try machine.run("journalctl", "--list-catalog").text
        for id in MessageID.allCases { #expect(list.contains("\(id.rawValue) watchd: "), "\(id)") }
        let text = try machine.run(
            "journalctl", "--no-pager", "-x", "MESSAGE_ID=\(MessageID.operationFailed.rawValue)", "WATCHD_HANDLER=bad"
        ).text
        #expect(text.contains("Subject: Operation 2 of handler bad has failed"), "\(text)")
        #expect(text.contains("It was caused by custom/bad on queue default"), "\(text)")
        #expect(text.contains("watchctl retry 2"), "\(text)")
        #expect(!text.contains("@") && !text.contains("WATCHD_HANDLER"), "\(text)")
    }
}
