import Schedule
@testable import WatchFile

/// Sources, and the handlers of their own actions.
extension RandomConfiguration {
    mutating func addSource(_ index: Int, to result: inout Configuration, queues: [String]) {
        let kinds: [SourceKind] = [.timer, .signal, .path, .descriptor, .process, .unit, .group]
        let kind = kinds.randomElement(using: &generator) ?? .timer
        let own: [Specifier]? =
            bool ? Self.harmless + (kind == .path ? [.path, .lastComponent, .folder, .oldPath] : [.line]) : nil
        addRoutes(
            .init(kind, "s\(index)"), trigger(kind, index, handlers: result.handlers), own: own, to: &result,
            queues: queues)
    }

    /// `own`: the specifiers that the source's own handler may use.
    mutating func addRoutes(
        _ id: SourceID, _ trigger: Trigger, own: [Specifier]?, to result: inout Configuration, queues: [String]
    ) {
        var names = [.custom, .group].contains(id.kind) ? ["h0"] : some(of: result.handlers.map(\.name))
        var queue = maybe { queues.randomElement(using: &$0.generator) ?? "main" }
        if let own {
            var handler = handler(id.name, queues: queues, specifiers: own)
            // There `Workers=` belongs to the process.
            if id.kind == .process, handler.stream != nil { handler.action = .exec([command(own)]) }
            handler.queue = queue
            result.handlers.append(handler)
            names = [id.name] + names
        } else if names.isEmpty {
            names = ["h1"]
        }
        let routes = names.map { name in
            let usual = result.handlers.first { $0.name == name }?.queue
            return Route(handler: name, queue: queue ?? usual ?? "default")
        }
        if own == nil, Set(routes.map(\.queue)).count == 1 { queue = routes[0].queue }
        var source = SourceDefinition(id: id, routes: routes, trigger: trigger)
        // The pauses of a condition are those of the first handler.
        if case .path(var path) = trigger, var levels = path.levels,
            let first = result.handlers.first(where: { $0.name == routes.first?.handler })
        {
            (levels.pause, levels.longestPause) = (first.retry.delay, first.retry.maxDelay)
            path.levels = levels
            source.trigger = .path(path)
        }
        source.summary = maybe { $0.text() }
        source.windows = own == nil ? windows() : result.handlers.last?.windows ?? CalendarWindows()
        source.silence = maybe { random in
            SilenceRule(
                span: random.span(from: 1000), onSilence: ["h1"], onSound: random.bool ? ["h0", "h2"] : [])
        }
        source.rateLimit = maybe { $0.rateLimit() }
        source.isSuspended = bool
        source.isRequired = bool
        source.coalesces = id.kind == .descriptor ? false : bool
        if case .path(let path) = trigger, path.settle != nil { source.coalesces = true }
        source.key = key(id.kind)
        result.sources.append(source)
    }

    private mutating func key(_ kind: SourceKind) -> KeyRule {
        // What names the path makes every specifier of it sound.
        if kind == .path { return .template(Template(parts: [.specifier(.path)] + (bool ? [.literal([0x2E])] : []))) }
        let template = Template(parts: [.literal(Array(text().utf8)), .specifier(.count)])
        return [.handler, .none, .template(template)].randomElement(using: &generator) ?? .handler
    }

    private mutating func globs() -> [PathGlob] {
        let all = ["*.jpg", "**/a/[!b-d]?", "/x/**", "a**b"].shuffled(using: &generator).prefix(number(0...2))
        return all.compactMap { try? PathGlob(Array($0.utf8)) }
    }

    /// Of the keys of systemd: each path once, and the order is that of the keys.
    private mutating func systemdTrigger() -> PathTrigger {
        let paths = Set((0..<number(1...3)).map { _ in path() }).sorted { $0.lexicographicallyPrecedes($1) }
        let changed = Array(paths.prefix(number(0...paths.count)))
        var trigger = PathTrigger(paths: paths, events: [])
        for path in paths {
            trigger.ownEvents[path] = changed.contains(path) ? .ofPathChanged : [.ofPathChanged, .modified]
        }
        var conditions: [PathLevels.Condition] =
            maybe { random -> [PathLevels.Condition] in [.exists(random.path())] } ?? []
        if bool, let pattern = try? PathPattern(Array("/srv/*/.[a-z]?".utf8)) {
            conditions.append(.existsGlob(pattern))
        }
        if bool { conditions.append(.notEmpty(path())) }
        if !conditions.isEmpty { trigger.levels = PathLevels(conditions) }
        trigger.events = trigger.ownEvents.values.reduce(conditions.isEmpty ? [] : .written) { $0.union($1) }
        return trigger
    }

    /// With a glob, and perhaps with the folder itself.
    private mutating func scope(of path: [UInt8], _ isRecursive: Bool) -> PathScope {
        let ends = [["/*"], ["/[!a]?/in", ""], ["", "/*.txt", "/.*"]][number(0...2)]
        let patterns = ends.compactMap { end in
            try? PathPattern(
                letters: path.map { .init(byte: $0, isEscaped: $0 != UInt8(ascii: "/")) }
                    + end.utf8.map { .init(byte: $0) })
        }
        return PathScope(patterns, isRecursive: isRecursive)
    }

    private mutating func pathTrigger() -> PathTrigger {
        if number(0...3) == 0 { return systemdTrigger() }
        let isRecursive = bool
        var trigger = PathTrigger(
            paths: Set((0..<number(1...3)).map { _ in path() }).sorted { $0.lexicographicallyPrecedes($1) },
            events: PathEvents(rawValue: UInt8(number(1...63))),
            filter: PathFilter(include: globs(), exclude: globs()), isRecursive: isRecursive,
            prune: PathPrune(globs: isRecursive ? globs() : []))
        for path in trigger.paths where number(0...3) == 0 { trigger.scopes[path] = scope(of: path, isRecursive) }
        trigger.stopsLoops = bool
        trigger.followsLinks = bool
        if isRecursive { trigger.ignoreFile = maybe { $0.bool ? Array(".gitignore".utf8) : [0x61, 0x20, 0xFF] } }
        trigger.polling = PathTrigger.Polling(isAlways: bool, interval: span(from: 1000))
        // Of a tree nothing is recorded.
        trigger.initial = PathTrigger.Initial.allCases[number(0...3)]
        trigger.directoryMode = maybe { UInt32($0.number(0...0o777)) }
        trigger.settle = maybe { random in
            let quiet = random.span(from: 1)
            return SettleRule(quiet: quiet, longest: random.bool ? nil : .infinity)
        }
        return trigger
    }

    private mutating func trigger(
        _ kind: SourceKind, _ index: Int, handlers: [HandlerDefinition]
    ) -> Trigger {
        switch kind {
        case .timer:
            .timer(timer())
        case .signal: .signal(SignalTrigger(signals: [Int32(34 + index), Int32(44 + index)]))
        case .path: .path(pathTrigger())
        case .process: bool ? .process(.pidFile(path())) : .process(.match(match()))
        case .unit:
            .unit(
                UnitTrigger(
                    units: ["u\(index).service", "web-*", "tty@\(index).socket"].shuffled(using: &generator),
                    events: Set(UnitChange.allCases.shuffled(using: &generator).prefix(number(1...5)))))
        case .group:
            // Each that exists already, but the one that groups start: none of them starts a later group's.
            .group(
                GroupTrigger(
                    members: Array(handlers.map(\.name).dropFirst().shuffled(using: &generator).prefix(number(1...4)))))
        default: .descriptor(descriptor(index))
        }
    }

    private mutating func match() -> ProcessMatch {
        ProcessMatch(
            pattern: path(),
            events: Set(
                ProcessEvent.allCases.shuffled(using: &generator).prefix(number(1...ProcessEvent.allCases.count))))
    }

    private mutating func timer() -> TimerTrigger {
        var timer = TimerTrigger(
            every: span(from: 1000), after: maybe { $0.span(from: 1000) }, onStartup: maybe { $0.span(from: 1000) },
            onBoot: maybe { $0.span(from: 1000) })
        timer.calendars = some(of: Self.calendars).compactMap { Self.calendar($0) }
        timer.crons = some(of: ["*/5 * * * *", "30 2 1 * mon-fri"]).compactMap { try? CronExpression(parsing: $0) }
        timer.accuracy = span(from: 1000)
        timer.randomizedDelay = bool ? .zero : span(from: 1)
        timer.hasFixedRandomDelay = bool
        timer.catchUp = CatchUp.allCases.randomElement(using: &generator) ?? .none
        timer.catchUpLimit = span(from: 1)
        timer.daylightSaving = bool ? .run : .skip
        return timer
    }

    private static let calendars = ["Mon..Fri 02:30", "daily", "*:0/7", "*-*~1 12:00:00.5 UTC", "2030-01-02..5"]

    private static func calendar(_ text: String) -> CalendarExpression? {
        try? CalendarExpression(parsing: text, zones: CalendarExpression.ZoneNames(local: .utc) { _ in false })
    }

    mutating func windows() -> CalendarWindows {
        func some(_ random: inout Self) -> [CalendarWindow] {
            random.some(of: Self.calendars).compactMap { Self.calendar($0) }.map {
                CalendarWindow(calendar: $0, span: .seconds(UInt64(random.number(1...100_000))))
            }
        }
        let conditions: [HoldCondition] = [
            .mainsPower, .networkOnline, .pressure(.io, .full, percent: number(1...100)), .path(Array("/run/go".utf8)),
            .unit("postgresql.service"), .idle(TimeSpan(microseconds: UInt64(number(1_000_000...1_000_000_000_000)))),
        ]
        let held = conditions.filter { _ in number(0...4) == 0 }
        return CalendarWindows(notDuring: some(&self), holdDuring: some(&self), holdUntil: held)
    }

    private mutating func descriptor(_ index: Int) -> DescriptorTrigger {
        let port = UInt16(1000 + index)
        let unique = Array("/\(index)".utf8)
        let address: [SocketAddress] = [
            .unix(unique + path()), .abstract(Array("n\(index)".utf8) + component()),
            .ipv4(address: (0..<4).map { _ in UInt8(number(0...255)) }, port: port),
            .ipv6(address: (0..<16).map { _ in UInt8(bool ? 0 : number(0...255)) }, port: port),
            .ipv6(address: Array(repeating: 0, count: 16), port: port),
        ]
        let anywhere = address.randomElement(using: &generator) ?? .unix([])
        let listeners: [DescriptorTrigger.Listener] = [
            .fifo(unique + path()), .datagram(anywhere), .stream(anywhere), .sequentialPacket(address[index % 2]),
            .special(unique + path()), .netlink(NetlinkFamily(name: "route", groups: UInt32(number(0...9999)))),
            .messageQueue(unique + Array("queue".utf8)), .passed("p\(index)"), .tail(path()),
            .pressure(
                PressureLimit(resource: .io, share: bool ? .some : .full, stall: number(1...2000), window: 500_000)),
        ]
        var trigger = DescriptorTrigger(
            listener: listeners.randomElement(using: &generator) ?? .fifo(unique), framing: .line,
            mode: UInt32(number(0...0o777)))
        frame(&trigger)
        return trigger
    }

    private mutating func frame(_ trigger: inout DescriptorTrigger) {
        var isStream = true
        switch trigger.listener {
        case .pressure: return
        case .datagram, .sequentialPacket, .netlink, .messageQueue: isStream = false
        case .fifo, .stream, .special, .passed, .command, .tail: break
        }
        trigger.framing = bool ? .line : isStream ? .chunk : .datagram
        trigger.maxLength = bool ? 4096 : number(1...1 << 30)
        if bool { trigger.include = ["^a(b|c)".utf8, "[0-9]{3,}$".utf8].map { Array($0) } }
        if bool { trigger.exclude = [Array("x y".utf8)] }
        switch trigger.listener {
        case .fifo, .stream(.unix):
            trigger.user = maybe { _ in "root" }
            trigger.group = maybe { "\($0.number(0...9999))" }
        case .passed: trigger.isFramingGiven = trigger.framing == .chunk
        case .datagram, .stream, .sequentialPacket, .special, .netlink, .messageQueue, .command, .tail, .pressure: break
        }
        if case .stream = trigger.listener { trigger.maxConnections = number(1...1000) }
    }

    /// Written out, skipping and restarting need a key, and a restart has the lines of two operations.
    func avoidOverlapsWithoutSense(_ result: inout Configuration) {
        for source in result.sources where source.key == .none || source.id.kind == .descriptor {
            var started = Set(source.routes.map(\.handler))
            var count = 0
            while count < started.count {
                count = started.count
                for handler in result.handlers where started.contains(handler.name) {
                    started.formUnion(handler.constraints.requires)
                }
            }
            for index in result.handlers.indices where started.contains(result.handlers[index].name) {
                if [.skip, .restart].contains(result.handlers[index].overlap) {
                    result.handlers[index].overlap = .wait
                }
            }
        }
    }
}
