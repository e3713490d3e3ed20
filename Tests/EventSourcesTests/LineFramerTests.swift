import ProgramKit
import Testing

@testable import EventSources

@Suite("Line framer", .ownThread) struct LineFramerTests {
    private func lines(
        _ pieces: [[UInt8]], maxLength: Int = 1 << 16, inPieces: Bool = false
    ) -> [LineFramer.Line] {
        var framer = LineFramer(maxLength: maxLength, inPieces: inPieces)
        let lines = pieces.flatMap { framer.push($0) }
        return lines + (framer.finish().map { [$0] } ?? [])
    }

    @Test func theRestIsALineOnceTheWriterHasGone() {
        #expect(lines([Array("a\n\nb".utf8)]).map(\.bytes) == ["a", "", "b"].map { Array($0.utf8) })
        #expect(lines([Array("a\nb".utf8)]).map(\.isIncomplete) == [false, true])
        #expect(lines([]).isEmpty)
    }

    @Test func aLineThatIsTooLongComesInPiecesOfTheLargestSize() {
        let all = lines([Array("abcdefghij\nkl\n".utf8)], maxLength: 4, inPieces: true)
        #expect(all.map { String(decoding: $0.bytes, as: UTF8.self) } == ["abcd", "efgh", "ij", "kl"])
        #expect(all.map(\.isIncomplete) == [true, true, false, false])
    }

    @Test func aLineThatIsTooLongIsCutAndNeverMadeTwo() {
        var framer = LineFramer(maxLength: 4)
        var all = framer.push(Array("abcd\nabcdefghij\nkl\nabcde".utf8))
        #expect(all.map { String(decoding: $0.bytes, as: UTF8.self) } == ["abcd", "abcd", "kl", "abcd"])
        #expect(all.map(\.isIncomplete) == [false, true, false, true])
        #expect(framer.cut == 2)
        all = framer.push(Array("fgh".utf8)) + framer.push(Array("ij\nend\n".utf8))
        #expect(all == [.init(bytes: Array("end".utf8))], "the rest of what was cut is thrown away")
        #expect(framer.finish() == nil)
    }

    @Test(arguments: 0..<50) func howTheBytesArriveDoesNotMatter(_ seed: Int) {
        var random = SeededNumbers(seed: UInt64(seed))
        let text = (0..<500).map { _ in
            [UInt8(ascii: "\n"), 0, 0xFF, UInt8(ascii: "x")][Int.random(in: 0..<4, using: &random)]
        }
        var pieces: [[UInt8]] = []
        var rest = text[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...40, using: &random)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        #expect(lines(pieces).map(\.bytes) == lines([text]).map(\.bytes), "seed \(seed)")
        let cut = lines(pieces, maxLength: 5)
        #expect(cut.map(\.bytes) == lines([text]).map { Array($0.bytes.prefix(5)) }, "seed \(seed)")
        #expect(cut == lines([text], maxLength: 5), "seed \(seed)")
        let short = lines(pieces, maxLength: 5, inPieces: true)
        #expect(short.allSatisfy { $0.bytes.count <= 5 }, "seed \(seed)")
        #expect(short.flatMap(\.bytes) == text.filter { $0 != 0x0A }, "seed \(seed)")
    }
}

/// A linear congruential generator (Knuth's MMIX), so that a run can be repeated.
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 32)
    }
}
