/// The check of text: UTF-8 without control characters.
enum TextCheck {
    /// Tells about the first byte that may not stand there.
    static func isText(_ text: SourceText, _ problems: inout Problems) -> Bool {
        if let index = text.bytes.firstIndex(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) {
            // `LineReader` has told about NUL.
            if text.bytes[index] != 0 { problems.error("control character in text", at: text[index..<index + 1]) }
            return false
        }
        return isUTF8(text, &problems)
    }

    /// A comment may hold control characters, but it is UTF-8 like all text.
    static func checkComment(_ text: SourceText, _ problems: inout Problems) { _ = isUTF8(text, &problems) }

    private static func isUTF8(_ text: SourceText, _ problems: inout Problems) -> Bool {
        guard let index = UTF8Scalar.firstInvalid(in: text.bytes) else { return true }
        problems.error("not UTF-8", at: text[index..<index + 1])
        return false
    }

    /// Names of sections and of everything else: 1 to 64 characters of `A-Za-z0-9_.-`.
    static func isName(_ bytes: ArraySlice<UInt8>) -> Bool {
        (1...maximumNameLength).contains(bytes.count)
            && bytes.allSatisfy {
                $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: ".")
                    || $0 == UInt8(ascii: "-")
            }
    }

    static let maximumNameLength = 64
}
