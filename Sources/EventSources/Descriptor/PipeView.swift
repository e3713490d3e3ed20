import Engine
import LinuxSystem
import WatchFile

/// Looks into a FIFO without consuming: `tee(2)` into a pipe of its own, which is read and cut into lines. Confined to
/// its context.
final class PipeView {
    /// A FIFO holds at least so much, where the kernel lets it (bytes).
    private static let leastSize = 256 << 10

    private let maxLength: Int
    private let isChunk: Bool
    private let maker: LineMaker
    /// The next bytes belong to a line that was cut.
    private var isSkipping = false
    /// Of the line that comes next: it was taken out by another one, and is not told.
    private var beginning: [UInt8] = []
    /// Bytes of the lines shown last that are not consumed.
    private var shown = 0
    private var readEnd: FileDescriptor?
    private var writeEnd: FileDescriptor?

    init(_ trigger: DescriptorTrigger, _ maker: LineMaker) {
        maxLength = trigger.maxLength
        isChunk = trigger.framing == .chunk
        self.maker = maker
    }

    /// Goes on with what another one has read.
    ///
    /// - Returns: what is to be told now.
    func resume(_ unfinished: Unfinished) -> [LineFact] {
        if isChunk { return maker.resume(unfinished) }
        (beginning, isSkipping) = (unfinished.bytes, unfinished.isSkipping)
        return maker.sift(unfinished.facts)
    }

    /// When everything that was told is consumed.
    var unfinished: Unfinished { Unfinished(bytes: beginning, isSkipping: isSkipping && shown == 0) }

    /// The rest when nobody will end it.
    func rest() -> [LineFact] {
        defer { beginning = [] }
        return maker.sift(maker.incomplete(beginning))
    }

    /// Reads through this view: what it shows is told, and consumed when it is safe.
    func reader(
        _ id: SourceID, _ environment: SourceEnvironment, untaken: UntakenBytes? = nil, ended: @escaping () -> Void,
        failed: @escaping (SystemError) -> Void
    ) -> DurableDescriptor<LineFact> {
        DurableDescriptor(on: environment, untaken: untaken) { [self] number throws(SystemError) in
            try look(number)
        } consume: { [self] number, count throws(SystemError) in
            shown -= count
            _ = try Linux.skip(number, count)
        } tell: { [self] fact, isRepeated in
            beginning = []
            if let sifted = maker.sift(fact) { environment.tell(id, sifted, isRepeated, untaken) }
        } ended: {
            ended()
        } failed: {
            failed($0)
        }
    }

    /// Both ends of its pipe, until they are there.
    var descriptorsMissing: UInt64 { readEnd == nil ? 2 : 0 }

    func close() {
        readEnd.take()?.close()
        writeEnd.take()?.close()
    }

    /// Makes its pipe before there is something to look at: later there may be no descriptors for it. Without them it
    /// is made then.
    func prepare(_ fifo: Int32) {
        enlarge(fifo)
        _ = try? pipe(fifo)
    }

    /// Makes a FIFO large enough that an unfinished line fits, whatever pieces it is written in: of two pages that
    /// follow each other, more than one is full. Smaller it works too; then the beginning of a long line is taken out
    /// before it is told, and a kill loses it.
    private func enlarge(_ fifo: Int32) {
        guard let size = try? Linux.pipeSize(fifo) else { return }
        var wanted = max(Self.leastSize, 2 * maxLength + 8192)
        while wanted > size {
            if (try? Linux.setPipeSize(fifo, wanted)) != nil { return }
            wanted /= 2
        }
    }

    /// The lines in the FIFO that can be told, with the bytes there that are theirs. An unfinished one stays, until it
    /// is longer than allowed or its writer has gone; one that fills the pipe goes on in `beginning`. The rest of a line
    /// that was cut is consumed.
    func look(_ fifo: Int32) throws(SystemError) -> DurableDescriptor<LineFact>.Batch {
        while true {
            // Looked at before and after: who has gone before had written everything, and nobody else has come since.
            let wasHungUp = try isHungUp(fifo)
            guard let (bytes, isFull) = try copy(fifo) else { return .init() }
            if bytes.isEmpty {
                isSkipping = false
                guard wasHungUp else { return .init() }
                return .init(items: maker.incomplete(beginning).map { ($0, 0) }, isEnd: true)
            }
            let newline = bytes.firstIndex(of: UInt8(ascii: "\n"))
            guard isSkipping else {
                if isFull, !isChunk, newline == nil, beginning.count + bytes.count <= maxLength {
                    _ = try Linux.skip(fifo, bytes.count)
                    beginning += bytes
                    continue
                }
                return batch(bytes, isEnd: wasHungUp ? try isEnd(fifo, bytes.count) : false)
            }
            _ = try Linux.skip(fifo, newline.map { $0 + 1 } ?? bytes.count)
            isSkipping = newline == nil
        }
    }

    private func batch(_ bytes: [UInt8], isEnd: Bool) -> DurableDescriptor<LineFact>.Batch {
        if isChunk {
            let chunk = Array(bytes.prefix(maxLength))
            shown = chunk.count
            return .init(
                items: [(LineFact(chunk, form: .chunk), chunk.count)], isEnd: isEnd && chunk.count == bytes.count,
                bytes: bytes)
        }
        var cutter = SizedLines(beginning.isEmpty ? bytes : beginning + bytes, maxLength: maxLength)
        if isEnd { cutter.finish() }
        isSkipping = cutter.isUnfinishedCut && !isEnd
        maker.noteCut(cutter.cut)
        var items = cutter.lines.map { (item: maker.fact($0.line), size: $0.size) }
        // That much of the first is not there any more.
        if !items.isEmpty { items[0].size -= beginning.count }
        shown = items.reduce(0) { $0 + $1.size }
        return .init(items: items, isEnd: isEnd, bytes: bytes, hasRest: shown < bytes.count)
    }

    private func isHungUp(_ fifo: Int32) throws(SystemError) -> Bool {
        try Linux.poll(fifo, [], timeout: 0).contains(.hangUp)
    }

    private func isEnd(_ fifo: Int32, _ count: Int) throws(SystemError) -> Bool {
        guard try isHungUp(fifo) else { return false }
        return try Linux.bytesAvailable(fifo) == count
    }

    /// The content of the FIFO, and whether it is full; `nil`: nothing, but somebody writes.
    private func copy(_ fifo: Int32) throws(SystemError) -> (bytes: [UInt8], isFull: Bool)? {
        let (read, write) = try pipe(fifo)
        let count: Int
        do throws(SystemError) {
            count = try Linux.tee(fifo, to: write, atMost: Int(Int32.max))
        } catch  where error.errno == .wouldBlock {
            return nil
        }
        if count == 0 { return ([], false) }
        // It has as many places as the FIFO, and is empty before.
        let isFull = try !Linux.poll(write, .writable, timeout: 0).contains(.writable)
        var bytes = try Linux.read(read, atMost: count)
        while bytes.count < count { bytes += try Linux.read(read, atMost: count - bytes.count) }
        return (bytes, isFull)
    }

    /// The pipe that is looked through, as large as the FIFO where the kernel lets it be.
    private func pipe(_ fifo: Int32) throws(SystemError) -> (read: Int32, write: Int32) {
        if let read = readEnd.number, let write = writeEnd.number { return (read, write) }
        try DescriptorRoom.check(for: descriptorsMissing)
        let (read, write) = try Linux.pipe(nonBlocking: true).split()
        readEnd = FileDescriptor(owning: read)
        writeEnd = FileDescriptor(owning: write)
        if let size = try? Linux.pipeSize(fifo) { try? Linux.setPipeSize(write, size) }
        return (read, write)
    }
}
