import Glibc
import SeedKit
import Testing

@testable import WatchFile

@Suite("Globs on paths") struct PathGlobTests {
    @Test(arguments: [
        ("*.jpg", "a.jpg", true), ("*.jpg", "x/y/a.jpg", true), ("*.jpg", "a.jpg/b", false), ("*.jpg", ".jpg", true),
        ("a", "a", true), ("a", "x/a", true), ("a", "a/x", false), ("/a", "a", true), ("/a", "x/a", false),
        ("**/a", "a", true), ("**/a", "x/y/a", true), ("**/a", "x/ya", false), ("a/**", "a", false),
        ("a/**", "a/b", true), ("a/**", "a/b/c", true), ("a/**", "ab/c", false), ("a/**/b", "a/b", true),
        ("a/**/b", "a/x/y/b", true), ("a/**/b", "a/xb", false), ("a/*/b", "a/b", false), ("a/*/b", "a/x/b", true),
        ("a/*/b", "a/x/y/b", false), ("**", "a/b", true), ("**/**/a", "a", true), ("a**b", "axxb", true),
        ("a**b", "a/b", false), ("x/a**b", "x/a/b", false), ("a/**b", "a/xb", true), ("?", "ä", false),
        ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false), ("[^a-c]x", "dx", true), ("[]x]", "]", true),
        ("[a-]", "-", true), ("A", "a", false), ("a/**/**/b", "a/b", true), ("**/x/**", "x/y", true),
        ("**/x/**", "a/x", false), (".git/**", ".git/index", true),
    ])
    func aGlobMatchesThePathBelow(glob: String, path: String, isMatch: Bool) throws {
        #expect(try PathGlob(Array(glob.utf8)).matches(Array(path.utf8)) == isMatch, "\(glob) \(path)")
    }

    @Test(arguments: ["", "a[b", "a[", "[]", "a/", "a//b", "/", "./a", "a/..", "[z-a]", "[[:digit:]]", "a[/]b"])
    func whatIsNoGlobIsRefused(glob: String) {
        #expect(throws: PathGlob.Failure.self) { try PathGlob(Array(glob.utf8)) }
    }

    @Test func whatIsEscapedStandsForItself() throws {
        func glob(_ text: String) throws -> PathGlob {
            try PathGlob(letters: text.utf8.map { .init(byte: $0, isEscaped: true) })
        }
        #expect(try glob("*.[a]?").matches(Array("*.[a]?".utf8)))
        #expect(try !glob("*").matches(Array("x".utf8)))
        #expect(try !glob("**").matches(Array("x".utf8)))
    }

    @Test(arguments: ["a", "*.jpg", "/b/**", "**/x?[a-c]", "[!a]*", "a b", "\\", "é", "[]a]", "a\"'b"])
    func itIsReadAgainAsItIsWritten(text: String) throws {
        let plain = try PathGlob(Array(text.utf8))
        let escaped = try? PathGlob(letters: text.utf8.map { .init(byte: $0, isEscaped: true) })
        for glob in [plain, escaped].compactMap(\.self) {
            let again = try #require(PathGlob(description: glob.description))
            #expect(again.description == glob.description)
            for path in ["a", "b", "x.jpg", "b/c", "d/xya", "a b", "é", "]", text] {
                #expect(again.matches(Array(path.utf8)) == glob.matches(Array(path.utf8)), "\(text) on \(path)")
            }
        }
        for wrong in ["", "\\", "\\x", "\\x4", "\\xzz", "\\n", "[", "a//b"] {
            #expect(PathGlob(description: wrong) == nil, "\(wrong)")
        }
    }

    @Test func manyStarsTakeNoLongerThanTheirProduct() throws {
        let glob = try PathGlob(Array(String(repeating: "*a", count: 200).utf8))
        #expect(!glob.matches(Array(repeating: UInt8(ascii: "a"), count: 2000) + Array("b".utf8)))
        let deep = try PathGlob(Array(String(repeating: "**/a/", count: 200).utf8) + Array("b".utf8))
        #expect(!deep.matches(Array(String(repeating: "a/", count: 1000).utf8) + Array("c".utf8)))
    }

    /// fnmatch(3) of each component, in the locale of bytes; `**` by trying every number of folders.
    private func oracle(_ glob: [Substring], _ path: [Substring]) -> Bool {
        guard let first = glob.first else { return path.isEmpty }
        if first == "**" {
            if glob.count == 1 { return !path.isEmpty }
            return (0...path.count).contains { oracle(Array(glob.dropFirst()), Array(path.dropFirst($0))) }
        }
        guard let name = path.first, fnmatch(String(first), String(name), FNM_NOESCAPE) == 0 else { return false }
        return oracle(Array(glob.dropFirst()), Array(path.dropFirst()))
    }

    @Test func itIsFnmatchOfEachComponent() throws {
        for seed in Seeds.range(4000, long: 100_000) {
            var random = SeededGenerator(seed: seed)
            func some(_ parts: [String], _ limit: Int) -> String {
                (0...random.upTo(limit)).map { _ in random.pick(parts) }.joined()
            }
            let names = (0...random.upTo(3)).map { _ in
                random.chance(30) ? "**" : some(["a", "b", "*", "?", "[ab]", "[!a]", "[a-b]", "**"], 3)
            }
            let paths = (0..<8).map { _ in (0...random.upTo(3)).map { _ in some(["a", "b", "c"], 3) } }
            let text = names.joined(separator: "/")
            let glob = try PathGlob(Array(text.utf8))
            for path in paths {
                let expected =
                    names.count == 1
                    ? oracle(text.split(separator: "/"), path.suffix(1).map { $0[...] })
                    : oracle(text.split(separator: "/"), path.map { $0[...] })
                #expect(
                    glob.matches(Array(path.joined(separator: "/").utf8)) == expected,
                    "seed \(seed): \(text) on \(path.joined(separator: "/"))")
            }
        }
    }

    @Test func theFilterIsAboutThePathBelow() throws {
        func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
        let jpg = try PathGlob(bytes("*.jpg"))
        let filter = PathFilter(include: [jpg, try PathGlob(bytes("/b/**"))], exclude: [try PathGlob(bytes("x*"))])
        for (path, root, isLet) in [
            ("/srv/a.jpg", "/srv", true), ("/srv/a.png", "/srv", false), ("/srv/xa.jpg", "/srv", false),
            ("/srv/b/c", "/srv", true), ("/b/c", "/", true), ("/a.jpg", "/", true), ("/srv/a.jpg", "/srv/a.jpg", true),
            ("/srv/x.jpg", "/srv/x.jpg", false), ("/srv/a", "/srv/a", false),
        ] {
            #expect(filter.lets(bytes(path), below: bytes(root)) == isLet, "\(path) below \(root)")
        }
        #expect(PathFilter().lets(bytes("/a"), below: bytes("/")))
    }
}
