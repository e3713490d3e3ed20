import Glibc
import LinuxSystem

/// The kinds of event whose latency is measured.
enum Kind: String, CaseIterable, Encodable {
    case path, fifo, signal, exit, timer
}

/// Makes events for one daemon.
protocol Stimulus: AnyObject {
    /// Everything up to the event, which is not measured.
    func prepare() throws
    /// Makes the event; µs just before it.
    func fire() throws -> Int64
}

/// A file that is closed after writing. It is there before the daemon is, so that only its end is an event.
final class FileStimulus: Stimulus {
    private let path: String
    private var file: Int32 = -1

    init(_ path: String) { self.path = path }

    func prepare() throws {
        let opened = try Linux.open(path, .writing)
        file = opened.release()
        try Linux.writeAll(file, [UInt8(ascii: "x")])
    }

    func fire() throws -> Int64 {
        let now = Bed.now
        FileDescriptor(owning: file).close()
        return now
    }
}

/// A line written into a FIFO, whose writer stays.
final class FIFOStimulus: Stimulus {
    private let fifo: Int32

    /// The FIFO must have a reader.
    init(_ path: String) throws { fifo = try Linux.open(path, [.writing, .nonBlocking]).release() }

    deinit { FileDescriptor(owning: fifo).close() }

    func prepare() {}

    func fire() throws -> Int64 {
        let now = Bed.now
        try Linux.writeAll(fifo, [UInt8(ascii: "x"), UInt8(ascii: "\n")])
        return now
    }

    /// As many lines at once as the pipe takes.
    func burst(_ count: Int, _ bed: Bed) throws {
        let line = [UInt8(ascii: "x"), UInt8(ascii: "\n")]
        var rest = [UInt8](repeatElement(line, count: count).joined())[...]
        while !rest.isEmpty {
            do {
                let count = try rest.withUnsafeBytes { try Linux.write(fifo, $0) }
                rest = rest.dropFirst(count)
            } catch let error as SystemError where error.errno == .wouldBlock {
                try bed.pause(milliseconds: 1)
            }
        }
    }
}

/// A signal to the daemon.
final class SignalStimulus: Stimulus {
    static let signal = SIGUSR1
    private let daemon: Daemon

    init(_ daemon: Daemon) { self.daemon = daemon }

    func prepare() {}

    func fire() throws -> Int64 {
        let now = Bed.now
        try Linux.kill(process: daemon.processID, signal: Self.signal)
        return now
    }
}

/// The end of a process that a pid file names: it is killed once the daemon watches it.
final class ExitStimulus: Stimulus {
    private let program: String
    private let pidFile: String
    private let daemon: Daemon
    private let bed: Bed
    private var victim: Int32 = -1

    init(program: String, pidFile: String, _ daemon: Daemon, _ bed: Bed) {
        self.program = program
        self.pidFile = pidFile
        self.daemon = daemon
        self.bed = bed
    }

    deinit { if victim >= 0 { kill() } }

    func prepare() throws {
        let arguments = [program, "--wait"].map { Array($0.utf8) }
        let spawned = try Linux.spawn(
            SpawnSpecification(path: arguments[0], arguments: arguments, descriptors: []))
        let processID = spawned.processID
        victim = spawned.pidfd.release()
        try Linux.open(pidFile, [.writing, .creating, .truncating]).use {
            try Linux.writeAll($0, "\(processID)\n".utf8)
        }
        let isWatched = try bed.wait(milliseconds: Reports.patience) {
            ProcessFigures.hasPidfd(daemon.processID, of: processID)
        }
        if !isWatched { throw Failure(message: "process \(processID) of \(pidFile) is not watched") }
    }

    func fire() throws -> Int64 {
        let now = Bed.now
        kill()
        return now
    }

    private func kill() {
        try? Linux.pidfdSendSignal(victim, SIGKILL)
        FileDescriptor(owning: victim).close()
        victim = -1
    }
}
