/// A piece of a watch file that remembers where it stands, across continued lines too.
struct SourceText: Sendable {
    /// A run of bytes that stand together in the file.
    struct Piece: Sendable {
        /// Index in `bytes` of the line that this text was cut from.
        var start: Int
        /// Where that byte stands in the file.
        var offset: Int
    }

    let file: SourceFile
    var bytes: ArraySlice<UInt8>
    /// Of the whole line; ascending, never empty.
    let pieces: [Piece]

    subscript(range: Range<Int>) -> SourceText {
        SourceText(file: file, bytes: bytes[range], pieces: pieces)
    }

    var isEmpty: Bool { bytes.isEmpty }

    /// For comparisons and messages; what is not UTF-8 is replaced.
    var string: String { String(decoding: bytes, as: UTF8.self) }

    /// For messages: a long text is cut.
    var shown: String {
        bytes.count <= 60 ? string : String(decoding: bytes.prefix(57), as: UTF8.self) + "…"
    }

    /// Line and column of the first byte.
    var position: (line: Int, column: Int) {
        let piece = pieces[pieceIndex]
        return file.position(of: piece.offset + bytes.startIndex - piece.start)
    }

    var location: SourceLocation {
        let (line, column) = position
        return SourceLocation(file: file.name, line: line, column: column)
    }

    /// `FILE:LINE`, for messages that point at a second place.
    var place: String { "\(file.name):\(position.line)" }

    /// Bytes of this text that stand on the line where it begins.
    var lengthOnFirstLine: Int {
        let next = pieceIndex + 1
        return min(bytes.endIndex, next < pieces.count ? pieces[next].start : .max) - bytes.startIndex
    }

    private var pieceIndex: Int {
        var low = 0
        var high = pieces.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if pieces[middle].start <= bytes.startIndex { low = middle } else { high = middle }
        }
        return low
    }
}

extension SourceText {
    var trimmed: SourceText {
        var range = bytes.startIndex..<bytes.endIndex
        while let first = range.first, bytes[first].isWhiteSpace { range = range.dropFirst() }
        while let last = range.last, bytes[last].isWhiteSpace { range = range.dropLast() }
        return self[range]
    }

    /// The words between white space, without any quoting.
    var words: [SourceText] {
        bytes.indices.split { bytes[$0].isWhiteSpace }.map { self[$0] }
    }

    var firstByte: SourceText { self[bytes.startIndex..<min(bytes.endIndex, bytes.startIndex + 1)] }
}

extension UInt8 {
    /// As in `systemd.syntax(7)`.
    var isWhiteSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }

    var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

    var isLetter: Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
    }

    /// The value of a hexadecimal digit.
    var hexadecimalValue: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
