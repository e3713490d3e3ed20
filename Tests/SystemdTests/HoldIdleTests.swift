import LinuxSystem
import ProgramKit
import Testing

/// `HoldUntil=idle:…`, with a real systemd manager, bus and logind.
@Suite("HoldUntil= of idleness", .ownThreadChain, .serialized) struct HoldIdleTests {
    private static let watchFile = """
        [Custom poke]
        Exec=/bin/sh -c 'echo ran >>/run/ran'
        HoldUntil=idle:3s

        """
    private static let aliases = ["systemd-logind.service", "dbus-org.freedesktop.login1.service"]

    private func waitingFor(_ obstacle: String, _ machine: Machine) throws {
        try wait(for: obstacle) {
            try machine.run("watchctl", "--json", "status").text.contains("HoldUntil=idle:3s: \(obstacle)")
        }
    }

    private func ran(_ times: Int, _ machine: Machine) throws {
        let lines = String(repeating: "ran\n", count: times)
        try wait(for: "\(times) runs") { try machine.run("cat", "/run/ran").text == lines }
    }

    private func hasRun(_ times: Int, _ machine: Machine) throws -> Bool {
        try machine.run("cat", "/run/ran").text == String(repeating: "ran\n", count: times)
    }

    private func ctl(_ machine: Machine, _ words: String...) throws {
        let end = try machine.run(["systemctl"] + words)
        #expect(end.code == 0, "\(end)")
    }

    private func emit(_ machine: Machine) throws { _ = try machine.run("watchctl", "emit", "poke") }

    @Test func whatComesWaitsUntilNobodyHasUsedTheMachineForSoLong() throws {
        try Machine.with(Self.watchFile) { machine in
            guard try machine.run("test", "-x", "/lib/systemd/systemd-logind").code == 0 else {
                return print("SKIPPED: no systemd-logind")
            }
            // Without logind nobody knows.
            try ctl(machine, "stop", "systemd-logind.service")
            _ = try machine.run(["systemctl", "mask"] + Self.aliases)
            try emit(machine)
            try waitingFor("systemd-logind does not say whether the machine is idle", machine)
            _ = try machine.run(["systemctl", "unmask"] + Self.aliases)
            // It is asked again, and there is no session.
            try ran(1, machine)
            try inhibit(machine)
            try useSession(machine)
        }
    }

    /// A program that forbids idleness counts as use, and its end is told.
    private func inhibit(_ machine: Machine) throws {
        try ctl(machine, "stop", "systemd-logind.service")
        let unit = "[Service]\nExecStart=/usr/bin/systemd-inhibit --what=idle --why=test sleep 1000\n"
        try machine.write("/etc/systemd/system/busy.service", unit)
        try ctl(machine, "start", "systemd-logind.service", "busy.service")
        try wait(for: "the inhibitor") { try machine.run("systemd-inhibit", "--list").text.contains("test") }
        try emit(machine)
        try waitingFor("the machine is in use", machine)
        #expect(try hasRun(1, machine))
        try ctl(machine, "stop", "busy.service")
        try ran(2, machine)
    }

    private func useSession(_ machine: Machine) throws {
        guard try machine.run("sh", "-c", "ls /usr/lib/*/security/pam_systemd.so").code == 0 else {
            return print("SKIPPED: no libpam-systemd for a session")
        }
        let modules = "session required pam_systemd.so type=x11 class=user\naccount required pam_permit.so\n"
        try machine.write("/etc/pam.d/session-of-a-test", modules)
        try machine.write(
            "/etc/systemd/system/session.service",
            "[Service]\nUser=games\nPAMName=session-of-a-test\nExecStart=/bin/sleep 1000\n")
        try ctl(machine, "start", "session.service")
        try wait(for: "the session") { try machine.run("loginctl", "--no-legend").text.contains("games") }
        try emit(machine)
        try waitingFor("the machine is in use", machine)
        try hint(true, machine)
        // The rest of the span is waited for, and begins anew when somebody comes back.
        try waitingFor("the machine has been idle for less than that", machine)
        try hint(false, machine)
        try waitingFor("the machine is in use", machine)
        #expect(try hasRun(2, machine))
        try hint(true, machine)
        try ran(3, machine)
    }

    /// As a desktop tells logind.
    private func hint(_ isIdle: Bool, _ machine: Machine) throws {
        let service = "org.freedesktop.login1"
        let sessions = try machine.run(
            "busctl", "call", service, "/org/freedesktop/login1", "\(service).Manager", "ListSessions"
        ).text
        let path = sessions.split(separator: "\"").first { $0.hasPrefix("/org/freedesktop/login1/session/") }
        let end = try machine.run(
            "busctl", "call", service, String(try #require(path)), "\(service).Session", "SetIdleHint", "b",
            "\(isIdle)")
        #expect(end.code == 0, "\(end)")
    }
}
