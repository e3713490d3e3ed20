import EventSources
import Testing

@Suite("Globs on executables") struct ExecutablePatternTests {
    @Test(arguments: [
        ("/bin/a", "/bin/a", true), ("/bin/a", "/bin/ab", false), ("/bin/*", "/bin/ab", true),
        ("/bin/*", "/bin/", true),
        ("/bin/*", "/bin/a/b", false), ("/bin/**", "/bin/a/b", true), ("/**/a", "/a", true), ("/**/a", "/x/y/a", true),
        ("/**/a", "/xa", false), ("/**/a", "/x/ya", false), ("/x/**/b/*", "/x/b/c", true),
        ("/x/**/b/*", "/x/a/b/c", true), ("/usr/**/py*3", "/usr/lib/x/python3", true), ("/b?n/a", "/bin/a", true),
        ("/b?n/a", "/b/n/a", false), ("/bin/[a-c]", "/bin/b", true), ("/bin/[a-c]", "/bin/d", false),
        ("/bin/[!a-c]", "/bin/d", true), ("/bin/[!a]", "/bin/a", false), ("/bin/[]x]", "/bin/]", true),
        ("/bin/[x", "/bin/[x", true), ("/[!x]", "//", false), ("*", "", true), ("", "", true), ("", "a", false),
        ("/**", "/anything/at/all", true),
    ])
    func aPatternMatchesTheWholePath(pattern: String, path: String, isMatch: Bool) {
        #expect(ExecutablePattern(Array(pattern.utf8)).matches(Array(path.utf8)) == isMatch, "\(pattern) \(path)")
    }

    @Test func manyStarsTakeNoLongerThanTheirProduct() {
        let pattern = ExecutablePattern(Array(String(repeating: "*a", count: 200).utf8))
        #expect(!pattern.matches(Array(repeating: UInt8(ascii: "a"), count: 2000) + Array("b".utf8)))
    }
}
