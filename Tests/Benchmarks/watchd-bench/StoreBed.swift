import Glibc
import LinuxSystem

/// A folder with a watch file and a store, and the daemon that uses them.
///
/// Its sources and queues:
///   - `kept` fires into a durable queue that is suspended: an operation is accepted, and stays.
///   - `durable` fires into a durable queue, `plain` into one that is not, both with a handler that writes a line.
///   - `fifo` starts a handler of the benchmark for each line.
struct StoreBed {
    let folder: String
    let report: String
    private let name: String
    private let file: String
    private let programs: Programs
    private let bed: Bed

    var controlSocket: String { "\(folder)/control" }
    var stateFolder: String { "\(folder)/state" }
    var database: String { "\(stateFolder)/watchd.db" }
    var fifo: String { "\(folder)/fifo" }

    /// - Parameter history: of `KeepHistory=`.
    init(_ name: String, history: Int, programs: Programs, bed: Bed) throws {
        (self.name, self.programs, self.bed) = (name, programs, bed)
        folder = try bed.makeFolder(name)
        report = "\(folder)/report"
        file = "\(folder)/bench.watch"
        try Linux.open(file, [.writing, .creating], mode: 0o600).use {
            try Linux.writeAll($0, text(history).utf8)
        }
    }

    func start() throws -> Daemon { try Daemon(name, [programs.watchd, file], bed: bed) }

    /// Ends it in the middle of whatever it does.
    func kill(_ daemon: Daemon) throws {
        try Linux.kill(process: daemon.processID, signal: SIGKILL)
        daemon.stop()
    }

    /// How many transactions have been committed to the store since its log's index was made: `iChange` of that index
    /// ("WAL-Index Header" of SQLite's walformat.html).
    func transactions() throws -> UInt32 {
        let header = try Linux.open("\(database)-shm").use { try Linux.read($0, atMost: 48) }
        guard header.count == 48 else { throw Failure(message: "\(database)-shm is too short") }
        return header.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8, as: UInt32.self) }
    }

    private func text(_ history: Int) -> String {
        """
        [Watchd]
        ControlSocket=\(controlSocket)
        StateDirectory=\(stateFolder)
        LogLevel=err
        MaxOperations=2000000
        MaxMemory=1024G
        KeepHistory=\(history)
        [Queue kept]
        Type=concurrent
        Durable=yes
        Suspended=yes
        Backlog=2000000
        BacklogBytes=1024G
        [Queue durable]
        Type=concurrent
        Durable=yes
        [Queue plain]
        Type=concurrent
        [Custom kept]
        Coalesce=no
        Queue=kept
        Log=x
        [Custom durable]
        Coalesce=no
        Queue=durable
        Log=x
        [Custom plain]
        Coalesce=no
        Queue=plain
        Log=x
        [Descriptor fifo]
        ListenFIFO=\(fifo)
        Exec=\(programs.handler) \(report)

        """
    }
}
