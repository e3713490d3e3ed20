import ControlInterface
import JSON

extension Verb {
    static let run = Verb(
        name: "run", operands: "NAME [PATH…] | COMMAND…", operandCount: 1...Int.max,
        brief:
            "[--wait|--changed|--at TIME] [--data N] [--line TEXT] NAME [PATH…] | --queue QUEUE [OPTION…] [--] COMMAND…",
        options: [.wait, .data, .line, .changed] + submissionOptions,
        hasCommand: { words, options in options[.queue] != nil && words.count > 1 },
        hasOwnTimeout: { $0[.queue] != nil }, firstPath: 1, names: .runnable, changes: true,
        summary: "start a handler, or the handlers of a source (for these paths), or a command on a queue",
        notes: [
            "--wait prints what it wrote, on standard error how it ended, and ends with its exit status; over a restart of",
            "the daemon that takes less than 30s it goes on with an operation that survives it, and says what became of others.",
            "That is the last 64 KiB of the last attempt; where there was more, standard error says how much is missing.",
            "--output prints each attempt as it comes, and says the same where it comes too fast.",
            "A path may be written as watchctl prints it: \\xHH for a byte, \\\\ for a backslash.",
            "What reads a descriptor that its source hands over (Accept=yes, Framing=ready) cannot be started by hand.",
            "A handler whose command uses %p, %f or %{line} is started with a PATH, or with --line.",
            "With a time it is started then, also after a restart; timers lists it, and cancel takes back its number.",
            "With --queue a COMMAND runs there, as who calls, in this folder, with this umask and PATH; its number is printed.",
            "--timeout is then how long each attempt of it may run; without --queue the other options mean nothing.",
        ]
    ) { (invocation, session) throws(Failure) in
        if invocation.isSubmission {
            if let alien = [Option.data, .line, .changed].first(where: invocation.has) {
                throw .usage("\(alien.rawValue) is for a handler or a source, not for a command")
            }
            return try submit(invocation, session)
        }
        let isOfBoth = timeOptions + [.output]
        if let alien = submissionOptions.first(where: { invocation.has($0) && !isOfBoth.contains($0) }) {
            throw .usage("\(alien.rawValue) is for a command: run --queue QUEUE [OPTION…] -- COMMAND…")
        }
        if invocation.has(.changed) { return try compare(invocation, session) }
        let name = invocation.operands[0]
        let paths = try invocation.operandBytes.dropFirst().map { path throws(Failure) in try PathArgument.path(path) }
        let follows = try followsOutput(invocation)
        let waits = invocation.has(.wait) || follows
        let lines = invocation.values[.line] ?? []
        if invocation.has(.data), !(paths.isEmpty && lines.isEmpty) {
            throw .usage("--data is for an event that has neither paths nor lines")
        }
        var parameters = Run.Parameters(
            name: name, lines: lines.isEmpty ? nil : lines, data: try invocation.number(.data))
        if waits { if Session.isInsideRun { parameters.wait = true } else { parameters.awaited = true } }
        parameters.set(paths: paths)
        parameters.traceparent = traceparent
        if let start = try startTime(invocation, session) {
            (parameters.at, parameters.inUsec) = start
            try session.show(Run.self, parameters) { reply in
                reply.operations.map { planned($0, "run \(name)", start, session) }
            }
            return .done
        }
        // A wait inside a run is refused where it could never end, and what is followed is not waited for.
        if waits { return try runAndShow(name, parameters, follows: follows && parameters.wait != true, session) }
        let reply = try session.show(Run.self, parameters) { [sentence(name, $0)] }
        return reply.operations.isEmpty ? .failed : .done
    }

    private static func compare(_ invocation: Invocation, _ session: Session) throws(Failure) -> ExitCode {
        guard invocation.operands.count == 1, !([.wait, .data, .line] + timeOptions).contains(where: invocation.has)
        else {
            throw .usage("--changed takes the name of one [Path], and nothing else")
        }
        let name = invocation.operands[0]
        // A tree may be large.
        _ = try session.show(Run.self, Run.Parameters(name: name, changed: true), taking: nil) { reply in
            let count = reply.changes ?? 0
            let found =
                switch count {
                case 0: "nothing found that was not told yet"
                case 1: "1 change found that was not told yet"
                default: "\(count) changes found that were not told yet"
                }
            return [Styled("\(name): \(found)")]
        }
        return .done
    }

    /// `--output`.
    static func followsOutput(_ invocation: Invocation) throws(Failure) -> Bool {
        guard invocation.has(.output) else { return false }
        if invocation.has(.json) { throw .usage("--output and --json exclude each other") }
        return true
    }

    /// Prints what an operation writes as it writes it, until its end.
    static func follow(_ id: Int, _ session: Session) throws(Failure) {
        var following = FollowedOutput(.init(id: id), isRaw: !session.screen.isTerminal, isOfRun: true)
        try following.print(session)
    }

    /// Waits, prints what the operations wrote, and says how they ended.
    ///
    /// - Parameter follows: prints what they write as they write it, of several one after the other.
    private static func runAndShow(
        _ name: String, _ parameters: Run.Parameters, follows: Bool, _ session: Session
    ) throws(Failure) -> ExitCode {
        var reply = try session.reply(Run.self, parameters, taking: parameters.wait == true ? nil : 0)
        if follows, !reply.operations.isEmpty {
            session.remark(sentence(name, reply).rendered(coloured: session.screen.isColoured) + "\n")
            for id in reply.operations { try follow(id, session) }
        }
        if reply.result == nil { try wait(for: &reply, session) }
        if session.isJSON {
            if let text = try? JSON.encode(reply) { session.print(json: text) }
            return code(reply)
        }
        if !follows { for id in reply.operations { showOutput(of: id, session) } }
        session.remark(sentence(name, reply).rendered(coloured: session.screen.isColoured) + "\n")
        return code(reply)
    }

    /// Waits for the ends, also over a restart of the daemon; the worst of them counts.
    private static func wait(for reply: inout Run.Reply, _ session: Session) throws(Failure) {
        let ends = try session.ends(of: reply.operations)
        reply.operations = ends.map(\.id)
        guard let worst = ends.worst else { return }
        (reply.result, reply.exitStatus, reply.unsaved) = (worst.result, worst.exitStatus, worst.unsaved)
        reply.reason = worst.endReason
    }

    static func showOutput(of id: Int, _ session: Session) {
        let operation: OperationDetail
        do throws(Failure) {
            operation = try session.reply(GetOperation.self, .init(id: id)).operation
        } catch {
            // A short history may have forgotten it.
            return session.remark("watchctl: what operation \(id) wrote is not known: \(error.message)\n")
        }
        let (text, base64) = (operation.output, operation.outputBase64)
        if operation.summary.foundAgain == true { session.remark("watchctl: \(RunText.lacksBeginning)\n") }
        if let missing = missing(operation) { session.remark(missing + "\n") }
        if session.screen.isTerminal {
            session.print(RunText.lines(text, base64) ?? [])
        } else {
            session.writeBytes(RunText.bytes(text, base64))
        }
    }

    /// `watchctl: … 934464 bytes are missing: watchd keeps the last 64 KiB of a run`; `nil`: all of it is there.
    private static func missing(_ operation: OperationDetail) -> String? {
        guard operation.outputCut == true else { return nil }
        let kept = RunText.bytes(operation.output, operation.outputBase64).count
        let count = operation.outputBytes.map { $0 - kept }
        guard count != 0 else { return nil }
        return "watchctl: … \(count.map { "\($0) bytes are" } ?? "the beginning is") missing: "
            + "watchd keeps the last \(kept >> 10) KiB of a run"
    }

    private static func code(_ reply: Run.Reply) -> ExitCode {
        guard !reply.operations.isEmpty, let result = reply.result else { return .failed }
        return code(result, reply.exitStatus)
    }

    static func code(_ result: OperationSummary.Result, _ exitStatus: Int?) -> ExitCode {
        if result == .done { return .done }
        return exitStatus.flatMap { $0 == 0 ? nil : ExitCode(rawValue: Int32($0)) } ?? .failed
    }

    private static func sentence(_ name: String, _ reply: Run.Reply) -> Styled {
        if reply.operations.isEmpty { return Styled("\(name): ") + refusal(reply) }
        let ids = reply.operations.map(String.init).joined(separator: ", ")
        let text = Styled("\(name): \(reply.operations.count == 1 ? "operation" : "operations") \(ids)")
        guard let result = reply.result else { return text }
        return text + Styled(": ") + OperationText.whole(result, exitStatus: reply.exitStatus, reason: reply.reason)
            + Styled(Phrases.unsaved(reply.unsaved, crash: "it runs again"))
    }

    /// Nothing was started: `skipped, Overflow=skip: operation 4 has not ended`.
    private static func refusal(_ reply: Run.Reply) -> Styled {
        guard let result = reply.result else { return Styled("nothing was started", .yellow) }
        return OperationText.result(result) + Styled(reply.reason.map { ", \($0)" } ?? "")
    }
}
