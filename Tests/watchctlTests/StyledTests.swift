import Testing

@testable import ControlClient

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

    @Test func numbersAreGrouped() {
        #expect(
            [0, 7, 999, 1615, 1_234_567, -4200].map { Phrases.count($0) } == [
                "0", "7", "999", "1 615", "1 234 567", "-4 200",
            ])
        #expect(
            [0, 999, 1000, 7_913_472, 123_456_789].map(Phrases.bytes) == ["0 B", "999 B", "1.0 kB", "7.9 MB", "123 MB"])
    }
}
