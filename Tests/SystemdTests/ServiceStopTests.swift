import LinuxSystem
import ProgramKit
import Testing

/// What becomes of handlers when the service ends, by the units of the package.
@Suite("Service stop", .ownThreadChain, .serialized) struct ServiceStopTests {
    /// Neither it nor what it has left running in a session of its own heeds SIGTERM.
    private static let stubborn = """
        trap '' TERM
        (setsid sh -c 'echo $$ >/run/escaped; exec sleep 1000' </dev/null >/dev/null 2>&1 &)
        echo $$ >/run/handler
        exec sleep 1000

        """

    private static let watchFile = """
        [Watchd]
        DrainSec=300ms
        [Custom stubborn]
        Exec=/bin/sh /etc/watchd/stubborn.sh
        TimeoutStopSec=300ms

        """

    /// Starts the handler: its process, and the one that has escaped.
    private func startStubborn(_ machine: Machine) throws -> [String] {
        try machine.write("/etc/watchd/stubborn.sh", Self.stubborn)
        #expect(try machine.run("watchctl", "emit", "stubborn").code == 0)
        return [try machine.process(in: "/run/handler"), try machine.process(in: "/run/escaped")]
    }

    private func expectNothingIsLeft(_ machine: Machine, of processes: [String]) throws {
        for process in processes { #expect(try !machine.isAlive(process), "process \(process)") }
        #expect(try machine.run("test", "-e", "/sys/fs/cgroup/system.slice/watchd.service").code != 0)
    }

    @Test func aStopLeavesNothingBehind() throws {
        try Machine.with(Self.watchFile) { machine in
            let processes = try startStubborn(machine)
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.property("Result") == "success")
            try expectNothingIsLeft(machine, of: processes)
        }
    }

    @Test func aStopLeavesWhatIsToGoOnAndTheNextStartAdoptsIt() throws {
        let left = """
            [Custom left]
            Exec=/bin/sh -c 'sleep 1000 & echo $$ >/run/left; until [ -e /run/go ]; do sleep 0.1; done; kill $!'
            StandardOutput=append:/run/said
            StandardError=append:/run/said
            OnStop=leave

            """
        try Machine.with(Self.watchFile + left) { machine in
            let processes = try startStubborn(machine)
            #expect(try machine.run("watchctl", "emit", "left").code == 0)
            let process = try machine.process(in: "/run/left")
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.property("ActiveState") == "inactive")
            for stubborn in processes { #expect(try !machine.isAlive(stubborn), "process \(stubborn)") }
            #expect(try machine.isAlive(process))
            // While its section is away, it goes on unwatched.
            try machine.write("/etc/watchd/test.watch", Self.watchFile)
            for _ in 0..<2 { #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0) }
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.isAlive(process))
            try machine.write("/etc/watchd/test.watch", Self.watchFile + left)
            #expect(try machine.run("systemctl", "start", "watchd.service").code == 0)
            let running = try machine.run("watchctl", "--json", "operations", "--handler", "left").text
            #expect(running.contains("\"pid\":\(process)"), "\(running)")
            #expect(try machine.run("touch", "/run/go").code == 0)
            try wait(for: "its end") {
                try machine.run("watchctl", "history", "left").text.contains("done")
            }
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            try expectNothingIsLeft(machine, of: [process])
        }
    }

    /// `KillMode=none`: no signal can end them.
    @Test func aStopLeavesThoseThatNobodyMayEnd() throws {
        let left = """
            [Custom left]
            Exec=/bin/sh -c 'echo $$ >>/run/left; until [ -e /run/go ]; do sleep 0.1; done'
            StandardOutput=null
            StandardError=null
            KillMode=none
            OnStop=fail
            TimeoutStopSec=1d
            [Process left]
            Command=/bin/sh -c 'echo $$ >>/run/process; exec sleep 1000'
            KillMode=none

            """
        try Machine.with(Self.watchFile + left) { machine in
            #expect(try machine.run("watchctl", "emit", "left").code == 0)
            let processes = [try machine.process(in: "/run/left"), try machine.process(in: "/run/process")]
            #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
            for process in processes { #expect(try machine.isAlive(process), "process \(process)") }
            let running = try machine.run("watchctl", "--json", "operations", "--handler", "left").text
            #expect(running.contains("\"pid\":\(processes[0])"), "\(running)")
            let listed = try machine.run("watchctl", "status", "process/left").text
            #expect(listed.contains(processes[1]), "\(listed)")
            #expect(try machine.run("touch", "/run/go").code == 0)
            try wait(for: "its end") { try machine.run("watchctl", "history", "left").text.contains("done") }
            for file in ["/run/left", "/run/process"] {
                #expect(try machine.run("wc", "-l", file).text == "1 \(file)\n")
            }
        }
    }

    @Test func aStopThatTakesTooLongLeavesNothingBehind() throws {
        try Machine.with(Self.watchFile, settings: "KillSignal=SIGURG\nTimeoutStopSec=500ms") { machine in
            // SIGURG: nothing that watchd heeds.
            let processes = try startStubborn(machine)
            _ = try machine.run("systemctl", "stop", "watchd.service")
            #expect(try machine.property("Result") == "timeout")
            try expectNothingIsLeft(machine, of: processes)
        }
    }

    @Test func aCrashLeavesHandlersRunningUntilTheNextStop() throws {
        try Machine.with(Self.watchFile) { machine in
            let processes = try startStubborn(machine)
            let daemon = try machine.property("MainPID")
            #expect(try machine.run("kill", "-KILL", daemon).code == 0)
            try wait(for: "the restart") { try machine.property("NRestarts") == "1" }
            try wait(for: "it to be active again") { try machine.property("ActiveState") == "active" }
            #expect(try machine.property("MainPID") != daemon)
            for process in processes { #expect(try machine.isAlive(process)) }
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            try expectNothingIsLeft(machine, of: processes)
        }
    }

    /// The manager keeps the descriptors over a restart, and closes them at a stop.
    @Test func whatNobodyHasReadOutlivesARestartAndIsNamedAtAStop() throws {
        let watchFile = """
            [Queue kept]
            Durable=yes
            [Descriptor f]
            ListenFIFO=/run/f.fifo
            Exec=/bin/sh -c 'echo "$WATCHD_LINE" >>/run/said'
            Queue=kept

            """
        try Machine.with(watchFile) { machine in
            func leave(_ line: String) throws {
                #expect(try machine.run("watchctl", "suspend", "f").code == 0)
                #expect(try machine.run("sh", "-c", "echo \(line) >/run/f.fifo").code == 0)
            }
            try leave("one")
            #expect(try machine.run("systemctl", "restart", "watchd.service").code == 0)
            #expect(try machine.run("watchctl", "resume", "f").code == 0)
            try wait(for: "the line") { try machine.run("cat", "/run/said").text == "one\n" }
            try leave("two")
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            let journal = try machine.run("journalctl", "-o", "cat", "-u", "watchd.service").text
            let warning = "descriptor/f: its FIFO is closed with 4 bytes that nobody has read"
            #expect(journal.split(separator: "\n").count { $0 == warning } == 1, "\(journal)")
        }
    }

    @Test func aDrainMayTakeLongerThanTheUnitAllows() throws {
        let watchFile = """
            [Custom slow]
            Exec=/bin/sh -c 'echo $$ >/run/slow; sleep 3; echo finished'

            """
        try Machine.with(watchFile, settings: "TimeoutStopSec=1s") { machine in
            #expect(try machine.run("watchctl", "emit", "slow").code == 0)
            _ = try machine.process(in: "/run/slow")
            #expect(try machine.run("systemctl", "stop", "watchd.service").code == 0)
            #expect(try machine.property("Result") == "success")
            let journal = try machine.run("journalctl", "-o", "cat", "WATCHD_HANDLER=slow").text
            #expect(journal.contains("slow| finished") && journal.contains("done in 3"), "\(journal)")
        }
    }
}
