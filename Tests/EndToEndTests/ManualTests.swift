import LinuxSystem
import ProgramKit
import Testing

/// The manual pages: readable without a complaint, and each example in them a file that is run (`ExampleTests`).
@Suite("Manual pages, end to end", .ownThread) struct ManualTests {
    private static let root: String = {
        // …/Tests/EndToEndTests/ManualTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

    static let pages: [String] = ((try? Linux.readFolder("\(root)/config/man")) ?? [])
        .map { String(decoding: $0.name, as: UTF8.self) }.sorted()

    private static func text(_ path: String) throws -> String {
        String(decoding: try Linux.readFile("\(root)/\(path)"), as: UTF8.self)
    }

    private static func has(_ program: String) -> Bool { (try? Linux.stat("/usr/bin/\(program)")) != nil }

    @Test func thePagesAreFound() { #expect(Self.pages.contains("watchd.watch.5")) }

    @Test(.enabled(if: has("mandoc"), "mandoc is not installed"), arguments: pages)
    func mandocTakesAPageWithoutAWord(_ page: String) throws {
        let end = try Program.run(["mandoc", "-T", "lint", "-W", "warning", "\(Self.root)/config/man/\(page)"])
        #expect(end.code == 0 && end.text + end.errorText == "", "\(end)")
    }

    /// As Debian's lintian calls it.
    @Test(.enabled(if: has("man") && has("groff"), "man and groff are not installed"), arguments: pages)
    func manTakesAPageWithoutAWord(_ page: String) throws {
        let end = try Program.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", "\(Self.root)/config/man/\(page)"],
            environment: Program.environment + ["MANWIDTH=80", "MANROFFSEQ="])
        #expect(end.code == 0 && end.errorText == "" && !end.output.isEmpty, "\(end.errorText)")
    }

    /// A literal block, and the file that the comment before it names.
    private struct Block {
        var file: String?
        /// The lines are commands, to be typed beside a daemon that reads the file.
        var isTyped = false
        /// The lines are output in the comment of the file; long ones are broken.
        var isShown = false
        var lines: [String]
    }

    private static func blocks(_ page: String) -> [Block] {
        var blocks: [Block] = []
        var named = Block(lines: [])
        var lines: [String]?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix(".Bd ") {
                lines = []
            } else if line == ".Ed" {
                named.lines = lines ?? []
                blocks.append(named)
                (named, lines) = (Block(lines: []), nil)
            } else if lines != nil {
                lines?.append(String(line).replacing("\\&", with: "").replacing("\\e", with: "\\"))
            } else if line.hasPrefix(".\\\" Example: ") {
                named.file = String(line.dropFirst(13))
            } else if line.hasPrefix(".\\\" Commands: ") {
                (named.file, named.isTyped) = (String(line.dropFirst(14)), true)
            } else if line.hasPrefix(".\\\" Shown: ") {
                (named.file, named.isShown) = (String(line.dropFirst(11)), true)
            }
        }
        return blocks
    }

    @Test(arguments: pages) func everyExampleIsPartOfAFileThatIsRun(_ page: String) throws {
        for block in Self.blocks(try Self.text("config/man/\(page)")) where !block.isTyped && !block.isShown {
            guard let file = block.file else {
                #expect(!block.lines.contains { $0.hasPrefix("[") }, "\(page) does not say whose \(block.lines) is")
                continue
            }
            let text = try Self.text(file)
            #expect(text.contains(block.lines.joined(separator: "\n")), "\(page): \(file) has no such lines")
            let name = file.replacing("config/", with: "")
            #expect(ExampleTests.files.contains(name) || !name.contains("/"), "\(file) is not run")
        }
    }

    @Test(arguments: pages) func everyCommandThatIsShownWorks(_ page: String) throws {
        for block in Self.blocks(try Self.text("config/man/\(page)")) where block.isTyped {
            try ExampleTests.run((block.file ?? "").replacing("config/", with: "")) { watchd, _ in
                for line in block.lines { try ExampleTests.type(line, watchd) }
            }
        }
    }

    @Test(arguments: pages) func everyOutputThatIsShownIsThatOfARun(_ page: String) throws {
        for block in Self.blocks(try Self.text("config/man/\(page)")) where block.isShown {
            let shown = Transcript(try Self.text(block.file ?? "")).steps.flatMap { step -> [String] in
                guard case .lines(let lines) = step else { return [] }
                return lines.map { String($0.drop { $0 != "|" }.dropFirst(2)) }
            }
            let text = block.lines.map { $0.drop { $0 == " " } }.joined()
            #expect(Transcript.masked(text) == shown.joined(), "\(page)")
        }
    }

    @Test func thePageOfQueuesNamesEachExampleOfDispatch() throws {
        let files = Set(ExampleTests.files.filter { $0.hasPrefix("dispatch/") }.map { String($0.dropFirst(9)) })
        let words = try Self.text("config/man/watchd.queues.7").split(separator: "\n").filter { $0.hasPrefix(".Pa ") }
            .flatMap { $0.split(separator: " ").map(String.init) }
        #expect(Set(words.filter { $0.hasSuffix(".watch") }) == files)
    }
}
