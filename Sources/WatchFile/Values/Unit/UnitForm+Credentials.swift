/// `LoadCredential=` and its like.
extension UnitForm {
    /// A name alone is that of a credential of the manager.
    static func credential(_ text: String) -> UnitProperty.Value? {
        if text.isEmpty || text.contains(" ") { return nil }
        if !text.contains(":") { return .array("(ss)", [.structure([.text(text), .text(text)])]) }
        guard !text.hasSuffix(":"), let pair = pair(text, ":") else { return nil }
        return .array("(ss)", [pair])
    }

    static func credentialText(_ text: String) -> UnitProperty.Value? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty else { return nil }
        return .array("(say)", [.structure([.text(parts[0]), .bytes(Array(parts[1].utf8))])])
    }

    static func credentialSecret(_ text: String) -> UnitProperty.Value? {
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, !parts[0].isEmpty, let secret = base64(parts[1]), !secret.isEmpty else { return nil }
        return .array("(say)", [.structure([.text(parts[0]), .bytes(secret)])])
    }

    /// RFC 4648, with spaces between the letters; `nil`: it is none.
    static func base64(_ text: String) -> [UInt8]? {
        let letters = Array(text.utf8).filter { $0 != UInt8(ascii: " ") }
        guard letters.count % 4 == 0 else { return nil }
        let padding = letters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        let numbers = letters.dropLast(padding).map { base64Letters.firstIndex(of: $0) }
        guard padding <= 2, !numbers.contains(nil) else { return nil }
        var (bytes, buffer, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for number in numbers.compactMap({ $0 }) {
            (buffer, count) = (buffer << 6 | UInt32(number), count + 6)
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(count)))
            }
        }
        return bytes
    }

    private static let base64Letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
}
