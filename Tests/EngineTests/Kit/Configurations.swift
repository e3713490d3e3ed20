import Schedule
import WatchFile

/// Short ways to say a configuration in code.
extension Configuration {
    static func of(
        settings: DaemonSettings = DaemonSettings(), queues: [QueueDefinition] = [],
        semaphores: [SemaphoreDefinition] = [], handlers: [HandlerDefinition] = [], sources: [SourceDefinition] = [],
        zones: ZoneTable = .test
    ) -> Configuration {
        let builtIn = QueueDefinition.builtInNames.map { name in
            QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: settings.maxProcesses))
        }
        let own = Set(queues.map(\.name))
        return Configuration(
            settings: settings, queues: builtIn.filter { !own.contains($0.name) } + queues, semaphores: semaphores,
            handlers: handlers, sources: sources, zones: zones)
    }
}

extension SemaphoreDefinition {
    static func of(_ name: String, _ value: Int) -> SemaphoreDefinition {
        SemaphoreDefinition(name: name, value: value)
    }
}

extension QueueDefinition {
    static func serial(
        _ name: String, backlog: Int = 10_000, overflow: Overflow = .block, isSuspended: Bool = false
    ) -> QueueDefinition {
        QueueDefinition(name: name, kind: .serial, backlog: backlog, overflow: overflow, isSuspended: isSuspended)
    }

    static func concurrent(
        _ name: String, width: Int, backlog: Int = 10_000, overflow: Overflow = .block
    ) -> QueueDefinition {
        QueueDefinition(name: name, kind: .concurrent(width: width), backlog: backlog, overflow: overflow)
    }

    func targeting(_ target: String) -> QueueDefinition { with { $0.target = target } }

    func with(_ change: (inout QueueDefinition) -> Void) -> QueueDefinition {
        var changed = self
        change(&changed)
        return changed
    }
}

extension HandlerDefinition {
    static func exec(
        _ name: String, queue: String? = nil, overlap: Overlap? = nil,
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> HandlerDefinition {
        let command = CommandWords(words: [.template(Template(literal: "/bin/true"))])
        var handler = HandlerDefinition(name: name, action: .exec([command]), queue: queue, overlap: overlap)
        change(&handler)
        return handler
    }

    /// `Stream=`.
    static func stream(
        _ name: String, queue: String? = nil, workers: Int = 1, prefetch: Int = 1, isAcknowledged: Bool = true,
        idle: TimeSpan = .infinity, program: String = "/bin/worker",
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> HandlerDefinition {
        let stream = StreamAction(
            command: CommandWords(words: [.template(Template(literal: program))]), workers: workers,
            prefetch: prefetch, isAcknowledged: isAcknowledged, idle: idle)
        var handler = HandlerDefinition(name: name, action: .stream(stream), queue: queue)
        change(&handler)
        return handler
    }

    static func log(_ name: String, _ parts: [Template.Part], queue: String? = nil) -> HandlerDefinition {
        HandlerDefinition(name: name, action: .log(Template(parts: parts)), queue: queue)
    }

    static func emit(_ name: String, into source: String, data: Template? = nil, queue: String? = nil)
        -> HandlerDefinition
    {
        HandlerDefinition(name: name, action: .emit(source: source, data: data), queue: queue)
    }
}

extension SourceDefinition {
    private static func make(
        _ kind: SourceKind, _ name: String, _ trigger: Trigger, _ handlers: [String], _ queue: String, _ key: KeyRule,
        _ coalesces: Bool, _ isSuspended: Bool
    ) -> SourceDefinition {
        SourceDefinition(
            id: SourceID(kind, name), routes: handlers.map { Route(handler: $0, queue: queue) }, key: key,
            coalesces: coalesces, isSuspended: isSuspended, trigger: trigger)
    }

    static func custom(
        _ name: String, to handlers: String..., on queue: String = "default", merge: CustomTrigger.Merge = .add,
        key: KeyRule = .handler, coalesces: Bool = true, isSuspended: Bool = false
    ) -> SourceDefinition {
        make(.custom, name, .custom(CustomTrigger(merge: merge)), handlers, queue, key, coalesces, isSuspended)
    }

    static func path(
        _ name: String, to handlers: String..., on queue: String = "default", key: KeyRule = .handler,
        coalesces: Bool = true, isSuspended: Bool = false, events: PathEvents = .all,
        settle: SettleRule? = nil, stopsLoops: Bool = false, polledEvery interval: TimeSpan? = nil,
        joining paths: [String] = []
    ) -> SourceDefinition {
        let roots = paths.isEmpty ? ["/w"] : paths
        var trigger = PathTrigger(paths: roots.map { Array($0.utf8) }, events: events)
        trigger.joinsAll = !paths.isEmpty
        (trigger.settle, trigger.stopsLoops) = (settle, stopsLoops)
        if let interval { trigger.polling = PathTrigger.Polling(isAlways: true, interval: interval) }
        return make(.path, name, .path(trigger), handlers, queue, key, coalesces, isSuspended)
    }

    static func fifo(
        _ name: String, to handlers: String..., on queue: String = "default", key: KeyRule = .none,
        coalesces: Bool = false,
        isSuspended: Bool = false
    ) -> SourceDefinition {
        let trigger = DescriptorTrigger(listener: .fifo(Array("/run/\(name)".utf8)), framing: .line)
        return make(.descriptor, name, .descriptor(trigger), handlers, queue, key, coalesces, isSuspended)
    }

    static func signal(
        _ name: String, to handlers: String..., on queue: String = "default", coalesces: Bool = true,
        isSuspended: Bool = false
    ) -> SourceDefinition {
        make(
            .signal, name, .signal(SignalTrigger(signals: [10, 12])), handlers, queue, .handler, coalesces, isSuspended)
    }

    static func process(
        _ name: String, to handlers: String..., on queue: String = "default", isSuspended: Bool = false
    ) -> SourceDefinition {
        let trigger = ProcessTrigger.pidFile(Array("/run/\(name).pid".utf8))
        return make(.process, name, .process(trigger), handlers, queue, .handler, true, isSuspended)
    }

    /// `Command=`, with or without handlers.
    static func supervised(
        _ name: String, to handlers: String..., workers: Int = 1, restart: SupervisedCommand.Restart = .always,
        delay: TimeSpan = .milliseconds(100), maxDelay: TimeSpan = .seconds(30), program: String = "/bin/server",
        isSuspended: Bool = false, change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> SourceDefinition {
        var process = HandlerDefinition(
            name: name,
            action: .exec([CommandWords(words: [.template(Template(literal: program))])]), standardInput: .null)
        change(&process)
        let command = SupervisedCommand(
            process: process, workers: workers, restart: restart, restartDelay: delay, restartMaxDelay: maxDelay)
        return make(
            .process, name, .process(.command(command)), handlers, "default", .handler, true, isSuspended)
    }

    static func timer(
        _ name: String, to handlers: String..., on queue: String = "default", every: TimeSpan? = nil,
        after: TimeSpan? = nil, onStartup: TimeSpan? = nil, onBoot: TimeSpan? = nil, key: KeyRule = .handler,
        isSuspended: Bool = false
    ) -> SourceDefinition {
        let trigger = TimerTrigger(every: every, after: after, onStartup: onStartup, onBoot: onBoot)
        return make(.timer, name, .timer(trigger), handlers, queue, key, true, isSuspended)
    }

    /// A timer of the calendar.
    static func calendar(
        _ name: String, _ expressions: String..., to handler: String = "h", catchUp: CatchUp = .none
    ) -> SourceDefinition {
        SourceDefinition.timer(name, to: handler, key: .none).timing { timer in
            timer.calendars = expressions.compactMap { CalendarExpression.of($0) }
            timer.catchUp = catchUp
        }
    }

    /// The same timer with other keys.
    func timing(_ change: (inout TimerTrigger) -> Void) -> SourceDefinition {
        with { source in
            guard case .timer(var timer) = source.trigger else { return }
            change(&timer)
            source.trigger = .timer(timer)
        }
    }

    static func group(
        _ name: String, of members: String..., to handlers: String..., on queue: String = "default",
        key: KeyRule = .handler, coalesces: Bool = true
    ) -> SourceDefinition {
        make(.group, name, .group(GroupTrigger(members: members)), handlers, queue, key, coalesces, false)
    }

    func with(_ change: (inout SourceDefinition) -> Void) -> SourceDefinition {
        var changed = self
        change(&changed)
        return changed
    }
}

extension StartConstraints {
    /// `Acquire=NAME[:COUNT]`, in short.
    mutating func acquire(_ name: String, _ count: Int = 1) {
        acquires.append(SemaphoreCount(name: name, count: count))
    }

    mutating func release(_ name: String, _ count: Int = 1) {
        releases.append(SemaphoreCount(name: name, count: count))
    }

    mutating func consume(_ name: String, _ count: Int = 1) {
        consumes.append(SemaphoreCount(name: name, count: count))
    }
}

extension RetryPolicy {
    /// `Retry=` with `RetrySec=` in seconds.
    static func times(_ limit: Int?, after seconds: UInt64 = 10) -> RetryPolicy {
        RetryPolicy(limit: limit, delay: .seconds(seconds))
    }
}

extension KeyRule {
    /// `Key=%p`: one for each file.
    static let perPath = KeyRule.template(Template(parts: [.specifier(.path)]))
    /// `Key=%{data}`.
    static let perData = KeyRule.template(Template(parts: [.specifier(.data)]))
    /// `Key=%{line}`.
    static let perLine = KeyRule.template(Template(parts: [.specifier(.line)]))
}

extension CalendarExpression {
    /// Zones are known by the names of `ZoneTable.test`.
    static func of(_ text: String) -> CalendarExpression? {
        let known = Set(ZoneTable.test.named.keys)
        return try? CalendarExpression(
            parsing: text, zones: CalendarExpression.ZoneNames(local: .utc) { known.contains($0) })
    }
}

extension ZoneTable {
    /// UTC here, and the rules of central Europe by name.
    static let test = ZoneTable(
        named: (try? TimeZoneRules(posix: "CET-1CEST,M3.5.0,M10.5.0/3")).map { ["Europe/Berlin": $0] } ?? [:])
}

extension CalendarWindow {
    static func of(_ calendar: String, _ span: TimeSpan) -> [CalendarWindow] {
        CalendarExpression.of(calendar).map { [CalendarWindow(calendar: $0, span: span)] } ?? []
    }
}
