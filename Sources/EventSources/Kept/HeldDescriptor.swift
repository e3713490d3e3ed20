import Engine
import LinuxSystem

/// A descriptor in the epoll set that is read line by line (or datagram by datagram) and can be held.
///
/// One read may give more lines than can be told now: they wait here, at most one read's worth, and are told before
/// anything more is read. While it is held the descriptor is out of the set altogether, since a hang-up is reported
/// whether it is asked for or not. Confined to its context.
final class HeldDescriptor<Item> {
    /// Items told in one turn, so that other sources of the context get theirs.
    private static var itemsPerTurn: Int { 1000 }
    private static var bytesPerTurn: Int { 256 << 10 }

    /// The result of one read.
    enum Reading {
        case items([Item], bytes: Int)
        /// Nothing there now.
        case empty
        /// The last writer has gone, after these.
        case end([Item])
    }

    private let context: Context
    private let epoll: EpollSet
    private let read: (Int32) throws(SystemError) -> Reading
    private let tell: ([Item]) -> Void
    private let ended: () -> Void
    private let failed: (SystemError) -> Void
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private(set) var waiting: [Item] = []
    private(set) var told = 0
    private var hasEnded = false
    private var isHeld = false
    private var isContinuing = false

    /// - Parameters:
    ///   - read: reads once.
    ///   - tell: gives items on, in their order, as many as one turn may tell; it may hold or close this.
    ///   - ended: the last writer has gone and everything is told.
    init(
        on context: Context, epoll: EpollSet, read: @escaping (Int32) throws(SystemError) -> Reading,
        tell: @escaping ([Item]) -> Void, ended: @escaping () -> Void, failed: @escaping (SystemError) -> Void
    ) {
        self.context = context
        self.epoll = epoll
        self.read = read
        self.tell = tell
        self.ended = ended
        self.failed = failed
    }

    var number: Int32? { descriptor.number }
    var isOpen: Bool { descriptor.number != nil }
    /// Bytes that are read are consumed.
    var isSettled: Bool { true }

    func open(_ new: consuming FileDescriptor) throws(SystemError) {
        unwatch()
        descriptor.take()?.close()
        descriptor = consume new
        hasEnded = false
        // A descriptor that can never be waited for is refused at once, not when it is released.
        if isHeld, let number = descriptor.number { try epoll.check(number) }
        try watch()
    }

    func close(_ heir: @escaping (consuming FileDescriptor) -> Void) {
        unwatch()
        waiting = []
        told = 0
        if let descriptor = descriptor.take() { heir(descriptor) }
    }

    func hold() {
        isHeld = true
        unwatch()
    }

    func release() throws(SystemError) {
        isHeld = false
        try watch()
        // Lines that wait are told before the next read.
        if told < waiting.count || hasEnded { later() }
    }

    func watch() throws(SystemError) {
        guard token == nil, !isHeld, !hasEnded, let number = descriptor.number else { return }
        token = try epoll.add(number, .readable) { [weak self] _ in self?.turn() }
    }

    private func unwatch() {
        if let token { epoll.remove(token) }
        token = nil
    }

    // MARK: A turn

    private func turn() {
        var (count, bytes) = (0, 0)
        while true {
            while told < waiting.count {
                guard !isHeld, isOpen else { return }
                guard count < Self.itemsPerTurn else { return later() }
                let end = min(waiting.count, told + Self.itemsPerTurn - count)
                let items = told == 0 && end == waiting.count ? waiting : Array(waiting[told..<end])
                count += items.count
                told = end
                tell(items)
            }
            (waiting, told) = ([], 0)
            guard !isHeld, let number = descriptor.number else { return }
            if hasEnded { return ended() }
            guard bytes < Self.bytesPerTurn, count < Self.itemsPerTurn else { return }
            do throws(SystemError) {
                switch try read(number) {
                case .empty: return
                case .items(let items, let size):
                    waiting = items
                    bytes += max(size, 1 << 8)
                case .end(let items):
                    waiting = items
                    hasEnded = true
                    // The hang-up stays on this end for ever.
                    unwatch()
                }
            } catch {
                unwatch()
                return failed(error)
            }
        }
    }

    /// Goes on after the others have had their turn, though the kernel may have nothing more to report.
    private func later() {
        guard !isContinuing else { return }
        isContinuing = true
        let bound = QueueBound(self, to: context)
        context.async {
            bound.value.isContinuing = false
            bound.value.turn()
        }
    }
}

extension HeldDescriptor: DescriptorReader where Item == LineFact {
    var untold: [LineFact] { Array(waiting[told...]) }
}
