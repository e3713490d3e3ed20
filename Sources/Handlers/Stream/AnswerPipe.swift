import EventSources
import LinuxSystem

/// A worker's answers on `$WATCHD_ACK_FD`, cut into lines. Confined to the core.
final class AnswerPipe {
    /// Bytes of the longest line.
    static let longest = 64 << 10
    private static let bytesPerTurn = 256 << 10
    /// Read at most after the worker has ended: as large as a pipe can be.
    private static let bytesAtEnd = 1 << 20

    private let core: Context
    private let epoll: EpollSet
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private var framer = LineFramer(maxLength: longest)

    /// These lines came at once.
    var read: ([LineFramer.Line]) -> Void = { _ in }
    /// Nobody has its other end any more.
    var ended: () -> Void = {}

    init(core: Context, epoll: EpollSet) {
        self.core = core
        self.epoll = epoll
    }

    deinit { descriptor.take()?.close() }

    /// Takes the reading end over, which does not block.
    func open(_ number: Int32) throws(SystemError) {
        descriptor = FileDescriptor(owning: number)
        token = try epoll.add(number, .readable) { [weak self] _ in self?.turn(Self.bytesPerTurn) }
    }

    /// The worker has ended: takes what it left. An incomplete last line counts for nothing.
    func drain() {
        turn(Self.bytesAtEnd)
        close()
    }

    func close() {
        if let token { epoll.remove(token) }
        token = nil
        descriptor.take()?.close()
    }

    private func turn(_ limit: Int) {
        var (size, lines) = (0, [LineFramer.Line]())
        var isOver = false
        while size < limit, !isOver, let number = descriptor.number {
            do throws(SystemError) {
                let bytes = try Linux.read(number, atMost: 1 << 16)
                isOver = bytes.isEmpty
                size += bytes.count
                lines += framer.push(bytes)
            } catch {
                isOver = error.errno != .wouldBlock
                break
            }
        }
        if !lines.isEmpty { read(lines) }
        guard isOver, descriptor.number != nil else { return }
        close()
        ended()
    }
}
