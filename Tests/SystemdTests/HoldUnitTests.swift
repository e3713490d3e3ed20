import LinuxSystem
import ProgramKit
import Testing

/// `HoldUntil=unit:…`, with a real systemd manager and a real bus.
@Suite("HoldUntil= of a unit", .ownThreadChain, .serialized) struct HoldUnitTests {
    private static let watchFile = """
        [Custom poke]
        Exec=/bin/sh -c 'echo $WATCHD_COUNT >>/run/ran'
        HoldUntil=unit:nick

        """

    private func waitingFor(_ obstacle: String, _ machine: Machine) throws {
        try wait(for: obstacle) {
            try machine.run("watchctl", "--json", "status").text.contains("HoldUntil=unit:nick.service: \(obstacle)")
        }
    }

    private func ran(_ lines: String, _ machine: Machine) throws {
        try wait(for: "runs") { try machine.run("cat", "/run/ran").text == lines }
    }

    private func ctl(_ machine: Machine, _ words: String...) throws {
        let end = try machine.run(["systemctl"] + words)
        #expect(end.code == 0, "\(end)")
    }

    @Test func whatComesWaitsForTheUnitByItsAliasToo() throws {
        try Machine.with(Self.watchFile) { machine in
            try machine.write(
                "/etc/systemd/system/go.service",
                "[Service]\nExecStart=/bin/sleep 1000\n[Install]\nAlias=nick.service\n")
            // Not there yet: the name stands for nothing.
            _ = try machine.run("watchctl", "emit", "poke")
            try waitingFor("nick.service is inactive", machine)
            try ctl(machine, "enable", "go")
            try ctl(machine, "start", "go")
            try ran("1\n", machine)
            // Active: nothing waits.
            _ = try machine.run("watchctl", "emit", "poke")
            try ran("1\n1\n", machine)
            try ctl(machine, "stop", "go")
            _ = try machine.run("watchctl", "emit", "poke")
            try waitingFor("go.service is inactive", machine)
            // A bus that goes holds what comes, and the one that comes again frees it.
            try ctl(machine, "stop", "dbus.socket", "dbus.service")
            try waitingFor("there is no system bus (is dbus running?)", machine)
            _ = try machine.run("watchctl", "emit", "poke")
            try ctl(machine, "start", "dbus.socket")
            try ctl(machine, "start", "dbus.service")
            try waitingFor("go.service is inactive", machine)
            try ctl(machine, "start", "go")
            try ran("1\n1\n2\n", machine)
        }
    }
}
