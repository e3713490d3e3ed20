import Testing

@testable import watchctl

@Suite("Text for a terminal")
struct StyledTests {
    @Test(arguments: [
        ("plain ä 漢 😀", "plain ä 漢 😀"), ("a\nb\tc", "a\\nb\\tc"), ("\u{1b}]0;x\u{7}", "\\x1b]0;x\\x07"),
        ("\u{9b}2J", "\\u{9b}2J"), ("\u{7f}\r", "\\x7f\\x0d"), ("gpj.\u{202e}exe", "gpj.\\u{202e}exe"),
        ("a\u{2028}b\u{feff}", "a\\u{2028}b\\u{feff}"),
    ])
    func whatATerminalActsOnIsEscaped(text: String, expected: String) {
        #expect(Styled(text).rendered(coloured: false) == expected)
        #expect(Styled(text, .red).rendered(coloured: true) == "\u{1b}[31m\(expected)\u{1b}[0m")
    }

    @Test func noScalarReachesTheTerminalAsACommand() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let isControl = value < 0x20 || (0x7F...0x9F).contains(value)
            if isControl { #expect(!Styled.escape(String(scalar)).unicodeScalars.contains(scalar)) }
        }
    }

    @Test func widthsAreThoseOfATerminal() {
        #expect(Styled("abc").width == 3)
        #expect(Styled("漢字").width == 4)
        #expect(Styled("e\u{301}").width == 1)
        #expect(Styled("\n").width == 2)
    }

    @Test func longTextIsCut() {
        #expect(Styled("abcdef").cut(to: 6) == Styled("abcdef"))
        #expect(Styled("abcdef").cut(to: 4).rendered(coloured: false) == "abc…")
        #expect(Styled("漢字漢字").cut(to: 4).rendered(coloured: false) == "漢…")
        #expect((Styled("ab", .red) + Styled("cd", .dim)).cut(to: 3).rendered(coloured: false) == "ab…")
        #expect(Styled("abc").cut(to: 0).rendered(coloured: false) == "…")
    }

    @Test(
        arguments: [
            (0, "0ms"), (400, "1ms"), (340_000, "340ms"), (1_000_000, "1s"), (41_900_000, "41s"), (60_000_000, "1min"),
            (90_000_000, "1min 30s"), (14 * 60_000_000, "14min"), (7_500_000_000, "2h 5min"), (25_200_000_000, "7h"),
            (178_562_000_000, "2d 1h"), (86_400_000_000, "1d"), (86_460_000_000, "1d"), (864_000_000_000, "10d"),
            (-5, "0ms"),
        ] as [(Int64, String)])
    func spansAreShort(microseconds: Int64, expected: String) {
        #expect(Phrases.span(microseconds: microseconds) == expected)
    }

    @Test func delaysBelowThreeSecondsHaveTenths() {
        let delays: [Int64] = [0, 340_000, 1_000_000, 1_640_000, 2_099_999, 2_990_000, 3_900_000, 90_000_000]
        let texts = ["0ms", "340ms", "1s", "1.6s", "2s", "2.9s", "3s", "1min 30s"]
        #expect(delays.map { Phrases.delay(microseconds: $0) } == texts)
    }

    @Test func numbersAreGrouped() {
        #expect(
            [0, 7, 999, 1615, 1_234_567, -4200].map { Phrases.count($0) } == [
                "0", "7", "999", "1 615", "1 234 567", "-4 200",
            ])
        #expect(
            [0, 999, 1000, 7_913_472, 123_456_789].map(Phrases.bytes) == ["0 B", "999 B", "1.0 kB", "7.9 MB", "123 MB"])
    }
}
