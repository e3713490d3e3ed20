import Glibc
import LinuxSystem

/// Lines from a FIFO into operations, beside who only reads them.
struct LinesBenchmark {
    struct Settings {
        var rounds = 3
        /// Of each round, for each reader.
        var lines = 1_000_000
    }

    enum Reader: String, CaseIterable, Encodable {
        /// `cat >/dev/null`.
        case cat
        /// An epoll loop in C that looks for newlines.
        case floor
        case watchd
    }

    let programs: Programs
    let bed: Bed
    let settings: Settings

    func run() throws -> LinesResult {
        let machine = Machine()
        let block = (0..<1000).map { "Nov 22 02:00:00 host app[123]: line \(100_000 + $0) of the benchmark\n" }.joined()
        var rates: [Reader: [Double]] = [:]
        for _ in 0..<settings.rounds {
            for reader in Reader.allCases {
                rates[reader, default: []].append(try rate(reader, Array(block.utf8)))
            }
        }
        return LinesResult(machine: machine, settings.lines, rates)
    }

    private func rate(_ reader: Reader, _ block: [UInt8]) throws -> Double {
        let fifo = "\(bed.folder)/lines"
        try? Linux.unlink(fifo)
        try Linux.mkfifo(fifo, mode: 0o600)
        switch reader {
        case .cat: return try time("cat", ["/bin/sh", "-c", "exec cat '\(fifo)' >/dev/null"], fifo, block)
        case .floor: return try time("floor", [programs.floor, "lines", fifo], fifo, block)
        case .watchd:
            let file = "\(bed.folder)/lines.watch"
            try Linux.open(file, [.writing, .creating, .truncating]).use { descriptor in
                try Linux.writeAll(descriptor, watchFile(fifo).utf8)
            }
            let daemon = try Daemon("lines", [programs.watchd, file], bed: bed)
            defer { daemon.stop() }
            return try write(fifo, block)
        }
    }

    /// Each line is accepted by itself, and joins the operation that waits behind the one that runs.
    private func watchFile(_ fifo: String) -> String {
        """
        [Watchd]
        ControlSocket=\(bed.folder)/control
        StateDirectory=\(bed.folder)/state
        LogLevel=warning
        MaxOperations=1000000000
        MaxMemory=1024G
        [Queue lines]
        Backlog=1000000000
        BacklogBytes=1024G
        [Descriptor lines]
        ListenFIFO=\(fifo)
        Key=
        Coalesce=yes
        Exec=/bin/sleep 0.2
        StandardInput=null
        Queue=lines

        """
    }

    private func time(_ name: String, _ arguments: [String], _ fifo: String, _ block: [UInt8]) throws -> Double {
        let pidfd = try Linux.open("/dev/null", .readingAndWriting).use { null in
            let spawned = try Linux.spawn(
                SpawnSpecification(
                    path: Array(arguments[0].utf8), arguments: arguments.map { Array($0.utf8) },
                    environment: [Array("PATH=/usr/bin:/bin".utf8)], descriptors: [null, null, 2]))
            return spawned.pidfd.release()
        }
        defer {
            try? Linux.pidfdSendSignal(pidfd, SIGKILL)
            FileDescriptor(owning: pidfd).close()
        }
        return try write(fifo, block)
    }

    /// Lines a second, from the first byte written until the pipe is empty.
    private func write(_ fifo: String, _ block: [UInt8]) throws -> Double {
        let writer = try Linux.open(fifo, .writing).release()
        defer { FileDescriptor(owning: writer).close() }
        let started = Bed.now
        for _ in 0..<(settings.lines / 1000) { try Linux.writeAll(writer, block) }
        while try Linux.bytesAvailable(writer) > 0 { try bed.pause(milliseconds: 1) }
        return Double(settings.lines) * 1_000_000 / Double(Bed.now - started)
    }
}

/// What `watchd-bench lines` tells.
struct LinesResult: Encodable, CustomStringConvertible {
    struct OfReader: Encodable {
        var reader: LinesBenchmark.Reader
        /// Lines a second, round by round.
        var rates: [Double]
    }

    /// Lines a second, at least.
    private static let target = 300_000.0

    var machine: Machine
    var lines: Int
    var readers: [OfReader]

    init(machine: Machine, _ lines: Int, _ rates: [LinesBenchmark.Reader: [Double]]) {
        self.machine = machine
        self.lines = lines
        readers = LinesBenchmark.Reader.allCases.map { OfReader(reader: $0, rates: rates[$0] ?? []) }
    }

    var description: String {
        var table = Table()
        table.add("reader", "lines/s", "(rounds)")
        for reader in readers {
            let rounds = Rounds(reader.rates)
            table.add(reader.reader.rawValue, rounds.median.text(0), "(\(rounds.low.text(0))–\(rounds.high.text(0)))")
        }
        table.add("target", "≥ \(Self.target.text(0))", "")
        return "lines from a FIFO, \(lines) in a round; watchd makes an operation of them\n\(machine)\n\n\(table)"
    }
}
