import ConfigurationFiles
import ControlInterface
import Varlink
import WatchFile

extension Verb {
    /// In ms: a reload waits for the running operation of the queue `main`, and for the new sources.
    private static let spanOfReload = 60_000

    static let reload = Verb(
        name: "reload", operands: "[FILE…]", operandCount: 0...Int.max, options: [.plan, .verbose, .quiet],
        changes: true, summary: "read the watch files again; if they have errors, nothing changes",
        notes: [
            "With --plan nothing changes: it says what would, with the files that watchd reads, or with the files and",
            "folders that are named, as if watchd had been started with them.",
        ]
    ) { (invocation, session) throws(Failure) in
        let isPlan = invocation.has(.plan)
        if let file = invocation.operands.first, !isPlan {
            throw .usage(
                "watchd reloads the files that it was started with, not “\(file)”",
                help: "watchctl reload --plan \(file) says what it would change")
        }
        let files = invocation.operands.isEmpty ? nil : try read(invocation.operands)
        guard !invocation.has(.quiet) else { return try reloadQuietly(session, isPlan: isPlan) }
        try session.show(Reload.self, .init(plan: isPlan ? true : nil, files: files), taking: spanOfReload) {
            lines($0, isPlan: isPlan, isVerbose: invocation.has(.verbose))
        }
        return .done
    }

    /// For the service manager, whose journal has all of it from watchd already.
    private static func reloadQuietly(_ session: Session, isPlan: Bool) throws(Failure) -> ExitCode {
        if isPlan { throw .usage("--plan and --quiet exclude each other") }
        do throws(Failure) {
            _ = try session.call(Reload.self, .init(), taking: spanOfReload)
            return .done
        } catch {
            guard error.exitCode == .badWatchFile else { throw error }
            return error.exitCode
        }
    }

    private static func read(_ operands: [String]) throws(Failure) -> [Reload.File] {
        let (texts, diagnostics) = ConfigurationFiles.read(arguments: operands)
        guard !diagnostics.contains(where: { $0.severity == .error }) else {
            throw Failure(
                message: "the named files cannot be read", details: diagnostics.map { $0.rendered() }, exitCode: .failed
            )
        }
        var files: [Reload.File] = []
        for text in texts {
            guard let string = String(validating: text.bytes, as: UTF8.self) else {
                throw Failure(
                    message: "\(text.file) is not UTF-8", help: "watchctl check \(text.file) says where",
                    exitCode: .failed)
            }
            files.append(Reload.File(name: text.file, text: string, dropInOf: text.dropInOf))
        }
        guard files.reduce(0, { $0 + $1.text.utf8.count }) < ServerConnection.maximumMessageSize / 2 else {
            throw Failure(message: "the files are too long to be sent to watchd", exitCode: .failed)
        }
        return files
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
