import LinuxSystem
import ProgramKit
import Testing

/// What happens to work, handlers, files and lines while the service is down, with the descriptor store of a real
/// manager and the units of the package.
@Suite("Service restart", .ownThreadChain) struct ServiceRestartTests {
    /// Notes its process and what it is told; waits for `go`, or `go.OPERATION`.
    private static let job = """
        #!/bin/sh
        cd /srv || exit
        read -r event
        printf '%s\\n' "$$ $event" >>begun
        until [ -e go ] || [ -e "go.$WATCHD_OPERATION" ]; do sleep 0.1; done
        printf '%s\\n' "$WATCHD_OPERATION" >>ended

        """

    private static let watchFile = """
        [Queue kept]
        Durable=yes
        [Queue lines]
        Durable=yes
        [Custom poke]
        Exec=/bin/sh /etc/watchd/job
        Queue=kept
        Key=none
        Coalesce=no
        [Custom plain]
        Exec=/bin/sh /etc/watchd/job
        [Path in]
        Path=/srv/in
        Events=written deleted
        Key=one
        Exec=/bin/cat
        StandardInput=paths
        StandardOutput=append:/srv/paths
        [Descriptor lines]
        ListenFIFO=/run/lines
        Exec=/bin/cat
        StandardInput=lines
        StandardOutput=append:/srv/lines
        Queue=lines

        """

    /// Time for things to happen while the service is down, and as many restarts as the tests like.
    private static let slowRestart = "RestartSec=2s\n[Unit]\nStartLimitIntervalSec=0"

    /// A run of the job.
    private struct Begun {
        var pid: String
        var text: String

        var operation: String {
            text.split(separator: "\"id\":").last.map { String($0.prefix { $0.isNumber }) } ?? ""
        }
        var isRedelivered: Bool { text.contains("\"redelivered\":true") }
        var data: String { text.split(separator: "\"data\":").last.map { String($0.prefix { $0.isNumber }) } ?? "" }
    }

    private func with(_ body: (Machine) throws -> Void) throws {
        try Machine.with("", settings: Self.slowRestart) { machine in
            #expect(try machine.run("mkdir", "-p", "/srv/in").code == 0)
            try machine.write("/etc/watchd/job", Self.job)
            try machine.write("/etc/watchd/test.watch", Self.watchFile)
            let reload = try machine.run("systemctl", "reload", "watchd.service")
            #expect(reload.code == 0, "\(reload)")
            try body(machine)
        }
    }

    // MARK: Steps

    private func shell(_ machine: Machine, _ script: String) throws -> String {
        let end = try machine.run("sh", "-c", script)
        #expect(end.code == 0, "\(script): \(end)")
        return end.text
    }

    private func lines(_ machine: Machine, _ file: String) throws -> [String] {
        try machine.run("cat", file).text.split(separator: "\n").map(String.init)
    }

    private func begun(_ machine: Machine) throws -> [Begun] {
        try lines(machine, "/srv/begun").map { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            return Begun(pid: parts[0], text: parts.last ?? "")
        }
    }

    @discardableResult private func waitForBegun(_ machine: Machine, _ count: Int) throws -> [Begun] {
        try wait(for: "\(count) runs") { try begun(machine).count >= count }
        return try begun(machine)
    }

    private func emit(_ machine: Machine, _ name: String, _ data: Int) throws {
        let emit = try machine.run("watchctl", "emit", name, "--data", "\(data)")
        #expect(emit.code == 0, "\(emit)")
    }

    private func waitUntilActive(_ machine: Machine) throws {
        try wait(for: "it to be active") { try machine.property("ActiveState") == "active" }
    }

    private func waitUntilIdle(_ machine: Machine) throws {
        try wait(for: "nothing to be left") {
            let status = try machine.run("watchctl", "--json", "status").text
            return status.contains("\"pending\":0,") && status.contains("\"running\":0,")
        }
    }

    private func kill(_ machine: Machine) throws {
        let words = ["systemctl", "kill", "-s", "KILL", "--kill-who=main", "watchd.service"]
        #expect(try machine.run(words).code == 0)
        try wait(for: "it to be down") { try machine.property("SubState") == "auto-restart" }
    }

    /// Files made, changed and removed, and lines written, all between two lives; a writer that had to wait would fail.
    private func changeThings(_ machine: Machine, _ name: String) throws {
        _ = try shell(
            machine,
            """
            cd /srv/in
            for n in $(seq 50); do echo new >\(name)$n; done
            echo more >>old; rm gone
            timeout 1 sh -c 'n=0; while [ $((n += 1)) -le 20 ]; do echo "\(name)$n" >/run/lines; done' || exit
            """)
    }

    private func expectThings(_ machine: Machine, _ name: String) throws {
        let files = (1...50).map { "/srv/in/\(name)\($0)" } + ["/srv/in/old", "/srv/in/gone"]
        var missing = Set(files)
        try wait(for: "all files; missing are \(missing.sorted().prefix(5))") {
            missing = try Set(files).subtracting(lines(machine, "/srv/paths"))
            return missing.isEmpty
        }
        let wanted = (1...20).map { "\(name)\($0)" }
        var seen: Set<String> = []
        try wait(for: "all lines, got \(seen)") {
            seen = try Set(lines(machine, "/srv/lines"))
            return seen.isSuperset(of: wanted)
        }
    }

    /// Two files from before, whose handling is over.
    private func makeOldFiles(_ machine: Machine) throws {
        _ = try shell(machine, "echo old >/srv/in/old; echo old >/srv/in/gone")
        try wait(for: "the old files") { try Set(lines(machine, "/srv/paths")).count == 2 }
        try waitUntilPathsAreIdle(machine)
        _ = try shell(machine, "rm /srv/paths")
    }

    private func waitUntilPathsAreIdle(_ machine: Machine) throws {
        try wait(for: "nothing to run") {
            try machine.run("watchctl", "--json", "operations", "--handler", "in").text.contains("\"operations\":[]")
        }
    }

    // MARK: Tests

    @Test func aKillLosesNothingAndHandlersLiveOn() throws {
        try with { machine in
            try makeOldFiles(machine)
            let before = try machine.property("NFileDescriptorStore")
            for data in 1...3 { try emit(machine, "poke", data) }
            try emit(machine, "plain", 9)
            let running = try waitForBegun(machine, 2)
            // Those of long runs are stored when they are a second old.
            try wait(for: "the handlers' descriptors to be stored") {
                let stored = Int(try machine.property("NFileDescriptorStore")) ?? 0
                return stored >= (Int(before) ?? 0) + 2
            }
            try kill(machine)
            try changeThings(machine, "a")
            #expect(try machine.property("SubState") == "auto-restart", "all that happened while it was down")
            for run in running { #expect(try machine.isAlive(run.pid)) }
            try waitUntilActive(machine)
            try expectThings(machine, "a")
            let list = try machine.run("watchctl", "--json", "operations").text
            for run in running { #expect(list.contains("\"pid\":\(run.pid)"), "adopted: \(list)") }
            #expect(try begun(machine).count == 2, "none is started twice, and the queue is busy")
            _ = try shell(machine, "touch /srv/go")
            try waitForBegun(machine, 4)
            try waitUntilIdle(machine)
            let all = try begun(machine)
            #expect(all.count == 4, "their ends were seen: \(all)")
            #expect(all.filter { $0.data != "9" }.map(\.data) == ["1", "2", "3"])
            #expect(all.allSatisfy { !$0.isRedelivered })
        }
    }

    @Test func anEndWhileItIsDownIsKnownToTheNext() throws {
        try with { machine in
            let before = Int(try machine.property("NFileDescriptorStore")) ?? 0
            try emit(machine, "poke", 1)
            try emit(machine, "poke", 2)
            let first = try waitForBegun(machine, 1)[0]
            try wait(for: "the handler's descriptor to be stored") {
                Int(try machine.property("NFileDescriptorStore")) ?? 0 > before
            }
            try kill(machine)
            _ = try shell(machine, "touch /srv/go.\(first.operation)")
            try wait(for: "its end") { try !machine.isAlive(first.pid) }
            #expect(try machine.property("SubState") == "auto-restart", "it ended while the daemon was down")
            try waitUntilActive(machine)
            let next = try waitForBegun(machine, 2)[1]
            if Self.kernelKeepsTheEnd {
                #expect((next.data, next.isRedelivered) == ("2", false))
            } else {
                #expect((next.data, next.isRedelivered) == ("1", true))
            }
            _ = try shell(machine, "touch /srv/go")
            try waitUntilIdle(machine)
        }
    }

    @Test func whatIsKilledTogetherWithItRunsAgain() throws {
        try with { machine in
            let before = Int(try machine.property("NFileDescriptorStore")) ?? 0
            try emit(machine, "poke", 1)
            let first = try waitForBegun(machine, 1)[0]
            try wait(for: "the handler's descriptor to be stored") {
                Int(try machine.property("NFileDescriptorStore")) ?? 0 > before
            }
            #expect(try machine.run("systemctl", "kill", "-s", "KILL", "watchd.service").code == 0)
            try wait(for: "it to be down") { try machine.property("SubState") == "auto-restart" }
            #expect(try !machine.isAlive(first.pid))
            try waitUntilActive(machine)
            let again = try waitForBegun(machine, 2)[1]
            #expect((again.operation, again.isRedelivered) == (first.operation, true))
            _ = try shell(machine, "touch /srv/go")
            try waitUntilIdle(machine)
        }
    }

    /// Since Linux 6.15.
    private static let kernelKeepsTheEnd: Bool = {
        let release = (try? Linux.readFile("/proc/sys/kernel/osrelease")) ?? []
        let numbers = String(decoding: release, as: UTF8.self).split(separator: ".").prefix(2).compactMap { Int($0) }
        return numbers.count == 2 && (numbers[0], numbers[1]) >= (6, 15)
    }()

    @Test func aRestartDrainsAndLosesNothing() throws {
        try with { machine in
            try makeOldFiles(machine)
            for data in 1...3 { try emit(machine, "poke", data) }
            let first = try waitForBegun(machine, 1)[0]
            let process = try machine.property("MainPID")
            #expect(try machine.run("systemctl", "restart", "--no-block", "watchd.service").code == 0)
            try wait(for: "the drain") { try machine.property("StatusText").hasPrefix("stopping") }
            // It takes no more work now, and is not gone.
            try changeThings(machine, "b")
            #expect(try machine.isAlive(first.pid))
            _ = try shell(machine, "touch /srv/go.\(first.operation)")
            try wait(for: "the next") { try ![process, "0"].contains(machine.property("MainPID")) }
            try waitUntilActive(machine)
            try expectThings(machine, "b")
            _ = try shell(machine, "touch /srv/go")
            try waitForBegun(machine, 3)
            try waitUntilIdle(machine)
            let all = try begun(machine)
            #expect(all.map(\.data) == ["1", "2", "3"])
            #expect(all.allSatisfy { !$0.isRedelivered })
            let journal = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
            #expect(journal.contains("2 operations kept for the next start"))
        }
    }

    /// Six lines of one connection, to a queue that takes two and is suspended.
    @Test(arguments: [false, true]) func whatIsUnreadInAConnectionIsRunByTheNext(isKilled: Bool) throws {
        let watchFile = """
            [Queue b]
            Durable=yes
            Backlog=2
            Suspended=yes
            [Descriptor st]
            ListenStream=/run/st
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:/srv/st
            Queue=b

            """
        try Machine.with(watchFile, settings: Self.slowRestart) { machine in
            let before = Int(try machine.property("NFileDescriptorStore")) ?? 0
            _ = try shell(
                machine,
                """
                python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/run/st")
                s.sendall(b"".join(b"st%d\\n" % n for n in range(6))); s.close()'
                """)
            try wait(for: "the connection to be stored") {
                Int(try machine.property("NFileDescriptorStore")) ?? 0 > before
            }
            try wait(for: "the source to be held back") {
                try machine.run("watchctl", "--json", "sources").text.contains("\"held")
            }
            if isKilled {
                try kill(machine)
            } else {
                #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
            }
            try waitUntilActive(machine)
            #expect(try machine.run("watchctl", "resume", "b").code == 0)
            try wait(for: "all lines") { try lines(machine, "/srv/st").count >= 6 }
            try waitUntilIdle(machine)
            #expect(try lines(machine, "/srv/st") == (0..<6).map { "st\($0)" })
            var now = 0
            try wait(for: "\(before) to be stored again, not \(now)") {
                now = Int(try machine.property("NFileDescriptorStore")) ?? 0
                return now == before
            }
        }
    }

    /// A client of small pieces, with a line half taken out of its connection.
    @Test(arguments: [false, true]) func ofALineThatIsLostTheRestIsNoLine(isKilled: Bool) throws {
        let watchFile = """
            [Queue b]
            Durable=yes
            [Descriptor st]
            ListenStream=/run/st
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:/srv/st
            Queue=b

            """
        let client = """
            import fcntl, os, signal, socket, termios, time
            # What it waits for below comes by then, or never.
            signal.alarm(120)
            s = socket.socket(socket.AF_UNIX)
            s.connect("/run/st")
            s.sendall(b"one\\n")
            for _ in range(1000): s.send(b"x")
            while fcntl.ioctl(s, termios.TIOCOUTQ, bytes(4)) != bytes(4): time.sleep(0.02)
            open("/srv/taken", "w")
            while not os.path.exists("/srv/go"): time.sleep(0.02)
            s.sendall(b"y\\nthree\\n")
            """
        try Machine.with(watchFile, settings: Self.slowRestart) { machine in
            try machine.write("/srv/client", client)
            #expect(try machine.run("systemd-run", "python3", "/srv/client").code == 0)
            try wait(for: "the beginning to be taken out") { try machine.run("test", "-e", "/srv/taken").code == 0 }
            if isKilled {
                try kill(machine)
            } else {
                #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
            }
            try waitUntilActive(machine)
            _ = try shell(machine, "touch /srv/go")
            try wait(for: "the next line") { try lines(machine, "/srv/st").count >= 2 }
            #expect(try lines(machine, "/srv/st") == ["one", "three"])
            let journal = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
            let loss = isKilled ? "is lost, and what follows of it is skipped" : "is lost (1000 bytes)"
            #expect(journal.contains("the beginning of a line \(loss)"), "\(journal)")
        }
    }

    @Test func killAfterKillLosesNoFileAndNoLine() throws {
        try with { machine in
            _ = try shell(machine, "touch /srv/go")
            for round in 1...3 {
                // In the middle of handling.
                _ = try shell(machine, "for n in $(seq 200); do echo x >/srv/in/\(round)-$n; done")
                _ = try shell(machine, "for n in $(seq 200); do echo \(round)-$n; done >/run/lines")
                try emit(machine, "poke", round)
                let words = ["systemctl", "kill", "-s", "KILL", "--kill-who=main", "watchd.service"]
                #expect(try machine.run(words).code == 0)
                try wait(for: "it to be down") { try machine.property("SubState") == "auto-restart" }
                // No need to wait for the delay.
                #expect(try machine.run("systemctl", "start", "watchd.service").code == 0)
            }
            let names = (1...3).flatMap { round in (1...200).map { "\(round)-\($0)" } }
            try wait(for: "all files") {
                try Set(lines(machine, "/srv/paths")).isSuperset(of: names.map { "/srv/in/\($0)" })
            }
            try wait(for: "all lines") { try Set(lines(machine, "/srv/lines")).isSuperset(of: names) }
            try waitForBegun(machine, 3)
            try waitUntilIdle(machine)
            #expect(try Set(begun(machine).map(\.data)) == ["1", "2", "3"])
        }
    }

    @Test func aStopAfterAKillLeavesNoHandlerBehind() throws {
        try with { machine in
            try emit(machine, "poke", 1)
            try emit(machine, "poke", 2)
            try emit(machine, "plain", 3)
            let running = try waitForBegun(machine, 2)
            try kill(machine)
            try waitUntilActive(machine)
            for run in running { #expect(try machine.isAlive(run.pid)) }
            // A stop waits for what it has adopted; a second signal hurries.
            #expect(try machine.run("systemctl", "stop", "--no-block", "watchd.service").code == 0)
            try wait(for: "the drain") { try machine.property("StatusText").hasPrefix("stopping") }
            for run in running { #expect(try machine.isAlive(run.pid)) }
            #expect(try machine.run("kill", "-TERM", try machine.property("MainPID")).code == 0)
            try wait(for: "the end") { try machine.property("ActiveState") == "inactive" }
            for run in running { #expect(try !machine.isAlive(run.pid), "process \(run.pid) is left behind") }
            _ = try shell(machine, "touch /srv/go")
            #expect(try machine.run("systemctl", "start", "watchd.service").code == 0)
            try waitForBegun(machine, 4)
            try waitUntilIdle(machine)
            let again = try begun(machine).dropFirst(2)
            #expect(again.map(\.data) == ["1", "2"], "what was durable ran again")
            #expect(again.map(\.isRedelivered) == [true, false])
        }
    }
}
