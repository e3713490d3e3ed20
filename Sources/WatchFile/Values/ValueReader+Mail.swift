/// Addresses of `Mail=`. They become part of a header: only letters that mean nothing there are let in.
extension ValueReader {
    /// RFC 5321, 4.5.3.1.
    private static let longestAddress = 254
    private static let longestLocalPart = 64
    private static let longestLabel = 63
    /// The atoms of RFC 5322 without `%`, `/` and `|`, which an old sendmail takes for a route, a file or a command.
    private static let localLetters = Set("!#$&'*+-=?^_{}~.".utf8)

    /// A user of this machine (`root`), or `NAME@DOMAIN`.
    func mailAddress(_ word: SourceText, _ problems: inout Problems) -> String? {
        let parts = word.bytes.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        if let flaw = Self.flaw(local: parts[0]) ?? parts.dropFirst().first.flatMap(Self.flaw(domain:)) {
            refuse(&problems, "is not an address: \(flaw)", at: word)
            return nil
        }
        guard parts.count <= 2 else {
            refuse(&problems, "is not an address: it has more than one @", at: word)
            return nil
        }
        guard word.bytes.count <= Self.longestAddress else {
            problems.error("an address has at most \(Self.longestAddress) bytes", at: word)
            return nil
        }
        return word.string
    }

    private static func flaw(local part: ArraySlice<UInt8>) -> String? {
        guard let first = part.first else { return "nothing stands before the @" }
        if first == UInt8(ascii: "<") || part.last == UInt8(ascii: ">") { return "write it without < and >" }
        if let comma = part.firstIndex(where: { [UInt8(ascii: ","), UInt8(ascii: ";")].contains($0) }) {
            return "“\(Printable.text([part[comma]]))” is no part of one; several are separated by spaces"
        }
        if let letter = part.first(where: { !$0.isLetter && !$0.isDigit && !localLetters.contains($0) }) {
            return letter < 0x80 ? "“\(Printable.text([letter]))” is no part of one" : "it has other letters than ASCII"
        }
        if first == UInt8(ascii: "-") { return "it begins with a -" }
        let dot = UInt8(ascii: ".")
        if first == dot || part.last == dot || zip(part, part.dropFirst()).contains(where: { $0 == dot && $1 == dot }) {
            return "a dot stands between two other letters"
        }
        return part.count > longestLocalPart ? "more than \(longestLocalPart) bytes stand before the @" : nil
    }

    private static func flaw(domain: ArraySlice<UInt8>) -> String? {
        guard !domain.isEmpty else { return "nothing stands behind the @" }
        let hyphen = UInt8(ascii: "-")
        for label in domain.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
            guard (1...longestLabel).contains(label.count), label.first != hyphen, label.last != hyphen,
                label.allSatisfy({ $0.isLetter || $0.isDigit || $0 == hyphen })
            else {
                return "“\(Printable.text(Array(domain)))” is not the name of a domain"
                    + (domain.contains { $0 >= 0x80 } ? " in ASCII (xn--…)" : "")
            }
        }
        return nil
    }
}
