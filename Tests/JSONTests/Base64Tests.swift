import FoundationEssentials
import JSON
import SeedKit
import Testing

@Suite("Base64")
struct Base64Tests {
    /// RFC 4648, section 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func theStandardsExamplesHold(bytes: String, text: String) {
        #expect(Base64.encode(Array(bytes.utf8)) == text)
        #expect(Base64.decode(text) == Array(bytes.utf8))
    }

    @Test(arguments: ["A", "AA", "AAA", "====", "A===", "AA=A", "=AAA", "AAA-", "AA A", "AAAA\n", "AA==AAAA", "AAA=A"])
    func whatIsNoBase64IsRefused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test func itAgreesWithFoundation() {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of itAgreesWithFoundation: \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<40, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            var text = Base64.encode(bytes)
            #expect(text == Data(bytes).base64EncodedString())
            #expect(Base64.decode(text) == bytes)
            guard !text.isEmpty else { continue }
            let place = text.index(text.startIndex, offsetBy: Int.random(in: 0..<text.count, using: &random))
            text.replaceSubrange(
                place...place, with: ["=", "A", "/", "-", "é", "", "=="].randomElement(using: &random) ?? "")
            // Foundation takes more: padding in odd places.
            if let bytes = Base64.decode(text) {
                #expect(Data(base64Encoded: text).map(Array.init) == bytes, "\(text)")
            }
        }
    }
}
