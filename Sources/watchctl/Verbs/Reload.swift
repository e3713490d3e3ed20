import ControlInterface

extension Verb {
    /// In ms: a reload waits for the running operation of the queue `main`, and for the new sources.
    private static let spanOfReload = 60_000

    static let reload = Verb(
        name: "reload", summary: "read the watch files again; if they have errors, nothing changes"
    ) { (_, session) throws(Failure) in
        try session.show(Reload.self, .init(), taking: spanOfReload) { reply in
            var lines = reply.diagnostics.flatMap(Styled.block)
            lines += reply.added.map { Styled("+ \($0)", .green) }
            lines += reply.changed.map { Styled("~ \($0)", .yellow) }
            lines += reply.removed.map { Styled("- \($0)", .red) }
            let isUnchanged = reply.added.isEmpty && reply.changed.isEmpty && reply.removed.isEmpty
            return lines + (isUnchanged ? [Styled("reloaded, nothing changed")] : [])
        }
        return .done
    }
}
