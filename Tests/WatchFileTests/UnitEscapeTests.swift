import Testing

@testable import WatchFile

/// What `systemd-escape` gives (252).
@Suite("Names of unit instances") struct UnitEscapeTests {
    @Test(arguments: [
        ("a", "a"), ("a/b", "a-b"), ("/", "-"), ("a-b", #"a\x2db"#), (".a.b", #"\x2ea.b"#), ("a b", #"a\x20b"#),
        ("ä", #"\xc3\xa4"#), ("a:b_c@d", #"a:b_c\x40d"#), (#"a\b"#, #"a\x5cb"#), ("", ""), ("a\nb", #"a\x0ab"#),
    ]) func textIsEscaped(_ text: String, _ escaped: String) {
        #expect(UnitEscape.text(Array(text.utf8)) == Array(escaped.utf8))
    }

    @Test(arguments: [
        ("/srv/in/a b.jpg", #"srv-in-a\x20b.jpg"#), ("/", "-"), ("//", "-"), ("/a//b/", "a-b"), ("/a/./b", "a-b"),
        ("/.hidden", #"\x2ehidden"#), ("a", "a"), ("", ""), ("/foo-bar", #"foo\x2dbar"#),
    ]) func aPathIsEscapedAsOne(_ path: String, _ escaped: String) {
        #expect(UnitEscape.path(Array(path.utf8)) == Array(escaped.utf8))
    }

    @Test func onlyWhatSpecifiersStandForIsEscaped() {
        let name = Template(parts: [
            .literal(Array("back-up@".utf8)), .specifier(.path), .literal(Array("-".utf8)), .specifier(.line),
            .literal(Array(".service".utf8)),
        ])
        let action = UnitAction(units: [name, Template(literal: "a-b.service"), name])
        let names = action.names { $0 == .path ? Array("/a-b/c".utf8) : Array("/x".utf8) }
        #expect(names == [#"back-up@a\x2db-c--x.service"#, "a-b.service"].map { Array($0.utf8) })
    }
}
