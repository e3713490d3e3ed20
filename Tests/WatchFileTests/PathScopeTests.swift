import Testing

@testable import WatchFile

/// What `Path=` with globs covers.
@Suite("Scope of globs in Path=") struct PathScopeTests {
    private func pattern(_ text: String) throws -> PathPattern { try PathPattern(Array(text.utf8)) }

    private func scope(_ patterns: [String], isRecursive: Bool = false) throws -> PathScope {
        PathScope(try patterns.map(pattern), isRecursive: isRecursive)
    }

    @Test(
        arguments: [
            ("/", -3), ("/srv", -2), ("/srv/a", -1), ("/srv/a/in", 0), ("/srv/a/in/x", 1), ("/srv/a/in/x/y", 2),
            ("/etc", nil), ("/srv/.a", nil), ("/srv/a/out", nil), ("/srv/a/inn", nil), ("/srv/a/out/in", nil),
        ] as [(String, Int?)])
    func thePlaceOfAPathIsThatBelowWhatMatches(_ path: String, _ depth: Int?) throws {
        let pattern = try pattern("/srv/*/in")
        #expect(pattern.depth(of: Array(path.utf8)) == depth)
        #expect(pattern.matches(Array(path.utf8)) == (depth == 0))
        for isRecursive in [false, true] {
            let scope = try scope(["/srv/*/in"], isRecursive: isRecursive)
            #expect(scope.covers(Array(path.utf8)) == depth.map { $0 >= 0 && (isRecursive || $0 < 2) } ?? false)
            #expect(scope.walks(Array(path.utf8)) == depth.map { isRecursive || $0 <= 0 } ?? false)
            #expect(scope.isAbove(Array(path.utf8)) == depth.map { $0 > 0 } ?? false)
        }
    }

    @Test func oneOfThePatternsIsEnough() throws {
        let scope = try scope(["/srv/*/in", "/srv"])
        for path in ["/srv/x", "/srv/a/in", "/srv/a/in/x"] { #expect(scope.covers(Array(path.utf8)), "\(path)") }
        #expect(!scope.covers(Array("/srv/a/x".utf8)))
    }

    @Test(arguments: ["/", "/srv", "/srv/*/in", "/s v/[!a-z]?", "/\\x2a/*", "/.*", "/a*b/c"])
    func aPatternIsReadAsItIsWritten(_ text: String) throws {
        let word = try #require(PathPattern(description: text))
        #expect(PathPattern(description: word.description) == word)
        #expect(word.isPlain == (word.description == word.base.shown))
    }

    @Test(arguments: ["/[", "/a\\", "/\\xzz"]) func whatNobodyWroteIsNone(_ text: String) {
        #expect(PathPattern(description: text) == nil)
    }
}

extension [UInt8] {
    fileprivate var shown: String { Printable.text(self).replacing("*", with: "\\x2a").replacing(" ", with: "\\x20") }
}
