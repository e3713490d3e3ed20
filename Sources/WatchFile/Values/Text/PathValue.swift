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

    static func readList(_ text: SourceText, key: Key, _ problems: inout Problems) -> [[UInt8]]? {
        guard let words = Word.split(text, &problems) else { return nil }
        var isValid = true
        var paths: [[UInt8]] = []
        for word in words {
            if let glob = word.letters.first(where: { !$0.isEscaped && "*?[".utf8.contains($0.byte) }) {
                let place = word.text[glob.origin..<glob.origin + 1]
                problems.error(
                    "\(place.shown) in \(key.name)= is not supported by this version\(filter(word, key: key)); "
                        + "as part of a name it is \\x\(String(glob.byte, radix: 16))", at: place)
                isValid = false
            } else if let path = normalized(word, key: key, &problems) {
                word.warnAboutSpecifiers(key: key, &problems)
                paths.append(path)
            } else {
                isValid = false
            }
        }
        return isValid ? paths : nil
    }

    /// The key and value to write instead of a glob in the last component of `Path=`.
    private static func filter(_ word: Word, key: Key) -> String {
        let text = word.text.bytes
        guard key.name == "Path", text.first == UInt8(ascii: "/"), let slash = text.lastIndex(of: UInt8(ascii: "/")),
            !text[..<slash].contains(where: { "*?[\\".utf8.contains($0) })
        else { return "" }
        let folder = slash == text.startIndex ? text[...slash] : text[..<slash]
        let name = text[(slash + 1)...]
        return ": write Path=\(Printable.text(Array(folder))) and Include=\(Printable.text(Array(name)))"
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
