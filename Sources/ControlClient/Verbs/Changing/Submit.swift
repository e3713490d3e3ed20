import ControlInterface
import JSON
import LinuxSystem
import Schedule
import WatchFile

extension Invocation {
    /// `run --queue`: a command for a queue.
    var isSubmission: Bool { verb.name == "run" && has(.queue) }
}

/// `run --queue`: any command, now or later, under the rules of a queue.
extension Verb {
    static let submissionOptions: [Option] = [
        .queue, .key, .after, .requires, .at, .delay, .retries, .name, .environment, .barrier, .priority, .user,
        .output,
    ]

    static func submit(_ invocation: Invocation, _ session: Session) throws(Failure) -> ExitCode {
        var parameters = try submission(invocation, session)
        let follows = try followsOutput(invocation)
        // A wait inside a run is refused where it could never end, and what is followed is not waited for.
        if follows, !Session.isInsideRun { return try submitAndFollow(parameters, session) }
        guard invocation.has(.wait) || follows else {
            return code(try session.show(Submit.self, parameters) { [sentence($0)] }, waits: false)
        }
        if Session.isInsideRun { parameters.wait = true } else { parameters.awaited = true }
        var reply = try session.reply(Submit.self, parameters, taking: parameters.wait == true ? nil : 0)
        if let id = reply.operation, reply.result == nil {
            let end = try session.end(of: id)
            (reply.operation, reply.result, reply.exitStatus) = (end.id, end.result, end.exitStatus)
            reply.reason = end.endReason
        }
        if session.isJSON {
            if let text = try? JSON.encode(reply) { session.print(json: text) }
            return code(reply, waits: true)
        }
        if let id = reply.operation { showOutput(of: id, session) }
        session.remark(ended(reply).rendered(coloured: session.screen.isColoured) + "\n")
        return code(reply, waits: true)
    }

    /// Prints what it writes as it writes it, and ends as it does.
    private static func submitAndFollow(
        _ parameters: Submit.Parameters, _ session: Session
    ) throws(Failure) -> ExitCode {
        let reply = try session.reply(Submit.self, parameters)
        guard let id = reply.operation else {
            session.remark(ended(reply).rendered(coloured: session.screen.isColoured) + "\n")
            return .failed
        }
        session.remark("operation \(id)\n")
        try follow(id, session)
        let end = try session.end(of: id)
        guard let result = end.result else { return .failed }
        let text = Submit.Reply(operation: id, result: result, exitStatus: end.exitStatus, reason: end.endReason)
        session.remark(ended(text).rendered(coloured: session.screen.isColoured) + "\n")
        return code(result, end.exitStatus)
    }

    private static func code(_ reply: Submit.Reply, waits: Bool) -> ExitCode {
        guard reply.operation != nil else { return .failed }
        return waits ? reply.result.map { code($0, reply.exitStatus) } ?? .failed : .done
    }

    /// Its number alone, for scripts.
    private static func sentence(_ reply: Submit.Reply) -> Styled {
        reply.operation.map { Styled(String($0)) } ?? ended(reply)
    }

    private static func ended(_ reply: Submit.Reply) -> Styled {
        let name = reply.operation.map { "operation \($0)" } ?? "the command"
        guard let result = reply.result else { return Styled(name) }
        if reply.operation == nil {
            return Styled("\(name): ") + OperationText.result(result) + Styled(reply.reason.map { ", \($0)" } ?? "")
        }
        return Styled("\(name): ")
            + OperationText.whole(result, exitStatus: reply.exitStatus, reason: reply.reason)
    }

    // MARK: The request

    private static func submission(
        _ invocation: Invocation, _ session: Session
    ) throws(Failure) -> Submit.Parameters {
        let (command, variables) = (invocation.operandBytes, try environment(invocation))
        let folder = try folder()
        let size = (command + variables).reduce(0) { $0 + $1.count }
        guard size <= Submit.sizeLimit else {
            throw .usage(
                "the command and its environment have \(size) bytes, and watchd takes \(Submit.sizeLimit)",
                help: "a file can hold what is larger")
        }
        let isText = (command + variables + [folder]).allSatisfy(isPlainText)
        func text(_ bytes: [UInt8]) -> String {
            isText ? String(decoding: bytes, as: UTF8.self) : Base64.encode(bytes)
        }
        var parameters = Submit.Parameters(queue: invocation.options[.queue] ?? "", command: command.map(text))
        parameters.environment = variables.isEmpty ? nil : variables.map(text)
        (parameters.directory, parameters.base64) = (text(folder), isText ? nil : true)
        parameters.umask = Linux.fileModeMask.map { Int($0) }
        (parameters.name, parameters.key) = (invocation.options[.name], invocation.options[.key])
        parameters.after = try after(invocation)
        parameters.requires = invocation.has(.requires) ? true : nil
        if parameters.requires == true, parameters.after == nil {
            throw .usage("--requires is about the operations of --after, and there is none")
        }
        parameters.at = try plannedTime(invocation, session)
        parameters.inUsec = try finiteSpan(.delay, invocation)
        parameters.timeoutUsec = try span(.timeout, invocation)
        parameters.retry = try retries(invocation)
        parameters.barrier = invocation.has(.barrier) ? true : nil
        parameters.priority = invocation.options[.priority]
        if let level = parameters.priority { try checkPriority(level) }
        parameters.user = try user(invocation)
        parameters.traceparent = traceparent
        if parameters.at != nil, parameters.inUsec != nil { throw .usage("--at and --in exclude each other") }
        return parameters
    }

    /// UTF-8 without the control characters that take six bytes each in JSON.
    private static func isPlainText(_ bytes: [UInt8]) -> Bool {
        String(validating: bytes, as: UTF8.self) != nil
            && bytes.allSatisfy { $0 >= 0x20 || [UInt8(ascii: "\n"), UInt8(ascii: "\t")].contains($0) }
    }

    /// `--env NAME=VALUE`, `--env NAME`; and the `PATH` by which the command would be found here.
    private static func environment(_ invocation: Invocation) throws(Failure) -> [[UInt8]] {
        var variables: [[UInt8]] = []
        for word in ["PATH"] + (invocation.values[.environment] ?? []) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard EnvironmentVariable.isName(name.utf8) else {
                throw .usage("--env takes NAME=VALUE, or the NAME of what is set here, not “\(word)”")
            }
            if parts.count == 2 {
                variables.append(Array(word.utf8))
            } else if let value = Linux.environment(name) {
                variables.append(Array("\(name)=".utf8) + value)
            } else if word != "PATH" {
                throw .usage("--env \(name): it is not set here", help: "--env \(name)=VALUE sets it")
            }
        }
        return variables
    }

    private static func folder() throws(Failure) -> [UInt8] {
        do throws(SystemError) {
            return try Linux.readlink("/proc/self/cwd")
        } catch {
            throw Failure(message: "the folder to run in is not known: \(error)", exitCode: .failed)
        }
    }

    private static func after(_ invocation: Invocation) throws(Failure) -> [Int]? {
        var ids: [Int] = []
        for word in (invocation.values[.after] ?? []).flatMap(listed) {
            guard let id = Int(word), id > 0 else {
                throw .usage("--after takes the number of an operation, not “\(word)”")
            }
            ids.append(id)
        }
        return ids.isEmpty ? nil : ids
    }

    /// The parts of a list with commas, spaces or both between them; an empty one where nothing stands.
    private static func listed(_ text: String) -> [Substring] {
        text.split(separator: ",", omittingEmptySubsequences: false).flatMap {
            let words = $0.split(separator: " ")
            return words.isEmpty ? [""] : words
        }
    }

    /// In microseconds.
    /// - Throws: a usage error where the span never ends: nothing would be started.
    static func finiteSpan(_ option: Option, _ invocation: Invocation) throws(Failure) -> Int? {
        guard invocation.has(option) else { return nil }
        guard let span = try span(option, invocation) else { throw .usage("\(option.rawValue) takes a span that ends") }
        return span
    }

    /// In microseconds; `nil` where none is given, or one that never ends.
    private static func span(_ option: Option, _ invocation: Invocation) throws(Failure) -> Int? {
        guard let span = try invocation.span(option), span != .infinity else { return nil }
        return Int(clamping: min(span.microseconds, UInt64(Int.max / 2)))
    }

    private static func retries(_ invocation: Invocation) throws(Failure) -> Int? {
        guard let count = try invocation.number(.retries) else { return nil }
        guard (0...Submit.retryLimit).contains(count) else {
            throw .usage("--retry takes a whole number from 0 to \(Submit.retryLimit), not \(count)")
        }
        return count
    }

    private static func user(_ invocation: Invocation) throws(Failure) -> String? {
        guard let name = invocation.options[.user] else { return nil }
        if UInt32(name) == nil, (try? Linux.account(named: name)) == .some(nil) {
            let nearest = Spelling.nearest(to: name, among: Linux.names(inDatabase: "/etc/passwd"))
            throw .usage("there is no user “\(name)”", help: nearest.map { "did you mean “\($0)”?" })
        }
        return name
    }
}
