import LinuxSystem
import ProgramKit
import Testing

/// Each run in a cgroup of its own, below that of the unit, which systemd delegates.
@Suite("Service containment", .ownThreadChain, .serialized) struct ServiceContainmentTests {
    /// Leaves something in a session of its own, and ends when it may.
    private static let script = """
        cat /proc/self/cgroup >/run/place
        (setsid sh -c 'echo $$ >/run/new; mv /run/new /run/escaped; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
        until [ -e /run/escaped ]; do sleep 0.1; done
        echo $$ >/run/handler
        until [ -e /run/go ]; do sleep 0.1; done

        """

    private static let watchFile = """
        [Custom escapes]
        Exec=/bin/sh /etc/watchd/escapes.sh

        """

    private func with(_ more: String = "", _ body: (Machine) throws -> Void) throws {
        try Machine.with(Self.watchFile + more, settings: "RestartSec=100ms") { machine in
            try machine.write("/etc/watchd/escapes.sh", Self.script)
            #expect(try machine.run("watchctl", "emit", "escapes").code == 0)
            _ = try machine.process(in: "/run/handler")
            try body(machine)
        }
    }

    private func unit(_ machine: Machine, _ path: String) throws -> String {
        try machine.run("sh", "-c", "cat /sys/fs/cgroup/system.slice/watchd.service/\(path)").text
    }

    private func waitForEnd(_ machine: Machine, of processes: [String]) throws {
        #expect(try machine.run("touch", "/run/go").code == 0)
        try wait(for: "its end") { try machine.run("watchctl", "history", "escapes").text.contains("done") }
        for process in processes { #expect(try !machine.isAlive(process), "process \(process)") }
        #expect(try machine.run("sh", "-c", "ls -d /sys/fs/cgroup/system.slice/watchd.service/run-*").code != 0)
    }

    @Test func theEndOfARunIsTheEndOfAllItsProcesses() throws {
        try with { machine in
            let handler = try machine.process(in: "/run/handler")
            let escaped = try machine.process(in: "/run/escaped")
            #expect(try machine.run("cat", "/run/place").text.contains("0::/system.slice/watchd.service/run-1-1\n"))
            #expect(try unit(machine, "daemon/cgroup.procs") == machine.property("MainPID") + "\n")
            #expect(try unit(machine, "cgroup.procs").isEmpty)
            let status = try machine.run("watchctl", "--json", "status").text
            #expect(
                status.contains("\"containment\":\"cgroups below /sys/fs/cgroup/system.slice/watchd.service"),
                "\(status)")
            #expect(try machine.run("watchctl", "status").text.contains("processes in cgroups,"))
            try waitForEnd(machine, of: [handler, escaped])
            let shown = try machine.run("watchctl", "--json", "show", "1").text
            #expect(shown.contains("\"cpu_usec\":"), "\(shown)")
            let screen = try machine.run("watchctl", "show", "1").text
            #expect(
                screen.contains("run 1 used ") && screen.contains(" of CPU") && !screen.contains("cgroup:"), "\(screen)"
            )
            #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
            #expect(try machine.property("ActiveState") == "active")
            #expect(try machine.run("watchctl", "--json", "show", "1").text.contains("\"cpu_usec\":"), "from the store")
        }
    }

    /// `MemoryMax=` and its like, as the kernel has them for the cgroup of the run.
    @Test func limitsOfAHandlerAreThoseOfItsRun() throws {
        let text = """
            [Custom limited]
            Exec=/bin/sh /etc/watchd/limits.sh
            MemoryMax=64M
            CPUQuota=50%
            TasksMax=50
            CPUWeight=70
            IOWeight=30

            """
        let expected = [
            "memory.max": "67108864", "cpu.max": "50000 100000", "pids.max": "50", "cpu.weight": "70",
            "io.weight": "default 30",
        ]
        let script = """
            cd "/sys/fs/cgroup$(sed -n s/^0::// /proc/self/cgroup)"
            for file in \(expected.keys.sorted().joined(separator: " ")); do
                test ! -e $file || echo $file $(cat $file)
            done

            """
        try Machine.with(text) { machine in
            try machine.write("/etc/watchd/limits.sh", script)
            #expect(try machine.run("watchctl", "run", "--wait", "limited").code == 0)
            let lines = try machine.run("watchctl", "output", "limited").text.split(separator: "\n")
            if lines.isEmpty { return print("SKIPPED: no controller is on cgroup v2 here") }
            for line in lines {
                let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
                #expect(parts.count == 2 && expected[parts[0]] == parts[1], "\(line)")
            }
        }
    }

    @Test func aRunIsAdoptedByItsCgroupAndEndsWithAllItsProcesses() throws {
        try with { machine in
            let processes = [try machine.process(in: "/run/handler"), try machine.process(in: "/run/escaped")]
            let daemon = try machine.property("MainPID")
            #expect(try machine.run("kill", "-KILL", daemon).code == 0)
            try wait(for: "it to be active again") {
                try machine.property("ActiveState") == "active" && machine.property("MainPID") != daemon
            }
            for process in processes { #expect(try machine.isAlive(process)) }
            let running = try machine.run("watchctl", "--json", "operations", "--handler", "escapes").text
            #expect(running.contains("\"pid\":\(processes[0])"), "\(running)")
            try waitForEnd(machine, of: processes)
        }
    }

    @Test func whatIsLeftOfARunThatEndedMeanwhileIsEnded() throws {
        try with { machine in
            let processes = [try machine.process(in: "/run/handler"), try machine.process(in: "/run/escaped")]
            let daemon = try machine.property("MainPID")
            #expect(try machine.run("kill", "-STOP", daemon).code == 0)
            #expect(try machine.run("touch", "/run/go").code == 0)
            try wait(for: "the end of its first process") {
                try machine.run("sh", "-c", "grep -q 'State:.Z' /proc/\(processes[0])/status").code == 0
            }
            #expect(try machine.run("kill", "-KILL", daemon).code == 0)
            try wait(for: "it to be active again") {
                try machine.property("ActiveState") == "active" && machine.property("MainPID") != daemon
            }
            try wait(for: "what it left to be ended") { try !machine.isAlive(processes[1]) }
            try wait(for: "its cgroup to be gone") {
                try machine.run("sh", "-c", "ls -d /sys/fs/cgroup/system.slice/watchd.service/run-*").code != 0
            }
        }
    }

    @Test func whatOnStopLeavesKeepsAllItsProcesses() throws {
        try with("OnStop=leave\nStandardOutput=null\nStandardError=null\n[Watchd]\nDrainSec=100ms\n") { machine in
            let processes = [try machine.process(in: "/run/handler"), try machine.process(in: "/run/escaped")]
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.property("ActiveState") == "inactive")
            for process in processes { #expect(try machine.isAlive(process), "process \(process)") }
            #expect(try machine.run("systemctl", "start", "watchd.service").code == 0)
            try waitForEnd(machine, of: processes)
        }
    }
}
