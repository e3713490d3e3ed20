import ControlInterface
import Engine
import EventSources
import JSON
import LinuxSystem
import Schedule
import Varlink
import WatchFile

/// The checked request of `Submit`: nothing in it is larger than it may be, and the user is the one that the kernel
/// names for the client.
struct Submission: Sendable {
    /// Without its caller.
    var command: EngineCommand.SubmitCommand

    /// - Throws: what is wrong with it, as a sentence.
    init(_ parameters: Submit.Parameters, _ peer: Peer) throws(ManagerError) {
        let bytes = try Self.bytes(parameters)
        var fact = CommandFact(
            bytes.command, environment: try Self.variables(bytes.environment), folder: bytes.folder,
            mask: try Self.mask(parameters.umask), user: try Self.user(parameters.user, peer))
        (fact.name, fact.key) = (parameters.name, parameters.key.map { Self.key($0, peer) })
        (fact.isBarrier, fact.priority) = (parameters.barrier ?? false, try Self.priority(parameters.priority))
        try Self.checkManners(fact, peer)
        if let timeout = parameters.timeoutUsec, timeout < 0 { throw .refused(reason: "a span is not negative") }
        if let timeout = parameters.timeoutUsec {
            guard timeout > 0 else { throw .refused(reason: "a time-out of 0 leaves no time to run") }
            fact.timeout = TimeSpan(microseconds: UInt64(timeout))
        }
        if let traceparent = parameters.traceparent { fact.take(traceparent: traceparent) }
        fact.notBefore = try Self.time(at: parameters.at, in: parameters.inUsec)
        fact.retries = parameters.retry ?? 0
        guard (0...Submit.retryLimit).contains(fact.retries) else {
            throw .refused(reason: "the number of further attempts is between 0 and \(Submit.retryLimit)")
        }
        let after = (parameters.after ?? []).map { UInt64(clamping: $0) }
        guard after.count <= Submit.afterLimit else {
            throw .refused(reason: "it may wait for at most \(Submit.afterLimit) operations")
        }
        if parameters.requires == true, after.isEmpty {
            throw .refused(reason: "there is no operation in after whose success it requires")
        }
        try Self.check(fact)
        command = EngineCommand.SubmitCommand(
            queue: parameters.queue, fact, after: after, delay: parameters.inUsec.map(Int64.init),
            waits: parameters.wait ?? false)
        command.isRequired = parameters.requires ?? false
        command.isAwaited = parameters.awaited ?? false
    }

    // MARK: Bytes

    private typealias Bytes = (command: [[UInt8]], environment: [[UInt8]], folder: [UInt8])

    private static func bytes(_ parameters: Submit.Parameters) throws(ManagerError) -> Bytes {
        let (environment, folder) = (parameters.environment ?? [], parameters.directory)
        guard parameters.base64 == true else {
            return (
                parameters.command.map { Array($0.utf8) }, environment.map { Array($0.utf8) },
                Array((folder ?? "/").utf8)
            )
        }
        var (command, variables): ([[UInt8]], [[UInt8]]) = ([], [])
        for word in parameters.command { command.append(try decoded(word)) }
        for word in environment { variables.append(try decoded(word)) }
        return (command, variables, try folder.map(decoded) ?? [UInt8(ascii: "/")])
    }

    private static func decoded(_ text: String) throws(ManagerError) -> [UInt8] {
        guard let bytes = Base64.decode(text) else {
            throw .refused(reason: "with base64, every string of command, environment and directory is Base64")
        }
        return bytes
    }

    private static func variables(_ words: [[UInt8]]) throws(ManagerError) -> [EnvironmentVariable] {
        guard words.count <= Submit.countLimit else {
            throw .refused(reason: "it has more than \(Submit.countLimit) environment variables")
        }
        var variables: [EnvironmentVariable] = []
        for word in words {
            guard let sign = word.firstIndex(of: UInt8(ascii: "=")), EnvironmentVariable.isName(word[..<sign]) else {
                let shown = Array(word.prefix { $0 != UInt8(ascii: "=") }.prefix(100)).printable
                throw .refused(reason: "an environment variable is NAME=VALUE, and “\(shown)” is no name for one")
            }
            guard !word.starts(with: "WATCHD_".utf8) else {
                throw .refused(reason: "environment variables whose names begin with WATCHD_ are set by watchd itself")
            }
            let name = String(decoding: word[..<sign], as: UTF8.self)
            variables.append(EnvironmentVariable(name: name, value: Array(word[(sign + 1)...])))
        }
        return variables
    }

    private static func check(_ fact: CommandFact) throws(ManagerError) {
        guard let program = fact.arguments.first, !program.isEmpty else {
            throw .refused(reason: "there is no command")
        }
        guard fact.arguments.count <= Submit.countLimit else {
            throw .refused(reason: "it has more than \(Submit.countLimit) arguments")
        }
        guard fact.folder.first == UInt8(ascii: "/"), fact.folder.count < 4096 else {
            throw .refused(reason: "the folder to run in is an absolute path of less than 4096 bytes")
        }
        if fact.name?.utf8.count ?? 1 == 0 || fact.name?.utf8.count ?? 0 > Submit.nameLimit {
            throw .refused(reason: "a name has 1 to \(Submit.nameLimit) bytes")
        }
        if fact.key?.count ?? 0 > Submit.keyLimit {
            throw .refused(reason: "a key has at most \(Submit.keyLimit) bytes")
        }
        let variables = fact.environment.map { $0.name.utf8.count + 1 + $0.value.count }
        let sizes = fact.arguments.map(\.count) + variables
        if let longest = sizes.max(), longest >= Submit.stringLimit {
            throw .refused(
                reason: "an argument or environment variable has \(longest) bytes, and no program takes one of "
                    + "\(Submit.stringLimit) or more")
        }
        let size = sizes.reduce(0, +)
        guard size <= Submit.sizeLimit else {
            throw .refused(
                reason: "its arguments and environment have \(size) bytes, more than \(Submit.sizeLimit); "
                    + "a file can hold what is larger")
        }
        let strings = fact.arguments + fact.environment.map(\.value) + [fact.folder]
        if strings.contains(where: { $0.contains(0) }) {
            throw .refused(reason: "no argument, variable or path can have a NUL in it")
        }
    }

    // MARK: The rest

    /// Those who may not do everything have keys of their own, or one user could keep the commands of another waiting.
    private static func key(_ key: String, _ peer: Peer) -> [UInt8] {
        Array((peer.role == .administrator ? key : "\(peer.userID)/\(key)").utf8)
    }

    private static func checkManners(_ fact: CommandFact, _ peer: Peer) throws(ManagerError) {
        guard peer.role != .administrator, fact.isBarrier || fact.priority > .normal else { return }
        throw .notPermitted(reason: "only root and the group watchd put barriers and higher priorities before others")
    }

    private static func mask(_ mask: Int?) throws(ManagerError) -> UInt32 {
        guard let mask else { return 0o022 }
        guard (0...0o777).contains(mask) else { throw .refused(reason: "umask is between 0 and 0777") }
        return UInt32(mask)
    }

    private static func priority(_ name: String?) throws(ManagerError) -> OperationPriority {
        guard let name else { return .normal }
        if let priority = OperationPriority(rawValue: name) { return priority }
        let all = OperationPriority.allCases.map(\.rawValue).joined(separator: ", ")
        throw .refused(reason: "there is no such priority; there are \(all)")
    }

    static func time(at text: String?, in span: Int?) throws(ManagerError) -> Int64? {
        if let span, span < 0 { throw .refused(reason: "a span is not negative") }
        if let span, span > Submit.spanLimit { throw .refused(reason: "a span is at most 100 years") }
        guard let text else { return nil }
        guard span == nil else { throw .refused(reason: "it has either a time or a span to wait for") }
        guard let time = try? Timestamp(parsing: text), time.microseconds >= 0 else {
            throw .refused(reason: "its time is none: 2026-11-20T18:04:05Z would be one")
        }
        return time.microseconds
    }

    /// The user is the one that the kernel names for the client; another one is for those who may do everything.
    private static func user(_ name: String?, _ peer: Peer) throws(ManagerError) -> CommandFact.User {
        let own = Linux.effectiveUserID
        if let name {
            guard peer.role == .administrator else {
                throw .notPermitted(reason: "only root and the group watchd run commands as another user")
            }
            guard own == 0 || (UInt32(name) ?? (try? Linux.account(named: name))?.userID) == own else {
                throw .refused(reason: "watchd runs as user \(own), not as root, and can run nothing as another user")
            }
            guard !name.isEmpty, name.utf8.count <= Submit.nameLimit, !name.utf8.contains(0) else {
                throw .refused(reason: "a user is a name or a number")
            }
            return .named(name)
        }
        guard own == 0 || peer.userID == own else {
            throw .refused(
                reason: "watchd runs as user \(own), not as root, and can run commands of that user only, not of user "
                    + "\(peer.userID)")
        }
        guard let groups = peer.groups else {
            throw .refused(reason: "the kernel does not tell which groups you are in (SO_PEERGROUPS)")
        }
        return .credentials(UserCredentials(user: peer.userID, group: peer.groupID, groups: groups))
    }
}

extension Runtime {
    /// - Parameter ancestry: of a client that waits.
    func submit(
        _ submission: Swift.Result<Submission, ManagerError>, on queue: String, _ peer: Peer, _ ancestry: Ancestry?,
        _ done: @escaping Request.Completion
    ) {
        maySubmit(to: queue, peer) { [unowned self] isAllowed in
            // A client without the right is told nothing else.
            guard isAllowed else { return done(.error(.permissionDenied)) }
            take(submission, peer, ancestry, done)
        }
    }

    /// Whether a client may put commands on a queue.
    func maySubmit(to queue: String, _ peer: Peer, _ done: @escaping (Bool) -> Void) {
        if peer.role == .administrator { return done(true) }
        guard let who = engine.submitters(ofQueue: queue) else { return done(false) }
        isAmong(who, peer, done)
    }

    /// A group is looked up beside the core; who is in it, the kernel has said.
    private func isAmong(
        _ submitters: QueueDefinition.Submitters, _ peer: Peer, _ done: @escaping (Bool) -> Void
    ) {
        let groups = Set((peer.groups ?? []) + [peer.groupID])
        switch submitters {
        case .users: done(true)
        case .group(let name):
            if let number = UInt32(name) ?? submitterGroups[name] { return done(groups.contains(number)) }
            let finish = QueueBound(
                { [unowned self] (number: UInt32?) in
                    submitterGroups[name] = number
                    done(number.map(groups.contains) ?? false)
                }, to: core)
            slow.submit("the group \(name)") { [core] in
                let number = (try? Linux.groupID(named: name)) ?? nil
                core.async { finish.value(number) }
            }
        }
    }

    private func take(
        _ submission: Swift.Result<Submission, ManagerError>, _ peer: Peer, _ ancestry: Ancestry?,
        _ done: @escaping Request.Completion
    ) {
        switch submission {
        case .failure(let error): done(.of(error))
        case .success(let submission):
            // A store that could not be opened yet may have the operation that it is to wait for.
            if let id = submission.command.after.first(where: { engine.operation($0) == nil }),
                persistence?.hasOpened == false
            {
                return done(.of(missing(id)))
            }
            var request = submission.command
            request.caller = ancestry.flatMap(waiter)
            // Else QoS= of the queue would not bound what they ask for.
            request.raisesQoS = peer.role == .administrator
            submit(request, peer, done)
        }
    }

    private func submit(
        _ request: EngineCommand.SubmitCommand, _ peer: Peer, _ done: @escaping Request.Completion
    ) {
        command(.submit(request), of: peer) { [unowned self] answer in
            switch answer {
            case .failure(.endUnknown(let id)):
                // It has ended: the history says how.
                ended(id) { [unowned self] result in
                    guard case .success(let operation?) = result, request.ends[id] == nil else {
                        return done(Self.failure(answer))
                    }
                    var request = request
                    request.ends[id] = operation.result
                    submit(request, peer, done)
                }
            case .operations(let ids): done(.of(Submit.Reply(operation: ids.first.map { Int($0) })))
            case .ran(let view):
                var reply = Submit.Reply(operation: Int(view.id))
                reply.result = view.result.map(OperationSummary.Result.init)
                (reply.exitStatus, reply.reason) = (view.exit.wire.status, view.endReason)
                done(.of(reply))
            case .refused(let result, let reason):
                done(.of(Submit.Reply(result: OperationSummary.Result(result), reason: reason)))
            default: done(Self.failure(answer))
            }
        }
    }
}

extension OperationView {
    /// Of what a signal has ended, that signal first.
    var endReason: String? {
        let words = [exit.wire.signal, reason].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}
