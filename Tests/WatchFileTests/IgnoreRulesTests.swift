import Testing

@testable import WatchFile

/// Ignore files, by the rules of git. That they are git's is checked beside git itself (`IgnoreOracleTests`).
@Suite("Ignore files") struct IgnoreRulesTests {
    private func rules(_ files: [String: String]) throws -> IgnoreRules {
        var rules = IgnoreRules(name: Array(".gitignore".utf8))
        for (folder, text) in files { rules[Array(folder.utf8)] = try IgnoreFile(Array(text.utf8)) }
        return rules
    }

    private func ignores(_ files: [String: String], _ path: String) throws -> Bool {
        let isFolder = path.hasSuffix("/")
        let ruling = try rules(files).firstRuling(
            on: Array((isFolder ? path.dropLast() : path[...]).utf8), isFolder: isFolder)
        return ruling?.ruling.isIgnored ?? false
    }

    @Test(
        arguments: [
            ("*.o", "a.o", true), ("*.o", "d/a.o", true), ("*.o", "a.oo", false), ("a", "d/a", true),
            ("/a", "a", true), ("/a", "d/a", false), ("d/a", "d/a", true), ("d/a", "x/d/a", false),
            ("build/", "build", false), ("build/", "build/", true), ("build/", "x/build/a", true),
            ("a/**/b", "a/b", true), ("a/**/b", "a/x/y/b", true), ("**/b", "x/y/b", true), ("a/**", "a/x/y", true),
            ("a/**", "a/", false), ("a/*", "a/x", true), ("a/*", "b/a/x", false), ("[a-c]x", "bx", true),
            ("[!a-c]x", "bx", false), ("[^a-c]x", "dx", true), ("[[:digit:]]", "5", true), ("a?b", "a/b", false),
            ("# a", "# a", false), ("\\#a", "#a", true), ("\\!a", "!a", true), ("a ", "a", true), ("a\\ ", "a ", true),
            ("a\r\nb", "a", true), ("a\u{0}b", "a", true), ("\u{FEFF}a", "a", true), ("a\\", "a\\", false),
            ("[a", "[a", false), ("[[:nothing:]a]", "a", false), ("", "a", false), ("!", "!", false), ("/", "a", false),
            ("*.o\n!b.o", "b.o", false), ("!b.o\n*.o", "b.o", true), ("d/\n!d/a", "d/a", true),
            ("d/*\n!d/a", "d/a", false), ("a**b", "axxb", true), ("x/a**b", "x/a/b", false),
        ] as [(String, String, Bool)])
    func aPatternMeansWhatGitSays(_ text: String, _ path: String, _ isIgnored: Bool) throws {
        #expect(try ignores(["": text], path) == isIgnored, "\(text) for \(path)")
    }

    @Test func aDeeperFileDecidesFirst() throws {
        let files = ["": "*.o\n/x", "d": "!a.o\n/b\n", "d/e": "a.o"]
        #expect(try ignores(files, "d/a.o") == false)
        #expect(try ignores(files, "d/b.o") == true)
        #expect(try ignores(files, "d/e/a.o") == true)
        #expect(try ignores(files, "d/b") == true && ignores(files, "d/e/b") == false)
        #expect(try ignores(files, "x/d/b") == true && ignores(files, "dd/b") == false)
    }

    /// More files than are gone through one by one.
    @Test func ofManyFilesTheDeepestDecides() throws {
        var files = ["": "*.o"]
        for number in 0..<20 { files["f\(number)"] = number % 2 == 0 ? "!*.o" : "*.c" }
        for number in 0..<20 {
            #expect(try ignores(files, "f\(number)/x/a.o") == (number % 2 == 1), "\(number)")
        }
    }

    @Test func theLineThatDecidesIsNamed() throws {
        let rules = try rules(["": "# one\n\n*.o  \n", "d": "!a.o"])
        let ruling = rules.ruling(on: Array("x.o".utf8), isFolder: false)
        #expect(ruling?.pattern?.line == 3 && ruling?.pattern?.text == Array("*.o".utf8))
        #expect(ruling?.folder == [] && ruling?.isIgnored == true)
        let other = rules.ruling(on: Array("d/a.o".utf8), isFolder: false)
        #expect(other?.folder == Array("d".utf8) && other?.pattern?.line == 1 && other?.isIgnored == false)
    }

    @Test func filesGoWithTheirFolders() throws {
        var rules = try rules(["": "*.o", "d": "a", "d/e": "b", "dd": "c"])
        rules.copy(Array("d".utf8), to: Array("x/y".utf8))
        rules.remove(below: Array("d".utf8))
        #expect(Set(rules.files.keys.map { String(decoding: $0, as: UTF8.self) }) == ["", "x/y", "x/y/e", "dd"])
        rules.exchange(Array("dd".utf8), Array("x".utf8))
        #expect(Set(rules.files.keys.map { String(decoding: $0, as: UTF8.self) }) == ["", "dd/y", "dd/y/e", "x"])
        rules.remove(below: [])
        #expect(rules.isEmpty)
    }

    @Test func aFileHasABound() throws {
        #expect(throws: IgnoreFile.Failure.tooLong) {
            try IgnoreFile([UInt8](repeating: 0x61, count: IgnoreFile.maximumLength + 1))
        }
        let lines = [UInt8](repeating: 0, count: 2 * IgnoreFile.maximumPatterns).indices.map {
            UInt8($0 % 2 == 0 ? 0x61 : 0x0A)
        }
        #expect(try IgnoreFile(lines).patterns.count == IgnoreFile.maximumPatterns)
        #expect(throws: IgnoreFile.Failure.tooManyPatterns) { try IgnoreFile(lines + [0x62]) }
    }

    /// A matcher that tries everything would take longer than the world has stood.
    @Test func noPatternTakesForEver() throws {
        let name = [UInt8](repeating: 0x61, count: 255)
        let path = Array(Array(repeating: name, count: 15).joined(separator: [0x2F]))
        let hard = String(repeating: "*a", count: 120) + "b"
        let deep = String(repeating: "**/", count: 40) + String(repeating: "*a", count: 100) + "b"
        let clock = ContinuousClock()
        for text in [hard, deep] {
            let rules = try rules(["": text])
            let took = clock.measure { #expect(rules.ruling(on: path, isFolder: false)?.isIgnored != true) }
            #expect(took < .seconds(5), "\(took) for \(text)")
        }
        // All of it together is bounded, and says so.
        let rules = try rules(["": String(repeating: deep + "\n", count: 600)])
        let took = clock.measure {
            #expect(rules.ruling(on: path, isFolder: false) == IgnoreRules.Ruling(folder: [], pattern: nil))
        }
        #expect(took < .seconds(5), "\(took)")
    }
}
