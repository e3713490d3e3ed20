import ControlInterface

extension Verb {
    /// In ms: a reload waits for the running operation of the queue `main`, and for the new sources.
    private static let spanOfReload = 60_000

    static let reload = Verb(
        name: "reload", operandCount: 0...Int.max, options: [.plan, .verbose],
        summary: "read the watch files again; if they have errors, nothing changes",
        notes: ["With --plan nothing changes: it says what would, with the files that watchd reads."]
    ) { (invocation, session) throws(Failure) in
        let isPlan = invocation.has(.plan)
        if let file = invocation.operands.first {
            throw .usage(
                "watchd plans with its own files only, not with “\(file)”",
                help: "watchctl check \(file) looks for errors; reload --plan compares the files that watchd reads")
        }
        try session.show(Reload.self, .init(plan: isPlan ? true : nil), taking: spanOfReload) {
            lines($0, isPlan: isPlan, isVerbose: invocation.has(.verbose))
        }
        return .done
    }

    private static func lines(_ reply: Reload.Reply, isPlan: Bool, isVerbose: Bool) -> [Styled] {
        var lines = reply.diagnostics.flatMap(Styled.block)
        lines += reply.warnings.map { Styled("! \($0)", .yellow) }
        lines += reply.added.map { Styled("+ \($0)", .green) }
        lines += reply.changed.map { Styled("~ \($0)", .yellow) }
        lines += reply.removed.map { Styled("- \($0)", .red) }
        let isUnchanged = reply.added.isEmpty && reply.changed.isEmpty && reply.removed.isEmpty
        guard isPlan else { return lines + (isUnchanged ? [Styled("reloaded, nothing changed")] : []) }
        if isVerbose { lines += reply.kept.map { Styled("  \($0)", .dim) } }
        let counts = [
            (reply.added, "added"), (reply.changed, "changed"), (reply.removed, "removed"), (reply.kept, "kept"),
        ].map { "\(Phrases.count($0.count)) \($1)" }
        return lines + [Styled("a reload would change this: " + counts.joined(separator: ", "))]
    }
}
