import LinuxSystem

/// Cuts a stream of bytes into lines. Pure; memory is bounded by the longest line.
///
/// A line ends at a newline, which is not part of it. One that is longer than allowed is cut, marked incomplete, and
/// the rest up to its newline is thrown away; or, in pieces, delivered as further lines, so that nothing is lost.
package struct LineFramer: Sendable {
    package struct Line: Equatable, Sendable {
        package var bytes: [UInt8]
        package var isIncomplete = false

        package init(bytes: [UInt8], isIncomplete: Bool = false) {
            self.bytes = bytes
            self.isIncomplete = isIncomplete
        }
    }

    private let maxLength: Int
    private let isInPieces: Bool
    private var rest: [UInt8] = []
    /// The next bytes belong to a line that was cut.
    private var isSkipping = false
    /// Lines that were cut so far.
    package private(set) var cut = 0

    package init(maxLength: Int, inPieces: Bool = false) {
        self.maxLength = maxLength
        isInPieces = inPieces
    }

    /// The line that is being read: its beginning, or that it was cut.
    var unfinished: (bytes: [UInt8], isSkipping: Bool) { (rest, isSkipping) }

    /// It goes on in the middle of a line: with what another one has read of it, or behind what was cut.
    mutating func resume(_ beginning: [UInt8], isSkipping: Bool) {
        rest = Array(beginning.prefix(maxLength + 1))
        self.isSkipping = isSkipping
    }

    /// The lines that these bytes complete.
    package mutating func push(_ bytes: [UInt8]) -> [Line] {
        bytes.withUnsafeBytes { push($0) }
    }

    /// The same.
    package mutating func push(_ bytes: UnsafeRawBufferPointer) -> [Line] {
        var lines: [Line] = []
        var start = 0
        while start < bytes.count {
            let end = bytes.firstNewline(from: start)
            take(UnsafeRawBufferPointer(rebasing: bytes[start..<(end ?? bytes.count)]), isWhole: end != nil, &lines)
            start = (end ?? bytes.count) + 1
        }
        return lines
    }

    /// The rest when the writer has gone: a line without its end.
    package mutating func finish() -> Line? {
        defer { (rest, isSkipping) = ([], false) }
        return rest.isEmpty ? nil : Line(bytes: rest, isIncomplete: true)
    }

    private mutating func take(_ part: UnsafeRawBufferPointer, isWhole: Bool, _ lines: inout [Line]) {
        if isSkipping {
            isSkipping = !isWhole
        } else if isWhole, rest.isEmpty, part.count <= maxLength {
            lines.append(Line(bytes: Array(part)))
        } else if isInPieces {
            takePieces(part, isWhole: isWhole, &lines)
        } else {
            rest += part.prefix(maxLength + 1 - rest.count)
            if rest.count > maxLength {
                cut += 1
                lines.append(Line(bytes: Array(rest.prefix(maxLength)), isIncomplete: true))
                (rest, isSkipping) = ([], !isWhole)
            } else if isWhole {
                lines.append(Line(bytes: rest))
                rest = []
            }
        }
    }

    private mutating func takePieces(_ part: UnsafeRawBufferPointer, isWhole: Bool, _ lines: inout [Line]) {
        rest += part
        while rest.count > maxLength || (rest.count == maxLength && !isWhole) {
            lines.append(Line(bytes: Array(rest.prefix(maxLength)), isIncomplete: true))
            rest.removeFirst(maxLength)
        }
        guard isWhole else { return }
        lines.append(Line(bytes: rest))
        rest = []
    }
}
