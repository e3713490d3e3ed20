import Testing
import WatchFile

@Suite("Diagnostic")
struct DiagnosticTests {
    private func rendered(_ line: String, column: Int, length: Int) -> String {
        rendered(Array(line.utf8), column, length)
    }

    private func rendered(_ line: [UInt8], _ column: Int, _ length: Int) -> String {
        Diagnostic(
            location: .init(file: "f", line: 7, column: column), message: "m", sourceLine: line, length: length
        ).rendered()
    }

    @Test func isFileLineColumnSentenceThenTheLineAndTheCaret() {
        let diagnostic = Diagnostic(
            location: .init(file: "a.watch", line: 3, column: 5), message: "there is no queue imges",
            sourceLine: Array("Key=imges".utf8), length: 5, suggestion: "images")
        #expect(
            diagnostic.rendered() == """
                a.watch:3:5: error: there is no queue imges; did you mean images?
                Key=imges
                    ^~~~~
                """)
    }

    @Test func withoutALineItIsTheFileAndTheSentence() {
        #expect(
            Diagnostic(severity: .warning, location: .init(file: "a\u{1b}b"), message: "odd\nthing").rendered()
                == "a\\x1bb: warning: odd\\x0athing")
    }

    @Test(arguments: [
        ("\tab\tcd", 5, 2, "\tab\tcd\n\t  \t^~"), ("éab", 3, 1, "éab\n ^"), ("日本x", 7, 1, "日本x\n    ^"),
        ("日本x", 1, 6, "日本x\n^~~~"), ("e\u{301}x", 4, 1, "e\u{301}x\n ^"), ("a\u{7}b", 3, 1, "a\\x07b\n     ^"),
        ("a\u{202e}b", 5, 1, "a\\u{202e}b\n         ^"), ("abc", 4, 1, "abc\n   ^"), ("", 1, 1, "\n^"),
        ("abc", 99, 5, "abc\n   ^"), ("a\u{7}b", 2, 1, "a\\x07b\n ^~~~"),
    ])
    func theCaretStandsUnderTheText(line: String, column: Int, length: Int, expected: String) {
        #expect(rendered(line, column: column, length: length) == "f:7:\(column): error: m\n" + expected)
    }

    @Test func bytesThatAreNoTextAreEscaped() {
        #expect(
            rendered([0x61, 0xFF, 0xC3, 0x28, 0xED, 0xA0, 0x80], 4, 1)
                == "f:7:4: error: m\na\\xff\\xc3(\\xed\\xa0\\x80\n         ^")
    }

    @Test func aCutNeverSplitsACharacter() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(state: seed)
        let letters = ["é", "日", "\u{1F600}", "a", "\t", "\u{1}"]
        for _ in 0..<500 {
            let line = (0..<400).map { _ in letters.randomElement(using: &generator) ?? "" }
            let index = Int.random(in: 0..<400, using: &generator)
            let column = line[..<index].joined().utf8.count + 1
            let text = rendered(line.joined(), column: column, length: 1)
            #expect(!text.contains("\\x8") && !text.contains("\\xe"), "seed \(seed)")
            #expect(text.split(separator: "\n").count == 3)
        }
    }
}
