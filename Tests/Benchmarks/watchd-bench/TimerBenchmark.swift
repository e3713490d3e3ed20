import Glibc
import LinuxSystem
import Schedule

/// Many periodic timers through the engine, and as many of Dispatch's own, in turn. Of timers by the calendar only the
/// memory is looked at.
struct TimerBenchmark {
    struct Settings {
        var timers = 100_000
        /// Of each round, for each of the two.
        var seconds = 10
        var rounds = 3
    }

    /// µs: each timer's own, spread around this, so that they elapse one after the other.
    private static let period: Int64 = 10_000_000
    /// µs that an elapse may come late, on both sides: the default of `AccuracySec=`.
    static let leeway: Int64 = 1000

    let settings: Settings

    init(_ settings: Settings) { self.settings = settings }

    func run() throws -> TimerResult {
        let machine = Machine()
        // A grid of the boot clock shifts a timer by as much as the sum of the differences of its periods since boot.
        let middle = Int64(settings.timers / 2)
        let periods = (0..<Int64(settings.timers)).map { Self.period + ($0 - middle) * 7 }
        let zones = ZoneTable(local: try TimeZoneRules(posix: "CET-1CEST,M3.5.0,M10.5.0/3"))
        let daily = try EngineTimers.daily(settings.timers, zones)
        var (engine, dispatch): ([TimerResult.Round], [TimerResult.Round]) = ([], [])
        var calendarBytes: [Double] = []
        for _ in 0..<settings.rounds {
            engine.append(
                try Linux.timerCreate(.boottime).use { timer throws in
                    var timers = try EngineTimers(EngineTimers.every(periods), timer: timer)
                    return try timers.run(seconds: settings.seconds)
                })
            calendarBytes.append(
                try Linux.timerCreate(.boottime).use { timer throws in
                    try EngineTimers(daily, zones: zones, timer: timer).bytes
                })
            dispatch.append(try DispatchTimers(periods: periods).run(seconds: settings.seconds))
        }
        return TimerResult(
            machine: machine, timers: settings.timers, seconds: settings.seconds, engine: engine,
            calendarBytes: calendarBytes, dispatch: dispatch)
    }

    /// Of all threads, ns.
    static var processorTime: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
