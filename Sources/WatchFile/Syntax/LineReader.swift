/// Joins continued lines and drops empty ones and comments, as `systemd.syntax(7)` has it.
struct LineReader {
    let file: SourceFile

    /// Calls `body` with each line that says something, trimmed.
    func forEachLine(_ problems: inout Problems, _ body: (SourceText, inout Problems) -> Void) {
        var joined = Continuation()
        for range in file.lineRanges {
            let line = SourceText(
                file: file, bytes: file.bytes[range],
                pieces: [.init(start: range.lowerBound, offset: range.lowerBound)])
            if let nul = line.bytes.firstIndex(of: 0) { problems.error("NUL byte", at: line[nul..<nul + 1]) }
            if isComment(line) {
                TextCheck.checkComment(line, &problems)
                continue
            }
            guard isContinued(line.bytes) else {
                let whole = joined.isEmpty ? line : joined.finish(with: range, of: file)
                if !whole.trimmed.isEmpty { body(whole.trimmed, &problems) }
                continue
            }
            joined.append(range.dropLast(), of: file)
        }
        // The backslash may stand at the very end of the file.
        guard !joined.isEmpty else { return }
        let whole = joined.finish(with: file.bytes.endIndex..<file.bytes.endIndex, of: file).trimmed
        if !whole.isEmpty { body(whole, &problems) }
    }

    private func isComment(_ line: SourceText) -> Bool {
        guard let first = line.bytes.first(where: { !$0.isWhiteSpace }) else { return false }
        return first == UInt8(ascii: "#") || first == UInt8(ascii: ";")
    }

    /// A backslash at the end that is not itself escaped.
    private func isContinued(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
    }

    /// Lines joined so far, a space in place of each backslash.
    private struct Continuation {
        private var bytes: [UInt8] = []
        private var pieces: [SourceText.Piece] = []

        var isEmpty: Bool { pieces.isEmpty }

        mutating func append(_ range: Range<Int>, of file: SourceFile) {
            pieces.append(.init(start: bytes.count, offset: range.lowerBound))
            bytes += file.bytes[range]
            bytes.append(UInt8(ascii: " "))
        }

        mutating func finish(with range: Range<Int>, of file: SourceFile) -> SourceText {
            pieces.append(.init(start: bytes.count, offset: range.lowerBound))
            bytes += file.bytes[range]
            defer { self = Continuation() }
            return SourceText(file: file, bytes: bytes[...], pieces: pieces)
        }
    }
}
