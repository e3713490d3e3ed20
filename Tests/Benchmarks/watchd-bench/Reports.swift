import LinuxSystem

/// Where the handlers of one daemon say when they began: a FIFO of times.
final class Reports {
    /// ms in which a handler must have been started.
    static let patience = 5000
    /// A time, as `watchd-bench-handler` writes it: ns, 64 bits.
    private static let size = 8

    let path: String
    private let bed: Bed
    private let fifo: Int32

    init(_ path: String, bed: Bed) throws {
        self.path = path
        self.bed = bed
        try Linux.mkfifo(path, mode: 0o600)
        // For writing too, so that it never hangs up between two handlers.
        fifo = try Linux.open(path, [.readingAndWriting, .nonBlocking]).release()
    }

    func close() { FileDescriptor(owning: fifo).close() }

    /// Waits for the next report; µs.
    /// - Throws: `Failure`, when none comes.
    func next() throws -> Int64 {
        guard try bed.wait(for: fifo, milliseconds: Self.patience) else {
            throw Failure(
                message: "an event was made, and no handler has begun for \(Self.patience / 1000) s (\(path))")
        }
        return try read(1)[0]
    }

    /// Waits for as many reports.
    /// - Throws: `Failure`, when they stop coming.
    func skip(_ count: Int) throws { _ = try take(count) }

    /// The same; µs of each.
    /// - Parameter milliseconds: that each may take.
    func take(_ count: Int, milliseconds: Int = patience) throws -> [Int64] {
        var times: [Int64] = []
        while times.count < count {
            guard try bed.wait(for: fifo, milliseconds: milliseconds) else {
                throw Failure(message: "\(count - times.count) of \(count) handlers have not begun")
            }
            times += try read(min(count - times.count, 4096))
        }
        return times
    }

    private func read(_ limit: Int) throws -> [Int64] {
        let bytes = try Linux.read(fifo, atMost: limit * Self.size)
        return bytes.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: Self.size).map {
                bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self) / 1000
            }
        }
    }
}
