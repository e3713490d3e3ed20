import ControlInterface
import Schedule

extension Verb {
    static let completion = Verb(
        name: "completion", operands: "SHELL", operandCount: 1...1,
        summary: "print the script with which bash, zsh or fish completes watchctl",
        notes: ["The Debian package has installed them. By hand, for bash: source <(watchctl completion bash)"]
    ) { (invocation, session) throws(Failure) in
        guard let shell = Shell(rawValue: invocation.operands[0]) else {
            let known = Shell.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("there is no completion for “\(invocation.operands[0])”", help: "for one of \(known)")
        }
        session.write(shell.script)
        return .done
    }

    /// In ms: a shell that waits longer for a word is worse than one that offers none.
    private static let patienceOfShell = 500

    static let complete = Verb(
        name: "complete", operands: "KIND [PREFIX]", operandCount: 1...2,
        summary: "list names for the completion of a shell; none where no daemon answers",
        notes: ["Each line has a name that begins with PREFIX, a tab, and what it is."]
    ) { (invocation, session) throws(Failure) in
        guard let kind = NameKind(rawValue: invocation.operands[0]) else {
            let known = NameKind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .usage("there is no kind “\(invocation.operands[0])”", help: "one of \(known)")
        }
        var session = session
        session.limit = session.limit ?? patienceOfShell
        let prefix = invocation.operands.dropFirst().first ?? ""
        guard let found = try? Candidates(session).list(kind, prefix: prefix) else { return .done }
        // A line of its own for each, and nothing that a terminal acts on.
        session.write(found.map { "\(Styled($0.name).rendered(coloured: false))\t\(line($0.text))\n" }.joined())
        return .done
    }

    private static func line(_ text: String) -> String {
        Styled(String(text.prefix(60))).rendered(coloured: false).replacing("\n", with: " ").replacing("\t", with: " ")
    }
}
