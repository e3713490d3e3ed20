import Glibc
import LinuxSystem

/// A daemon that is measured, watchd or the floor, with the benchmark as its service manager.
final class Daemon {
    /// ms in which it must be ready, and in which it must have stopped.
    static let patience = 10_000

    let processID: Int32
    /// µs from just before its start to READY=1.
    private(set) var startTime: Int64 = 0
    private let pidfd: Int32
    private let notify: Int32
    private let notifyPath: String

    /// Starts it and waits until it is ready.
    /// - Parameters:
    ///   - name: of its files in the bed: `NAME.notify`, `NAME.log` (standard error).
    ///   - patience: ms in which it must be ready.
    init(_ name: String, _ arguments: [String], bed: Bed, patience: Int = Daemon.patience) throws {
        let log = "\(bed.folder)/\(name).log"
        notifyPath = "\(bed.folder)/\(name).notify"
        notify = try Self.bind(notifyPath)
        let started = Bed.now
        let environment = ["PATH=/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no", "NOTIFY_SOCKET=\(notifyPath)"]
        do {
            (processID, pidfd) = try Self.spawn(arguments, environment, log: log)
        } catch {
            FileDescriptor(owning: notify).close()
            throw error
        }
        do {
            startTime = try waitUntilReady(bed, patience) - started
        } catch {
            stop()
            let text = (try? Linux.readFile(log)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            throw Failure(message: "\(arguments[0]): \((error as? Failure)?.message ?? "\(error)")\n\(text)")
        }
    }

    /// Reads what it has told the service manager meanwhile, so that it never waits for that.
    func drainNotifications() {
        while (try? Linux.receiveDatagram(notify, limit: 4096)) ?? nil != nil {}
    }

    /// Ends it, by force if it takes too long.
    func stop() {
        try? Linux.pidfdSendSignal(pidfd, SIGTERM)
        if (try? Linux.poll(pidfd, .readable, timeout: Int32(Self.patience)))?.isEmpty ?? true {
            try? Linux.pidfdSendSignal(pidfd, SIGKILL)
        }
        FileDescriptor(owning: pidfd).close()
        FileDescriptor(owning: notify).close()
        try? Linux.unlink(notifyPath)
    }

    private static func bind(_ path: String) throws -> Int32 {
        let endpoint = Endpoint.unix(Array(path.utf8))
        let socket = try Linux.socket(for: endpoint, .datagram)
        let number = socket.release()
        do {
            try Linux.bind(number, endpoint)
        } catch {
            FileDescriptor(owning: number).close()
            throw error
        }
        return number
    }

    private static func spawn(
        _ arguments: [String], _ environment: [String], log: String
    ) throws -> (processID: Int32, pidfd: Int32) {
        try Linux.open("/dev/null", .readingAndWriting).use { null in
            try Linux.open(log, [.writing, .creating, .truncating], mode: 0o600).use { log in
                let spawned = try Linux.spawn(
                    SpawnSpecification(
                        path: Array(arguments[0].utf8), arguments: arguments.map { Array($0.utf8) },
                        environment: environment.map { Array($0.utf8) }, descriptors: [null, null, log]))
                let processID = spawned.processID
                return (processID, spawned.pidfd.release())
            }
        }
    }

    /// µs at which READY=1 came.
    private func waitUntilReady(_ bed: Bed, _ patience: Int) throws -> Int64 {
        let deadline = Bed.now + Int64(patience) * 1000
        while Bed.now < deadline {
            let ready = try Linux.poll([(notify, .readable), (pidfd, .readable)], timeout: 100)
            let now = Bed.now
            // Told to stop?
            try bed.pause(milliseconds: 0)
            if !ready[0].isEmpty, let message = try Linux.receiveDatagram(notify, limit: 4096) {
                let lines = String(decoding: message.bytes, as: UTF8.self).split(separator: "\n")
                if lines.contains("READY=1") { return now }
            } else if !ready[1].isEmpty {
                throw Failure(message: "it has ended before it was ready")
            }
        }
        throw Failure(message: "it is not ready after \(patience / 1000) s")
    }
}
