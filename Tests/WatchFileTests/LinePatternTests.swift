import Testing

@testable import WatchFile

@Suite("Patterns of lines") struct LinePatternTests {
    private func match(_ pattern: String, _ line: String) throws -> [String]? {
        try LinePattern(Array(pattern.utf8)).match(Array(line.utf8))?.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func theGroupsOfTheLeftmostLongestMatchAreTheCaptures() throws {
        #expect(try match("([a-z]+)=([0-9]*)", "x: ab=12 cd=3") == ["ab", "12"])
        #expect(try match("a|b", "xxb") == [])
        #expect(try match("(a)|(b)", "b") == ["", "b"])
        #expect(try match("^b", "ab") == nil)
        #expect(try match("b$", "ab") == [])
        #expect(try match("^$", "") == [])
        #expect(try match("(1)(2)(3)(4)(5)(6)(7)(8)(9)(0)", "1234567890")?.count == 9)
    }

    @Test func aByteIsACharacterWhateverItIs() throws {
        let pattern = try LinePattern(Array("^a(.)b$".utf8))
        #expect(pattern.match([0x61, 0xFF, 0x62]) == [[0xFF]])
        #expect(pattern.match([0x61, 0xC3, 0xA9, 0x62]) == nil)
        #expect(try LinePattern(Array("b(c)".utf8)).match([0x61, 0, 0x62, 0x63]) == [[0x63]])
    }

    @Test(
        arguments: [
            ("(", "Unmatched ( or \\("), ("a)", "Unmatched ) or \\)"), ("[a", "Unmatched [, [^, [:, [., or [="),
            ("*a", "Invalid preceding regular expression"),
            ("(a)\\1", "\\1 to \\9 are not supported: they may take for ever"),
            ("(a{50}){50}", "its repetitions come to"), ("a{600,}", "its repetitions come to"),
            ("x{1001}", "its repetitions come to 1001 parts, and 500 is the limit"),
            ("x{99999999999}", "its repetitions come to more than 1000000 parts, and 500 is the limit"),
            ("((((a{9}){9}){9}){9}){9}", "its repetitions come to"), ("[[:digit:]]{1,3}(\\.[[:digit:]]{1,3}){3}", nil),
            ("a{2,1}", "Invalid content of \\{\\}"),
        ] as [(String, String?)])
    func whatCannotBeUsedIsRefused(pattern: String, reason: String?) {
        do throws(LinePattern.Failure) {
            _ = try LinePattern(Array(pattern.utf8))
            #expect(reason == nil, "\(pattern)")
        } catch {
            #expect(error.reason.hasPrefix(reason ?? "nothing"), "\(pattern): \(error.reason)")
        }
        #expect(throws: LinePattern.Failure.self) { try LinePattern(Array(repeating: 0x61, count: 1001)) }
    }

    /// Each would be taken for the letter without a word.
    @Test(
        arguments: [
            ("\\d+ms", "\\d is not known, and would be a plain d: write [0-9]"),
            ("a\\tb", "\\t is not known, and would be a plain t: write [[:blank:]]"),
            ("\\x41", "\\x is not known, and would be a plain x: write the character itself"),
            ("\\Qa.b", "\\Q is not known, and would be a plain Q: write a backslash before each sign"),
            ("\\0", "\\0 is not known, and would be a plain 0: write 0 if that is meant"),
            (
                "[\\d.]",
                "within […] a backslash is a plain character, so that \\d is a backslash or d: write 0-9 within"
            ),
            (
                "[^]\\w]",
                "within […] a backslash is a plain character, so that \\w is a backslash or w: write [:alnum:]_"
            ),
            ("[a\\q]", "within […] a backslash is a plain character, so that \\q is a backslash or q; where both"),
        ])
    func anEscapeThatGlibcDoesNotKnowIsRefused(pattern: String, reason: String) {
        do throws(LinePattern.Failure) {
            _ = try LinePattern(Array(pattern.utf8))
            Issue.record("\(pattern) is taken")
        } catch {
            #expect(error.reason.hasPrefix(reason), "\(pattern): \(error.reason)")
        }
    }

    @Test(
        arguments: [
            ("\\w\\W", "a-"), ("\\s\\S", " x"), ("\\ba\\b", "a"), ("\\Bb", "ab"), ("\\<a\\>", "a"), ("\\`a\\'", "a"),
            ("\\.\\[\\(\\\\d", ".[(\\d"), ("^[\\\\n]+$", "\\n"), ("^[.\\]d$", "\\d"), ("^[[:alpha:]\\-]d$", "\\d"),
        ])
    func anEscapeThatGlibcKnowsStays(pattern: String, line: String) throws {
        #expect(try match(pattern, line) != nil, "\(pattern)")
    }

    /// Each of these takes glibc minutes for such a line when it is asked as it stands.
    @Test(arguments: ["(a|a)*b", "a.*b.*c.*d", "(((a+)+)+)+b", "(.*)(.*)(.*)(.*)x", "(a|b|c|d)*e"])
    func aLineThatDoesNotMatchTakesNoTime(pattern: String) throws {
        let compiled = try LinePattern(Array(pattern.utf8))
        let line = Array(repeating: UInt8(ascii: "a"), count: 1 << 16)
        let clock = ContinuousClock()
        let time = clock.measure { for _ in 0..<5 { #expect(compiled.match(line) == nil) } }
        #expect(time < .seconds(5), "\(pattern): \(time)")
    }

    @Test func aLongLineThatMatchesLateStillGivesItsGroups() throws {
        let line = Array(repeating: UInt8(ascii: "a"), count: 1 << 16) + Array("zab=7".utf8)
        #expect(try LinePattern(Array("z(a+)b=([0-9])".utf8)).match(line) == [[0x61], [0x37]])
    }
}
