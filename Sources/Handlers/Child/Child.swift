import Engine
import EventSources
import LinuxSystem
import WatchFile

/// Prepares and spawns one command of a run. Everything here may block, so it happens on a lane.
struct Child: Sendable {
    /// Why it could not be started.
    struct Failure: Error {
        var reason: String
        /// Something is used up for now (descriptors, processes, memory): worth another try.
        var isTransient: Bool

        init(reason: String, isTransient: Bool = false) {
            self.reason = reason
            self.isTransient = isTransient
        }

        init(_ error: SystemError) {
            reason = error.errno.explained("\(error)")
            isTransient = error.errno.isTransient
        }

        /// - Parameter hasOwnLimit: the handler has a `LimitNPROC=`, which waiting does not raise.
        init(_ error: SpawnError, reason: String, hasOwnLimit: Bool) {
            self.reason = reason
            // EAGAIN of `execve(2)`: its user has too many processes.
            let isFull = error.step == .execute && error.errno == .wouldBlock && !hasOwnLimit
            isTransient = error.errno.isTransient && error.step != .execute || isFull
        }
    }

    /// The outcome of a step.
    enum Outcome: Sendable {
        case started(Started)
        /// A `ConditionPathExists=` does not hold; which one.
        case unmet(String)
        /// There is no process to be started: all that was asked for holds.
        case nothing
    }

    /// A command that runs; the descriptors are the receiver's to close.
    struct Started: Sendable {
        var processID: Int32
        var pidfd: Int32
        var output: Int32?
        /// Of the run.
        var group: ControlGroup?
        /// Settings that were passed over.
        var warnings: [String] = []
        /// Of a worker.
        var lines: LineEnds?
    }

    /// watchd's ends of the pipes of a worker; neither blocks.
    struct LineEnds: Sendable {
        var input: Int32
        /// With `Ack=`.
        var answers: Int32?
    }

    let request: StartRequest
    /// Index in the steps of the handler.
    let step: Int
    /// The daemon's own.
    let nice: Int32
    /// `WATCHD_INSTANCE`.
    var instance = InstanceName.none
    var containment = Containment(reason: "nobody has looked")
    /// `NOTIFY_SOCKET`, for one that says when it is ready.
    var notifySocket: String?
    var credentials = CredentialFolders()
    /// The descriptor that its event hands over; closed here, however it ends.
    var handover: Int32?

    /// Before the first step it looks at the paths that must be there, or must not.
    func start() throws(Failure) -> Outcome {
        defer { if let handover { FileDescriptor(owning: handover).close() } }
        do {
            if step == 0, let unmet = try unmetPath() { return .unmet(unmet) }
            return definition.steps.isEmpty ? .nothing : .started(try spawn())
        } catch let error as SystemError {
            throw Failure(error)
        } catch let error as SpawnError {
            throw Failure(
                error, reason: explain(error),
                hasOwnLimit: definition.contract.limits.contains { $0.resource == .nproc })
        } catch let error as LaunchFailure {
            throw Failure(reason: error.reason)
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(reason: "\(error)")
        }
    }

    private var definition: HandlerDefinition { request.definition.value }

    private func explain(_ error: SpawnError) -> String {
        if let missing = error.missingPrivilege { return "\(error); \(missing)" }
        return switch error.errno {
        case .argumentsTooLong:
            "\(error): one argument has at most 128 KiB, and all a quarter of LimitSTACK=, at most 6 MiB; "
                + "StandardInput= has no such limit"
        case .noSuchFile where error.step == .execute: "\(error) (or its interpreter)"
        case .wouldBlock where error.step == .clone: "\(error); raise LimitNPROC= or TasksMax="
        case .wouldBlock where error.step == .execute: "\(error); its user has as many processes as LimitNPROC= allows"
        default: error.errno.explained("\(error)")
        }
    }

    private func spawn() throws -> Started {
        let context = RunContext(request, host: Linux.hostName)
        let words = try words(of: definition.steps[step], context)
        let surroundings = try LaunchSurroundings(definition.contract)
        let credentialFolder = try credentials.make(
            definition.contract.serviceCredentials, of: request.run, for: surroundings.identity)
        var isStarted = false
        defer { if !isStarted, credentialFolder != nil { _ = credentials.remove(request.run) } }
        let environment = variables(context, surroundings, credentialFolder)
        let priority = ChildPriority(request.qos, nice: nice, io: Linux.ioPriority)
        let paths = try lookUp(words[0], environment)
        var owned = Descriptors()
        defer { owned.closeAll() }
        let pipes = try linePipes(&owned)
        defer { if !isStarted { pipes?.ends.close() } }
        let input = try pipes?.input ?? inputDescriptor(context, surroundings, &owned)
        let output = try outputPipe()
        if let output {
            owned.add(output.write)
            // So that the user it becomes may open /dev/stdout, which leads here.
            if let identity = surroundings.identity {
                try? Linux.fchown(output.write, user: identity.user, group: identity.group)
            }
        }
        let place: Containment.Place
        let spawned: SpawnedProcess
        do {
            let descriptors =
                [
                    input, try open(definition.standardOutput, output?.write, 1, input, &owned),
                    try open(definition.standardError, output?.write, 2, input, &owned),
                ] + (pipes?.answers.map { [$0] } ?? [])
            var specification = SpawnSpecification(
                path: paths[0], arguments: words, environment: environment,
                folder: surroundings.home ?? definition.workingDirectory ?? Array("/".utf8),
                descriptors: descriptors, nice: priority.nice, ioPriority: priority.io)
            specification.take(definition.contract, surroundings)
            place = try containment.enter(request)
            do {
                if let group = place.group {
                    let file = try Linux.open(group.file("cgroup.procs"), .writing)
                    specification.attributes.controlGroup = owned.add(file)
                }
                spawned = try start(specification, from: paths)
            } catch {
                try? place.group?.remove()
                throw error
            }
        } catch {
            if let output { FileDescriptor(owning: output.read).close() }
            throw error
        }
        isStarted = true
        let processID = spawned.processID
        return Started(
            processID: processID, pidfd: spawned.pidfd.release(), output: output?.read,
            group: place.group, warnings: surroundings.warnings + place.warnings, lines: pipes?.ends)
    }

    private func variables(
        _ context: RunContext, _ surroundings: LaunchSurroundings, _ credentialFolder: [UInt8]?
    ) -> [[UInt8]] {
        var all = ChildEnvironment.variables(
            context, definition, queue: request.environment, surroundings, part: request.run.part,
            instance: surroundings.identity?.user.map { instance.of(user: $0) } ?? instance.own)
        if let credentialFolder {
            let name = Array("\(CredentialFolders.variable)=".utf8)
            all = all.filter { !$0.starts(with: name) } + [name + credentialFolder]
        }
        if let notifySocket {
            let name = Array("NOTIFY_SOCKET=".utf8)
            return all.filter { !$0.starts(with: name) } + [name + Array(notifySocket.utf8)]
        }
        guard let stream = definition.stream, request.events.isEmpty else { return all }
        return ChildEnvironment.ofWorker(
            all, definition.name, request.run, isAcknowledged: stream.isAcknowledged)
    }

    private typealias LinePipes = (ends: LineEnds, input: Int32, answers: Int32?)

    /// Of a worker: its standard input, and with `Ack=` its descriptor 3.
    private func linePipes(_ owned: inout Descriptors) throws -> LinePipes? {
        guard let stream = definition.stream, request.events.isEmpty else { return nil }
        let (inputRead, inputWrite) = try Linux.pipe().release()
        owned.add(inputRead)
        var ends = LineEnds(input: inputWrite)
        do {
            try Linux.setNonBlocking(inputWrite)
            guard stream.isAcknowledged else { return (ends, inputRead, nil) }
            let (answersRead, answersWrite) = try Linux.pipe().release()
            owned.add(answersWrite)
            ends.answers = answersRead
            try Linux.setNonBlocking(answersRead)
            return (ends, inputRead, answersWrite)
        } catch {
            ends.close()
            throw error
        }
    }

    private func unmetPath() throws -> String? {
        for condition in definition.conditions.paths where try exists(condition.path) == condition.isNegated {
            let sign = condition.isNegated ? "!" : ""
            return "ConditionPathExists=\(sign)\(condition.path.printable)"
        }
        return nil
    }

    private func exists(_ path: [UInt8]) throws -> Bool {
        do throws(SystemError) {
            _ = try Linux.stat(path)
            return true
        } catch  where [.noSuchFile, .notFolder].contains(error.errno) {
            return false
        }
    }

    func words(of step: RunStep, _ context: RunContext) throws -> [[UInt8]] {
        let words = step.command.words.flatMap { word -> [[UInt8]] in
            switch word {
            case .template(let template): [template.expanded(context.value)]
            case .everything: context.words
            }
        }
        guard let first = words.first, !first.isEmpty else {
            throw Failure(reason: "an empty command")
        }
        return words
    }

    /// Where a program may be: a name without a slash is looked for in `PATH`, as `execvp(3)` does. Never empty.
    ///
    /// A client's command is looked for by the client's own rights: each place is tried by the child (`start`).
    func lookUp(_ name: [UInt8], _ environment: [[UInt8]]) throws -> [[UInt8]] {
        if name.contains(UInt8(ascii: "/")) { return [name] }
        let path = Self.path(in: environment)
        let candidates = path.split(separator: UInt8(ascii: ":")).prefix(Self.mostPlaces).map { folder in
            Array(folder) + [UInt8(ascii: "/")] + name
        }
        guard definition.contract.credentials == nil else {
            if candidates.isEmpty { throw notFound(name, path) }
            return candidates
        }
        for candidate in candidates where (try? Linux.access(candidate, .executing)) != nil { return [candidate] }
        throw notFound(name, path)
    }

    /// Folders of `PATH` that are looked through.
    private static let mostPlaces = 128

    private static func path(in environment: [[UInt8]]) -> ArraySlice<UInt8> {
        let prefix = Array("PATH=".utf8)
        return environment.first { $0.starts(with: prefix) }?.dropFirst(prefix.count) ?? []
    }

    private func notFound(_ name: [UInt8], _ path: ArraySlice<UInt8>) -> Failure {
        var reason = "\(name.printable): no such command in PATH=\(Array(path.prefix(1000)).printable)"
        if case .mail = definition.action { reason += "; \(MailMessage.advice)" }
        return Failure(reason: reason)
    }

    /// The first of several places where there is something that may be executed.
    private func start(_ specification: SpawnSpecification, from paths: [[UInt8]]) throws -> SpawnedProcess {
        if paths.count == 1 { return try Linux.spawn(specification) }
        var specification = specification
        var denied: SpawnError?
        for path in paths {
            specification.path = path
            let failure: SpawnError
            do throws(SpawnError) { return try Linux.spawn(specification) } catch { failure = error }
            guard failure.isOfPlace else { throw failure }
            if failure.errno == .accessDenied { denied = denied ?? failure }
        }
        if let denied { throw denied }
        throw notFound(specification.arguments[0], Self.path(in: specification.environment))
    }

    // MARK: Standard input, output, error

    /// One pipe for both, so that the order of what is written is kept.
    private func outputPipe() throws -> (read: Int32, write: Int32)? {
        guard definition.standardOutput == .journal || definition.standardError == .journal else { return nil }
        return try Linux.pipeReadWithoutWaiting().release()
    }

    private func open(
        _ output: StandardOutput, _ pipe: Int32?, _ own: Int32, _ input: Int32, _ owned: inout Descriptors
    ) throws -> Int32 {
        switch output {
        case .journal: pipe ?? own
        case .inherit: own
        case .socket: input
        case .null: owned.add(try Linux.open("/dev/null", .writing))
        case .file(let path): owned.add(try outputFile(path, []))
        case .append(let path): owned.add(try outputFile(path, .appending))
        }
    }

    /// A FIFO that nobody reads would be waited for.
    private func outputFile(_ path: [UInt8], _ options: OpenOptions) throws -> Int32 {
        let options = options.union([.writing, .creating, .noControllingTerminal, .nonBlocking])
        let opened = Swift.Result { () throws(SystemError) in try Linux.open(path, options, mode: 0o644).release() }
        if case .failure(let error) = opened, error.errno == .noSuchDevice {
            throw Failure(reason: "\(path.printable) is a FIFO that nobody reads: \(error.errno)")
        }
        let number = try opened.get()
        try? Linux.setNonBlocking(number, false)
        return number
    }

    private func inputDescriptor(
        _ context: RunContext, _ surroundings: LaunchSurroundings, _ owned: inout Descriptors
    ) throws -> Int32 {
        if case .mail(let addresses) = definition.steps[step] {
            return owned.add(try Linux.memfd(name: "watchd-mail", mail(context, to: addresses, surroundings)))
        }
        guard definition.standardInput == .socket else { return owned.add(try standardInput(context)) }
        guard let handover else {
            throw Failure(reason: "the descriptor that its event handed over is closed")
        }
        return handover
    }

    private func mail(_ context: RunContext, to addresses: [String], _ surroundings: LaunchSurroundings) -> [UInt8] {
        let user = surroundings.identity?.user ?? Linux.effectiveUserID
        let name = (try? Linux.account(of: user)?.name) ?? "root"
        let mayRetry = request.retryObstacle == nil
        return MailMessage(context, to: addresses, from: name, at: Linux.now(.realtime), mayRetry: mayRetry).bytes
    }

    func standardInput(_ context: RunContext) throws -> Int32 {
        let text: [UInt8]
        switch definition.standardInput {
        case .event: text = EventMessage.line(context)
        case .paths, .lines: text = context.words.flatMap { $0 + [UInt8(ascii: "\n")] }
        case .paths0: text = context.words.flatMap { $0 + [0] }
        case .payload: text = context.payloads
        case .output: text = context.output
        case .null, .socket: return try Linux.open("/dev/null").release()
        }
        return try Linux.memfd(name: "watchd-event", text).release()
    }
}

extension Child.LineEnds {
    func close() { for number in [input, answers].compactMap({ $0 }) { FileDescriptor(owning: number).close() } }
}

/// Descriptors to be closed together.
private struct Descriptors {
    private var numbers: [Int32] = []

    @discardableResult
    mutating func add(_ number: Int32) -> Int32 {
        numbers.append(number)
        return number
    }

    mutating func add(_ descriptor: consuming FileDescriptor) -> Int32 { add(descriptor.release()) }

    func closeAll() { for number in numbers { FileDescriptor(owning: number).close() } }
}

extension SpawnError {
    /// Another folder of `PATH` may have it, as `execvp(3)` goes on.
    fileprivate var isOfPlace: Bool {
        step == .execute && [.noSuchFile, .notFolder, .accessDenied].contains(errno)
    }
}

extension Pipe {
    fileprivate consuming func release() -> (read: Int32, write: Int32) {
        (readEnd.release(), writeEnd.release())
    }
}

extension Errno {
    /// The sentence, and what helps.
    func explained(_ sentence: String) -> String {
        switch self {
        case .descriptorsExhausted: "\(sentence); raise LimitNOFILE="
        case .systemDescriptorsExhausted: "\(sentence); raise the sysctl fs.file-max"
        default: sentence
        }
    }

    /// Used up for now.
    var isTransient: Bool {
        [.descriptorsExhausted, .systemDescriptorsExhausted, .wouldBlock, .outOfMemory].contains(self)
    }
}

extension RunContext {
    /// The JSON payloads of all its events, the oldest first: a line each.
    fileprivate var payloads: [UInt8] {
        events.flatMap { event in
            guard case .custom(let fact) = event.fact, let payload = fact.payload else { return [UInt8]() }
            return payload + [UInt8(ascii: "\n")]
        }
    }

    /// The output of the reported run.
    fileprivate var output: [UInt8] {
        guard case .completion(let fact) = events.last?.fact else { return [] }
        return fact.output
    }
}
