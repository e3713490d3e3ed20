import LinuxSystem
import ProgramKit
import Testing

/// Every text that a person may be shown stands in `messages.txt`, so that a change of one is seen by whoever reads the
/// change: `WATCHD_GOLDEN=write swift test --filter MessagesTests` writes the file anew.
@Suite("Messages", .ownThread) struct MessagesTests {
    private static let golden = Repository.root + "/Tests/EndToEndTests/messages.txt"

    @Test func everyMessageIsAsItWasRead() throws {
        let found = try Self.messages()
        #expect(found.split(separator: "\n").count > 1000, "the messages were found")
        if Linux.environment("WATCHD_GOLDEN") == Array("write".utf8) {
            try Linux.writeFile(Self.golden, found)
        }
        let known = String(decoding: try Linux.readFile(Self.golden), as: UTF8.self)
        let changes = found.split(separator: "\n").difference(from: known.split(separator: "\n"))
        let shown = changes.map { change in
            switch change {
            case .insert(_, let line, _): "+ \(line)"
            case .remove(_, let line, _): "- \(line)"
            }
        }
        #expect(changes.isEmpty, "read them, then write messages.txt anew: \(shown.joined(separator: "\n"))")
    }

    @Test func literalsAreFoundAsTheyStand() {
        let text = #"""
            let a = "one \(b ? "two" : "three") four" // "not this"
            /// "nor this"
            let c = """
                five
                six
                """
            """#
        #expect(SwiftLiterals(text).all == [#"one \(b ? "two" : "three") four"#, "two", "three", "five\nsix"])
    }

    /// File by file, each message on a line.
    private static func messages() throws -> String {
        var text = ""
        for path in try Repository.files(Repository.root + "/Sources").sorted() {
            let name = path.dropFirst(Repository.root.count + 1)
            // The interface's description is a text of its own.
            if name.contains("/Manager+") { continue }
            let literals = SwiftLiterals(String(decoding: try Linux.readFile(path), as: UTF8.self)).all
            let messages = literals.filter(isMessage).map { "    " + $0.replacing("\n", with: "⏎") + "\n" }
            if !messages.isEmpty { text += "\(name)\n" + messages.joined() }
        }
        return text
    }

    private static let statements = ["SELECT", "INSERT", "DELETE", "UPDATE", "PRAGMA", "CREATE", "DROP", "REPLACE"]

    /// At least two words, and no statement of SQL.
    private static func isMessage(_ literal: String) -> Bool {
        let words = literal.split { " \n".contains($0) }
        return words.count { $0.contains { $0.isLowercase } } >= 2
            && !statements.contains { literal.hasPrefix($0 + " ") }
    }
}

/// The string literals of a Swift file, those inside interpolations too.
private struct SwiftLiterals {
    /// Begin a literal or a comment, or are a parenthesis.
    private static let marks = Set("/\"()".utf8)

    private(set) var all: [String] = []
    private var rest: Substring

    init(_ text: String) {
        rest = text[...]
        scan()
    }

    /// Goes through code up to its end, or to the parenthesis that ends an interpolation.
    private mutating func scan() {
        var depth = 0
        while let place = rest.utf8.firstIndex(where: Self.marks.contains) {
            rest = rest[place...]
            guard let next = rest.first else { return }
            if rest.hasPrefix("//") {
                rest = rest[(rest.utf8.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex)...]
            } else if next == "\"" {
                literal()
            } else {
                if next == "(" { depth += 1 }
                if next == ")" { depth -= 1 }
                rest.removeFirst()
                if depth < 0 { return }
            }
        }
    }

    private mutating func literal() {
        let mark = rest.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
        rest.removeFirst(mark.count)
        let place = all.count
        var text = ""
        while true {
            let plain = rest.utf8.prefix { $0 != UInt8(ascii: "\\") && $0 != UInt8(ascii: "\"") }
            text += Substring(plain)
            rest = rest[plain.endIndex...]
            if rest.isEmpty || rest.hasPrefix(mark) { break }
            let start = rest
            if rest.hasPrefix("\\(") {
                rest.removeFirst(2)
                scan()
            } else {
                rest.removeFirst(rest.hasPrefix("\\") ? 2 : 1)
            }
            text += start[..<rest.startIndex]
        }
        rest.removeFirst(min(mark.count, rest.count))
        all.insert(mark.count == 3 ? Self.unindented(text) : text, at: place)
    }

    private static func unindented(_ text: String) -> String {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
