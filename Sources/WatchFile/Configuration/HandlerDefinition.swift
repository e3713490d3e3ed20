package import Schedule

/// `[Handler NAME]`, or the action that stands in a source.
package struct HandlerDefinition: Equatable, Sendable {
    /// Handlers that follow the first of a chain of `On…=` and `Emit=` at most.
    package static let longestChain = 16

    package var name: String
    package var action: HandlerAction
    /// `Queue=`, an alias already resolved; `nil`: `default`. The queue of a source's route wins (`Route.queue`).
    package var queue: String?
    /// `Overlap=`; `nil`: not written, so `wait`, for timers `skip`.
    package var overlap: Overlap?
    /// The constraints on the start of its operations.
    package var constraints: StartConstraints
    /// `ExecCondition=`, `ConditionPathExists=`: not met, a run ends skipped.
    package var conditions: RunConditions
    /// `Stride=`: at most so many entries in a run, at least 1; `nil`: all.
    package var stride: Int?
    package var retry: RetryPolicy
    /// `TimeoutSec=`; `.infinity`: none.
    package var timeout: TimeSpan
    /// `TimeoutStopSec=`: from `KillSignal=` to SIGKILL.
    package var timeoutStop: TimeSpan
    /// `KillSignal=`: a signal number.
    package var killSignal: Int32
    package var killMode: KillMode
    /// `OnStop=`; `nil`: not written, so `fail`, and `again` for durable operations.
    package var onStop: StopPolicy?
    /// `SuccessExitStatus=`, besides 0.
    package var successExitStatus: ExitStatusSet
    /// `WorkingDirectory=`: an absolute path; `nil`: `/`, or with `contract.startsAtHome` the user's home.
    package var workingDirectory: [UInt8]?
    /// `Environment=` in order; a later one of the same name wins.
    package var environment: [EnvironmentVariable]
    package var standardInput: StandardInput
    package var standardOutput: StandardOutput
    package var standardError: StandardOutput
    /// `OnSuccess=`, `OnFailure=`, `OnRetry=`, `OnChange=`, `OnFinished=`: names of handlers.
    package var completions: Completions
    package var windows = CalendarWindows()
    /// `LateSec=`, `SlowSec=`.
    package var patience = Patience()
    /// `Progress=`: its processes tell how far they are, at `$NOTIFY_SOCKET`.
    package var tellsProgress = false
    /// `User=` to `Limit…=`.
    package var contract = ProcessContract()
    /// `RunIn=unit`; `nil`: its processes are watchd's children.
    package var placement: UnitPlacement?

    package init(
        name: String, action: HandlerAction, queue: String? = nil, overlap: Overlap? = nil,
        constraints: StartConstraints = StartConstraints(), stride: Int? = nil, retry: RetryPolicy = RetryPolicy(),
        timeout: TimeSpan = .infinity,
        timeoutStop: TimeSpan = .seconds(10), killSignal: Int32 = 15, killMode: KillMode = .tree,
        successExitStatus: ExitStatusSet = ExitStatusSet(), workingDirectory: [UInt8]? = nil,
        environment: [EnvironmentVariable] = [], standardInput: StandardInput = .event,
        standardOutput: StandardOutput = .journal, standardError: StandardOutput = .journal,
        completions: Completions = Completions(), conditions: RunConditions = RunConditions()
    ) {
        self.name = name
        self.action = action
        self.queue = queue
        self.overlap = overlap
        self.constraints = constraints
        self.stride = stride
        self.retry = retry
        self.timeout = timeout
        self.timeoutStop = timeoutStop
        self.killSignal = killSignal
        self.killMode = killMode
        self.successExitStatus = successExitStatus
        self.workingDirectory = workingDirectory
        self.environment = environment
        self.standardInput = standardInput
        self.standardOutput = standardOutput
        self.standardError = standardError
        self.completions = completions
        self.conditions = conditions
    }

    /// `Stream=`; `nil`: it is another kind of action.
    package var stream: StreamAction? { if case .stream(let stream) = action { stream } else { nil } }

    /// It reads a descriptor that its source hands over with an event, and that is closed when what was made of the
    /// event has ended: there is none for a run by hand, nor for a failed operation that is to run again.
    package var needsDescriptor: Bool {
        if case .exec = action { standardInput == .socket } else { false }
    }
}

extension HandlerDefinition {
    /// The first specifier in its commands that stands for nothing where neither a path nor a line is given, as it is
    /// written: `%f`, `%{line}`.
    package var specifierOfEntry: (spelling: String, isOfLine: Bool)? {
        guard case .exec(let commands) = action else { return nil }
        let found = Self.templates(conditions.commands + commands).flatMap(\.specifiers).first {
            $0.isOfPath || $0.isOfLine
        }
        return found.map { ($0.spelling, $0.isOfLine) }
    }

    /// Its work is about one path or line: of an operation with several it would see the newest only.
    package var isAboutOneEntry: Bool {
        let templates: [Template] =
            switch action {
            case .exec(let commands): Self.templates(conditions.commands + commands)
            case .log(let text): [text]
            case .emit(_, let data): data.map { [$0] } ?? []
            case .unit(let action): action.units
            case .stream, .mail, .process, .client: []
            }
        return templates.flatMap(\.specifiers).contains { $0.isOfPath || $0.isOfLine || $0 == .oldPath }
    }

    private static func templates(_ commands: [Command]) -> [Template] {
        commands.flatMap(\.words).compactMap { word in if case .template(let template) = word { template } else { nil }
        }
    }
}

extension Specifier {
    fileprivate var isOfPath: Bool { [.path, .lastComponent, .relativePath, .folder].contains(self) }
    fileprivate var isOfLine: Bool { if case .capture = self { true } else { self == .line } }
}

/// One `Exec=` line, split into words. The first word is an absolute path, or a name looked up in `PATH`.
package struct Command: Hashable, Sendable {
    package enum Word: Hashable, Sendable {
        case template(Template)
        /// `%@`: one word for each path (or line) of the operation.
        case everything

        package var isEverything: Bool { if case .everything = self { true } else { false } }
    }

    /// Where programs without a slash are looked for, unless `Environment=` has a `PATH`.
    package static let searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

    package var words: [Word]

    /// The first word.
    package var program: Template? { if case .template(let template)? = words.first { template } else { nil } }

    package init(words: [Word]) { self.words = words }
}

/// `Overlap=`: what a delivery does when an operation with its key already runs.
package enum Overlap: String, CaseIterable, Sendable {
    /// One more operation afterwards.
    case wait
    /// The delivery ends skipped.
    case skip
    /// The one that runs is terminated when the new one may start, and its events join it.
    case restart
    /// Both run.
    case parallel

    /// Where it is not written.
    package static func usual(for source: SourceDefinition) -> Overlap {
        guard case .timer(let timer) = source.trigger else { return .wait }
        return usualOfTimer(hasKey: source.key != .none, keepsElapses: timer.catchUp == .all)
    }

    package static func usualOfTimer(hasKey: Bool, keepsElapses: Bool) -> Overlap {
        guard hasKey else { return .parallel }
        // None of the elapses is to be lost.
        return keepsElapses ? .wait : .skip
    }
}

/// `KillMode=`: whom the signals of a time-out or a cancel reach.
package enum KillMode: String, CaseIterable, Sendable {
    case tree, process, none
}

/// `OnStop=`: what becomes of a run that a stop of watchd finds.
package enum StopPolicy: String, CaseIterable, Sendable {
    /// The run is ended, which is a failure of it.
    case fail
    /// The run is ended, and its operation runs again after the next start.
    case again
    /// The run goes on, and the next watchd adopts it.
    case leave
}

/// Exit codes and signals that count as success.
package struct ExitStatusSet: Equatable, Sendable {
    package var codes: Set<Int32>
    package var signals: Set<Int32>

    package init(codes: Set<Int32> = [], signals: Set<Int32> = []) {
        self.codes = codes
        self.signals = signals
    }
}

package struct EnvironmentVariable: Equatable, Sendable {
    package var name: String
    package var value: [UInt8]

    package init(name: String, value: [UInt8]) {
        self.name = name
        self.value = value
    }

    /// Letters, digits and `_`, of which a digit does not come first.
    package static func isName(_ name: some Collection<UInt8>) -> Bool {
        guard let first = name.first, !first.isDigit else { return false }
        return name.allSatisfy { $0.isLetter || $0.isDigit || $0 == UInt8(ascii: "_") }
    }
}

/// `StandardInput=`: what a command reads.
package enum StandardInput: String, CaseIterable, Sendable {
    case event, paths, paths0, lines, payload, output
    /// The descriptor that an `Accept=yes` or `Framing=ready` hands over.
    case socket
    case null
}

/// `StandardOutput=`, `StandardError=`: where a command writes.
package enum StandardOutput: Equatable, Sendable {
    case journal, null, inherit
    /// Standard input, which is a descriptor that was handed over. Not to be written in a file.
    case socket
    /// `file:PATH`: opened for writing at its start, not truncated (as in `systemd.exec(5)`).
    case file([UInt8])
    case append([UInt8])
}
