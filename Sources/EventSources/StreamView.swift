import Engine
import LinuxSystem
import WatchFile

/// Looks into a connection without consuming (MSG_PEEK). Confined to its context.
final class StreamView {
    private let trigger: DescriptorTrigger
    private let maker: LineMaker
    private let isPackets: Bool
    /// What comes belongs to a line that was cut.
    private var isSkipping = false

    init(_ trigger: DescriptorTrigger, _ maker: LineMaker, isPackets: Bool) {
        self.isPackets = isPackets
        self.trigger = trigger
        self.maker = maker
    }

    func look(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        do throws(SystemError) {
            return isPackets ? try packet(number) : try stream(number)
        } catch  where error.errno == .wouldBlock {
            return .init()
        } catch {
            return .init(isEnd: true)
        }
    }

    func consume(_ number: Int32, _ count: Int) throws(SystemError) {
        if isPackets { _ = try Linux.receiveDatagram(number, limit: 0) } else { _ = try Linux.skip(number, count) }
    }

    private func packet(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        guard let datagram = try Linux.receiveDatagram(number, limit: trigger.maxLength, peeking: true) else {
            return .init()
        }
        if datagram.bytes.isEmpty { return .init(isEnd: true) }
        let facts = maker.unsifted(datagram)
        return .init(items: facts.enumerated().map { ($1, $0 == facts.count - 1 ? 1 : 0) })
    }

    private func stream(_ number: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        while true {
            // Looked at before: who has gone before had sent everything.
            let wasHungUp = try Linux.poll(number, .peerHangUp, timeout: 0).contains(.peerHangUp)
            let limit = max(1 << 16, trigger.maxLength + 1)
            let bytes = try Linux.peek(number, atMost: limit)
            if bytes.isEmpty { return .init(isEnd: true) }
            guard isSkipping else { return batch(bytes, isEnd: wasHungUp && bytes.count < limit) }
            let newline = bytes.firstIndex(of: UInt8(ascii: "\n"))
            _ = try Linux.skip(number, newline.map { $0 + 1 } ?? bytes.count)
            isSkipping = newline == nil
        }
    }

    private func batch(_ bytes: [UInt8], isEnd: Bool) -> DurableDescriptor<LineFact>.Batch {
        if trigger.framing == .chunk {
            let chunk = Array(bytes.prefix(trigger.maxLength))
            return .init(items: [(LineFact(chunk, form: .chunk, peer: maker.peer), chunk.count)])
        }
        var cutter = SizedLines(bytes, maxLength: trigger.maxLength)
        if isEnd { cutter.finish() }
        isSkipping = cutter.isUnfinishedCut
        maker.noteCut(cutter.cut)
        return .init(items: cutter.lines.map { (maker.fact($0.line), $0.size) })
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

    /// The last line has to be cut, for want of room for more of it.
    mutating func cutRest() {
        guard !rest.isEmpty else { return }
        finish()
        cut += 1
        isUnfinishedCut = true
    }
}
