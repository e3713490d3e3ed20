import Engine
import LinuxSystem
import Schedule
import WatchFile

/// `[Timer]` sources in an engine, with the rim of this program: one timerfd, and a handler that counts and ends at
/// once.
struct EngineTimers {
    private var engine: Engine
    /// For each timer, of the allocator, beyond its configuration.
    private(set) var bytes = 0.0
    private let timer: Int32
    private var fires = 0
    /// µs behind the nominal time.
    private var lateness: [Int64] = []

    /// - Parameter timer: a timerfd of the boot clock.
    init(_ triggers: [TimerTrigger], zones: ZoneTable = ZoneTable(), timer: Int32) throws {
        let configuration = Self.configuration(triggers, zones)
        let before = Linux.allocatedBytes
        engine = Engine(configuration, at: Self.now)
        self.timer = timer
        try perform(engine.start())
        bytes = Double(Linux.allocatedBytes - before) / Double(triggers.count)
    }

    mutating func run(seconds: Int) throws -> TimerResult.Round {
        // What elapsed while they were made is none of the load.
        try turn()
        (fires, lateness) = (0, [])
        let (began, start) = (Linux.now(.boottime), TimerBenchmark.processorTime)
        let end = began + Int64(seconds) * 1_000_000
        while Linux.now(.boottime) < end {
            _ = try Linux.poll(timer, .readable, timeout: 1000)
            try turn()
        }
        return TimerResult.Round(
            fires: fires, time: Linux.now(.boottime) - began, processor: TimerBenchmark.processorTime - start,
            bytes: bytes,
            lateness: lateness)
    }

    private static var now: Moment {
        Moment(
            realtime: Linux.now(.realtime), boottime: Linux.now(.boottime), monotonic: Linux.now(.monotonic))
    }

    private mutating func turn() throws {
        _ = try Linux.timerRead(timer)
        try perform(engine.handle(.clock, at: Self.now))
    }

    private mutating func perform(_ first: [Action]) throws {
        var actions = first[...]
        while let action = actions.popFirst() {
            switch action {
            case .arm(.boottime, let time): try Linux.timerSet(timer, at: time)
            case .start(let request):
                fires += 1
                let now = Self.now
                if let fact = request.events.first?.fact, case .timer(let scheduled) = fact {
                    lateness.append(now.realtime - scheduled)
                }
                actions += engine.handle(.runStarted(request.run, pid: 1), at: now)
                actions += engine.handle(.runEnded(request.run, .exited(0)), at: now)
            default: break
            }
        }
    }

    /// `EverySec=`, microseconds each.
    static func every(_ periods: [Int64]) -> [TimerTrigger] {
        periods.map { TimerTrigger(every: TimeSpan(microseconds: UInt64($0))) }
    }

    /// `OnCalendar=`, once a day each, at the seconds of the day in turn.
    static func daily(_ count: Int, _ zones: ZoneTable) throws -> [TimerTrigger] {
        let names = CalendarExpression.ZoneNames(local: zones.local) { _ in false }
        return try (0..<count).map { number in
            let time = number % 86_400
            var trigger = TimerTrigger()
            trigger.calendars = [
                try CalendarExpression(
                    parsing: "\(time / 3600):\(time / 60 % 60):\(time % 60)", zones: names)
            ]
            return trigger
        }
    }

    private static func configuration(_ triggers: [TimerTrigger], _ zones: ZoneTable) -> Configuration {
        let command = Command(words: [.template(Template(literal: "/bin/true"))])
        let queues = QueueDefinition.builtInNames.map { name in
            QueueDefinition(name: name, kind: name == "main" ? .serial : .concurrent(width: 16))
        }
        return Configuration(
            settings: DaemonSettings(maxProcesses: 16), queues: queues,
            handlers: [HandlerDefinition(name: "count", action: .exec([command]))],
            sources: triggers.enumerated().map { index, trigger in
                SourceDefinition(
                    id: SourceID(.timer, "t\(index)"), routes: [Route(handler: "count", queue: "default")], key: .none,
                    trigger: .timer(trigger))
            }, zones: zones)
    }
}
