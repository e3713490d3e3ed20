import Glibc
import LinuxSystem

/// What a measurement stands on: a folder of its own, and waits that end when the benchmark is told to stop, so that no
/// daemon is left behind.
final class Bed {
    /// µs now.
    static var now: Int64 { Linux.now(.monotonic) }

    /// Absolute.
    let folder: String
    private let stop: Int32

    init() throws {
        let signals: SignalSet = [SIGINT, SIGTERM, SIGHUP]
        Linux.blockSignals(signals)
        stop = try Linux.signalCreate(signals).release()
        let parent = Linux.environment("TMPDIR").map { String(decoding: $0, as: UTF8.self) } ?? "/tmp"
        folder = "\(parent)/watchd-bench-\(Linux.processID)"
        guard folder.hasPrefix("/") else { throw Failure(message: "TMPDIR is no absolute path: \(parent)") }
        try Linux.mkdir(folder, mode: 0o700)
    }

    /// Removes the folder with everything in it.
    func remove() {
        Self.remove(folder)
        FileDescriptor(owning: stop).close()
    }

    /// Makes a folder in it.
    func makeFolder(_ name: String) throws -> String {
        let path = "\(folder)/\(name)"
        try Linux.mkdir(path)
        return path
    }

    /// Waits until the descriptor is readable; `false` when this many ms have passed.
    func wait(for descriptor: Int32, milliseconds: Int) throws -> Bool {
        let ready = try Linux.poll(
            [(stop, .readable), (descriptor, .readable)], timeout: Int32(clamping: milliseconds))
        if !ready[0].isEmpty { throw Failure(message: "stopped", exitCode: 1) }
        return !ready[1].isEmpty
    }

    /// Has this epoll set report under `stopToken` that the benchmark is told to stop.
    func addStop(to epoll: Int32) throws { try Linux.epollAdd(epoll, stop, .readable, token: Self.stopToken) }

    static let stopToken = UInt64.max

    /// Lets time pass.
    func pause(milliseconds: Int) throws {
        // -1: poll(2) passes over it.
        _ = try wait(for: -1, milliseconds: milliseconds)
    }

    /// Waits until it is so, looking once a millisecond; `false` when it is not so in time.
    func wait(milliseconds: Int, until isSo: () -> Bool) throws -> Bool {
        let deadline = Self.now + Int64(milliseconds) * 1000
        while !isSo() {
            if Self.now > deadline { return false }
            try pause(milliseconds: 1)
        }
        return true
    }

    private static func remove(_ path: String) {
        for entry in (try? Linux.readFolder(path)) ?? [] {
            let child = "\(path)/\(String(decoding: entry.name, as: UTF8.self))"
            if entry.kind == .folder { remove(child) } else { try? Linux.unlink(child) }
        }
        try? Linux.rmdir(path)
    }
}
