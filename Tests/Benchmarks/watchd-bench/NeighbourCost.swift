import LinuxSystem

/// What a queue that is not durable pays for the store.
struct NeighbourCost {
    let programs: Programs
    let bed: Bed
    let settings: StoreBenchmark.Settings

    /// Clients that fire just before each line of the neighbour: the store is at work when it comes.
    static let clients = 4
    /// ms of quiet before that.
    private static let gap = 3
    static let burstClients = 64

    init(programs: Programs, bed: Bed, _ settings: StoreBenchmark.Settings) {
        (self.programs, self.bed, self.settings) = (programs, bed, settings)
    }

    /// From a line in a FIFO to the start of its handler: with nothing beside it, with operations that are not durable,
    /// and with as many that are, in turn.
    func measureDelays() throws -> StoreResult.Delays {
        let place = try StoreBed("neighbour", history: 10_000, programs: programs, bed: bed)
        let reports = try Reports(place.report, bed: bed)
        defer { reports.close() }
        let daemon = try place.start()
        defer { daemon.stop() }
        let fifo = try FIFOStimulus(place.fifo)
        let plain = try clients(of: "plain", place)
        let durable = try clients(of: "durable", place)
        func delay(beside clients: EmitClients?) throws -> Int64 {
            try bed.pause(milliseconds: Self.gap)
            try clients?.start()
            let fired = try fifo.fire()
            let time = try reports.next() - fired
            try clients?.finish()
            daemon.drainNotifications()
            return time
        }
        var delays = StoreResult.Delays()
        for round in 0...settings.rounds {
            var times: (alone: [Int64], plain: [Int64], durable: [Int64]) = ([], [], [])
            for _ in 0..<settings.events {
                times.alone.append(try delay(beside: nil))
                times.plain.append(try delay(beside: plain))
                times.durable.append(try delay(beside: durable))
            }
            // The first round pays for what is loaded once.
            if round > 0 {
                delays.add(Percentiles(times.alone), Percentiles(times.plain), Percentiles(times.durable))
            }
        }
        return delays
    }

    /// Operations a second of a plain queue, with history and without, in turn.
    func measureHistory() throws -> StoreResult.History {
        let on = try StoreBed("history-on", history: 10_000, programs: programs, bed: bed)
        let off = try StoreBed("history-off", history: 0, programs: programs, bed: bed)
        let daemons = (on: try on.start(), off: try off.start())
        defer {
            daemons.on.stop()
            daemons.off.stop()
        }
        let clients = (on: try burst(on), off: try burst(off))
        var history = StoreResult.History()
        for round in 0...settings.rounds {
            let times = try (
                on: clients.on.run(calls: 5 * settings.operations), off: clients.off.run(calls: 5 * settings.operations)
            )
            if round > 0 { history.add(operations: 5 * settings.operations, on: times.on, off: times.off) }
        }
        return history
    }

    private func clients(of source: String, _ place: StoreBed) throws -> EmitClients {
        try EmitClients(Self.clients, of: source, socket: place.controlSocket, bed: bed)
    }

    private func burst(_ place: StoreBed) throws -> EmitClients {
        try EmitClients(Self.burstClients, of: "plain", socket: place.controlSocket, bed: bed)
    }
}
