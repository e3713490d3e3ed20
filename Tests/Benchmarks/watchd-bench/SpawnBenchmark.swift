import Glibc
import LinuxSystem

/// Many pending operations of a small program, drained: how many start in a second, beside a loop in C that starts the
/// same program as many times, as many at once.
struct SpawnBenchmark {
    struct Settings {
        var rounds = 3
        var operations = 5000
        var width = 4
    }

    enum Side: String, CaseIterable, Encodable {
        /// epoll and posix_spawn in C.
        case floor
        case plain
        /// Each run has a cgroup of its own.
        case cgroup
        /// With `User=nobody`.
        case user
    }

    struct Round: Encodable {
        /// Starts a second.
        var rate: Double
        /// µs of the daemon on a processor for each run, its children not counted.
        var processor: Double
    }

    /// Events in one call.
    private static let batch = 100

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> SpawnResult {
        let machine = Machine()
        // User nobody has to reach the FIFO.
        try Linux.chmod(bed.folder, 0o711)
        let isRoot = Linux.effectiveUserID == 0
        let sides = Side.allCases.filter { isRoot || $0 == .floor || $0 == .plain }
        var rounds: [Side: [Round]] = [:]
        for round in 0..<settings.rounds {
            for side in sides { rounds[side, default: []].append(try measure(side, round)) }
        }
        return SpawnResult(machine, settings, rounds)
    }

    private func measure(_ side: Side, _ round: Int) throws -> Round {
        let folder = try bed.makeFolder("\(side)-\(round)")
        let reports = try Reports("\(folder)/report", bed: bed)
        try Linux.chmod(reports.path, 0o666)
        defer { reports.close() }
        if side == .floor { return try measureFloor(reports) }
        let group = side == .cgroup ? try group() : nil
        defer { group.map(Self.remove) }
        let words = [programs.watchd, try writeFile(folder, side, reports)]
        let wrapper = group.map { [programs.floor, "delegate", $0] } ?? []
        let daemon = try Daemon("spawn", wrapper + words, bed: bed)
        defer { daemon.stop() }
        let socket = "\(folder)/control"
        let clients = try EmitClients(1, of: "work", events: Self.batch, socket: socket, bed: bed)
        _ = try clients.run(calls: settings.operations / Self.batch)
        let before = try time(daemon)
        try ControlCall.resume("queue/work", socket: socket)
        let rate = Self.rate(try reports.take(settings.operations))
        return Round(rate: rate, processor: Double(try time(daemon) - before) / 1000 / Double(settings.operations))
    }

    private func measureFloor(_ reports: Reports) throws -> Round {
        let words = [
            programs.floor, "spawn", "\(settings.operations),\(settings.width)", programs.handler, reports.path,
        ]
        let daemon = try Daemon("floor", words, bed: bed)
        defer { daemon.stop() }
        let rate = Self.rate(try reports.take(settings.operations))
        return Round(rate: rate, processor: Double(try time(daemon)) / 1000 / Double(settings.operations))
    }

    /// From the first handler's begin to the last one's.
    private static func rate(_ times: [Int64]) -> Double {
        let (first, last) = (times.min() ?? 0, times.max() ?? 0)
        return Double(times.count - 1) * 1_000_000 / Double(max(1, last - first))
    }

    /// ns of its threads on a processor.
    private func time(_ daemon: Daemon) throws -> Int {
        try ProcessFigures(daemon.processID).threads.values.reduce(0) { $0 + $1.runTime }
    }

    /// A cgroup that is not there yet.
    private func group() throws -> String {
        let mounts = String(decoding: try Linux.readFile("/proc/self/mounts"), as: UTF8.self)
        let words = mounts.split(separator: "\n").map { $0.split(separator: " ") }
        guard let root = words.first(where: { $0.count > 2 && $0[2] == "cgroup2" })?[1] else {
            throw Failure(message: "no cgroup v2 is mounted")
        }
        return "\(root)/watchd-bench-\(Linux.processID)"
    }

    private static func remove(_ group: String) {
        for entry in (try? Linux.readFolder(group)) ?? [] where entry.kind == .folder {
            try? Linux.rmdir("\(group)/\(String(decoding: entry.name, as: UTF8.self))")
        }
        try? Linux.rmdir(group)
    }

    private func writeFile(_ folder: String, _ side: Side, _ reports: Reports) throws -> String {
        let text = """
            [Watchd]
            ControlSocket=\(folder)/control
            StateDirectory=\(folder)/state
            LogLevel=err
            MaxProcesses=\(settings.width)
            MaxOperations=1000000
            [Queue work]
            Type=concurrent
            Width=\(settings.width)
            Backlog=1000000
            Suspended=yes
            [Custom work]
            Key=none
            Coalesce=no
            Queue=work
            Exec=\(programs.handler) \(reports.path)
            \(side == .user ? "User=nobody" : "")

            """
        let file = "\(folder)/bench.watch"
        try Linux.open(file, [.writing, .creating], mode: 0o600).use { try Linux.writeAll($0, text.utf8) }
        return file
    }
}
