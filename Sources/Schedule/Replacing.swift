/// Words in text, found byte for byte: the standard library's own search brings its whole engine of regular expressions
/// into the program, over a megabyte.
extension StringProtocol {
    /// Each `word` becomes `other`, from the first on.
    package func replacing(_ word: String, with other: String) -> String {
        let parts = pieces(between: word)
        return parts.count == 1 ? String(self) : parts.joined(separator: other)
    }

    package func contains(_ word: String) -> Bool { word.isEmpty || pieces(between: word).count > 1 }

    /// What stands before and after the first place of a word; `nil`: it is not there.
    package func parts(around word: String) -> (before: String, after: String)? {
        let pieces = pieces(between: word)
        return pieces.count > 1 ? (pieces[0], pieces.dropFirst().joined(separator: word)) : nil
    }

    /// What stands before, between and after the places of a word: one piece, if the word is not there or is empty.
    package func pieces(between word: String) -> [String] {
        let (bytes, word) = (Array(utf8), Array(word.utf8))
        var pieces: [ArraySlice<UInt8>] = []
        var (start, index) = (0, 0)
        while let first = word.first, let next = bytes[index...].firstIndex(of: first) {
            index = next + 1
            guard bytes[next...].starts(with: word) else { continue }
            pieces.append(bytes[start..<next])
            (start, index) = (next + word.count, next + word.count)
        }
        return (pieces + [bytes[start...]]).map { String(decoding: $0, as: UTF8.self) }
    }
}
