import LinuxSystem
import ProgramKit
import Testing

/// `Unit=` handlers, with a real systemd manager and a real bus.
@Suite("Jobs of units", .ownThreadChain, .serialized) struct UnitActionTests {
    private static let watchFile = """
        [Watchd]
        DrainSec=0
        [Handler both]
        Unit=one two.service
        [Handler restart]
        Unit=one
        UnitAction=restart
        [Handler stop]
        Unit=one two
        UnitAction=stop
        [Handler stop-failed]
        Unit=dies
        UnitAction=stop
        [Handler whole]
        Unit=oneshot
        UnitWait=yes
        [Handler dies]
        Unit=dies
        UnitWait=yes
        [Handler bad]
        Unit=bad
        [Handler mixed]
        Unit=one endless
        TimeoutSec=infinity
        [Handler nobody]
        Unit=nobody
        [Handler late]
        Unit=endless
        TimeoutSec=1s
        [Handler long]
        Unit=one
        UnitWait=yes
        [Handler too-long]
        Unit=one
        UnitWait=yes
        TimeoutSec=1s
        [Handler collected]
        Unit=collected
        UnitWait=yes
        [Handler says]
        Unit=says
        [Handler task]
        Unit=task
        [Handler slow]
        Unit=slow one
        [Handler again]
        ExecCondition=/bin/true
        Unit=one
        Retry=infinity
        RetrySec=500ms
        RetryMaxSec=500ms
        [Path in]
        Path=/run/in
        Key=%p
        Unit=take@%p

        """

    private func service(_ machine: Machine, _ name: String, _ text: String) throws {
        try machine.write("/etc/systemd/system/\(name).service", "[Unit]\nStartLimitBurst=1000\n[Service]\n\(text)\n")
    }

    private func ctl(_ machine: Machine, _ words: String...) throws -> String {
        try machine.run(["systemctl"] + words).text.replacing("\n", with: " ")
    }

    private func reason(_ machine: Machine, _ handler: String) throws -> String {
        try machine.run("watchctl", "--json", "history", "-n", "1", handler).text
    }

    @Test func jobsAreDoneToldAndNeverWaitedForInVain() throws {
        try Machine.with(Self.watchFile) { machine in
            for name in ["one", "two"] { try service(machine, name, "ExecStart=/bin/sleep 1000") }
            let note = "sleep 0.3; echo $$INVOCATION_ID >/run/whole"
            try service(machine, "oneshot", "Type=oneshot\nExecStart=/bin/sh -c '\(note)'")
            try service(machine, "dies", "Type=exec\nExecStart=/bin/sh -c 'echo $$INVOCATION_ID; sleep 0.3; exit 3'")
            try service(machine, "bad", "Type=oneshot\nExecStart=/bin/false")
            try service(machine, "says", "Type=oneshot\nExecStart=/bin/echo said")
            let untilGo = "until rm /run/go; do sleep 0.1; done"
            try service(machine, "slow", "Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '\(untilGo)'")
            try service(machine, "task", "Type=oneshot\nExecStart=/bin/sh -c '\(untilGo)'")
            try service(
                machine, "collected",
                "ExecStart=/bin/sh -c 'echo a; \(untilGo); exit 3'\n[Unit]\nCollectMode=inactive-or-failed")
            try service(machine, "endless", "Type=oneshot\nExecStart=/bin/sleep 1000")
            try service(machine, "take@", "Type=oneshot\nExecStart=/bin/sh -c 'echo \"$1\" >/run/taken' sh %f")
            _ = try machine.run("mkdir", "-p", "/run/in")
            _ = try ctl(machine, "daemon-reload")
            try succeed(machine)
            try fail(machine)
            try runOn(machine)
            _ = try machine.run("touch", "/run/in/a-b c")
            try wait(for: "the instance") { try machine.run("cat", "/run/taken").text == "/run/in/a-b c\n" }
            try restartTheBus(machine)
            try endWithoutABus(machine)
            try beForgottenWithoutABus(machine)
            try loseTheBus(machine)
        }
    }

    private func succeed(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "run", "--wait", "both").code == 0)
        #expect(try ctl(machine, "is-active", "one", "two") == "active active ")
        let first = try ctl(machine, "show", "--value", "--property", "InvocationID", "one").replacing(" ", with: "")
        let output = try machine.run("watchctl", "output", "both").text
        #expect(
            output.contains("one.service: start done, active, result success, _SYSTEMD_INVOCATION_ID=\(first)\n"),
            "\(output)")
        #expect(try machine.run("watchctl", "run", "--wait", "restart").code == 0)
        let second = try ctl(machine, "show", "--value", "--property", "InvocationID", "one").replacing(" ", with: "")
        #expect(first != second && first.count == 32)
        #expect(try machine.run("watchctl", "run", "--wait", "stop").code == 0)
        #expect(try ctl(machine, "is-active", "one", "two") == "inactive inactive ")
        #expect(try machine.run("watchctl", "run", "--wait", "whole").code == 0)
        let invocation = try machine.run("cat", "/run/whole").text
        let told = try machine.run("watchctl", "output", "whole").text
        #expect(invocation.count == 33)
        #expect(
            told == "oneshot.service: start done, inactive, result success, _SYSTEMD_INVOCATION_ID=\(invocation)")
    }

    /// While it runs, and when watchd stops.
    private func runOn(_ machine: Machine) throws {
        _ = try machine.run("watchctl", "run", "mixed")
        try wait(for: "what it has said so far") {
            try machine.run("watchctl", "output", "mixed").text.hasPrefix("one.service: start done, active")
        }
        let listed = try machine.run("watchctl", "--json", "operations", "--handler", "mixed").text
        let id = listed.split(separator: "\"id\":").last?.prefix { $0.isNumber } ?? ""
        let shown = try machine.run("watchctl", "show", "\(id)").text
        #expect(shown.contains("one.service: start done, active"), "\(shown)")
        _ = try ctl(machine, "restart", "watchd")
        let log = try machine.run("journalctl", "-u", "watchd", "-o", "cat", "--no-pager", "-g", "mixed").text
        #expect(log.contains("has its jobs cancelled: watchd stops") && !log.contains("SIGTERM"), "\(log)")
        try beKilled(machine)
        _ = try machine.run("watchctl", "forget", "mixed")
    }

    private func beKilled(_ machine: Machine) throws {
        _ = try machine.run("watchctl", "run", "mixed")
        try wait(for: "what it has said so far") {
            try machine.run("watchctl", "output", "mixed").text.hasPrefix("one.service: start done, active")
        }
        _ = try ctl(machine, "kill", "--signal=KILL", "watchd")
        try wait(for: "the next watchd") { try reason(machine, "mixed").contains("how it ended is not known") }
        let told = try machine.run("watchctl", "output", "mixed")
        #expect(told.text.isEmpty && told.errorText.contains("is in the log only"), "\(told)")
    }

    private func fail(_ machine: Machine) throws {
        for (handler, part) in [
            ("dies", "dies.service: it has failed (exit-code)"), ("bad", "bad.service: its job failed"),
            ("nobody", "nobody.service: Unit nobody.service not found."), ("late", "timed out after 1s"),
        ] {
            #expect(try machine.run("watchctl", "run", "--wait", handler).code != 0, "\(handler)")
            let told = try reason(machine, handler)
            #expect(told.contains(part), "\(told)")
        }
        let invocation = try ctl(machine, "show", "--value", "--property", "InvocationID", "bad").prefix(32)
        let told = try machine.run("watchctl", "output", "bad").text
        let end = "start its job failed, failed, result exit-code, _SYSTEMD_INVOCATION_ID=\(invocation)"
        #expect(told == "bad.service: \(end)\n")
        try haveOutput(machine)
        #expect(try machine.run("watchctl", "run", "--wait", "too-long").code != 0)
        #expect(try reason(machine, "too-long").contains("timed out after 1s"))
        let soFar = try machine.run("watchctl", "output", "too-long").text
        #expect(soFar.hasPrefix("one.service: start it still runs, active, _SYSTEMD_INVOCATION_ID="), "\(soFar)")
        _ = try ctl(machine, "stop", "one")
        #expect(try ctl(machine, "is-failed", "dies") == "failed ")
        #expect(try machine.run("watchctl", "run", "--wait", "stop-failed").code == 0)
        let jobs = try ctl(machine, "list-jobs")
        #expect(!jobs.contains("endless"), "\(jobs)")
        _ = try ctl(machine, "kill", "endless")
    }

    /// The lines of this run of the unit, and no others.
    private func haveOutput(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "run", "--wait", "dies").code != 0)
        let invocation = try ctl(machine, "show", "--value", "--property", "InvocationID", "dies").prefix(32)
        let end = "start it has failed (exit-code), failed, result exit-code, _SYSTEMD_INVOCATION_ID=\(invocation)"
        let told = try machine.run("watchctl", "output", "dies").text
        #expect(told == "\(invocation)\ndies.service: \(end)\n")
        for _ in 0..<3 {
            #expect(try machine.run("watchctl", "run", "--wait", "says").code == 0)
            let said = try machine.run("watchctl", "output", "says").text
            #expect(said.hasPrefix("said\nsays.service: start done, inactive, result success, "), "\(said)")
        }
    }

    /// How many operations of it have.
    private func ended(_ machine: Machine, _ handler: String) throws -> Int {
        let history = try machine.run("watchctl", "--json", "history", handler).text
        return history.split(separator: "\"result\":").count - 1
    }

    /// The jobs go on, and end while nobody can tell or later.
    private func restartTheBus(_ machine: Machine) throws {
        for (number, endsMeanwhile) in [true, false].enumerated() {
            _ = try ctl(machine, "stop", "slow", "one")
            _ = try machine.run("watchctl", "run", "slow")
            try wait(for: "the jobs") { try machine.run("watchctl", "output", "slow").text.hasPrefix("one.service: ") }
            _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
            if endsMeanwhile {
                _ = try machine.run("touch", "/run/go")
                try wait(for: "the job's end") { try ctl(machine, "is-active", "slow") == "active " }
            }
            _ = try ctl(machine, "start", "dbus.socket", "dbus.service")
            if !endsMeanwhile {
                _ = try ctl(machine, "daemon-reexec")
                _ = try machine.run("touch", "/run/go")
            }
            try wait(for: "the end") { try ended(machine, "slow") == number + 1 }
            #expect(try reason(machine, "slow").contains("\"result\":\"done\""))
            let told = try machine.run("watchctl", "output", "slow").text
            #expect(told.contains("\nslow.service: start done, active, result success, "), "\(told)")
        }
    }

    /// A job that ends while nobody can tell: its unit says whether it was done.
    private func endWithoutABus(_ machine: Machine) throws {
        for (number, isStopped) in [false, true].enumerated() {
            _ = try machine.run("watchctl", "run", "task")
            try wait(for: "the job") { try ctl(machine, "is-active", "task") == "activating " }
            _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
            _ = try isStopped ? ctl(machine, "stop", "task") : machine.run("touch", "/run/go").text
            try wait(for: "the job's end") { try ctl(machine, "is-active", "task") != "activating " }
            _ = try ctl(machine, "start", "dbus.socket", "dbus.service")
            try wait(for: "the end") { try ended(machine, "task") == number + 1 }
            let told = try reason(machine, "task")
            let end = isStopped ? "task.service: it has failed (signal)" : "\"result\":\"done\""
            #expect(told.contains(end), "\(told)")
        }
        _ = try machine.run("watchctl", "forget", "task")
    }

    /// The unit ends meanwhile, and the manager forgets it.
    private func beForgottenWithoutABus(_ machine: Machine) throws {
        _ = try machine.run("watchctl", "run", "collected")
        try wait(for: "its unit") { try ctl(machine, "is-active", "collected") == "active " }
        _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
        _ = try machine.run("touch", "/run/go")
        try wait(for: "its end") { try ctl(machine, "is-active", "collected") == "inactive " }
        _ = try ctl(machine, "start", "dbus.socket", "dbus.service")
        try wait(for: "the failure") { try reason(machine, "collected").contains("it has failed (exit-code)") }
        let told = try machine.run("watchctl", "output", "collected").text
        #expect(told.hasPrefix("a\n"), "\(told)")
        #expect(told.contains("\ncollected.service: start it has failed (exit-code), result exit-code, _"), "\(told)")
        _ = try machine.run("watchctl", "forget", "collected")
    }

    /// Nobody would tell how the unit ends.
    private func loseTheBus(_ machine: Machine) throws {
        _ = try machine.run("watchctl", "run", "long")
        try wait(for: "its start") { try ctl(machine, "is-active", "one") == "active " }
        try wait(for: "the job's end") {
            try machine.run("watchctl", "--json", "operations", "--handler", "long").text.contains("executing")
        }
        _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
        try wait(for: "the failure") { try reason(machine, "long").contains("one.service is not known") }
        _ = try machine.run("watchctl", "run", "again")
        try wait(for: "a failed attempt") {
            try machine.run("watchctl", "--json", "operations", "--handler", "again").text.contains("backing-off")
        }
        _ = try ctl(machine, "start", "dbus.socket")
        _ = try ctl(machine, "start", "dbus.service")
        try wait(for: "the attempt that succeeds") { try reason(machine, "again").contains("\"result\":\"done\"") }
    }
}
