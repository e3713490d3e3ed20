import ControlInterface
import LinuxSystem
import Schedule
import Varlink

/// A store with many operations that wait and a long history: how long the daemon takes to start with it, and to
/// answer.
struct LargeStore {
    /// Operations in one call while the store is filled; watchd's own limit of a message is far away.
    private static let eventsPerCall = 100
    /// Durable events one by one after a start: more than the writer commits before it first tidies the history.
    static let firstEmits = 64

    let programs: Programs
    let bed: Bed
    let settings: StoreBenchmark.Settings

    init(programs: Programs, bed: Bed, _ settings: StoreBenchmark.Settings) {
        (self.programs, self.bed, self.settings) = (programs, bed, settings)
    }

    func measure() throws -> StoreResult.Large {
        let place = try StoreBed("large", history: 10_000_000, programs: programs, bed: bed)
        try fill(place)
        var large = StoreResult.Large()
        for _ in 0..<settings.starts {
            let daemon = try place.start()
            daemon.stop()
            large.cleanStarts.append(daemon.startTime)
        }
        var daemon = try place.start()
        defer { daemon.stop() }
        for _ in 0..<settings.starts {
            // So that the log has something in it.
            let clients = try EmitClients(4, of: "durable", socket: place.controlSocket, bed: bed)
            _ = try clients.run(calls: 100)
            try place.kill(daemon)
            daemon = try place.start()
            large.uncleanStarts.append(daemon.startTime)
        }
        large.memory = try ProcessFigures(daemon.processID).memory["Rss"] ?? 0
        large.slowestEmit = try slowestEmit(place)
        try ask(place, &large)
        return large
    }

    private func fill(_ place: StoreBed) throws {
        let daemon = try place.start()
        do {
            defer { daemon.stop() }
            let clients = try EmitClients(
                4, of: "kept", events: Self.eventsPerCall, socket: place.controlSocket, bed: bed)
            _ = try clients.run(calls: settings.pending / Self.eventsPerCall)
        }
        try HistoryFill(records: settings.records).write(into: place.stateFolder)
    }

    /// µs of the slowest of the first durable events after a start.
    private func slowestEmit(_ place: StoreBed) throws -> Int64 {
        let client = try EmitClients(1, of: "durable", socket: place.controlSocket, bed: bed)
        return try (0..<Self.firstEmits).map { _ in try client.run(calls: 1) }.max() ?? 0
    }

    // MARK: Questions

    private func ask(_ place: StoreBed, _ large: inout StoreResult.Large) throws {
        let client = try Client(connectingTo: place.controlSocket)
        for (name, parameters) in questions {
            let times = try (0..<settings.queries).map { _ in
                let began = Bed.now
                let reply = try client.call(ListHistory.fullName, parameters, timeout: 60_000)
                let time = Bed.now - began
                let operations = try reply.parameters(as: ListHistory.Reply.self).operations
                if operations.isEmpty { throw Failure(message: "history \(name): nothing found") }
                return time
            }
            large.queries.append(StoreResult.Query(name: name, times: times))
        }
    }

    private var questions: [(name: String, parameters: ListHistory.Parameters)] {
        let fill = HistoryFill(records: settings.records)
        func question(_ change: (inout ListHistory.Parameters) -> Void) -> ListHistory.Parameters {
            var parameters = ListHistory.Parameters(limit: 100)
            change(&parameters)
            return parameters
        }
        return [
            ("newest 100", question { _ in }),
            ("newest 1000", question { $0.limit = 1000 }),
            ("one handler of ten", question { $0.handler = "h3" }),
            ("a rare handler", question { $0.handler = HistoryFill.rare }),
            ("failed ones", question { $0.result = .failed }),
            ("failed, not settled", question { $0.unsettled = true }),
            ("one source of ten", question { $0.source = "path/h3" }),
            ("a rare source", question { $0.source = "path/\(HistoryFill.rare)" }),
            (
                "a handler and its source",
                question {
                    $0.handler = "h3"
                    $0.source = "path/h3"
                }
            ),
            (
                "a handler, a rare source",
                question {
                    $0.handler = "h0"
                    $0.source = "path/\(HistoryFill.rare)"
                }
            ),
            ("before the middle", question { $0.until = fill.time(of: settings.records / 2) }),
            (
                "an hour, long ago",
                question {
                    $0.since = fill.time(of: settings.records / 4)
                    $0.until = fill.time(of: settings.records / 4 + 4500)
                }
            ),
            (
                "failed, a handler, long ago",
                question {
                    ($0.result, $0.handler) = (.failed, "h3")
                    $0.until = fill.time(of: settings.records / 4)
                }
            ),
        ]
    }
}
