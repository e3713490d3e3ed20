import LinuxSystem
import ProgramKit
import Testing

/// `RunIn=unit`, with a real systemd manager, a real bus and a real journal.
@Suite("Runs as units", .ownThreadChain) struct UnitRunTests {
    private static let watchFile = """
        [Handler]
        RunIn=unit
        [Handler tells]
        Exec=/bin/sh -c 'cat; echo "$WATCHD_HANDLER $WATCHD_KIND $A" >&2; exit $STATUS'
        Environment=A="b c$d%" STATUS=7
        [Handler fine]
        Exec=/bin/echo "all well" $HOME
        [Queue kept]
        Durable=yes
        [Handler waits]
        Exec=/bin/sh -c 'echo begin; while test ! -e /run/go; do sleep 0.1; done; echo end; exit 3'
        [Handler kept]
        Exec=/bin/sh -c 'echo begin >>/run/begun; while test ! -e /run/go; do sleep 0.1; done; echo end'
        Queue=kept
        [Handler counted]
        Exec=/bin/sh -c 'echo begin >>/run/counted'
        Retry=3
        RetrySec=100ms
        [Handler asks]
        ExecCondition=/bin/sh -c 'echo asked >>/run/asked; while test ! -e /run/may; do sleep 0.1; done'
        Exec=/bin/sh -c 'echo begin; while test ! -e /run/go; do sleep 0.1; done; echo end; exit 3'
        [Handler asks-for-a-job]
        RunIn=watchd
        ExecCondition=/bin/sh -c 'echo asked >>/run/asked; while test ! -e /run/may; do sleep 0.1; done'
        Unit=web
        [Handler late]
        Exec=/bin/sh -c 'trap "echo asked; exit 9" USR1; setsid sleep 1000 & while :; do sleep 0.1; done'
        KillSignal=USR1
        TimeoutSec=1s
        [Handler asked]
        Exec=/bin/sh -c 'trap "echo asked; exit 9" TERM; while :; do sleep 0.1; done'
        TimeoutStopSec=1d
        [Handler stubborn]
        Exec=/bin/sh -c 'trap "" TERM; while :; do sleep 0.1; done'
        TimeoutStopSec=500ms
        [Handler missing]
        Exec=/usr/bin/no-such-program
        [Handler nowhere]
        Exec=/bin/true
        WorkingDirectory=/no/such/folder
        [Handler newer]
        Exec=/bin/true
        Unit.PrivatePIDs=yes
        [Handler several]
        Exec=/bin/echo one
        Exec=/bin/false
        Exec=/bin/echo three
        StandardInput=null
        [Handler lasting]
        Exec=/bin/sh -c 'until test -e /run/go; do sleep 0.1; done; echo one'
        Exec=/usr/bin/printf "<%%s>\\n" $HOME ${HOME} "a;b" \\; "it's `x` \\\\"
        Exec=/bin/sh -c 'echo "$0"; exit 5'
        StandardInput=null
        [Handler leaves]
        Exec=/bin/sh -c 'setsid sleep 1234 & exit 0'
        StandardInput=null
        KillMode=process
        [Handler condition]
        ExecCondition=/bin/false
        Exec=/bin/true
        [Handler contract]
        Exec=/bin/sh -c 'id -un; id -gn; pwd; umask; nice; ulimit -n; echo $HOME $FILE; cat /proc/self/oom_score_adj'
        User=games
        WorkingDirectory=/var
        UMask=0077
        Nice=7
        LimitNOFILE=77
        OOMScoreAdjust=300
        EnvironmentFile=/run/variables
        [Handler sandbox]
        Exec=/bin/sh -c 'ls -A /tmp; echo $STATE_DIRECTORY; grep CapBnd /proc/self/status; touch /usr/x; ls -d /mnt/etc/passwd'
        Unit.PrivateTmp=yes
        Unit.ProtectSystem=strict
        Unit.StateDirectory=of-a-handler
        Unit.CapabilityBoundingSet=CAP_KILL CAP_CHOWN
        Unit.BindReadOnlyPaths=/etc:/mnt/etc
        Unit.SystemCallFilter=~@mount
        Unit.MemoryHigh=20%
        Unit.IPAddressDeny=any
        Unit.DeviceAllow=/dev/null rw
        Unit.LogRateLimitIntervalSec=10s
        [Handler every]
        Exec=/bin/true
        Unit.StateDirectory=of-every-form
        Unit.StateDirectoryMode=0750
        Unit.StartupCPUWeight=20
        Unit.AllowedCPUs=0-1
        Unit.IOReadBandwidthMax=/dev/null 5M
        Unit.IPAddressAllow=localhost 10.0.0.0/8 fe80::/10
        Unit.AmbientCapabilities=CAP_KILL
        Unit.BindPaths=-/no/such:/mnt
        Unit.AppArmorProfile=-nothing
        Unit.LogLevelMax=debug
        Unit.SyslogFacility=local1
        Unit.TimerSlackNSec=5us
        Unit.LogRateLimitBurst=9000
        Unit.ManagedOOMMemoryPressureLimit=60%
        Unit.RestrictNamespaces=~user
        Unit.MountFlags=slave
        Unit.TemporaryFileSystem=/mnt:size=1M
        Unit.IODeviceWeight=/dev/null 5
        Unit.SetCredential=a:b c
        Unit.LoadCredential=b:/etc/hostname
        Unit.LogExtraFields=MINE=a b
        Unit.Delegate=memory
        Unit.SecureBits=noroot
        Unit.SystemCallErrorNumber=EPERM
        Unit.CoredumpFilter=0x1f
        Unit.RestrictAddressFamilies=AF_UNIX AF_INET
        Unit.CPUQuotaPeriodSec=50ms
        Unit.MemoryLow=1M
        Unit.ReadOnlyPaths=-/opt "-/a b"
        Unit.NUMAPolicy=default

        """

    private func ctl(_ machine: Machine, _ words: String...) throws -> String {
        try machine.run(["systemctl"] + words).text.replacing("\n", with: " ")
    }

    private func reason(_ machine: Machine, _ handler: String) throws -> String {
        try machine.run("watchctl", "--json", "history", "-n", "1", handler).text
    }

    /// Units of runs that the manager knows.
    private func units(_ machine: Machine) throws -> String {
        try machine.run("systemctl", "list-units", "--all", "--plain", "--no-legend", "watchd-run-*").text
    }

    private func output(_ machine: Machine, _ handler: String) throws -> String {
        try machine.run("watchctl", "output", handler).text
    }

    private func begin(_ machine: Machine, _ handler: String) throws {
        #expect(try machine.run("watchctl", "run", handler).code == 0)
        try wait(for: "the unit of \(handler)") { try units(machine).contains("\(handler).") }
        try wait(for: "the run of \(handler)") {
            try machine.run("watchctl", "--json", "operations", "--handler", handler).text.contains("\"pid\":")
        }
    }

    private func cancel(_ machine: Machine, _ handler: String) throws {
        let told = try machine.run("watchctl", "--json", "operations", "--handler", handler).text
        let id = told.split(separator: "\"id\":").dropFirst().first?.prefix { $0.isNumber }
        #expect(try machine.run("watchctl", "cancel", String(id ?? "")).code == 0, "\(told)")
    }

    private func go(_ machine: Machine) throws { _ = try machine.run("touch", "/run/go") }

    @Test func aRunIsAServiceThatTellsItsOutputAndItsEnd() throws {
        try Machine.with(Self.watchFile) { machine in
            #expect(try machine.run("watchctl", "run", "--wait", "fine").code == 0)
            #expect(try output(machine, "fine") == "all well $HOME\n")
            #expect(try machine.run("watchctl", "run", "--wait", "tells").code != 0)
            let told = try reason(machine, "tells")
            #expect(told.contains("\"exit_status\":7"), "\(told)")
            let text = try output(machine, "tells")
            #expect(text.contains("\"handler\":\"tells\""), "\(text)")
            #expect(text.hasSuffix("tells custom b c$d%\n"), "\(text)")
            #expect(try units(machine) == "")
            try endsWhenAsked(machine)
            try saysWhatIsWrong(machine)
            try goesThroughAReload(machine)
            try hasItsKeys(machine)
            #expect(try units(machine) == "")
        }
    }

    private func endsWhenAsked(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "run", "--wait", "late").code != 0)
        let late = try reason(machine, "late")
        #expect(late.contains("timed out after 1s") && late.contains("\"exit_status\":9"), "\(late)")
        #expect(try output(machine, "late").hasSuffix("asked\n"))
        #expect(try machine.run("pgrep", "-f", "sleep 1000").code != 0)
        try begin(machine, "stubborn")
        try cancel(machine, "stubborn")
        try wait(for: "the end") { try reason(machine, "stubborn").contains("\"result\":\"cancelled\"") }
    }

    private func saysWhatIsWrong(_ machine: Machine) throws {
        for (handler, part) in [
            ("missing", "Failed at step EXEC spawning /usr/bin/no-such-program: No such file or directory"),
            ("nowhere", "Failed at step CHDIR spawning /bin/true: No such file or directory"),
            ("newer", "systemd refuses it: Cannot set property PrivatePIDs, or unknown property."),
        ] {
            #expect(try machine.run("watchctl", "run", "--wait", handler).code != 0, "\(handler)")
            let told = try reason(machine, handler)
            #expect(told.contains(part), "\(told)")
        }
        #expect(try machine.run("watchctl", "run", "--wait", "several").code != 0)
        #expect(try output(machine, "several") == "one\n")
        _ = try machine.run("watchctl", "run", "--wait", "condition")
        #expect(try reason(machine, "condition").contains("\"result\":\"skipped\""))
    }

    /// The manager reads the unit again while its first command runs.
    private func goesThroughAReload(_ machine: Machine) throws {
        try begin(machine, "lasting")
        _ = try ctl(machine, "daemon-reload")
        try go(machine)
        try wait(for: "its end") { try reason(machine, "lasting").contains("\"exit_status\":5") }
        _ = try machine.run("rm", "/run/go")
        #expect(
            try output(machine, "lasting") == "one\n<$HOME>\n<${HOME}>\n<a;b>\n<;>\n<it's `x` \\>\n/bin/sh\n")
    }

    private func hasItsKeys(_ machine: Machine) throws {
        try machine.write("/run/variables", "FILE='from a file'\n")
        #expect(try machine.run("watchctl", "run", "--wait", "contract").code == 0)
        let lines = try output(machine, "contract").split(separator: "\n").map(String.init)
        #expect(
            lines == ["games", "games", "/var", "0077", "7", "77", "/usr/games from a file", "300"], "\(lines)")
        #expect(try machine.run("watchctl", "run", "--wait", "every").code == 0)
        let every = try reason(machine, "every")
        #expect(every.contains("\"invocation_id\":\"") && every.contains("\"unit\":\"watchd-run-"), "\(every)")
        _ = try machine.run("watchctl", "run", "--wait", "sandbox")
        let text = try output(machine, "sandbox")
        #expect(text.hasPrefix("/var/lib/of-a-handler\n") && text.contains(" 0000000000000021\n"), "\(text)")
        #expect(text.contains("Read-only file system"), "\(text)")
        #expect(text.hasSuffix("/mnt/etc/passwd\n"), "\(text)")
    }

    @Test func aRunOutlivesWatchdAndIsFoundAgain() throws {
        try Machine.with(Self.watchFile) { machine in
            for end in ["restart", "kill", "stop"] {
                _ = try machine.run("rm", "-f", "/run/go", "/run/begun")
                try begin(machine, "waits")
                try begin(machine, "kept")
                try wait(for: "its first line") { try output(machine, "waits") == "begin\n" }
                let process = try ctl(machine, "show", "--value", "--property", "MainPID", "watchd-run-*.waits.*")
                switch end {
                case "restart": #expect(try machine.run("systemctl", "restart", "watchd").code == 0)
                case "kill":
                    _ = try ctl(machine, "kill", "--signal=KILL", "--kill-who=main", "watchd")
                    try wait(for: "the next watchd") { try machine.run("watchctl", "status").code == 0 }
                default:
                    #expect(try machine.run("systemctl", "stop", "watchd").code == 0)
                    #expect(try machine.isAlive(process.replacing(" ", with: "")))
                    // Their ends come while no watchd is there.
                    try go(machine)
                    try wait(for: "their ends") { try !units(machine).contains("running") }
                    #expect(try machine.run("systemctl", "start", "watchd").code == 0)
                }
                if end != "stop" {
                    try wait(for: "its first line again") { try output(machine, "waits") == "begin\n" }
                    #expect(try units(machine).contains("running"), "\(end)")
                    #expect(try machine.isAlive(process.replacing(" ", with: "")), "\(end)")
                    try go(machine)
                }
                try wait(for: "the end after \(end)") { try units(machine) == "" }
                try wait(for: "the history after \(end)") {
                    try machine.run("watchctl", "--json", "operations").text.contains("executing") == false
                }
                #expect(try reason(machine, "waits").contains("\"exit_status\":3"))
                #expect(try output(machine, "waits") == "begin\nend\n", "\(end)")
                #expect(try reason(machine, "kept").contains("\"result\":\"done\""))
                #expect(try output(machine, "kept") == "end\n", "\(end)")
                #expect(try machine.run("cat", "/run/begun").text == "begin\n", "\(end)")
            }
        }
    }

    /// Only a watchd starts what a condition allows: a stop waits for the answer, and then leaves the unit.
    @Test func aConditionIsWaitedForAndIsNoRun() throws {
        try Machine.with(Self.watchFile) { machine in
            try ask(machine, "asks")
            _ = try ctl(machine, "stop", "--no-block", "watchd.service")
            try wait(for: "the stop") { try machine.property("ActiveState") == "deactivating" }
            _ = try machine.run("touch", "/run/may")
            try wait(for: "the end of watchd") { try machine.property("ActiveState") == "inactive" }
            #expect(try units(machine).contains("running"))
            try go(machine)
            _ = try ctl(machine, "start", "watchd.service")
            try wait(for: "its end") { try reason(machine, "asks").contains("\"exit_status\":3") }
            #expect(try output(machine, "asks").hasSuffix("begin\nend\n"))
            for handler in ["asks", "asks-for-a-job"] {
                try ask(machine, handler)
                _ = try ctl(machine, "kill", "--signal=KILL", "--kill-who=main", "watchd")
                try wait(for: "the next watchd") { try machine.run("watchctl", "status").code == 0 }
                _ = try machine.run("touch", "/run/may")
                try wait(for: "the end of \(handler)") {
                    try reason(machine, handler).contains("while it asked ExecCondition=, so nothing was done")
                }
            }
        }
    }

    private func ask(_ machine: Machine, _ handler: String) throws {
        _ = try machine.run("rm", "-f", "/run/asked", "/run/may", "/run/go")
        #expect(try machine.run("watchctl", "run", handler).code == 0)
        try wait(for: "the condition of \(handler)") { try machine.run("cat", "/run/asked").text == "asked\n" }
        try wait(for: "its number to be known") {
            try machine.run("watchctl", "--json", "operations", "--handler", handler).text.contains("\"pid\":")
        }
    }

    @Test func theExampleRunsAsAUnit() throws {
        try Machine.with(try Repository.text("config/examples/unit-run.watch")) { machine in
            let end = try machine.run("watchctl", "run", "--wait", "backup")
            #expect(end.code == 0, "\(end)")
            #expect(try output(machine, "backup").contains("apt/"))
            #expect(try machine.run("tar", "-tzf", "/var/backups/apt.tar.gz").text.contains("apt/"))
            #expect(try reason(machine, "backup").contains("\"unit\":\"watchd-run-"))
        }
    }

    @Test func aUserHasUnitsOfItsOwnAndTheHardenedServiceNeedsARule() throws {
        let text =
            "[Handler secret]\nExec=/bin/sh -c 'cat $CREDENTIALS_DIRECTORY/token'\nRunIn=unit\nCredential=token\n"
        try Machine.with(text, settings: "LoadCredential=token:/etc/hostname") { machine in
            #expect(try machine.run("watchctl", "run", "--wait", "secret").code == 0)
            #expect(try output(machine, "secret") == machine.run("cat", "/etc/hostname").text)
            try machine.write(
                "/etc/watchd/test.watch",
                "[Handler tells]\nExec=/bin/sh -c 'id -un; exit 3'\nRunIn=unit\n"
                    + "[Handler web]\nUnit=nginx\n")
            #expect(try machine.run("systemd-sysusers", "/usr/lib/sysusers.d/watchd.conf").code == 0)
            let dropIn = "/etc/systemd/system/watchd.service.d/50-hardened.conf"
            try machine.write(dropIn, try Repository.text("systemd/hardened.conf"))
            _ = try ctl(machine, "daemon-reload")
            _ = try ctl(machine, "restart", "watchd")
            #expect(try machine.run("watchctl", "run", "--wait", "tells").code != 0)
            let told = try reason(machine, "tells")
            #expect(told.contains("needs a rule of polkit for org.freedesktop.systemd1.manage-units"), "\(told)")
            try useRule(machine)
            try useUsersManager(machine)
        }
    }

    /// That of the manual page lets the hardened watchd start one unit, and make none.
    private func useRule(_ machine: Machine) throws {
        #expect(try machine.run("watchctl", "run", "--wait", "web").code != 0)
        #expect(try reason(machine, "web").contains("rule of polkit"))
        guard try machine.run("test", "-x", "/usr/lib/polkit-1/polkitd").code == 0 else {
            return print("SKIPPED: no polkitd")
        }
        let page = try Repository.text("config/man/watchd.8")
        let begin = try #require(page.firstRange(of: "polkit.addRule"))
        let end = try #require(page[begin.lowerBound...].firstRange(of: "});\n"))
        try machine.write(
            "/etc/polkit-1/rules.d/50-watchd.rules", String(page[begin.lowerBound..<end.upperBound]))
        try machine.write("/etc/systemd/system/nginx.service", "[Service]\nExecStart=/bin/sleep 1000\n")
        _ = try ctl(machine, "daemon-reload")
        _ = try ctl(machine, "restart", "polkit.service")
        let web = try machine.run("watchctl", "run", "--wait", "web")
        #expect(web.code == 0, "\(web)")
        #expect(try machine.run("watchctl", "run", "--wait", "tells").code != 0)
        #expect(try reason(machine, "tells").contains("rule of polkit"))
    }

    private func useUsersManager(_ machine: Machine) throws {
        guard try machine.run("sh", "-c", "ls /usr/lib/*/security/pam_systemd.so").code == 0 else {
            return print("SKIPPED: no libpam-systemd for a user's manager")
        }
        #expect(try machine.run("useradd", "--create-home", "--uid", "4711", "alice").code == 0)
        // So that there is a journal that she may read.
        #expect(try machine.run("usermod", "--append", "--groups", "systemd-journal", "alice").code == 0)
        #expect(try machine.run("systemctl", "start", "user@4711.service").code == 0)
        func alice(_ script: String) throws -> Finished {
            try machine.run([
                "setpriv", "--reuid=4711", "--regid=4711", "--init-groups", "env", "HOME=/home/alice",
                "XDG_RUNTIME_DIR=/run/user/4711", "sh", "-c", script,
            ])
        }
        let end = try alice(
            """
            mkdir -p ~/.config/watchd
            cp /etc/watchd/test.watch ~/.config/watchd/
            systemctl --user start watchd
            watchctl run --wait tells
            """)
        #expect(end.code != 0 && end.errorText.contains("FAILED exit 3"), "\(end)")
        #expect(try alice("watchctl output tells").text == "alice\n")
        #expect(try alice("ls /run/user/4711/systemd/transient").text == "")
    }

    /// It is too young to stand in the store, and its folder of state may be lost.
    @Test func aYoungRunIsFoundAgainAndOneThatNobodyKnowsIsEnded() throws {
        try Machine.with(Self.watchFile) { machine in
            #expect(try machine.run("watchctl", "run", "waits").code == 0)
            try wait(for: "the unit") { try units(machine).contains("running") }
            _ = try ctl(machine, "kill", "--signal=KILL", "--kill-who=main", "watchd")
            try wait(for: "the next watchd") { try machine.run("watchctl", "status").code == 0 }
            try wait(for: "the run") { try machine.run("watchctl", "operations").text.contains("waits") }
            try go(machine)
            try wait(for: "its end") { try reason(machine, "waits").contains("\"exit_status\":3") }
            #expect(try output(machine, "waits") == "begin\nend\n")
            _ = try machine.run("rm", "/run/go")
            try begin(machine, "waits")
            _ = try ctl(machine, "stop", "watchd.service")
            #expect(try units(machine).contains("running"))
            try machine.write("/etc/watchd/test.watch", "[Handler other]\nLog=x\n")
            _ = try machine.run("rm", "-rf", "/var/lib/watchd")
            _ = try ctl(machine, "start", "watchd.service")
            try wait(for: "the end of what nobody knows") { try units(machine) == "" }
            try machine.write("/etc/watchd/test.watch", Self.watchFile)
            _ = try ctl(machine, "restart", "watchd.service")
            #expect(try machine.run("watchctl", "run", "--wait", "leaves").code == 0)
            #expect(try machine.run("pgrep", "-f", "sleep 1234").code == 0)
            _ = try ctl(machine, "restart", "watchd.service")
            try wait(for: "the end of what it has left") { try machine.run("pgrep", "-f", "sleep 1234").code != 0 }
        }
    }

    /// More at once than the bus lets one connection wait for.
    @Test func manyRunsAtOnceAreNoTroubleForTheBus() throws {
        let text = "[Watchd]\nMaxProcesses=200\n[Custom c]\nKey=none\nCoalesce=no\nExec=/bin/true\nRunIn=unit\n"
        try Machine.with(text) { machine in
            let many =
                "watchctl suspend default; for i in $(seq 150); do watchctl emit c; done; watchctl resume default"
            #expect(try machine.run("sh", "-ec", many).code == 0)
            try wait(for: "all of them") {
                try machine.run("watchctl", "--json", "history", "-n", "1000", "c").text
                    .split(separator: "\"result\":\"done\"").count == 151
            }
        }
    }

    @Test func aBusAManagerAndAUnitMayGo() throws {
        try Machine.with(Self.watchFile) { machine in
            try begin(machine, "waits")
            _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
            try go(machine)
            _ = try ctl(machine, "daemon-reload")
            _ = try ctl(machine, "start", "dbus.socket", "dbus.service")
            try wait(for: "the end after the bus") { try reason(machine, "waits").contains("\"exit_status\":3") }
            #expect(try output(machine, "waits") == "begin\nend\n")
            try cancelWithoutBus(machine)
            _ = try machine.run("rm", "/run/go")
            try begin(machine, "waits")
            _ = try ctl(machine, "daemon-reexec")
            try go(machine)
            try wait(for: "the end after the manager") { try units(machine) == "" }
            try vanish(machine)
            try meet(machine)
        }
    }

    /// Nobody knows whether it takes what it was asked for: no run counts as not started, or as ended.
    @Test func aManagerThatIsSilentIsWaitedFor() throws {
        try Machine.with(Self.watchFile) { machine in
            try begin(machine, "waits")
            try machine.frozen {
                #expect(try machine.run("watchctl", "run", "counted").code == 0)
                try go(machine)
                try wait(for: "a start in doubt") {
                    let log = try machine.run("journalctl", "--no-pager", "-u", "watchd.service").text
                    return log.split(separator: "is looked at when systemd answers again").count == 2
                }
                let told = try machine.run("watchctl", "--json", "history").text
                #expect(told.split(separator: "\"id\":").count == 1, "\(told)")
            }
            try wait(for: "its end") { try reason(machine, "counted").contains("\"result\":\"done\"") }
            try wait(for: "the end of the other") { try reason(machine, "waits").contains("\"exit_status\":3") }
            #expect(try machine.run("cat", "/run/counted").text == "begin\n")
            #expect(try output(machine, "waits") == "begin\nend\n")
            try wait(for: "their units to go") { try units(machine) == "" }
        }
    }

    /// It goes on, and is asked to end when the bus is there again.
    private func cancelWithoutBus(_ machine: Machine) throws {
        for handler in ["asked", "stubborn"] { try begin(machine, handler) }
        _ = try ctl(machine, "stop", "dbus.socket", "dbus.service")
        for handler in ["asked", "stubborn"] { try cancel(machine, handler) }
        for handler in ["asked", "stubborn"] {
            let told = try machine.run("watchctl", "--json", "operations", "--handler", handler).text
            #expect(told.contains("executing"), "\(told)")
        }
        _ = try ctl(machine, "start", "dbus.socket", "dbus.service")
        for handler in ["asked", "stubborn"] {
            try wait(for: "the end of \(handler)") { try reason(machine, handler).contains("\"result\":\"cancelled\"") }
        }
        let text = try output(machine, "asked")
        #expect(text.hasSuffix("asked\n"), "\(text)")
        try wait(for: "their units to go") { try units(machine) == "" }
    }

    /// Somebody stops the unit while no watchd looks.
    private func vanish(_ machine: Machine) throws {
        _ = try machine.run("rm", "/run/go")
        try begin(machine, "waits")
        _ = try ctl(machine, "stop", "watchd.service")
        _ = try ctl(machine, "stop", "watchd-run-*.waits.*")
        _ = try ctl(machine, "start", "watchd.service")
        try wait(for: "a failure") { try reason(machine, "waits").contains("not known") }
    }

    /// Somebody has a unit of that name.
    private func meet(_ machine: Machine) throws {
        try begin(machine, "waits")
        let name = try units(machine).split(separator: " ").first.map(String.init) ?? ""
        let number = Int(name.split(separator: "-").dropFirst(2).first ?? "") ?? 0
        let next = name.replacing("run-\(number)-", with: "run-\(number + 1)-").replacing("waits", with: "fine")
        #expect(try machine.run("systemd-run", "--unit", next, "sleep", "1000").code == 0)
        #expect(try machine.run("watchctl", "run", "--wait", "fine").code != 0)
        let told = try reason(machine, "fine")
        #expect(told.contains("systemd refuses it: Unit \(next) was already loaded"), "\(told)")
        _ = try ctl(machine, "stop", next)
        try cancel(machine, "waits")
    }
}
