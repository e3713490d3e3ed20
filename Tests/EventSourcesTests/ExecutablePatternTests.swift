import EventSources
import LinuxSystem
import ProgramKit
import Testing

@Suite("Globs on executables", .ownThread) struct ExecutablePatternTests {
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

    @Test func linksInFoldersBeforeTheFirstGlobAreFollowed() throws {
        try Folder.with { folder in
            try Linux.mkdir(folder["real"])
            let (link, real) = (folder["link"], try Linux.realPath(folder["real"]))
            try #require(try Program.run(["ln", "-s", "real", link]).code == 0)
            for (pattern, path, isMatch) in [
                ("\(link)/*", "/a", true), ("\(link)/a", "/a", true), ("\(link)/[ab]*", "/b/c", false),
                ("\(link)", "", true), ("\(folder.path)/l*", "", false), ("*", "/a", false), ("**", "/a", true),
            ] {
                let patterns = ExecutablePattern.following(Array(pattern.utf8))
                let path = real + Array(path.utf8)
                #expect(patterns.contains { $0.matches(path) } == isMatch, "\(pattern) \(path.printable)")
            }
        }
    }

    /// What is not there has no links.
    @Test func anExecutableThatIsNotThereYetIsWaitedForByItsName() {
        let patterns = ExecutablePattern.following(Array("/nowhere/at/all".utf8))
        #expect(patterns.count == 1)
        #expect(patterns.contains { $0.matches(Array("/nowhere/at/all".utf8)) })
    }

    @Test func manyStarsTakeNoLongerThanTheirProduct() {
        let pattern = ExecutablePattern(Array(String(repeating: "*a", count: 200).utf8))
        #expect(!pattern.matches(Array(repeating: UInt8(ascii: "a"), count: 2000) + Array("b".utf8)))
    }
}
