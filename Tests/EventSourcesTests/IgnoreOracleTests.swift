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

    /// Of a list of trees, each in a folder of the repository.
    ///
    /// - Returns: of each the paths that git ignores.
    private static func git(_ trees: [[String]], in folder: Folder) throws -> [Set<String>] {
        _ = try Program.run(["git", "init", "-q", "--template=", "."], folder: folder["in"])
        let input = trees.enumerated().flatMap { number, paths in
            paths.map { "\(number)/\($0.hasSuffix("/") ? String($0.dropLast()) : $0)\0" }
        }
        let made = try Program.run(
            ["git", "check-ignore", "--no-index", "-z", "--stdin"], folder: folder["in"], input: input.joined())
        // 1: none is ignored.
        #expect([.exited(0), .exited(1)].contains(made.status), "\(made)")
        var ignored = [Set<String>](repeating: [], count: trees.count)
        for path in made.output.split(separator: 0).map({ String(decoding: $0, as: UTF8.self) }) {
            let parts = path.split(separator: "/", maxSplits: 1)
            ignored[try #require(Int(parts[0]))].insert(String(parts[1]))
        }
        return ignored
    }

    /// Git asks the file system for folders and for ignore files alone.
    private static func write(_ maker: Maker, to tree: String, _ folder: Folder) throws {
        try folder.makeFolder(tree)
        for path in maker.paths where path.hasSuffix("/") { try folder.makeFolder("\(tree)/\(path)") }
        for (place, bytes) in maker.ignoreFiles { try folder.write(Array("\(tree)/\(place).gitignore".utf8), bytes) }
    }

    @Test(.enabled(if: hasGit), arguments: [Seeds.range(100, long: 5000)])
    func whatGitIgnoresIsIgnored(_ seeds: ClosedRange<UInt64>) throws {
        for first in stride(from: seeds.lowerBound, through: seeds.upperBound, by: 100) {
            try compare(first...min(first + 99, seeds.upperBound))
        }
    }

    private func compare(_ seeds: ClosedRange<UInt64>) throws {
        let makers = seeds.map { seed in
            var maker = Maker(random: SeededGenerator(seed: seed))
            maker.make()
            return maker
        }
        try Folder.with { folder in
            try folder.makeFolder("in")
            for (number, maker) in makers.enumerated() { try Self.write(maker, to: "in/\(number)", folder) }
            let ignored = try Self.git(makers.map(\.paths), in: folder)
            for (number, (seed, maker)) in zip(seeds, makers).enumerated() {
                let rules = try Self.read(
                    folder["in/\(number)"].pathBytes, maker.ignoreFiles.keys.map { Array($0.utf8.dropLast()) })
                for path in maker.paths {
                    let isFolder = path.hasSuffix("/")
                    let plain = isFolder ? String(path.dropLast()) : path
                    let found = rules.firstRuling(on: Array(plain.utf8), isFolder: isFolder)
                    let isIgnored = found?.ruling.isIgnored ?? false
                    let files = maker.ignoreFiles.mapValues { String(decoding: $0, as: UTF8.self).debugDescription }
                    #expect(isIgnored == ignored[number].contains(plain), "seed \(seed): \(path), \(files)")
                }
            }
            let count = (ignored.map(\.count).reduce(0, +), makers.map(\.paths.count).reduce(0, +))
            #expect(seeds.count < 100 || 0 < count.0 && count.0 < count.1, "\(count.0) of \(count.1) are ignored")
        }
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
