import LinuxSystem

/// What comments and documents of the repository refer to: articles of the documentation catalogue, paths, types and
/// their members. Finds the references that lead nowhere.
struct References: Sendable {
    static let catalogue = "Sources/Daemon/Documentation.docc"

    /// One article of the catalogue.
    private struct Article {
        /// Numbers at the beginning of its tables' rows.
        var facts: Set<Int> = []
        /// A number that stands before two facts.
        var repeated: Set<Int> = []
        var headings: Set<Substring> = []

        init(_ text: String) {
            for line in text[...].parts(between: "\n") {
                if line.hasPrefix("#") {
                    headings.insert(line.drop { $0 == "#" || $0 == " " })
                } else if line.hasPrefix("| "), let number = Int(line.dropFirst(2).prefix { $0 != " " }),
                    !facts.insert(number).inserted
                {
                    repeated.insert(number)
                }
            }
        }
    }

    /// Names of other libraries and of the control interface.
    private static let foreign: Set<Substring> = [
        "OperationQueue", "Task", "Mutex", "Glibc", "Dispatch", "FoundationEssentials", "WouldDeadlock",
    ]
    private static let typeWords: Set<Substring> = [
        "struct", "class", "enum", "protocol", "actor", "typealias", "extension",
    ]
    private static let memberWords: Set<Substring> = ["func", "var", "let", "case", "init"]

    private let root: String
    private var articles: [Substring: Article] = [:]
    /// Declared in the sources and tests.
    private var types: Set<Substring> = []
    private var members: Set<Substring> = []
    /// Names of folders with sources, at any depth.
    private var folders: Set<Substring> = []
    /// The rules of the formatter.
    private let rules: String

    init(root: String = Repository.root) throws {
        self.root = root
        rules = try Self.text("\(root)/.swift-format")
        for path in try Repository.files("\(root)/\(Self.catalogue)", suffix: ".md") {
            let name = path.dropFirst("\(root)/\(Self.catalogue)/".count).dropLast(3)
            articles[name] = Article(try Self.text(path))
        }
        // Those in C, too.
        folders = Set(
            try Linux.readFolder("\(root)/Sources").map { Substring(String(decoding: $0.name, as: UTF8.self)) })
        for path in try Repository.files("\(root)/Sources") + Repository.files("\(root)/Tests") {
            for line in try Self.text(path)[...].parts(between: "\n") { note(line) }
            folders.formUnion(path.dropFirst(root.count).split(separator: "/").dropLast())
        }
    }

    static func text(_ path: String) throws -> String { String(decoding: try Linux.readFile(path), as: UTF8.self) }

    private mutating func note(_ line: Substring) {
        let words = line.parts(between: " ")
        if words.first?.hasPrefix("//") ?? true { return }
        for (word, next) in zip(words, words.dropFirst()) {
            if Self.typeWords.contains(word) {
                types.insert(Self.identifier(next))
            } else if Self.memberWords.contains(word) {
                members.insert(Self.identifier(next))
            }
        }
    }

    private static func identifier(_ word: Substring) -> Substring {
        word.prefix { $0 == "_" || $0.isLetter || $0.isNumber }
    }

    /// The numbers that two facts of an article have.
    var repeatedFacts: [String] {
        articles.flatMap { name, article in article.repeated.map { "\(name).md has two facts \($0)" } }
    }

    var factCount: Int { articles.values.reduce(0) { $0 + $1.facts.count } }

    // MARK: Comments

    /// Of the comments of a source: references to articles and to documents that there are not.
    func problems(inComments text: String) -> [String] {
        var blocks: [String] = []
        var isOpen = false
        for line in text[...].parts(between: "\n", keepingEmpty: true) {
            guard let comment = Self.comment(of: line) else {
                isOpen = false
                continue
            }
            if isOpen { blocks[blocks.count - 1] += " " + comment } else { blocks.append(String(comment)) }
            isOpen = true
        }
        return blocks.flatMap(problems(inText:))
    }

    /// The text behind `//` or `///`; `nil`: the line has none.
    private static func comment(of line: Substring) -> Substring? {
        guard line.has("//") else { return nil }
        let code = line.drop { $0 == " " }
        guard let place = code.hasPrefix("//") ? code.startIndex : code.firstRange(of: " // ")?.lowerBound else {
            return nil
        }
        return code[place...].drop { $0 == "/" || $0 == " " }
    }

    /// References such as `Dispatch.md, facts 3–8` and `Semantics.md, "Key"`.
    func problems(inText text: String) -> [String] {
        var problems: [String] = []
        if text[...].has(".md") {
            for match in text.matches(of: /([A-Z][A-Za-z]*)\.md(?:, facts? ([0-9]+)(?:–([0-9]+))?|, "([^"]+)")?/) {
                let (whole, name, first, last, heading) = match.output
                guard let article = articles[name] else {
                    let isFile = [name + ".md", ".github/" + name + ".md"].contains { exists(String($0)) }
                    if !isFile { problems.append("\(whole): there is no such article") }
                    continue
                }
                if let number = first.flatMap({ Int($0) }) {
                    let numbers = number...max(number, last.flatMap { Int($0) } ?? number)
                    let missing = numbers.filter { !article.facts.contains($0) }
                    if !missing.isEmpty { problems.append("\(whole): there is no fact \(missing)") }
                }
                if let heading, !article.headings.contains(heading) {
                    problems.append("\(whole): there is no such heading")
                }
            }
        }
        let isCited = [", row", ", rule", ", section", ", \""].contains(where: text[...].has)
        for match in isCited ? text.matches(of: /\(([A-Z][A-Z-]{3,}), (?:rows?|rules?|section|") ?/) : [] {
            let name = match.output.1
            if !exists("\(name).md") { problems.append("\(name) is no document of the repository") }
        }
        return problems
    }

    // MARK: Documents

    /// Of a document in Markdown: paths, types and members in code voice, links to articles, and what comments may have.
    func problems(inDocument text: String) -> [String] {
        var problems: [String] = []
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("    ") }
        let prose = lines.joined(separator: " ")
        for match in prose.matches(of: /<doc:([A-Za-z]+)>/) where articles[match.output.1] == nil {
            problems.append("\(match.output.0): there is no such article")
        }
        for (index, part) in prose.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        where !index.isMultiple(of: 2) {
            problems += self.problems(inCode: part)
        }
        return problems + self.problems(inText: prose)
    }

    private func problems(inCode code: Substring) -> [String] {
        let words = code.split(separator: " ")
        var problems = words.filter { $0.contains("/") && !isPath($0) }.map { "`\($0)`: there is no such path" }
        for (word, next) in zip(words, words.dropFirst()) where word == "--filter" {
            let name = Self.identifier(next.drop { !$0.isLetter })
            if !types.contains(name), !folders.contains(name), !members.contains(where: { $0.hasPrefix(name) }) {
                problems.append("\(next): there is no such test")
            }
        }
        if words.count == 1, let problem = nameProblem(words[0]) { problems.append(problem) }
        return problems
    }

    /// `Engine`, `Engine.handle`, `PathSource.tell(_:)`.
    private func nameProblem(_ word: Substring) -> String? {
        guard
            let match = word.wholeMatch(
                of: /([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)(?:\.([a-z][A-Za-z]*))?(?:\([a-z_:]*\))?/)
        else { return nil }
        let (_, type, member) = match.output
        if Self.foreign.contains(type) || type.hasPrefix("Dispatch") && !types.contains(type) { return nil }
        if exists(String(word)) || folders.contains(word) || rules.contains("\"\(word)\"") { return nil }
        if !types.contains(type) { return "`\(word)`: there is no such type" }
        if let member, !members.contains(member) { return "`\(word)`: there is no such member" }
        return nil
    }

    /// Whether a word in code voice is a path that there is, below the root or below `Sources`; or none of the
    /// repository.
    private func isPath(_ word: Substring) -> Bool {
        if word.contains("=") || ["/", "$", "-", "<", ".build/"].contains(where: word.hasPrefix) { return true }
        let path = word.hasSuffix("/") ? word.dropLast() : word
        return exists(String(path)) || exists("Sources/\(path)") || exists("Tests/\(path)")
    }

    /// `…` stands for any part of a file's name.
    private func exists(_ path: String) -> Bool {
        guard let gap = path.firstRange(of: "…") else { return (try? Linux.stat("\(root)/\(path)")) != nil }
        let folder = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
        let (start, end) = (path[..<gap.lowerBound].dropFirst(folder.count + 1), path[gap.upperBound...])
        let entries = (try? Linux.readFolder("\(root)/\(folder)")) ?? []
        return entries.map { String(decoding: $0.name, as: UTF8.self) }.contains {
            $0.hasPrefix(start) && $0.hasSuffix(end)
        }
    }
}
