/// A watch file in memory: its bytes, and where its lines begin.
final class SourceFile: Sendable {
    let name: String
    /// Without a byte order mark at the start.
    let bytes: [UInt8]
    /// Its place among the loaded files.
    let index: Int
    private let lineStarts: [Int]

    init(name: String, bytes: [UInt8], index: Int) {
        self.name = name
        self.bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        self.index = index
        var starts = [0]
        for (offset, byte) in self.bytes.enumerated() where byte == UInt8(ascii: "\n") { starts.append(offset + 1) }
        lineStarts = starts
    }

    /// The lines without their ends; a line ends with LF or CRLF.
    var lineRanges: some Sequence<Range<Int>> {
        (1...lineStarts.count).lazy.map { self.range(ofLine: $0) }
    }

    /// Line and column of a byte, both from 1.
    func position(of offset: Int) -> (line: Int, column: Int) {
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= offset { low = middle } else { high = middle }
        }
        return (low + 1, offset - lineStarts[low] + 1)
    }

    func line(_ number: Int) -> ArraySlice<UInt8> { bytes[range(ofLine: number)] }

    private func range(ofLine number: Int) -> Range<Int> {
        let start = lineStarts[number - 1]
        var end = number < lineStarts.count ? lineStarts[number] - 1 : bytes.count
        if number < lineStarts.count, end > start, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        return start..<end
    }
}
