import Engine
import LinuxSystem
import WatchFile

/// Looks into a connection without consuming (MSG_PEEK). Confined to its context.
///
/// Unread bytes are counted against their writer, in a Unix socket each write of one byte with some 770, until the
/// writer has to wait. A line without its end therefore stays where it is only as long as he can go on: when it does
/// not grow for a while, and there may be no room for more of it, or when it is too long for one look, it is taken out
/// and held here, and so is whatever else comes of it, and every line of a connection where there was no room once. The
/// connection is marked then (`LineBeginning`): whoever takes it up without what is held here knows that it goes on in
/// the middle of a line.
final class StreamView {
    /// So long a line may stand still without its end (microseconds).
    private static let patience: Int64 = 250_000
    /// Of a longer line, what one look shows is taken out at once (bytes).
    private static let mostSeen = 256 << 10

    /// Has `look` called when there may be something to do, though nothing has come.
    var again: () -> Void = {}
    /// The beginning of a line that was taken out, and is not told.
    private(set) var unfinished: [UInt8] = []
    private let trigger: DescriptorTrigger
    private let maker: LineMaker
    private let context: Context
    private let isPackets: Bool
    /// The next bytes belong to a line that was cut.
    private var isSkipping = false
    private var isMarked = false
    /// Bytes of the lines shown last that are not consumed.
    private var shown = 0
    /// A line without its end: so much of it, seen first at this time (monotonic, microseconds).
    private var standing: (count: Int, since: Int64)?
    private var isTimed = false
    /// There was no room for more of a line once.
    private var isTakenAtOnce = false

    init(_ trigger: DescriptorTrigger, _ maker: LineMaker, on context: Context, isPackets: Bool) {
        self.isPackets = isPackets
        self.trigger = trigger
        self.maker = maker
        self.context = context
    }

    /// Somebody else has begun to read it.
    func resume(_ number: Int32, _ beginning: Unfinished) {
        (unfinished, isSkipping) = (beginning.bytes, beginning.isSkipping)
        isMarked = isSkipping || !unfinished.isEmpty
        // He may not have needed a mark.
        if isSkipping { LineBeginning.tellOfLoss(number) } else if isMarked { LineBeginning.begin(number) }
    }

    func look(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        do throws(SystemError) {
            return isPackets ? try packet(number) : try stream(number)
        } catch  where error.errno == .wouldBlock {
            return .init()
        } catch {
            return end()
        }
    }

    /// The first of what was shown last is told.
    func told() { unfinished = [] }

    func consume(_ number: Int32, _ count: Int) throws(SystemError) {
        if isPackets {
            _ = try Linux.receiveDatagram(number, limit: 0)
            return
        }
        shown -= count
        let isCut = isSkipping && shown == 0
        if isCut { LineBeginning.tellOfLoss(number) }
        _ = try Linux.skip(number, count)
        if isMarked, !isCut { LineBeginning.end(number) }
        isMarked = isCut
    }

    private func packet(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        guard let datagram = try Linux.receiveDatagram(number, limit: trigger.maxLength, peeking: true) else {
            return .init()
        }
        if datagram.bytes.isEmpty { return .init(isEnd: true) }
        let facts = maker.unsifted(datagram)
        return .init(of: facts, datagram.bytes)
    }

    private func stream(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        let limit = min(max(1 << 16, trigger.maxLength + 1), Self.mostSeen)
        while true {
            // Looked at before: who has gone before had sent everything.
            let wasHungUp = try Linux.poll(number, .peerHangUp, timeout: 0).contains(.peerHangUp)
            let bytes = try Linux.peek(number, atMost: limit)
            if bytes.isEmpty { return end() }
            let newline = bytes.withUnsafeBytes { $0.firstNewline(from: 0) }
            if isSkipping {
                try skip(number, newline.map { $0 + 1 } ?? bytes.count, isWhole: newline != nil)
                continue
            }
            let isEnd = wasHungUp && bytes.count < limit
            let isTooLong = unfinished.count + bytes.count > trigger.maxLength
            if newline != nil || isEnd || isTooLong || trigger.framing == .chunk { return batch(bytes, isEnd: isEnd) }
            guard bytes.count == limit || hasToGo(number, bytes.count) else { return .init() }
            try take(number, bytes)
        }
    }

    private func batch(_ bytes: [UInt8], isEnd: Bool) -> DurableDescriptor<LineFact>.Batch {
        standing = nil
        if trigger.framing == .chunk {
            let chunk = Array(bytes.prefix(trigger.maxLength))
            shown = chunk.count
            return .init(items: [(LineFact(chunk, form: .chunk, peer: maker.peer), chunk.count)], bytes: bytes)
        }
        let before = unfinished.count
        var cutter = SizedLines(before == 0 ? bytes : unfinished + bytes, maxLength: trigger.maxLength)
        if isEnd { cutter.finish() }
        isSkipping = cutter.isUnfinishedCut
        maker.noteCut(cutter.cut)
        var items = cutter.lines.map { (item: maker.fact($0.line), size: $0.size) }
        // That much of the first is not there any more.
        items[0].size -= before
        shown = items.reduce(0) { $0 + $1.size }
        return .init(items: items, bytes: bytes)
    }

    /// Nobody will end what is held.
    private func end() -> DurableDescriptor<LineFact>.Batch {
        guard !unfinished.isEmpty else { return .init(isEnd: true) }
        let line = LineFramer.Line(bytes: unfinished, isIncomplete: true)
        return .init(items: [(maker.fact(line), 0)], isEnd: true)
    }

    /// The rest of a line that was cut.
    private func skip(_ number: Int32, _ count: Int, isWhole: Bool) throws(SystemError) {
        _ = try Linux.skip(number, count)
        isSkipping = !isWhole
        guard isWhole, isMarked else { return }
        LineBeginning.end(number)
        isMarked = false
    }

    // MARK: A line without its end

    /// Whether its writer may be waiting for room.
    private func hasToGo(_ number: Int32, _ count: Int) -> Bool {
        if isTakenAtOnce || !unfinished.isEmpty { return true }
        let now = Linux.now(.monotonic)
        if standing?.count != count { standing = (count, now) }
        let left = Self.patience - (now - (standing?.since ?? now))
        if left > 0 {
            lookLater(left)
            return false
        }
        guard let share = Linux.unreadShare(number) else { return true }
        isTakenAtOnce = share.mayHoldUpWriter
        return isTakenAtOnce
    }

    private func lookLater(_ delay: Int64) {
        guard !isTimed else { return }
        isTimed = true
        let bound = QueueBound(self, to: context)
        context.after(Int(delay)) {
            bound.value.isTimed = false
            bound.value.again()
        }
    }

    private func take(_ number: Int32, _ bytes: [UInt8]) throws(SystemError) {
        if !isMarked { LineBeginning.begin(number) }
        isMarked = true
        _ = try Linux.skip(number, bytes.count)
        unfinished += bytes
        standing = nil
    }
}

/// Lines that are seen and not consumed: each with the bytes that it takes up, its newline and what was cut off
/// included.
struct SizedLines {
    private(set) var lines: [(line: LineFramer.Line, size: Int)] = []
    private(set) var cut = 0
    /// The last line was cut, and its end is not among these bytes.
    private(set) var isUnfinishedCut = false
    private var rest: [UInt8] = []

    init(_ bytes: [UInt8], maxLength: Int) {
        var start = 0
        while start < bytes.count {
            let end = bytes.withUnsafeBytes { $0.firstNewline(from: start) }
            let size = (end ?? bytes.count) - start
            if size > maxLength {
                cut += 1
                let line = LineFramer.Line(bytes: Array(bytes[start..<start + maxLength]), isIncomplete: true)
                lines.append((line, size + (end == nil ? 0 : 1)))
                isUnfinishedCut = end == nil
            } else if end != nil {
                lines.append((LineFramer.Line(bytes: Array(bytes[start..<start + size])), size + 1))
            } else {
                rest = Array(bytes[start...])
            }
            start += size + 1
        }
    }

    /// Nobody will end the last line.
    mutating func finish() {
        if !rest.isEmpty { lines.append((LineFramer.Line(bytes: rest, isIncomplete: true), rest.count)) }
        rest = []
    }
}
