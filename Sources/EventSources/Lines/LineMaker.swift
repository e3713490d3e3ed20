import Engine
import LinuxSystem
import WatchFile

/// Makes facts of bytes that were read: cut by `Framing=`, sifted by `Include=` and `Exclude=`; counts what it refuses
/// and what it cuts. Confined to its context.
final class LineMaker {
    let id: SourceID
    private let trigger: DescriptorTrigger
    private let send: (Input) -> Void
    private let warn: (String) -> Void
    private let filter: LineFilter?
    private let isChunk: Bool
    private var framer: LineFramer
    private var cutTold = 0
    /// Lines that were cut and are yet to be sifted.
    private var cutUnsifted = 0
    /// Lines that the log has not been told of; when it was told last (monotonic, microseconds).
    private var cutUntold = 0
    private var cutWarned: Int64?
    private static let warningPause: Int64 = 60_000_000
    /// The sender, where it is known for the whole stream.
    var peer: String?

    init(_ id: SourceID, _ trigger: DescriptorTrigger, _ environment: SourceEnvironment) {
        self.id = id
        self.trigger = trigger
        send = environment.send
        warn = { [warn = environment.warn] in warn(id, $0) }
        filter = LineFilter(trigger)
        isChunk = trigger.framing == .chunk
        framer = LineFramer(maxLength: trigger.maxLength)
    }

    /// Bytes of one read.
    var readSize: Int { isChunk ? min(trigger.maxLength, 1 << 16) : 1 << 16 }

    /// The next bytes of the stream go on with this. A line that cannot be gone on with is told first.
    ///
    /// - Returns: what is to be told now.
    func resume(_ unfinished: Unfinished) -> [LineFact] {
        if trigger.framing == .line {
            framer.resume(unfinished.bytes, isSkipping: unfinished.isSkipping)
            return sift(unfinished.facts)
        }
        return sift(unfinished.facts + incomplete(unfinished.bytes))
    }

    /// A line whose end will not come; none, where there is no beginning either.
    func incomplete(_ bytes: [UInt8]) -> [LineFact] {
        bytes.isEmpty ? [] : [LineFact(bytes, isIncomplete: true, peer: peer)]
    }

    /// The line that is being read.
    var unfinished: Unfinished {
        let (bytes, isSkipping) = framer.unfinished
        return Unfinished(bytes: bytes, isSkipping: isSkipping)
    }

    /// The facts that the next bytes of the stream complete.
    func facts(_ bytes: UnsafeRawBufferPointer) -> [LineFact] {
        if isChunk { return sift([fact(Array(bytes), .chunk)]) }
        let facts = framer.push(bytes).map { fact($0) }
        tellCut()
        return sift(facts)
    }

    /// The rest when the writer has gone.
    func rest() -> [LineFact] { sift(framer.finish().map { [fact($0)] } ?? []) }

    /// A line that was cut out elsewhere.
    func fact(_ line: LineFramer.Line) -> LineFact {
        LineFact(line.bytes, isIncomplete: line.isIncomplete, peer: peer)
    }

    private func fact(_ bytes: [UInt8], _ form: LineFact.Form) -> LineFact { LineFact(bytes, form: form, peer: peer) }

    /// A message as a whole, or cut into lines.
    func facts(_ datagram: Datagram) -> [LineFact] {
        sift(unsifted(datagram))
    }

    func unsifted(_ datagram: Datagram) -> [LineFact] {
        let sender = datagram.sender == .unnamed ? peer : datagram.sender.description
        guard trigger.framing == .line else {
            return [LineFact(datagram.bytes, form: .datagram, isIncomplete: datagram.isTruncated, peer: sender)]
        }
        var framer = LineFramer(maxLength: trigger.maxLength)
        var lines = framer.push(datagram.bytes)
        if var rest = framer.finish() {
            rest.isIncomplete = datagram.isTruncated
            lines.append(rest)
        }
        return lines.map { LineFact($0.bytes, isIncomplete: $0.isIncomplete, peer: sender) }
    }

    // MARK: Include=, Exclude=

    /// With its captures; `nil`, and counted: it is refused.
    func sift(_ fact: LineFact) -> LineFact? { sift([fact]).first }

    func sift(_ facts: [LineFact]) -> [LineFact] {
        guard filter != nil else { return facts }
        let passed = facts.compactMap { sifted($0) }
        if passed.count < facts.count { send(.filtered(id, facts.count - passed.count)) }
        if cutUnsifted > 0 {
            let incomplete = facts.count(where: \.isIncomplete)
            noteRefused(min(cutUnsifted, incomplete - passed.count(where: \.isIncomplete)))
            cutUnsifted = max(0, cutUnsifted - incomplete)
        }
        return passed
    }

    /// Nobody sees of these that they were cut, and what was cut off may be what a pattern looks for.
    private func noteRefused(_ count: Int) {
        let what = trigger.exclude.isEmpty ? "Include=" : trigger.include.isEmpty ? "Exclude=" : "Include= or Exclude="
        warnOfCut(count, "refused by \(what), by the beginning only")
    }

    private func sifted(_ fact: LineFact) -> LineFact? {
        guard let filter else { return fact }
        guard let captures = filter.captures(fact.bytes) else { return nil }
        var fact = fact
        fact.captures = captures
        return fact
    }

    // MARK: MaxLength=

    /// Lines of which a part is lost, as their events say.
    func noteCut(_ count: Int) {
        guard count > 0 else { return }
        send(.cut(id, count))
        if filter == nil { warnOfCut(count, "told by the beginning only") } else { cutUnsifted += count }
    }

    /// Once a minute.
    private func warnOfCut(_ count: Int, _ outcome: String) {
        cutUntold += count
        let now = Linux.now(.monotonic)
        guard cutUntold > 0, cutWarned.map({ now - $0 >= Self.warningPause }) ?? true else { return }
        let lines = cutUntold == 1 ? "a line" : "\(cutUntold) lines"
        warn("\(lines) longer than MaxLength=\(trigger.maxLength) \(outcome)")
        (cutUntold, cutWarned) = (0, now)
    }

    /// Data that the kernel had no room for.
    func noteLost(_ count: Int) { if count > 0 { send(.gap(id, count)) } }

    private func tellCut() {
        noteCut(framer.cut - cutTold)
        cutTold = framer.cut
    }
}

/// The bytes of one read; made once for all that read on one context, one after the other.
final class ReadBuffer {
    private static let size = 1 << 16
    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

    deinit { bytes.deallocate() }

    /// Reads once and makes facts of it. At the end of the stream, of what is left.
    func read(_ number: Int32, _ maker: LineMaker) throws(SystemError) -> HeldDescriptor<LineFact>.Reading {
        let part = UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(maker.readSize))
        do throws(SystemError) {
            let count = try Linux.read(number, into: part)
            guard count > 0 else { return .end(maker.rest()) }
            return .items(maker.facts(UnsafeRawBufferPointer(rebasing: part.prefix(count))), bytes: count)
        } catch  where error.errno == .wouldBlock {
            return .empty
        }
    }
}
