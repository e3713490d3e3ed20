extension Verb {
    static let help = Verb(
        name: "help", operands: "[VERB]", operandCount: 0...1, options: [.mdoc], summary: "show this, or one verb"
    ) { (invocation, session) throws(Failure) in
        guard !invocation.has(.mdoc) else {
            session.write(ManualText.sections())
            return .done
        }
        guard let name = invocation.operands.first else {
            session.write(helpText())
            return .done
        }
        session.write(try named(name).helpText())
        return .done
    }

    /// All verbs, and the options that all of them have.
    static func helpText() -> String {
        let verbs = all.map { ("  " + $0.synopsis, $0.summary) }
        let options = Option.allCases.filter(Option.global.contains).map(entry)
        return """
            watchctl [OPTION…] [VERB] [OPERAND…]

            Asks and steers watchd. Without a verb: status. Names are “uploads” or, where that is ambiguous, “path/uploads”.

            \(columns(verbs))

            \(columns(options))

            Exit status: 0 done, 1 failed or not found, 2 usage, 3 watchd cannot be reached, 4 permission denied,
            78 bad watch file.

            """
    }

    /// This verb and its options.
    func helpText() -> String {
        let others = Option.allCases.filter { Option.global.contains($0) && !options.contains($0) }
        let entries = (options + others).map(Self.entry)
        return """
            watchctl \(synopsis)

            \((["\(summary.prefix(1).uppercased() + summary.dropFirst())."] + notes).joined(separator: "\n"))

            \(Self.columns(entries))

            """
    }

    private static func entry(_ option: Option) -> (String, String) {
        ("  " + option.rawValue + (option.value.map { " " + $0 } ?? ""), option.summary)
    }

    /// The second column begins at one place, or on the next line after a long first one.
    private static func columns(_ entries: [(String, String)]) -> String {
        let indent = min(entries.map(\.0.count).max() ?? 0, 28) + 2
        let space = String(repeating: " ", count: indent)
        return entries.map { entry in
            entry.0.count + 2 > indent
                ? "\(entry.0)\n\(space)\(entry.1)" : entry.0 + space.dropFirst(entry.0.count) + entry.1
        }.joined(separator: "\n")
    }
}
