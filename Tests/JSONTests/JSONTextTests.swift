import JSON
import SeedKit
import Testing

@Suite("JSON text")
struct JSONTextTests {
    @Test(arguments: [
        "", " ", "{", "}", "]]", "\"", "\"\\", "\"\\u", "\"\\ud800", "{\"a", "{\"a\":-", ",", "[1,\"\\u12", "{\"\":",
        "[1,]", "{\"a\":1,}", "01", "-", "1.", ".5", "1e", "1e+", "+1", "nul", "truex", "1 2", "\"\u{1}\"", "\"\\x\"",
        "'a'",
        "[1}", "{1:2}", "{\"a\" 1}", "\u{feff}1", "NaN", "Infinity", "\"\\ud800\\u12\"",
    ])
    func whatIsNoJSONIsRefused(text: String) {
        for bytes in [Array(text.utf8), Array(text.utf8) + [0xFF]] {
            #expect(throws: JSONSyntaxError.notJSON) { try JSONText(bytes) }
        }
    }

    @Test func bytesThatAreNotUTF8AreRefused() {
        #expect(throws: JSONSyntaxError.notJSON) { try JSONText(Array("\"".utf8) + [0xC3] + Array("\"".utf8)) }
    }

    @Test func nestingIsBounded() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            func text(_ depth: Int) -> [UInt8] {
                Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
            }
            #expect(throws: Never.self) { try JSONText(text(128), limits: .foreign) }
            #expect(throws: JSONSyntaxError.tooDeep(128)) { try JSONText(text(129), limits: .foreign) }
            #expect(throws: JSONSyntaxError.tooDeep(512)) { try JSONText(text(100_000)) }
        }
    }

    /// Of a million of them the canonical form takes minutes.
    @Test func combiningMarksInARowAreBounded() throws {
        let few = "a" + String(repeating: "\u{301}", count: 30) + "b" + String(repeating: "\u{323}", count: 30)
        #expect(try JSONText(Array("\"\(few)\"".utf8), limits: .foreign).fault == nil)
        let many = String(repeating: "\u{301}\u{323}", count: 200_000)
        for text in ["[\"\(many)\"]", "{\"\(many)\":1}", "{\"\(many)\":1,\"\(many)\":2}"] {
            let fault = try JSONText(Array(text.utf8), limits: .foreign).fault
            #expect(fault?.reason.hasSuffix("has more than 30 combining marks in a row") == true)
        }
    }

    @Test func aPathLeadsToWhatIsOfTheWrongType() {
        let error = #expect(throws: DecodingError.self) {
            try JSON.decode([String: [[String: Int8]]].self, from: Array(#"{"a":[{"b":1},{"b":128}]}"#.utf8))
        }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["a", "1", "b"])
    }

    /// What is read is what Foundation reads; so what Foundation refuses is refused.
    @Test func itAgreesWithFoundation() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of itAgreesWithFoundation: \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1000 {
            var bytes = Array(randomText(&random, depth: 4).utf8)
            try check(bytes)
            for _ in 0..<Int.random(in: 1...2, using: &random) {
                bytes[Int.random(in: bytes.indices, using: &random)] = mutations.randomElement(using: &random) ?? 0
            }
            try? check(bytes)
        }
    }

    private func check(_ bytes: [UInt8]) throws {
        let text = try JSONText(bytes)
        guard text.fault == nil else { return }
        #expect(ForeignJSON.agrees(bytes, text.value), "\(String(decoding: bytes, as: UTF8.self))")
        #expect(try JSONText(JSON.encode(text.value)).value == text.value)
    }

    private let mutations = Array(#""\[]{}:,-+.eE01u dfx"#.utf8) + [0, 0x1F, 0x7F, 0xC3, 0xFF]

    private func randomText(_ random: inout SeededGenerator, depth: Int) -> String {
        let plain = [
            "0", "-1", "12", "1.5", "-0.25e2", "1e3", "9223372036854775807", "9223372036854775808", "1e400",
            "444444444444444e4", "true",
            "false", "null", #""""#, #""a""#, #""\n\u00e4""#, #""\ud83d\ude00""#, #""\ud800""#, "\"é\u{1F600}\"",
            #""\/\b\f\"""#,
        ]
        let kind = depth == 0 ? 0 : Int.random(in: 0..<3, using: &random)
        let count = Int.random(in: 0..<4, using: &random)
        let blank = [" ", "", "\n", "\t\r"].randomElement(using: &random) ?? ""
        switch kind {
        case 1:
            let all = (0..<count).map { _ in randomText(&random, depth: depth - 1) }
            return "[\(blank)\(all.joined(separator: ",\(blank)"))]"
        case 2:
            let names = (0..<count).map { _ in ["a", "b", "c", #"\u0061"#].randomElement(using: &random) ?? "" }
            let all = names.map { #""\#($0)"\#(blank):\#(randomText(&random, depth: depth - 1))"# }
            return "{\(all.joined(separator: "\(blank),"))}\(blank)"
        default: return plain.randomElement(using: &random) ?? ""
        }
    }
}
