import LinuxSystem
import ProgramKit
import Systemd
import Testing

@Suite("Names of units", .ownThread) struct UnitNameTests {
    @Test func aPathOfTheBusIsTheEscapedName() {
        for (unit, path) in [
            ("a.service", "a_2eservice"), ("a-b@c.socket", "a_2db_40c_2esocket"),
            (#"dev-a\x2db.device"#, "dev_2da_5cx2db_2edevice"), ("1.mount", "_31_2emount"),
        ] {
            #expect(UnitClient.path(unit: unit) == "/org/freedesktop/systemd1/unit/" + path)
            #expect(UnitClient.unit(path: "/org/freedesktop/systemd1/unit/" + path) == unit)
        }
    }

    @Test func otherPathsAreOfNoUnit() {
        for path in [
            "/", "", "/org/freedesktop/systemd1/job/1", "/org/freedesktop/systemd1/unit",
            "/org/freedesktop/systemd1/unit/_",
        ] {
            #expect(UnitClient.unit(path: path) == nil, "\(path)")
        }
    }
}

/// `[Unit]` sources, with a real systemd manager and a real bus.
@Suite("Units", .ownThreadChain, .serialized) struct UnitTests {
    private static let watchFile = """
        [Handler note]
        Exec=/bin/sh -c 'read line; echo "$line" >>/run/noted'
        [Unit one]
        Unit=one alias-of-one
        Events=failed active inactive activating deactivating
        Key=none
        Coalesce=no
        Handler=note
        Queue=main
        [Unit all]
        Unit=many-*.service
        Key=none
        Coalesce=no
        Handler=note
        Queue=main

        """

    private func service(_ machine: Machine, _ name: String, _ text: String) throws {
        try machine.write("/etc/systemd/system/\(name).service", "[Unit]\nStartLimitBurst=1000\n[Service]\n\(text)\n")
    }

    /// `event unit result` of each event so far, in order.
    private func noted(_ machine: Machine) throws -> [String] {
        try machine.run("cat", "/run/noted").text.split(separator: "\n").map { line in
            ["event", "unit", "result"].map { key in
                line.split(separator: "\"\(key)\":\"").dropFirst().first?.prefix { $0 != "\"" } ?? "-"
            }.joined(separator: " ")
        }
    }

    private func expect(_ machine: Machine, _ wanted: [String], _ comment: String) throws {
        do {
            try wait(for: comment) { try noted(machine) == wanted }
        } catch {
            Issue.record("\(comment): \(try noted(machine)) instead of \(wanted)")
            throw error
        }
    }

    private func ctl(_ machine: Machine, _ words: String...) throws { _ = try machine.run(["systemctl"] + words) }

    @Test func whatBecomesOfUnitsIsToldOnceAndAcrossRestartsOfTheBus() throws {
        try Machine.with(Self.watchFile) { machine in
            try service(machine, "one", "ExecStart=/bin/sleep 1000\n[Install]\nAlias=alias-of-one.service")
            try service(machine, "many-bad", "Type=oneshot\nExecStart=/bin/sh -c 'exit 3'")
            try service(machine, "many-good", "Type=oneshot\nExecStart=/bin/true")
            try ctl(machine, "enable", "one")
            try ctl(machine, "daemon-reload")
            try waitForSource(machine, "unit/one", "\"state\":\"armed\"")
            var all: [String] = []
            try expect(machine, all, "nothing fires at the start")

            try ctl(machine, "start", "one")
            all += ["active one.service -"]
            try expect(machine, all, "the start")
            try ctl(machine, "reload-or-restart", "nobody.service")
            try ctl(machine, "stop", "one")
            all += ["deactivating one.service -", "inactive one.service success"]
            try expectLoosely(machine, all, "the stop")

            try ctl(machine, "start", "many-good", "many-bad")
            let failed = "failed many-bad.service exit-code"
            try wait(for: "the failure") { try noted(machine).last == failed }
            try comeAndGo(machine)
            try restartBus(machine)
            try restartManager(machine)
            try freezeBus(machine)
        }
    }

    /// A glob means units that nobody knew when it was read, and those that are gone as soon as they have failed.
    private func comeAndGo(_ machine: Machine) throws {
        for name in ["many-first", "many-second"] {
            _ = try machine.run("systemd-run", "--collect", "--unit=\(name)", "/bin/sh", "-c", "exit 4")
            try wait(for: name) { try noted(machine).last == "failed \(name).service exit-code" }
        }
        let before = try noted(machine).count
        _ = try machine.run("systemd-run", "--collect", "--wait", "--unit=many-third", "/bin/true")
        _ = try machine.run("systemd-run", "--collect", "--wait", "--unit=other", "/bin/false")
        try ctl(machine, "start", "many-bad")
        try wait(for: "what failed last") { try noted(machine).last == "failed many-bad.service exit-code" }
        #expect(try noted(machine).count == before + 1, "neither success nor another name counts")
    }

    /// A bus that does not answer a question in time is left.
    private func freezeBus(_ machine: Machine) throws {
        try waitForSource(machine, "unit/one", "\"state\":\"armed\"")
        let bus = try machine.run("systemctl", "show", "--value", "--property", "MainPID", "dbus").text
            .replacing("\n", with: "")
        try machine.write("/etc/watchd/more.watch", "[Unit more]\nUnit=more\nHandler=note\n")
        _ = try machine.run("kill", "-STOP", bus)
        _ = try machine.run("watchctl", "reload")
        try waitForSource(machine, "unit/one", "systemd does not list its units")
        _ = try machine.run("kill", "-CONT", bus)
        for name in ["unit/one", "unit/more"] { try waitForSource(machine, name, "\"state\":\"armed\"") }
    }

    /// Results are told where they are known.
    private func expectLoosely(_ machine: Machine, _ wanted: [String], _ comment: String) throws {
        func short(_ lines: [String]) -> [String] {
            lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
        }
        try wait(for: comment) { try short(noted(machine)) == short(wanted) }
    }

    /// What changes while there is no bus is told when there is one again; what was passed through is not.
    private func restartBus(_ machine: Machine) throws {
        let before = try noted(machine).count
        try ctl(machine, "stop", "dbus.socket", "dbus.service")
        try waitForSource(machine, "unit/one", "\"state\":\"failed\"")
        try expectShortPauses(machine)
        try ctl(machine, "start", "one")
        try ctl(machine, "reset-failed", "many-bad")
        try ctl(machine, "start", "dbus.socket")
        try ctl(machine, "start", "dbus.service")
        let began = Linux.now(.monotonic)
        try waitForSource(machine, "unit/one", "\"state\":\"armed\"")
        #expect(Linux.now(.monotonic) - began < 15_000_000, "as it is tried every 5 s")
        try wait(for: "what happened meanwhile") { try noted(machine).count == before + 1 }
        #expect(try noted(machine).last == "active one.service -")
    }

    /// However long there is no bus, it is tried again soon.
    private func expectShortPauses(_ machine: Machine) throws {
        var tries: [Double] = []
        try wait(for: "six tries, got \(tries)", seconds: 60) {
            let text = try machine.run("watchctl", "--json", "sources", "unit/one").text
            // `2026-11-20T18:04:05.123456Z`: the seconds of the day.
            let time = text.split(separator: "\"next_try\":\"").dropFirst().first?.prefix { $0 != "Z" }
            let parts = time?.split(separator: "T").last?.split(separator: ":").compactMap { Double($0) } ?? []
            guard parts.count == 3 else { return false }
            let next = parts[0] * 3600 + parts[1] * 60 + parts[2]
            if next != tries.last { tries.append(next) }
            return tries.count >= 6
        }
        let pauses = zip(tries.dropFirst(), tries).map { later, earlier in
            later < earlier ? later + 86400 - earlier : later - earlier
        }
        #expect(pauses.allSatisfy { $0 < 15 }, "\(pauses)")
        #expect(pauses.contains { $0 > 4 }, "\(pauses)")
    }

    private func restartManager(_ machine: Machine) throws {
        let before = try noted(machine).count
        try ctl(machine, "daemon-reexec")
        try ctl(machine, "daemon-reload")
        try wait(for: "it to be armed after a new start of the manager") {
            try ctl(machine, "start", "many-bad")
            return try noted(machine).last == "failed many-bad.service exit-code" && noted(machine).count > before
        }
        try ctl(machine, "kill", "--signal=KILL", "one")
        try wait(for: "the failure") { try noted(machine).last == "failed one.service signal" }
    }

    private func waitForSource(_ machine: Machine, _ name: String, _ part: String) throws {
        try wait(for: "\(name) to be \(part)") {
            try machine.run("watchctl", "--json", "sources", name).text.contains(part)
        }
    }
}
