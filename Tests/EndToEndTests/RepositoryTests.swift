import LinuxSystem
import ProgramKit
import Testing

/// Rules of the tree that the compiler does not see.
@Suite("Repository", .ownThread) struct RepositoryTests {
    /// Where a module may be imported below `Sources`.
    private static let allowed: [String: Set<String>] = [
        "Dispatch": ["EventSources", "Handlers", "Daemon", "watchd"],
        "CDispatch": [],
        "CSystemd": ["Systemd"],
        "CSQLite": ["Store"],
        "CLinux": ["LinuxSystem"],
        "FoundationEssentials": [],
        "Foundation": [],
        "FoundationInternationalization": [],
    ]

    /// Where a module may be imported below `Tests`.
    private static let allowedInTests: [String: Set<String>] = [
        "CDispatch": ["DispatchOracleTests"],
        "Foundation": ["DispatchOracleTests", "Benchmarks"],
        "CInstructions": ["Benchmarks"],
        "FoundationInternationalization": [],
    ]

    private struct File {
        var target: String
        var path: String
        var lines: [Substring]
    }

    private static func sources(_ top: String = "Sources") throws -> [File] {
        try Repository.files("\(Repository.root)/\(top)").map { path in
            let text = String(decoding: try Linux.readFile(path), as: UTF8.self)
            let below = path.dropFirst("\(Repository.root)/\(top)/".count)
            let target = below.split(separator: "/").first.map(String.init) ?? ""
            return File(target: target, path: String(below), lines: text[...].parts(between: "\n"))
        }
    }

    /// The module of an import line: `package import struct A.B`, `@testable import A`.
    private static func module(_ line: Substring) -> String? {
        guard line.has("import") else { return nil }
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(of: "import"), place <= 2, place + 1 < words.count,
            words[..<place].allSatisfy({
                $0.hasPrefix("@") || ["package", "public", "internal", "private"].contains($0)
            })
        else { return nil }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "let", "var"]
        let name = kinds.contains(words[place + 1]) ? words.dropFirst(place + 2).first : words[place + 1]
        return name?.split(separator: ".").first.map(String.init)
    }

    @Test func modulesAreImportedOnlyWhereTheDesignSays() throws {
        let sources = try Self.sources()
        #expect(sources.count > 100, "the sources were found")
        for file in sources {
            for module in file.lines.compactMap(Self.module) {
                guard let targets = Self.allowed[module] else { continue }
                #expect(targets.contains(file.target), "\(file.path) imports \(module)")
            }
        }
    }

    @Test func everyExampleIsAcceptedWithoutAWord() throws {
        let files = try Repository.files("\(Repository.root)/config", suffix: ".watch")
        #expect(files.count > 3, "the examples were found")
        for file in files {
            // Each is a configuration of its own.
            let end = try Program.run([Products.path("watchd"), "--check", file])
            #expect(end.code == 0, "\(file): \(end)")
            // A program for mail, a service manager and the folders of the reader are the machine's: the warning, its
            // line and the caret.
            var lines = (end.text + end.errorText).split(separator: "\n")
            let others = [
                "warning: Mail= needs a sendmail", "warning: RunIn=unit needs systemd",
                " does not exist: watchd waits until somebody makes it",
            ]
            while let warning = lines.firstIndex(where: { line in others.contains { line.contains($0) } }) {
                lines.removeSubrange(warning..<min(warning + 3, lines.count))
            }
            #expect(lines.isEmpty, "\(file)")
        }
    }

    @Test func testsImportFoundationOnlyWhereItIsNeeded() throws {
        for file in try Self.sources("Tests") {
            for module in file.lines.compactMap(Self.module) {
                guard let targets = Self.allowedInTests[module] else { continue }
                #expect(targets.contains(file.target), "\(file.path) imports \(module)")
            }
        }
    }

    /// A test that waits for a program must not hold up one that computes.
    @Test func testsThatWaitHaveThreadsOfTheirOwn() throws {
        let waiting: Set<String> = ["EndToEndTests", "SystemdTests", "EventSourcesTests", "HandlersTests"]
        for file in try Self.sources("Tests") where waiting.contains(file.target) {
            let text = file.lines.joined(separator: "\n")
            let suites = text.split(separator: "\n@Suite(").dropFirst()
            #expect(suites.allSatisfy { $0.prefix(200).contains(", .ownThread") }, "\(file.path)")
        }
    }

    /// Between two steps, a test with a process of its own must not wait behind all that compute.
    @Test func testsWithProcessesOfTheirOwnAreChains() throws {
        let files = try Self.sources("Tests").filter { file in
            file.lines.contains { $0.has("#expect(processExits\("With"): ") }
        }
        #expect(files.count > 10, "the tests were found")
        for file in files {
            #expect(file.lines.contains { $0.has("(.ownThreadChain") || $0.has(", .ownThreadChain") }, "\(file.path)")
        }
    }

    @Test func importLinesAreRecognized() {
        let lines: [Substring: String?] = [
            "import Dispatch": "Dispatch", "package import Dispatch": "Dispatch", "@testable import Engine": "Engine",
            "import struct Foundation.URL": "Foundation", "@preconcurrency package import A": "A",
            "// import Dispatch": nil, "    say(\"import Dispatch\")": nil, "let import = 3": nil,
        ]
        for (line, module) in lines { #expect(Self.module(line) == module, "\(line)") }
    }

    @Test func noneOfTheWaysAroundTheCompilerIsTaken() throws {
        var unchecked: [String] = []
        let ways = ["nonisolated(unsafe)", "try!", "@unchecked Sendable"]
        for file in try Self.sources() {
            for line in file.lines where ways.contains(where: line.has) {
                let code = line.drop { $0 == " " }
                if code.hasPrefix("//") { continue }
                #expect(!code.contains("nonisolated(unsafe)"), "\(file.path)")
                #expect(!code.contains("try!"), "\(file.path)")
                if code.contains("@unchecked Sendable") { unchecked.append(file.path) }
            }
        }
        #expect(unchecked == ["EventSources/Contexts/Context.swift"])
    }

    // MARK: References

    /// Read once for all tests.
    private static let references = Swift.Result { try References() }

    @Test func everyReferenceOfACommentIsResolved() throws {
        let references = try Self.references.get()
        #expect(references.factCount > 70, "the facts were found")
        #expect(references.repeatedFacts == [])
        var count = 0
        for top in ["Sources", "Tests"] {
            for path in try Repository.files("\(Repository.root)/\(top)") {
                let text = try References.text(path)
                #expect(references.problems(inComments: text) == [], "\(path)")
                if text[...].has(".md") { count += text.matches(of: /(?:Dispatch|Systemd|Semantics)\.md/).count }
            }
        }
        #expect(count > 10, "the references were found")
    }

    @Test func theDocumentationNamesWhatThereIs() throws {
        let references = try Self.references.get()
        let articles = try Repository.files("\(Repository.root)/\(References.catalogue)", suffix: ".md")
        #expect(articles.count > 4, "the articles were found")
        for path in articles + ["\(Repository.root)/.github/CONTRIBUTING.md"] {
            let text = try References.text(path)
            #expect(references.problems(inDocument: text) == [], "\(path)")
        }
    }

    @Test func aStaleReferenceIsSeen() throws {
        let references = try Self.references.get()
        let comments = [
            "/// (Dispatch.md, fact 15).", "/// (Dispatch.md, facts\n    /// 3–8)", "/// Semantics.md, \"Net effect\"",
            "/// README.md", "let a = 3 \u{2F}/ Systemd.md, fact 24", "let text = \"(ROWS, row 3)\"",
        ]
        #expect(comments.flatMap(references.problems(inComments:)) == [])
        let stale = [
            "/// (Dispatch.md, fact 999)", "/// (Dispatch.md, facts 3\u{2013}999)", "/// Gone.md",
            "/// Semantics.md, \"Gone\"", "/// (LIBDISPATCH, row\n/// 15)", "let a = 3 \u{2F}/ Systemd.md, fact 999",
        ]
        for text in stale { #expect(references.problems(inComments: text).count == 1, "\(text)") }
        let documents = [
            "`Engine.handle` in `Sources/Engine/Engine.swift`, `Engine/Door`, `EventSources/Path/…Source.swift`",
            "`.ci/run`, `Key=`, `/etc/watchd`, `DispatchSemaphore.wait(timeout:)`, <doc:Dispatch>",
            "`swift test --filter '^EngineTests\\.'`, `Width=N Type=concurrent`", "    `Gone` in an example",
        ]
        #expect(documents.flatMap(references.problems(inDocument:)) == [])
        let gone = [
            "`Sources/Engine/Gone.swift`", "`Engine/Gone.swift`", "`Gone`", "`Engine.goneAndForgotten`", "<doc:Gone>",
            "`EventSources/Path/…Gone.swift`", "`swift test --filter goneTests`", "Gone.md", "`Tests/Gone/run 3`",
        ]
        for text in gone { #expect(references.problems(inDocument: text).count == 1, "\(text)") }
    }
}
