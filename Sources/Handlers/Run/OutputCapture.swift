import Engine
import EventSources
import LinuxSystem
import WatchFile

/// The output of a run: the end is kept with the run, every line goes to the log. While the log cannot take more, the
/// pipe is not read, so that the writer waits instead of watchd growing. Confined to the core.
final class OutputCapture {
    /// Bytes of output kept with a run.
    static let kept = 64 << 10
    private static let bytesPerTurn = 256 << 10
    /// A longer line is logged in pieces.
    private static let longestLine = 48 << 10
    /// Read at most after the run has ended, while something else still writes (bytes).
    private static let bytesAtEnd = 1 << 20

    private let run: RunID
    private let environment: RunEnvironment
    private let fields: [(name: String, value: String)]
    private let prefix: String
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private var framer = LineFramer(maxLength: longestLine, inPieces: true)
    private var bytes: [UInt8] = []
    private var total = 0
    private var hasRunEnded = false
    private var bound: QueueBound<OutputCapture> { QueueBound(self, to: environment.core) }

    /// Told of each line while the run goes on.
    private let heard: ([LineFramer.Line]) -> Void

    /// `whose`: the handler's name.
    init(
        _ descriptor: consuming FileDescriptor, of run: RunID, whose: String,
        fields: [(name: String, value: String)], _ environment: RunEnvironment,
        heard: @escaping ([LineFramer.Line]) -> Void = { _ in }
    ) {
        self.heard = heard
        self.run = run
        self.environment = environment
        self.fields = fields
        prefix = whose
        self.descriptor = consume descriptor
        watch()
    }

    /// With the epoll set, that holds it while somebody still writes.
    deinit { descriptor.take()?.close() }

    var number: Int32? { descriptor.number }

    /// The output so far; once the run has ended, without the bytes.
    var soFar: RunOutput { RunOutput(end: Array(bytes.suffix(Self.kept)), total: total) }

    /// The run has ended: takes what is still in the pipe, and gives the end of it away. A grandchild that keeps the pipe
    /// open may go on writing; its lines go to the log until it closes, or watchd ends. Nothing is kept of them: while
    /// the log is slow, there may be thousands of these.
    func runEnded() -> RunOutput {
        var read = 0
        while read < Self.bytesAtEnd, let count = readOnce() { read += count }
        defer { (bytes, hasRunEnded) = ([], true) }
        return soFar
    }

    private func watch() {
        guard token == nil, let number = descriptor.number else { return }
        // Strongly: it lives until the last writer has closed.
        do throws(SystemError) {
            token = try environment.epoll.add(number, .readable) { _ in self.turn() }
        } catch {
            environment.logger.log(.warning, "output of \(prefix) cannot be read yet: \(error); trying again in 1s")
            environment.core.after(1_000_000) { [bound] in bound.value.watch() }
        }
    }

    private func pause() {
        if let token { environment.epoll.remove(token) }
        token = nil
    }

    private func turn() {
        var read = 0
        while read < Self.bytesPerTurn, let count = readOnce() { read += count }
        guard token != nil, environment.logger.isCongested else { return }
        pause()
        environment.logger.whenDrained { [core = environment.core, bound] in core.async { bound.value.watch() } }
    }

    /// The bytes read; `nil`: nothing there now, or the end.
    private func readOnce() -> Int? {
        guard let number = descriptor.number else { return nil }
        do throws(SystemError) {
            let read = try Linux.read(number, atMost: 1 << 16)
            if read.isEmpty {
                close()
                return nil
            }
            take(read)
            return read.count
        } catch  where error.errno == .wouldBlock {
            return nil
        } catch {
            close()
            return nil
        }
    }

    private func take(_ read: [UInt8]) {
        if !hasRunEnded {
            bytes += read
            total += read.count
        }
        if bytes.count > 2 * Self.kept { bytes.removeFirst(bytes.count - Self.kept) }
        tell(framer.push(read))
    }

    private func tell(_ lines: [LineFramer.Line]) {
        for line in lines {
            environment.logger.write(.info, "\(prefix)| \(String(decoding: line.bytes, as: UTF8.self))", fields)
        }
        if !lines.isEmpty { environment.wrote(run, lines) }
        if !lines.isEmpty, !hasRunEnded { heard(lines) }
    }

    private func close() {
        if let rest = framer.finish() { tell([rest]) }
        pause()
        descriptor.take()?.close()
    }
}
