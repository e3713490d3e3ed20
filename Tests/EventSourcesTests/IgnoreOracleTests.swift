import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// Ignore files beside `git check-ignore`: random trees with random ignore files.
@Suite("Ignore files beside git", .ownThread) struct IgnoreOracleTests {
    private static let hasGit = (try? Program.run(["git", "--version"], folder: "/").status == .exited(0)) ?? false

    private struct Maker {
        var random: SeededGenerator
        /// Below the root, folders with a slash.
        private(set) var paths: [String] = []
        private(set) var ignoreFiles: [String: [UInt8]] = [:]

        private static let names = [
            "a", "b", "ab", "a.o", "b.o", ".x", "a b", "a ", "#a", "!a", "[a]", "a*", "a\\", "ä", "5", "-",
        ]
        private static let pieces = [
            "a", "b", "ab", ".o", "*", "**", "?", "/", "/", "**/", "/**", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a",
            "[[:alpha:]]", "[[:space:]]", "[[:punct:]b]", "[[:x:]]", "[[:]", "[\\]]", "[a\\-c]", "[--a]", "\\", "\\*",
            "\\ ",
            "\\a", "\\/", " ", "\t", "!", "#", ".x", "5", "ä", "[\u{e4}]", "\r", "-", "**\\/", "[/]", "[a/b]", "[+-5]",
        ]

        mutating func make() {
            addFolder("", depth: 0)
            for folder in [""] + paths.filter({ $0.hasSuffix("/") }) where random.chance(folder.isEmpty ? 100 : 30) {
                ignoreFiles[folder] = ignoreFile()
            }
        }

        private mutating func addFolder(_ path: String, depth: Int) {
            for name in Self.names.shuffled(using: &random).prefix(2 + random.upTo(5)) {
                if depth < 4, random.chance(45) {
                    paths.append("\(path)\(name)/")
                    addFolder("\(path)\(name)/", depth: depth + 1)
                } else {
                    paths.append(path + name)
                }
            }
        }

        private mutating func ignoreFile() -> [UInt8] {
            let lines = (0..<(1 + random.upTo(6))).map { _ in line() }
            var bytes = Array(lines.joined(separator: random.chance(10) ? "\r\n" : "\n").utf8)
            if random.chance(5) { bytes = [0xEF, 0xBB, 0xBF] + bytes }
            if random.chance(10) { bytes.insert(UInt8(random.upTo(255)), at: random.upTo(bytes.count)) }
            return bytes + (random.chance(80) ? [0x0A] : [])
        }

        private mutating func line() -> String {
            var line = random.chance(25) ? "!" : ""
            if random.chance(40), let path = paths.randomElement(using: &random) {
                // Near what stands there.
                let parts = path.split(separator: "/")
                let kept = parts.suffix(1 + random.upTo(parts.count))
                line += kept.map { part in
                    random.chance(25) ? random.pick(Self.pieces) : random.chance(15) ? "**" : String(part)
                }.joined(separator: "/")
            } else {
                for _ in 0...random.upTo(4) { line += random.pick(Self.pieces) }
            }
            if random.chance(20) { line += "/" }
            return random.chance(10) ? line + " " : line
        }
    }

    /// - Returns: the paths that git ignores.
    private static func git(_ paths: [String], in folder: Folder) throws -> Set<String> {
        let input = paths.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }.joined(separator: "\0") + "\0"
        let made = try Program.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"], folder: folder["in"], input: input)
        // 1: none is ignored.
        #expect([.exited(0), .exited(1)].contains(made.status), "\(made)")
        return Set(made.output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) })
    }

    @Test(.enabled(if: hasGit), arguments: [Seeds.range(100, long: 5000)])
    func whatGitIgnoresIsIgnored(_ seeds: ClosedRange<UInt64>) throws {
        var (ignored, told) = (0, 0)
        for seed in seeds {
            var maker = Maker(random: SeededGenerator(seed: seed))
            maker.make()
            try Folder.with { folder in
                try folder.makeFolder("in")
                for path in maker.paths {
                    if path.hasSuffix("/") {
                        try folder.makeFolder("in/\(path)")
                    } else {
                        try folder.write("in/\(path)", "")
                    }
                }
                for (place, bytes) in maker.ignoreFiles { try folder.write(Array("in/\(place).gitignore".utf8), bytes) }
                _ = try Program.run(["git", "init", "-q", "."], folder: folder["in"])
                let expected = try Self.git(maker.paths, in: folder)
                ignored += expected.count
                told += maker.paths.count - expected.count
                let rules = try Self.read(
                    folder["in"].pathBytes, maker.ignoreFiles.keys.map { Array($0.utf8.dropLast()) })
                for path in maker.paths {
                    let isFolder = path.hasSuffix("/")
                    let plain = isFolder ? String(path.dropLast()) : path
                    let found = rules.firstRuling(on: Array(plain.utf8), isFolder: isFolder)
                    let isIgnored = found?.ruling.isIgnored ?? false
                    let files = maker.ignoreFiles.mapValues { String(decoding: $0, as: UTF8.self).debugDescription }
                    #expect(isIgnored == expected.contains(plain), "seed \(seed): \(path), \(files)")
                }
            }
        }
        #expect(ignored > 0 && told > 0, "\(ignored) ignored, \(told) told of")
    }

    private static func read(_ root: [UInt8], _ folders: [[UInt8]]) throws -> IgnoreRules {
        var rules = IgnoreRules(name: Array(".gitignore".utf8))
        for folder in folders {
            try Linux.openFolder(root + [0x2F] + folder).use { open throws(SystemError) in
                rules[folder] = IgnoreReading(rules.name, in: open).file
            }
        }
        return rules
    }
}
