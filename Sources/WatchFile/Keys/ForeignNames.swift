import Schedule

/// Keys and sections of systemd, crontab(5) and supervisord that have another name here, or none.
enum ForeignNames {
    struct Translation {
        /// The key of a watch file that comes nearest; `nil`: there is none.
        var key: String?
        /// The words to write instead, or why there are none.
        var text: String

        /// Behind what is wrong.
        var sentence: String { key == nil ? text : "here that is \(text)" }
    }

    /// The meaning here of a key that no section of this kind has.
    static func key(_ name: String, in kind: SectionKind) -> Translation? {
        if kind == .process, let translation = ofProcess[name] { return translation }
        return keys[name]
    }

    /// The section here for `[Service]` or `[program:web]`.
    static func section(_ word: String) -> String? {
        let parts = word.split(separator: ":", maxSplits: 1).map(String.init)
        guard let kind = parts.first, let text = sections[kind] else { return nil }
        return parts.count == 2 ? text.replacing("NAME", with: parts[1]) : text
    }

    /// The word of a value that means what inotify(7) and incrontab(5) call so.
    static func word(_ word: String, of words: [String]) -> String? {
        let lower = word.lowercased()
        let name = lower.hasPrefix("in_") ? String(lower.dropFirst(3)) : lower
        return events[name].flatMap { words.contains($0) ? $0 : nil }
    }

    private static let events = [
        "close_write": "written", "close": "written", "write": "written", "moved_to": "written", "move": "renamed",
        "moved": "renamed", "move_self": "renamed", "moved_from": "deleted", "delete": "deleted",
        "delete_self": "deleted", "remove": "deleted", "removed": "deleted", "unlink": "deleted", "create": "created",
        "add": "created",
        "modify": "modified", "attrib": "attributes", "chmod": "attributes", "all_events": "changed",
    ]

    private static let sections = [
        "Service": "a command is a [Handler NAME], a process that stays a [Process NAME]",
        "Install": "leave it out: there is nothing to enable", "Socket": "it is a [Descriptor NAME]",
        "Mount": "watchd mounts nothing", "Automount": "watchd mounts nothing", "Swap": "watchd has none",
        "Slice": "a [Queue NAME] with Width= limits what runs at once", "Target": "it is a [Group NAME]",
        "Scope": "a [Process NAME] with PIDFile= watches what others have started",
        "program": "a process that stays is a [Process NAME]", "fcgi-program": "it is a [Process NAME]",
        "eventlistener": "it is a [Handler NAME]", "group": "it is a [Group NAME]",
        "supervisord": "settings stand in [Watchd]", "supervisorctl": "watchctl needs no settings",
        "unix_http_server": "ControlSocket= in [Watchd] is the socket", "inet_http_server": "watchd has no HTTP",
        "rpcinterface": "watchd speaks Varlink without a setting", "include": "name the folder when watchd is started",
    ]

    private static let ofProcess = table(process)
    private static let keys = table(units + timers + runs + others + supervisor + crontab)

    private static func table(_ rows: [Row]) -> [String: Translation] {
        var keys: [String: Translation] = [:]
        for (names, key, text) in rows {
            for name in names { keys[name] = Translation(key: key, text: text) }
        }
        return keys
    }

    private typealias Row = (names: [String], key: String?, text: String)

    /// The names that mean something else for a process that stays.
    private static let process: [Row] = [
        (["ExecStart", "command", "Exec"], "Command", "Command="),
        (
            ["Type"], "NotifyReady",
            "NotifyReady=yes for Type=notify; else leave it out: it is up when its program has been executed"
        ),
        (["RestartSteps"], nil, "leave it out: the pause doubles up to RestartMaxDelaySec="),
        (["autostart"], nil, "leave it out: it is started with watchd, and watchctl stop NAME stops it"),
        (
            ["StartLimitBurst", "StartLimitIntervalSec", "StartLimitInterval"], "RestartMaxDelaySec",
            "RestartMaxDelaySec=: the pause before a restart doubles up to it, and there is no last restart"
        ),
        (["startretries"], "RestartMaxDelaySec", "RestartMaxDelaySec=, the longest pause"),
        (["Wants", "Requisite", "BindsTo", "PartOf", "Upholds"], "After", "After=process/NAME"),
        (["Before", "priority"], "After", "After=process/NAME in the [Process] that comes later"),
        (["ExecStartPre"], "Command", "Command=/bin/sh -c 'BEFORE && exec COMMAND'"),
        (["ExecStartPost"], nil, "leave it out: a [Handler] with After=process/NAME starts when it is ready"),
        (["ExecStopPost"], "Handler", "Handler=NAME, which is started at each end"),
        (["RestartPreventExitStatus"], "SuccessExitStatus", "SuccessExitStatus= beside Restart=on-failure"),
        (
            ["TimeoutStartSec", "RuntimeMaxSec", "JobTimeoutSec", "WatchdogSec"], nil,
            "leave it out: a process that stays has no limit of time"
        ),
        (
            [
                "AssertPathExists", "ConditionPathIsDirectory", "ConditionFileNotEmpty", "ConditionFileIsExecutable",
                "ConditionPathExistsGlob", "ConditionDirectoryNotEmpty",
            ], "Command", "Command=/bin/sh -c 'test … && exec COMMAND'"
        ),
        (["RootDirectory", "ChrootDirectory"], "Command", "Command=/usr/sbin/chroot FOLDER COMMAND"),
        (["CPUAffinity"], "Command", "Command=/usr/bin/taskset -c LIST COMMAND"),
        (["StandardInputText", "StandardInputData"], nil, "leave it out: Command=/bin/sh -c 'echo TEXT | COMMAND'"),
        (["MAILTO", "MAILFROM"], "Handler", "Handler=NAME, and Mail=ADDRESS in that [Handler]"),
        (["SHELL"], nil, "Command=/bin/sh -c '…' where a command needs a shell"),
    ]

    /// systemd.timer(5)
    private static let timers: [Row] = [
        (["Persistent"], "CatchUp", "CatchUp=one with CatchUpMaxSec=infinity"),
        (["OnUnitActiveSec"], "AfterSec", "AfterSec=, or EverySec= for a grid that does not drift"),
        (["OnUnitInactiveSec"], "AfterSec", "AfterSec="), (["OnActiveSec"], "OnStartupSec", "OnStartupSec="),
        (["RandomizedOffsetSec"], "RandomizedDelaySec", "RandomizedDelaySec= with FixedRandomDelay=yes"),
        (
            ["OnClockChange", "OnTimezoneChange"], nil,
            "leave it out: timers follow the clock and its zone by themselves"
        ),
        (["WakeSystem"], nil, "leave it out: watchd wakes no machine that sleeps"),
        (["RemainAfterElapse", "DeferReactivation"], nil, "leave it out: a timer stays"),
    ]

    /// systemd.unit(5), systemd.path(5) and systemd.socket(5)
    private static let units: [Row] = [
        (["WantedBy", "RequiredBy", "UpheldBy", "Also", "Alias"], nil, "leave it out: there is nothing to enable"),
        (
            ["Wants", "Requisite", "BindsTo", "PartOf", "Upholds"], "Requires",
            "Requires=HANDLER; for a unit HoldUntil=unit:NAME, for the network HoldUntil=network-online"
        ),
        (["ConditionACPower"], "HoldUntil", "HoldUntil=ac-power, which waits for it"),
        (["Before"], "After", "After= in the handler that comes later"),
        (["Documentation"], "Description", "Description="),
        (["AssertPathExists"], "ConditionPathExists", "ConditionPathExists="),
        (["ConditionPathIsDirectory"], "ExecCondition", "ExecCondition=/usr/bin/test -d PATH"),
        (["ConditionFileNotEmpty"], "ExecCondition", "ExecCondition=/usr/bin/test -s PATH"),
        (["ConditionFileIsExecutable"], "ExecCondition", "ExecCondition=/usr/bin/test -x PATH"),
        (["ConditionPathExistsGlob", "ConditionDirectoryNotEmpty"], "ExecCondition", "ExecCondition= with a command"),
        (["StartLimitBurst", "StartLimitIntervalSec", "StartLimitInterval"], "RateLimit", "RateLimit=COUNT/SPAN"),
        (["TriggerLimitBurst", "TriggerLimitIntervalSec"], "RateLimit", "RateLimit=COUNT/SPAN"),
        (["MaxConnectionsPerSource"], "MaxConnections", "MaxConnections="), (["Service"], "Handler", "Handler="),
    ]

    /// systemd.service(5), systemd.kill(5)
    private static let runs: [Row] = [
        (["ExecStart"], "Exec", "Exec="),
        (["ExecStartPre"], "Exec", "one more Exec= before the others: they run one after the other"),
        (["ExecStartPost"], "Exec", "one more Exec= behind the others: they run one after the other"),
        (["ExecStop"], "KillSignal", "KillSignal= and TimeoutStopSec="),
        (["ExecStopPost"], "OnFinished", "OnFinished=HANDLER"),
        (["ExecReload"], nil, "leave it out: a [Handler] may send the process a signal"),
        (["Type", "RemainAfterExit", "NotifyAccess"], nil, "leave it out: a run has ended when its commands have"),
        (["Restart"], "Retry", "Retry=COUNT; a process that stays is a [Process] with Restart="),
        (["RestartSec"], "RetrySec", "RetrySec="), (["RestartMaxDelaySec"], "RetryMaxSec", "RetryMaxSec="),
        (["RestartSteps"], "RetryMaxSec", "leave it out: the pause doubles up to RetryMaxSec="),
        (["RestartPreventExitStatus"], "RetryPreventExitStatus", "RetryPreventExitStatus="),
        (["TimeoutStartSec", "RuntimeMaxSec", "JobTimeoutSec"], "TimeoutSec", "TimeoutSec="),
        (["TimeoutAbortSec", "StopTimeoutSec", "StopTimeout"], "TimeoutStopSec", "TimeoutStopSec="),
        (["SendSIGKILL"], "TimeoutStopSec", "TimeoutStopSec=infinity for SendSIGKILL=no"),
        (["WatchdogSec"], "TimeoutSec", "TimeoutSec=, or SilenceSec= of a source"),
        (["OOMPolicy", "KeyringMode"], nil, "leave it out: watchd leaves it as it is"),
    ]

    /// systemd.exec(5), systemd.resource-control(5)
    private static let others: [Row] = [
        (["RootDirectory", "ChrootDirectory"], "Exec", "Exec=/usr/sbin/chroot FOLDER COMMAND"),
        (["CPUAffinity"], "Exec", "Exec=/usr/bin/taskset -c LIST COMMAND"),
        (["SyslogIdentifier", "SyslogFacility", "SyslogLevel"], nil, "leave it out: each line has the handler's name"),
        (["StandardInputText", "StandardInputData"], nil, "leave it out: Exec=/bin/sh -c 'echo TEXT | COMMAND'"),
        (["LogLevelMax"], "StandardOutput", "StandardOutput=null, or LogLevel= in [Watchd] for watchd's own lines"),
        (
            [
                "PrivateTmp", "PrivateDevices", "PrivateNetwork", "ProtectSystem", "ProtectHome", "ReadWritePaths",
                "ReadOnlyPaths", "InaccessiblePaths", "CapabilityBoundingSet", "AmbientCapabilities", "DynamicUser",
                "SystemCallFilter", "RestrictAddressFamilies", "Slice",
            ], nil, "it is a setting of the unit of watchd, for all it starts: systemctl edit watchd"
        ),
    ]

    /// The configuration of supervisord
    private static let supervisor: [Row] = [
        (["command"], "Exec", "Exec="), (["directory"], "WorkingDirectory", "WorkingDirectory="),
        (["environment"], "Environment", "Environment=NAME=VALUE, with blanks between two"),
        (["user"], "User", "User="),
        (["autostart"], nil, "leave it out: a handler runs when a source starts it"),
        (["autorestart"], "Restart", "Restart=always or on-failure"),
        (["startretries"], "Retry", "Retry="), (["exitcodes"], "SuccessExitStatus", "SuccessExitStatus="),
        (["startsecs", "process_name"], nil, "leave it out"),
        (["redirect_stderr"], "StandardError", "StandardError=append:PATH, the file of StandardOutput="),
        (["stopsignal"], "KillSignal", "KillSignal="), (["stopwaitsecs"], "TimeoutStopSec", "TimeoutStopSec="),
        (["stopasgroup", "killasgroup"], "KillMode", "KillMode=tree, the default"),
        (["numprocs"], "Workers", "Workers="),
        (["stdout_logfile"], "StandardOutput", "StandardOutput=append:PATH"),
        (["stderr_logfile"], "StandardError", "StandardError=append:PATH"),
        (["priority"], "Priority", "Priority= on a concurrent queue"),
    ]

    /// crontab(5) and cron(8)
    private static let crontab: [Row] = [
        (["MAILTO", "MAILFROM"], "OnFailure", "OnFailure=HANDLER, and Mail=ADDRESS in that [Handler]"),
        (["SHELL"], nil, "Exec=/bin/sh -c '…' where a command needs a shell"),
        (["PATH"], "Environment", "Environment=PATH=… in [Handler] or in a section"),
        (["HOME"], "WorkingDirectory", "WorkingDirectory="),
        (["CRON_TZ", "TZ"], nil, "the zone at the end of OnCalendar=, such as daily Europe/Berlin"),
        (["RANDOM_DELAY"], "RandomizedDelaySec", "RandomizedDelaySec="),
        (["START_HOURS_RANGE"], "NotDuring", "NotDuring= or HoldDuring="),
    ]

    /// Of all that are translated, for tests.
    static var names: [String] { Array(keys.keys) + Array(sections.keys) }
}
