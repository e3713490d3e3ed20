import Glibc
import LinuxSystem

/// Events into a worker in C that reads their lines, beside a program in C that pipes lines into the same worker.
struct StreamBenchmark {
    struct Settings {
        var rounds = 3
        /// From a FIFO, in a round.
        var lines = 200_000
        /// From clients, in a round.
        var events = 20_000
    }

    enum Side: String, CaseIterable, Encodable {
        /// Reads the FIFO, and writes what it has read to the worker.
        case floor
        case fifo
        case acknowledged = "fifo, Ack=yes"
        case emit
        case acknowledgedEmit = "emit, Ack=yes"

        var isAcknowledged: Bool { self == .acknowledged || self == .acknowledgedEmit }
        var isOfClients: Bool { self == .emit || self == .acknowledgedEmit }
    }

    private static let clients = 4
    /// ms until the worker must have read the last line.
    private static let patience = 300_000

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> StreamResult {
        let machine = Machine()
        var rates: [Side: [Double]] = [:]
        for round in 0..<settings.rounds {
            for side in Side.allCases { rates[side, default: []].append(try rate(side, round)) }
        }
        return StreamResult(machine, settings, rates)
    }

    /// Lines a second, from the first that is made until the worker has read the last.
    private func rate(_ side: Side, _ round: Int) throws -> Double {
        let count = side.isOfClients ? settings.events : settings.lines
        let folder = try bed.makeFolder("\(side)-\(round)")
        let reports = try Reports("\(folder)/report", bed: bed)
        defer { reports.close() }
        let fifo = "\(folder)/fifo"
        try Linux.mkfifo(fifo, mode: 0o600)
        let words =
            side == .floor
            ? [programs.floor, "pipe", fifo, programs.handler, reports.path, "\(count)"]
            : [programs.watchd, try writeFile(folder, side, reports, count)]
        let daemon = try Daemon("stream", words, bed: bed)
        defer { daemon.stop() }
        let began = Bed.now
        if side.isOfClients {
            let socket = "\(folder)/control"
            _ = try EmitClients(Self.clients, of: "events", socket: socket, bed: bed).run(calls: count)
        } else {
            try write(fifo, count)
        }
        return Double(count) * 1_000_000 / Double(try reports.take(1, milliseconds: Self.patience)[0] - began)
    }

    private func write(_ fifo: String, _ count: Int) throws {
        let text = (0..<1000).map { "Nov 22 02:00:00 host app[123]: line \(100_000 + $0) of the benchmark\n" }.joined()
        let block = Array(text.utf8)
        try Linux.open(fifo, .writing).use { writer in
            for _ in 0..<(count / 1000) { try Linux.writeAll(writer, block) }
        }
    }

    private func writeFile(_ folder: String, _ side: Side, _ reports: Reports, _ count: Int) throws -> String {
        let acknowledgement = side.isAcknowledged ? "Ack=yes" : "Ack=no"
        let text = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            LogLevel=err
            MaxOperations=10000000
            MaxMemory=64G
            [Queue work]
            Type=concurrent
            Backlog=1000000
            BacklogBytes=8G
            [Descriptor lines]
            ListenFIFO=\(folder)/fifo
            Key=none
            Coalesce=no
            Queue=work
            Handler=worker
            [Custom events]
            Key=none
            Coalesce=no
            Queue=work
            Handler=worker
            [Handler worker]
            Stream=\(programs.handler) --count \(reports.path) \(count)\(side.isAcknowledged ? " --ack" : "")
            \(acknowledgement)
            Prefetch=1024

            """
        let file = "\(folder)/bench.watch"
        try Linux.open(file, [.writing, .creating], mode: 0o600).use { try Linux.writeAll($0, text.utf8) }
        return file
    }
}
