import Schedule
import WatchFile

/// The sections of sources.
extension ConfigurationPrinter {
    mutating func section(_ source: SourceDefinition, own: HandlerDefinition?) {
        let kind = source.id.kind.rawValue
        line("[\(kind.prefix(1).uppercased() + kind.dropFirst()) \(source.id.name)]")
        trigger(source.trigger)
        own.map { handler($0) }
        for route in source.routes where route.handler != own?.name { key("Handler", route.handler) }
        let queues = Set(source.routes.map(\.queue))
        if let own {
            own.queue.map { key("Queue", $0) }
        } else if queues.count == 1, let queue = queues.first {
            key("Queue", queue)
        }
        source.summary.map { key("Description", $0) }
        switch source.key {
        case .handler: if source.id.kind == .descriptor { key("Key", "") }
        case .none: key("Key", "none")
        case .template(let template): key("Key", text(template))
        }
        source.rateLimit.map { key("RateLimit", rate($0)) }
        flag("Coalesce", source.coalesces, default: source.id.kind != .descriptor)
        flag("Suspended", source.isSuspended, default: false)
        flag("Required", source.isRequired, default: false)
        if own == nil { windows(source.windows) }
        guard let silence = source.silence else { return }
        key("SilenceSec", silence.span.description)
        for name in silence.onSilence { key("OnSilence", name) }
        if !silence.onSound.isEmpty { key("OnSound", silence.onSound.joined(separator: " ")) }
    }

    private mutating func timer(_ timer: TimerTrigger) {
        for calendar in timer.calendars { key("OnCalendar", calendar.description) }
        for cron in timer.crons { key("OnCron", cron.description) }
        key("AccuracySec", timer.accuracy.description)
        key("RandomizedDelaySec", timer.randomizedDelay.description)
        flag("FixedRandomDelay", timer.hasFixedRandomDelay, default: false)
        key("CatchUp", timer.catchUp.rawValue)
        key("CatchUpMaxSec", timer.catchUpLimit.description)
        key("DaylightSaving", timer.daylightSaving.rawValue)
    }

    mutating func windows(_ windows: CalendarWindows) {
        for window in windows.notDuring { key("NotDuring", window.description) }
        for window in windows.holdDuring { key("HoldDuring", "\(window.calendar)  for\t\(window.span)") }
        for condition in windows.holdUntil { key("HoldUntil", "\(condition)") }
    }

    private mutating func trigger(_ trigger: Trigger) {
        switch trigger {
        case .timer(let timer):
            self.timer(timer)
            timer.every.map { key("EverySec", $0.description) }
            timer.after.map { key("AfterSec", $0.description) }
            timer.onStartup.map { key("OnStartupSec", $0.description) }
            timer.onBoot.map { key("OnBootSec", $0.description) }
        case .signal(let trigger): key("Signal", trigger.signals.map { signal($0) }.joined(separator: " "))
        case .path(let trigger):
            for path in trigger.paths {
                switch trigger.ownEvents[path] {
                case nil:
                    for pattern in trigger.scopes[path]?.patterns ?? [] { key("Path", pattern.description) }
                    if trigger.scopes[path] == nil { key("Path", self.path(path)) }
                case .ofPathChanged?: key("PathChanged", self.path(path))
                case .some: key("PathModified", self.path(path))
                }
            }
            levels(trigger.levels?.conditions ?? [])
            if trigger.ownEvents.isEmpty, trigger.levels == nil { key("Events", events(trigger.events)) }
            globs("Include", trigger.filter.include)
            globs("Exclude", trigger.filter.exclude)
            if let settle = trigger.settle {
                key("SettleSec", settle.quiet.description)
                if settle != SettleRule(quiet: settle.quiet) { key("MaxSettleSec", settle.longest.description) }
            }
            flag("MakeDirectory", trigger.directoryMode != nil, default: false)
            trigger.directoryMode.map { key("DirectoryMode", "0" + String(0o1000 | $0, radix: 8).dropFirst()) }
            flag("FollowSymlinks", trigger.followsLinks, default: false)
            key("Poll", trigger.polling.isAlways ? "yes" : "auto")
            key("PollSec", trigger.polling.interval.description)
            if trigger.joinsAll { key("Join", "all") }
            key("Loop", trigger.stopsLoops ? "stop" : "warn")
            globs("Prune", trigger.prune.globs)
            trigger.ignoreFile.map { key("IgnoreFile", path($0)) }
            flag("Recursive", trigger.isRecursive, default: false)
            key("Initial", trigger.initial.rawValue)
        case .descriptor(let trigger):
            descriptor(trigger)
        case .process(let trigger): process(trigger)
        case .unit(let trigger):
            key("Unit", trigger.units.joined(separator: " "))
            key("Events", trigger.events.map(\.rawValue).sorted().joined(separator: " "))
        case .group(let group): key("Members", group.members.joined(separator: " "))
        case .custom(let trigger): key("Merge", trigger.merge.rawValue)
        }
    }

    private mutating func process(_ trigger: ProcessTrigger) {
        switch trigger {
        case .pidFile(let file):
            key("PIDFile", path(file))
            key("Events", "exit")
        case .match(let match):
            key("Match", path(match.pattern))
            key("Events", match.events.map(\.rawValue).sorted().joined(separator: " "))
        case .command(let command):
            if case .exec(let commands) = command.process.action {
                for command in commands {
                    key("Command", Array(command.words.map { word($0) }.joined(separator: [0x20])))
                }
            }
            switch command.readiness {
            case .running: flag("NotifyReady", false, default: false)
            case .line(let pattern): key("ReadyLine", pattern)
            case .path(let path): key("ReadyPath", self.path(path))
            case .notification: key("NotifyReady", "yes")
            }
            key("Workers", "\(command.workers)")
            key("Restart", command.restart.rawValue)
            key("RestartSec", command.restartDelay.description)
            key("RestartMaxDelaySec", command.restartMaxDelay.description)
        }
    }

    private mutating func levels(_ conditions: [PathLevels.Condition]) {
        for condition in conditions {
            switch condition {
            case .exists(let path): key("PathExists", self.path(path))
            case .existsGlob(let pattern): key("PathExistsGlob", pattern.description)
            case .notEmpty(let path): key("DirectoryNotEmpty", self.path(path))
            }
        }
    }

    private mutating func globs(_ name: String, _ globs: [PathGlob]) {
        if !globs.isEmpty { key(name, globs.map(\.description).joined(separator: " ")) }
    }

    private func events(_ events: PathEvents) -> String {
        let names: [(PathEvents, String)] = [
            (.written, "written"), (.renamed, "renamed"), (.deleted, "deleted"), (.created, "created"),
            (.modified, "modified"), (.attributes, "attributes"),
        ]
        return names.filter { events.contains($0.0) }.map(\.1).joined(separator: " ")
    }

    mutating func address(_ address: SocketAddress) -> [UInt8] {
        switch address {
        case .unix(let file): return path(file)
        case .abstract(let name): return [0x40] + name.flatMap { escaped($0) }
        case .ipv4(let address, let port):
            return Array("\(address.map(String.init).joined(separator: ".")):\(port)".utf8)
        case .ipv6(let address, let port):
            if address.allSatisfy({ $0 == 0 }) { return Array("\(port)".utf8) }
            let groups = stride(from: 0, to: 16, by: 2).map {
                String(Int(address[$0]) << 8 | Int(address[$0 + 1]), radix: 16)
            }
            return Array("[\(groups.joined(separator: ":"))]:\(port)".utf8)
        }
    }
}
