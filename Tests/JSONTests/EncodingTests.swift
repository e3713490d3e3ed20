import FoundationEssentials
import JSON
import SeedKit
import Testing

/// Foundation's coder is the oracle: it writes the same bytes, or refuses the same value.
@Suite("JSON of typed values")
struct EncodingTests {
    private struct Record: Codable, Equatable {
        var zone: String
        var id: UInt64
        var small: Int8?
        var share: Double
        var single: Float
        var isSet: Bool
        var tags: [String]
        var parts: [String: Part]
        var lists: [[Int?]]
        var empty: Empty
    }

    private struct Part: Codable, Equatable {
        enum CodingKeys: String, CodingKey {
            case of
            case kind = "a_kind"
        }
        var of: Int64
        var kind: Kind
    }

    private enum Kind: String, Codable {
        case plain
        case other = "the “other”/\u{1}"
    }

    private struct Empty: Codable, Equatable {}

    /// Containers in containers, filled in turn.
    private struct Interleaved: Encodable {
        enum Key: String, CodingKey { case b, a, c, list }

        func encode(to encoder: any Encoder) throws {
            var outer = encoder.container(keyedBy: Key.self)
            var list = outer.nestedUnkeyedContainer(forKey: .list)
            try outer.encode(1, forKey: .b)
            try list.encode("x")
            var inner = list.nestedContainer(keyedBy: Key.self)
            try list.encode([true])
            try inner.encode(0.5, forKey: .c)
            var last = list.nestedUnkeyedContainer()
            try inner.encodeNil(forKey: .a)
            try last.encode(list.count)
            var again = encoder.container(keyedBy: Key.self)
            try again.encode([String: Int](), forKey: .a)
            try Part(of: 1, kind: .plain).encode(to: outer.superEncoder(forKey: .c))
            try outer.encode(2, forKey: .b)
        }
    }

    private static func foundation(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private static func own(_ value: some Encodable) throws -> String {
        String(decoding: try JSON.encode(value), as: UTF8.self)
    }

    @Test func valuesAtRandomBecomeFoundationsBytesAndAreReadAgain() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of valuesAtRandomBecomeFoundationsBytesAndAreReadAgain: \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let record = Self.record(&random)
            let text = try Self.own(record)
            #expect(try text == Self.foundation(record))
            #expect(try JSON.decode(Record.self, from: Array(text.utf8)) == record)
        }
    }

    @Test func containersInContainersKeepTheirPlaces() throws {
        #expect(try Self.own(Interleaved()) == Self.foundation(Interleaved()))
        #expect(try Self.own([Interleaved(), Interleaved()]) == Self.foundation([Interleaved(), Interleaved()]))
    }

    @Test func aTextMayBeOneValue() throws {
        #expect(try Self.own("é\u{7F}\u{2028}\u{10FFFF}") == Self.foundation("é\u{7F}\u{2028}\u{10FFFF}"))
        #expect(try Self.own(Int?.none) == "null")
        #expect(try Self.own([Int]()) == "[]")
        #expect(try Self.own([Int128(1) << 100]) == "[1267650600228229401496703205376]")
    }

    @Test func theCharactersThatAreEscapedAreFoundations() throws {
        for code in 0..<UInt8(0x80) {
            let text = String(Unicode.Scalar(code))
            #expect(try Self.own(text) == Self.foundation(text))
        }
    }

    @Test func numbersThatAreNoneAreRefusedWithTheirPath() {
        for value in [Double.nan, .infinity, -.infinity] {
            let error = #expect(throws: EncodingError.self) { try JSON.encode(["a": [["b": value]]]) }
            guard case .invalidValue(_, let context)? = error else { return }
            #expect(context.codingPath.map(\.stringValue) == ["a", "0", "b"])
            #expect(throws: EncodingError.self) { try JSON.encode([value]) }
        }
    }

    @Test func doublesAreThoseOfFoundation() throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed of doublesAreThoseOfFoundation: \(seed)")
        var random = SeededGenerator(seed: seed)
        let some = [
            0, -0.0, 1, -1, 0.1, 1e15, 1e16, 1e17, 1e-5, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 0x1p53,
            123456.789,
        ]
        let others = (0..<2000).map { _ in Double(bitPattern: UInt64.random(in: .min ... .max, using: &random)) }
        for double in some + others.filter(\.isFinite) {
            #expect(try Self.own(double) == Self.foundation(double))
        }
    }

    private static func record(_ random: inout SeededGenerator) -> Record {
        let texts = ["", "a", "é\u{301}", "\"\\/\n\u{0}\u{1F}", "\u{1F600}", "z z", "A", "aa", "Z", "~", "_"]
        func count() -> Range<Int> { 0..<Int.random(in: 0..<4, using: &random) }
        func text() -> String { texts.randomElement(using: &random) ?? "" }
        func number() -> Int64 {
            Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random)
        }
        let parts = count().map { _ in (text(), Part(of: number(), kind: Bool.random(using: &random) ? .plain : .other))
        }
        return Record(
            zone: text(), id: UInt64(number().magnitude) & UInt64(Int64.max),
            small: Bool.random(using: &random) ? Int8.random(in: .min ... .max, using: &random) : nil,
            share: Double(number()) / 1000, single: Float(number()) / 8, isSet: Bool.random(using: &random),
            tags: count().map { _ in text() }, parts: Dictionary(parts) { first, _ in first },
            lists: count().map { _ in count().map { _ in Bool.random(using: &random) ? Int(number()) : nil } },
            empty: Empty())
    }
}
