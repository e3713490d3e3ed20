import Schedule
import Testing

@Suite("Words in text")
struct ReplacingTests {
    @Test(arguments: [
        ("", "a", "b", ""), ("a", "a", "b", "b"), ("aaa", "aa", "b", "ba"), ("xaxa", "a", "", "xx"),
        ("ab", "", "c", "ab"),
        ("it's", "'", "'\\''", "it'\\''s"), ("a\r\nb", "\r\n", "\n", "a\nb"), ("a. b. ", ". ", ".\n", "a.\nb.\n"),
        ("aab", "ab", "x", "ax"), ("[…]", "…", "...", "[...]"),
        // One character for Swift: the quote has to be seen all the same.
        ("'\u{301}", "'", "\\'", "\\'\u{301}"),
    ])
    func eachPlaceIsReplaced(text: String, word: String, other: String, result: String) {
        #expect(Array(text.replacing(word, with: other).utf8) == Array(result.utf8))
    }

    @Test func aWordIsFound() {
        #expect("a.watch.b".contains(".watch"))
        #expect(!"a.watc".contains(".watch"))
        #expect("abc"[...].contains("bc"))
        #expect("/usr/share/zoneinfo/Europe/Berlin".pieces(between: "/zoneinfo/") == ["/usr/share", "Europe/Berlin"])
        #expect("a in b in c".parts(around: " in ").map { [$0.before, $0.after] } == ["a", "b in c"])
        #expect("a".parts(around: " in ") == nil)
        #expect("a | b | ".pieces(between: " | ") == ["a", "b", ""])
    }
}
