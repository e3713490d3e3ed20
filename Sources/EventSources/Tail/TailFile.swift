import Engine
import LinuxSystem
import WatchFile

/// An open file whose lines are read as they are appended. Confined to its context.
final class TailFile {
    /// Read in one turn, so that other sources of the context get theirs.
    private static let bytesPerTurn = 256 << 10

    private var file: FileDescriptor?
    private(set) var position: TailPosition
    /// It does not stand at the path: what is appended to it does not make it newer than what came after it.
    var isRotated = false

    /// The outcome of a read.
    enum Reading {
        case nothing
        case facts([LineFact])
        /// It was truncated, or copied away and written anew.
        case begunAnew
    }

    /// Takes the file over.
    init(owning number: Int32, _ position: TailPosition) {
        file = FileDescriptor(owning: number)
        self.position = position
    }

    /// - Returns: an open descriptor, which the caller closes; `nil`: there is none.
    static func open(_ path: [UInt8]) throws(SystemError) -> (number: Int32, status: FileStatus)? {
        do throws(SystemError) {
            // A FIFO would let its writer begin, and a device may do something.
            var kind = try Linux.stat(path).kind
            if kind == .regular {
                let opened = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
                let status = try? Linux.fstat(opened.rawValue)
                let maker = (try? FileSystemType(ofOpen: opened.rawValue))?.generatedName
                if let status, status.kind == .regular, maker == nil { return (opened.release(), status) }
                opened.close()
                if let maker {
                    let detail = "\(path.printable), a file of \(maker), which is made as it is read: Command= reads it"
                    throw SystemError(call: "Tail", detail: detail, errno: .invalidArgument)
                }
                kind = status?.kind ?? .unknown
            }
            let detail = "\(path.printable), \(kind.phrase) and no regular file"
            throw SystemError(call: "Tail", detail: detail, errno: .invalidArgument)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return nil
        }
    }

    func close() { file.take()?.close() }

    var number: Int32? { file.number }

    /// Where it stands now, whatever became of its name; `nil`: deleted.
    var path: [UInt8]? {
        guard let number = file.number, let path = try? Linux.readlink("/proc/self/fd/\(number)") else { return nil }
        let status = try? Linux.stat(path)
        return status.map(position.isOf) == true ? path : nil
    }

    /// The appended bytes, in one turn's bounds.
    ///
    /// - Parameter isOver: nobody appends to it any more: a rest without a newline is a line.
    func next(_ trigger: DescriptorTrigger, _ maker: LineMaker, isOver: Bool) throws(SystemError) -> Reading {
        guard let number = file.number else { return .nothing }
        let status = try Linux.fstat(number)
        guard position.fits(number, status) else { return .begunAnew }
        if !isRotated { position.modified = max(0, status.modified) }
        let limit = max(Self.bytesPerTurn, trigger.maxLength + 1)
        let bytes = try Linux.read(number, atMost: limit, from: position.offset)
        if bytes.isEmpty { return .nothing }
        let end = position.offset + Int64(bytes.count)
        // Something was written between the look and the read, and is read: its time is that of the last write.
        if end > status.size, !isRotated, let later = try? Linux.fstat(number), later.size == end {
            position.modified = max(0, later.modified)
        }
        defer { remark(number, upTo: position.offset) }
        if trigger.framing == .chunk {
            let chunk = Array(bytes.prefix(trigger.maxLength))
            position.offset += Int64(chunk.count)
            return .facts([LineFact(chunk, form: .chunk)])
        }
        let facts = lines(bytes, trigger.maxLength, maker, isOver: isOver && bytes.count < limit)
        return facts.map { .facts($0) } ?? .nothing
    }

    private func lines(_ bytes: [UInt8], _ maxLength: Int, _ maker: LineMaker, isOver: Bool) -> [LineFact]? {
        var start = 0
        if position.isSkipping {
            guard let newline = bytes.firstIndex(of: UInt8(ascii: "\n")) else {
                position.offset += Int64(bytes.count)
                return []
            }
            start = newline + 1
            position.isSkipping = false
        }
        var cutter = SizedLines(start == 0 ? bytes : Array(bytes[start...]), maxLength: maxLength)
        if isOver { cutter.finish() }
        let size = start + cutter.lines.reduce(0) { $0 + $1.size }
        position.offset += Int64(size)
        position.isSkipping = cutter.isUnfinishedCut
        maker.noteCut(cutter.cut)
        return size == 0 ? nil : cutter.lines.map { maker.fact($0.line) }
    }

    /// Microseconds since the last write, where more is there than whole lines; `nil`: there is not, or the clock was set.
    var stillInLine: Int? {
        guard let status = file.number.flatMap({ try? Linux.fstat($0) }), status.size > position.offset else {
            return nil
        }
        let still = Linux.now(.realtime) - status.modified / 1_000
        return still < 0 ? nil : Int(still)
    }

    /// The beginning of a file that nobody is told of for long is known by what is there, not by what was told.
    func remember() {
        guard position.markLength < TailPosition.markSize, let number = file.number,
            let status = try? Linux.fstat(number), position.fits(number, status)
        else { return }
        remark(number, upTo: status.size)
    }

    /// The beginning of a file that grows is known better and better.
    private func remark(_ number: Int32, upTo size: Int64) {
        let length = Int(min(size, Int64(TailPosition.markSize)))
        guard length > position.markLength,
            let bytes = try? Linux.read(number, atMost: length, from: 0), bytes.count == length
        else { return }
        position.markLength = length
        position.mark = TailPosition.mark(bytes)
    }
}
