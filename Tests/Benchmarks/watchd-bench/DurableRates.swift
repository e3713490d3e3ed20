import LinuxSystem

/// Durable operations a second, watchd and bare SQLite in turn, in as many transactions; and those of watchd that are
/// not durable, which pay for the socket alone.
struct DurableRates {
    /// What becomes of an operation.
    enum Work: String, CaseIterable, Encodable {
        /// It is accepted into a queue that is suspended: one row.
        case accepted
        /// Its handler writes a line: it is accepted, runs and is recorded in one transaction.
        case recorded

        var source: String { self == .accepted ? "kept" : "durable" }
        var tables: [String] { self == .accepted ? ["operation"] : ["history", "history_events", "history_output"] }
    }

    /// Clients, and events in one call of each.
    struct Load: Encodable {
        var clients: Int
        var events: Int
    }

    private static let loads = [
        Load(clients: 1, events: 1), Load(clients: 64, events: 1), Load(clients: 1, events: 100),
    ]

    let programs: Programs
    let bed: Bed
    let settings: StoreBenchmark.Settings

    init(programs: Programs, bed: Bed, _ settings: StoreBenchmark.Settings) {
        (self.programs, self.bed, self.settings) = (programs, bed, settings)
    }

    func measure() throws -> [StoreResult.Rate] {
        let place = try StoreBed("rates", history: 10_000_000, programs: programs, bed: bed)
        let daemon = try place.start()
        defer { daemon.stop() }
        return try Work.allCases.flatMap { work in
            try Self.loads.map { try measure(work, $0, place, daemon) }
        }
    }

    private func measure(
        _ work: Work, _ load: Load, _ place: StoreBed, _ daemon: Daemon
    ) throws -> StoreResult.Rate {
        let durable = try clients(load, of: work.source, place)
        let plain = try clients(load, of: "plain", place)
        let calls = max(1, settings.operations / load.events)
        let operations = calls * load.events
        // A log that still grows is slower to sync than one that is written over: both have to be past that. It is
        // the rows to copy, too.
        try warmUp(place.database) { _ = try durable.run(calls: 10 * load.clients) }
        let path = "\(place.folder)/bare-\(work)-\(load.clients)-\(load.events).db"
        let bare = try BareStore(path, like: place.database, tables: work.tables)
        try warmUp(path) { try bare.write(operations: 200, transactions: 50) }
        var rate = StoreResult.Rate(work: work, load: load)
        for _ in 0..<settings.rounds {
            let before = try place.transactions()
            let time = try durable.run(calls: calls)
            let transactions = Int(try place.transactions() &- before)
            let began = Bed.now
            try bare.write(operations: operations, transactions: transactions)
            let bareTime = Bed.now - began
            rate.add(
                operations: operations, transactions, watchd: time, bare: bareTime,
                plain: try plain.run(calls: calls))
            daemon.drainNotifications()
        }
        return rate
    }

    private func clients(_ load: Load, of source: String, _ place: StoreBed) throws -> EmitClients {
        try EmitClients(load.clients, of: source, events: load.events, socket: place.controlSocket, bed: bed)
    }

    private func warmUp(_ database: String, _ write: () throws -> Void) throws {
        repeat { try write() } while try Linux.stat("\(database)-wal").size < Int64(BareStore.pagesOfLog * 4096)
        try write()
    }
}
