import LinuxSystem

/// From the event to the handler's `main`, for both daemons in turn.
struct LatencyBenchmark {
    struct Settings {
        var kinds = Kind.allCases
        var rounds = 5
        /// Of each round, for each daemon.
        var events = 200
        /// ms of quiet before each event.
        var gap = 3
    }

    /// Timers of both daemons elapse on one grid, the floor's half a period later, so that they take turns as well
    /// (µs).
    static let timerPeriod: Int64 = 40_000
    static let floorPhase = timerPeriod / 2
    /// Of two that take turns: what changes during a run or up to 100 ms behind it may be the run's own doing (`Loop=`),
    /// and after ten such runs the next one waits for a second (ms).
    static let gapOfPaths = 55

    let programs: Programs
    let bed: Bed
    let settings: Settings

    init(programs: Programs, bed: Bed, _ settings: Settings) {
        self.programs = programs
        self.bed = bed
        self.settings = settings
    }

    func run() throws -> LatencyResult {
        LatencyResult(
            watchd: programs.watchd, machine: Machine(), rounds: settings.rounds, events: settings.events,
            gap: settings.gap, kinds: try settings.kinds.map { try measure($0) })
    }

    private func measure(_ kind: Kind) throws -> LatencyResult.OfKind {
        let folder = try bed.makeFolder(kind.rawValue)
        let floor = try Side.floor(kind, "\(folder)/floor", programs, bed)
        defer { floor.stop() }
        let watchd = try Side.watchd(kind, "\(folder)/watchd", programs, bed)
        defer { watchd.stop() }
        // The first of each pays for what is loaded once.
        _ = try round(kind, floor, watchd, events: min(10, settings.events))
        let rounds = try (0..<settings.rounds).map { _ in
            try round(kind, floor, watchd, events: settings.events)
        }
        return LatencyResult.OfKind(kind, floor: rounds.map(\.floor), watchd: rounds.map(\.watchd))
    }

    private func round(
        _ kind: Kind, _ floor: Side, _ watchd: Side, events: Int
    ) throws -> (floor: Percentiles, watchd: Percentiles) {
        var times: (floor: [Int64], watchd: [Int64]) = ([], [])
        for _ in 0..<events {
            let gap = kind == .path ? max(settings.gap, Self.gapOfPaths) : settings.gap
            times.floor.append(try floor.latency(gap: gap))
            times.watchd.append(try watchd.latency(gap: gap))
        }
        return (Percentiles(times.floor), Percentiles(times.watchd))
    }
}
