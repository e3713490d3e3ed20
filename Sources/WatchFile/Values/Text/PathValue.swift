/// Absolute paths.
enum PathValue {
    /// PATH_MAX without the final NUL (`limits.h`).
    static let maximumLength = 4095
    /// `sun_path` without the final NUL, or, in an abstract name, the first (`unix(7)`).
    static let maximumSocketLength = 107

    /// A value that is one path as a whole; without superfluous slashes and dots.
    static func read(_ text: SourceText, key: Key, _ problems: inout Problems) -> [UInt8]? {
        guard let word = Word.whole(text, &problems) else { return nil }
        word.warnAboutSpecifiers(key: key, &problems)
        return normalized(word, key: key, &problems)
    }

    static func normalized(_ word: Word, key: Key, _ problems: inout Problems) -> [UInt8]? {
        let bytes = word.bytes
        guard bytes.first == UInt8(ascii: "/") else {
            let advice = bytes.first == UInt8(ascii: "~") ? "; ~ is not expanded" : ""
            problems.error("\(key.name)= needs an absolute path\(advice)", at: word.text)
            return nil
        }
        guard bytes.count <= maximumLength else {
            problems.error("a path of more than \(maximumLength) bytes", at: word.text)
            return nil
        }
        let components = bytes.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
        guard !components.contains(where: { $0.elementsEqual("..".utf8) }) else {
            problems.error("a path with .. in it: write where it leads to", at: word.text)
            return nil
        }
        return components.isEmpty ? [UInt8(ascii: "/")] : components.reduce(into: []) { $0 += [UInt8(ascii: "/")] + $1 }
    }
}
