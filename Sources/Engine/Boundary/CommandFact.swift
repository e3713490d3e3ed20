package import Schedule
package import WatchFile

/// A command that a client has submitted to a queue (`watchctl run --queue`), with everything it needs to run, now or
/// after a restart.
///
/// All of them are operations of one handler that watchd itself has; each brings its own definition (`definition`).
package struct CommandFact: Equatable, Sendable {
    /// The user that the process runs as.
    package enum User: Hashable, Sendable {
        /// The client's own, as the kernel tells them.
        case credentials(UserCredentials)
        /// `--user`: a name, looked up at each start.
        case named(String)
    }

    /// A request that watchd itself carries out when its time has come.
    package enum Call: Equatable, Sendable {
        /// As `watchctl run`.
        case run(name: String, paths: [[UInt8]] = [], lines: [[UInt8]] = [], data: Int64? = nil)
        /// As `watchctl emit`.
        case emit(name: String, CustomFact)

        /// Bytes that it takes up.
        package var size: Int {
            switch self {
            case .run(let name, let paths, let lines, _):
                (paths + lines).reduce(name.utf8.count) { $0 + $1.count + 32 }
            case .emit(let name, let fact): name.utf8.count + (fact.payload?.count ?? 0)
            }
        }
    }

    /// The process that units of a semaphore are held for (`watchctl acquire`).
    package struct Holder: Equatable, Sendable {
        package var process: Int32
        /// When it was started: boot-time microsecond. Another process of that number was started later.
        package var started: Int64

        package init(process: Int32, started: Int64) { (self.process, self.started) = (process, started) }
    }

    /// The handler. A watch file cannot have one of this name.
    package static let handlerName = "@command"

    /// Never empty; the first is a path, or a name that is looked for in `PATH` as the user it runs as.
    package var arguments: [[UInt8]]
    package var environment: [EnvironmentVariable]
    /// An absolute path.
    package var folder: [UInt8]
    /// The bits that files are made without.
    package var mask: UInt32
    package var user: User
    /// For people; `nil`: the command itself says enough.
    package var name: String?
    /// Others of the same key wait for it, on whatever queue.
    package var key: [UInt8]?
    /// Not before this microsecond of the wall clock.
    package var notBefore: Int64?
    /// Attempts after the first failure.
    package var retries = 0
    /// Of each attempt.
    package var timeout = TimeSpan.infinity
    package var isBarrier = false
    package var priority = OperationPriority.normal
    /// Done instead of a process; `arguments` are its words for people.
    package var call: Call?
    /// It does nothing but hold units; `arguments` are its words for people.
    package var holder: Holder?

    package init(
        _ arguments: [[UInt8]], environment: [EnvironmentVariable] = [], folder: [UInt8] = [UInt8(ascii: "/")],
        mask: UInt32 = 0o022, user: User
    ) {
        self.arguments = arguments
        self.environment = environment
        self.folder = folder
        self.mask = mask
        self.user = user
    }

    /// The span of its client, by the client's environment.
    var trace: TraceContext? {
        environment.last { $0.name == TraceContext.variable }.flatMap { TraceContext($0.value) }
    }

    /// The span of its client, where that is one; a variable that the client gives itself goes before.
    package mutating func take(traceparent text: String) {
        guard trace == nil, TraceContext(text.utf8) != nil else { return }
        environment.removeAll { $0.name == TraceContext.variable }
        environment.append(EnvironmentVariable(name: TraceContext.variable, value: Array(text.utf8)))
    }

    /// As if a watch file had it.
    package var definition: HandlerDefinition {
        var definition = HandlerDefinition(name: Self.handlerName, action: .exec(literally: arguments))
        definition.workingDirectory = folder
        definition.environment = environment
        definition.standardInput = .null
        definition.retry.limit = retries
        definition.timeout = timeout
        if call != nil {
            definition.action = .client(.call)
            return definition
        }
        definition.constraints.isBarrier = isBarrier
        definition.constraints.priority = priority
        definition.contract.mask = mask
        switch user {
        case .credentials(let credentials): definition.contract.credentials = credentials
        case .named(let name): definition.contract.user = name
        }
        return definition
    }

    /// Bytes that it takes up.
    package var size: Int {
        let variables = environment.reduce(0) { $0 + $1.name.utf8.count + $1.value.count + 48 }
        return arguments.reduce(variables) { $0 + $1.count + 32 } + folder.count + (name?.utf8.count ?? 0)
            + (key?.count ?? 0) + (call?.size ?? 0)
    }
}
