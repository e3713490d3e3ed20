import Schedule
import WatchFile

/// Writes a configuration as a watch file that means the same; the random numbers choose among the ways to write it.
struct ConfigurationPrinter {
    var generator: SplitMix
    private var bytes: [UInt8] = []

    init(generator: SplitMix) { self.generator = generator }

    /// Handlers first, then sources; a handler of a source's name is the source's own.
    mutating func print(_ configuration: Configuration) -> [UInt8] {
        settings(configuration.settings)
        for queue in configuration.queues { section(queue) }
        for semaphore in configuration.semaphores {
            line("[Semaphore \(semaphore.name)]")
            if semaphore.members.isEmpty {
                key("Value", "\(semaphore.value)")
            } else {
                key("Members", semaphore.members[0])
                if semaphore.members.count > 1 { key("Members", semaphore.members.dropFirst().joined(separator: " ")) }
            }
        }
        let sources = Set(configuration.sources.map(\.id.name))
        for handler in configuration.handlers where !sources.contains(handler.name) {
            line("[Handler \(handler.name)]")
            self.handler(handler)
            handler.queue.map { key("Queue", $0) }
        }
        for source in configuration.sources {
            section(source, own: configuration.handlers.first { $0.name == source.id.name })
        }
        return bytes
    }

    mutating func line(_ text: String) {
        if Bool.random(using: &generator) { bytes += Array("  # between\n\n".utf8) }
        bytes += Array(text.utf8) + newline
    }

    var newline: [UInt8] { generator.state % 3 == 0 ? [13, 10] : [10] }

    mutating func key(_ name: String, _ value: String) { key(name, Array(value.utf8)) }

    mutating func key(_ name: String, _ value: [UInt8]) {
        bytes += Array(name.utf8) + (Bool.random(using: &generator) ? [0x20, 0x3D, 0x09] : [0x3D]) + value + newline
    }

    mutating func flag(_ name: String, _ value: Bool, default normal: Bool) {
        if value == normal, Bool.random(using: &generator) { return }
        key(
            name,
            (value ? ["yes", "true", "on", "1"] : ["no", "false", "off", "0"]).randomElement(using: &generator) ?? "")
    }

    mutating func settings(_ settings: DaemonSettings) {
        line("[Watchd]")
        settings.controlSocket.map { key("ControlSocket", path($0)) }
        key("LogLevel", "\(settings.logLevel)")
        key("MaxProcesses", "\(settings.maxProcesses)")
        key("MaxOperations", "\(settings.maxOperations)")
        key("MaxWatches", settings.maxWatches.description)
        key("MaxMemory", "\(settings.maxMemory)")
        key("KeepHistoryBytes", "\(settings.keepHistoryBytes)")
        key("DrainSec", settings.drain.description)
        if !settings.onProblem.isEmpty { key("OnProblem", settings.onProblem.joined(separator: " ")) }
        if !settings.onSolved.isEmpty { key("OnSolved", settings.onSolved.joined(separator: " ")) }
    }

    mutating func section(_ queue: QueueDefinition) {
        line("[Queue \(queue.name)]")
        if !QueueDefinition.builtInNames.contains(queue.name), case .concurrent(let width) = queue.kind {
            key("Type", "concurrent")
            key("Width", "\(width)")
        }
        key("Backlog", "\(queue.backlog)")
        let megabytes = queue.backlogBytes >> 20
        key("BacklogBytes", megabytes << 20 == queue.backlogBytes ? "\(megabytes)M" : "\(queue.backlogBytes)")
        key("Overflow", queue.overflow.rawValue)
        flag("Suspended", queue.isSuspended, default: false)
        if queue.qos != .default || Bool.random(using: &generator) { key("QoS", queue.qos.rawValue) }
        queue.target.map { key("Target", alias($0)) }
        queue.rateLimit.map { key("RateLimit", rate($0)) }
        environment(queue.environment)
        queue.finalizer.map { key("Finalizer", $0) }
        switch queue.submitters {
        case .users: key("Submit", "users")
        case .group(let name): key("Submit", "group:\(name)")
        case nil: break
        }
    }

    mutating func alias(_ queue: String) -> String {
        let alias = QueueDefinition.aliases.first { $0.value == queue }?.key
        return Bool.random(using: &generator) ? alias ?? queue : queue
    }

    mutating func rate(_ limit: RateLimit) -> String {
        "\(limit.count)" + (Bool.random(using: &generator) ? "/" : " / ") + limit.span.description
    }

    mutating func environment(_ variables: [EnvironmentVariable]) {
        for variable in variables {
            key("Environment", Array("\(variable.name)=".utf8) + variable.value.flatMap { escaped($0) })
        }
    }

    // MARK: Handlers

    mutating func handler(_ handler: HandlerDefinition) {
        action(handler.action)
        placement(handler.placement)
        handler.overlap.map { key("Overlap", $0.rawValue) }
        constraints(handler.constraints)
        windows(handler.windows)
        for condition in handler.conditions.paths {
            key("ConditionPathExists", Array((condition.isNegated ? "!" : "").utf8) + path(condition.path))
        }
        for command in handler.conditions.commands { key("ExecCondition", words(command)) }
        handler.stride.map { key("Stride", "\($0)") }
        retry(handler.retry)
        key("TimeoutSec", handler.timeout.description)
        key("LateSec", handler.patience.late.description)
        key("SlowSec", handler.patience.slow.description)
        key("TimeoutStopSec", handler.timeoutStop.description)
        key("KillSignal", signal(handler.killSignal))
        key("KillMode", handler.killMode.rawValue)
        exitStatuses("SuccessExitStatus", handler.successExitStatus)
        if handler.hasProcess { process(handler) }
        for (name, list) in [
            ("OnSuccess", handler.completions.success), ("OnFailure", handler.completions.failure),
            ("OnRetry", handler.completions.retry), ("OnChange", handler.completions.change),
            ("OnFinished", handler.completions.finished), ("OnLate", handler.completions.late),
            ("OnSlow", handler.completions.slow),
        ] {
            for handler in list { key(name, handler) }
        }
    }

    mutating func process(_ handler: HandlerDefinition) {
        handler.workingDirectory.map { key("WorkingDirectory", path($0)) }
        contract(handler.contract)
        environment(handler.environment)
        switch handler.action {
        case .mail, .stream, .unit, .process, .client: break
        case .exec, .log, .emit: key("StandardInput", handler.standardInput.rawValue)
        }
        key("StandardOutput", output(handler.standardOutput))
        key("StandardError", output(handler.standardError))
    }

    mutating func placement(_ placement: UnitPlacement?) {
        guard let placement else { return Bool.random(using: &generator) ? key("RunIn", "watchd") : () }
        key("RunIn", "unit")
        for property in placement.properties {
            switch property.value {
            case .flag(let flag): key("Unit.\(property.name)", flag ? "true" : "no")
            case .text(let text): key("Unit.\(property.name)", text)
            default: preconditionFailure("\(property)")
            }
        }
    }

    mutating func resources(_ resources: ResourceControl) {
        func limit(_ value: UInt64) -> String { value == .max ? "infinity" : "\(value)" }
        resources.memoryMax.map { key("MemoryMax", limit($0)) }
        resources.cpuQuota.map { key("CPUQuota", "\($0)%") }
        resources.tasksMax.map { key("TasksMax", limit($0)) }
        resources.cpuWeight.map { key("CPUWeight", "\($0)") }
        resources.ioWeight.map { key("IOWeight", "\($0)") }
    }

    mutating func contract(_ contract: ProcessContract) {
        resources(contract.resources)
        contract.user.map { key("User", $0) }
        contract.group.map { key("Group", $0) }
        for group in contract.supplementaryGroups { key("SupplementaryGroups", group) }
        if contract.startsAtHome { key("WorkingDirectory", "~") }
        for file in contract.environmentFiles {
            key("EnvironmentFile", Array((file.isOptional ? "-" : "").utf8) + file.path)
        }
        if !contract.serviceCredentials.isEmpty {
            key("Credential", contract.serviceCredentials.joined(separator: " "))
        }
        if !contract.passedEnvironment.isEmpty {
            key("PassEnvironment", contract.passedEnvironment.joined(separator: " "))
        }
        key("UMask", "0" + String(contract.mask, radix: 8))
        contract.nice.map { key("Nice", "\($0)") }
        contract.io.map {
            key("IOSchedulingClass", $0.kind.rawValue)
            if [.realtime, .bestEffort].contains($0.kind) { key("IOSchedulingPriority", "\($0.level)") }
        }
        contract.cpu.map {
            key("CPUSchedulingPolicy", $0.policy.rawValue)
            if $0.policy.isRealTime { key("CPUSchedulingPriority", "\($0.priority)") }
        }
        contract.oomScoreAdjust.map { key("OOMScoreAdjust", "\($0)") }
        flag("NoNewPrivileges", contract.hasNoNewPrivileges, default: false)
        for limit in contract.limits { key("Limit\(limit.resource.rawValue)", limit.text) }
    }

    mutating func constraints(_ constraints: StartConstraints) {
        flag("Barrier", constraints.isBarrier, default: false)
        key("Priority", constraints.priority.rawValue)
        for (name, list) in [
            ("Acquire", constraints.acquires), ("Release", constraints.releases), ("Consume", constraints.consumes),
        ] where !list.isEmpty {
            key(name, list.map { count($0) }.joined(separator: " "))
        }
        for handler in constraints.after { key("After", handler) }
        for process in constraints.afterProcesses { key("After", "process/\(process)") }
        if !constraints.requires.isEmpty { key("Requires", constraints.requires.joined(separator: " ")) }
        key("DelaySec", constraints.delay.description)
        constraints.batchSize.map { key("BatchSize", "\($0)") }
        if let once = constraints.once {
            key("Once", once.rawValue)
        } else if Bool.random(using: &generator) {
            key("Once", "no")
        }
        key("StartTimeoutSec", constraints.startTimeout.description)
    }

    /// In one word or, as it adds up, in two.
    mutating func count(_ count: SemaphoreCount) -> String {
        if count.count == 1, Bool.random(using: &generator) { return count.name }
        if count.count > 1, Bool.random(using: &generator) { return "\(count.name):\(count.count - 1) \(count.name)" }
        return "\(count.name):\(count.count)"
    }

    mutating func retry(_ retry: RetryPolicy) {
        key("Retry", retry.limit.map { "\($0)" } ?? "infinity")
        key("RetrySec", retry.delay.description)
        if retry.maxDelay != max(.seconds(300), retry.delay) || Bool.random(using: &generator) {
            key("RetryMaxSec", retry.maxDelay.description)
        }
        exitStatuses("RetryPreventExitStatus", retry.preventExitStatus)
    }

    mutating func exitStatuses(_ name: String, _ set: ExitStatusSet) {
        for code in set.codes.sorted() { key(name, "\(code)") }
        for number in set.signals.sorted() { key(name, LinuxSignal.name(number)) }
    }

    mutating func action(_ action: HandlerAction) {
        switch action {
        case .exec(let commands):
            for command in commands { key("Exec", words(command)) }
        case .client: preconditionFailure("it stands in no file")
        case .stream(let stream): self.stream(stream)
        case .log(let template): key("Log", text(template))
        case .unit(let unit):
            for name in unit.units { key("Unit", text(name)) }
            key("UnitAction", unit.verb.rawValue)
            key("UnitWait", unit.waits ? "yes" : "no")
        case .process(let action):
            key("Process", action.process)
            switch action.verb {
            case .restart: if Bool.random(using: &generator) { key("ProcessAction", "restart") }
            case .reload(let number), .signal(let number):
                key("ProcessAction", action.verb.name)
                if number != 1 || action.verb.name == "signal" { key("ProcessSignal", LinuxSignal.name(number)) }
            }
        case .mail(let addresses):
            let cut = Int.random(in: 0...addresses.count, using: &generator)
            for part in [addresses[..<cut], addresses[cut...]] where !part.isEmpty {
                key("Mail", part.joined(separator: "  "))
            }
        case .emit(let source, let data): key("Emit", Array(source.utf8) + (data.map { [0x20] + text($0) } ?? []))
        }
    }

    mutating func stream(_ stream: StreamAction) {
        key("Stream", words(stream.command))
        if stream.workers > 1 || Bool.random(using: &generator) { key("Workers", "\(stream.workers)") }
        if stream.prefetch > 1 || Bool.random(using: &generator) { key("Prefetch", "\(stream.prefetch)") }
        flag("Ack", stream.isAcknowledged, default: false)
        key("IdleSec", stream.idle.description)
        key("RestartSec", stream.restartDelay.description)
        key("RestartMaxDelaySec", stream.restartMaxDelay.description)
    }

    mutating func words(_ command: Command) -> [UInt8] {
        Array(command.words.map { word($0) }.joined(separator: [0x20, 0x20]))
    }

    mutating func word(_ word: Command.Word) -> [UInt8] {
        guard case .template(let template) = word else { return Array("%@".utf8) }
        let quote = ["", "\"", "'"].randomElement(using: &generator) ?? ""
        let body = template.parts.flatMap { part -> [UInt8] in
            switch part {
            case .literal(let bytes): bytes.flatMap { $0 == 0x25 ? [0x25, 0x25] : inWord($0, quote) }
            case .specifier(let specifier): spelling(specifier)
            }
        }
        if body.isEmpty { return Array("\"\"".utf8) }
        return Array(quote.utf8) + body + Array(quote.utf8)
    }

    /// A byte as itself where that is possible, sometimes as an escape.
    mutating func inWord(_ byte: UInt8, _ quote: String) -> [UInt8] {
        let isSpecial =
            [0x0A, 0x0D, 0x22, 0x27, 0x5C].contains(byte) || quote.isEmpty && [0x09, 0x20, 0x3B].contains(byte)
        return isSpecial || Int.random(in: 0..<8, using: &generator) == 0 ? escaped(byte) : [byte]
    }

    mutating func escaped(_ byte: UInt8) -> [UInt8] {
        if (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) { return [byte] }
        if byte == 0x20, Bool.random(using: &generator) { return Array("\\s".utf8) }
        let radix = Bool.random(using: &generator) ? 16 : 8
        let digits = String(byte, radix: radix)
        let width = radix == 16 ? 2 : 3
        return Array(("\\" + (radix == 16 ? "x" : "")).utf8) + Array(repeating: 0x30, count: width - digits.count)
            + Array(digits.utf8)
    }

    mutating func text(_ template: Template) -> [UInt8] {
        template.parts.flatMap { part -> [UInt8] in
            switch part {
            case .literal(let bytes): bytes.flatMap { $0 == 0x25 ? [0x25, 0x25] : [$0] }
            case .specifier(let specifier): spelling(specifier)
            }
        }
    }

    mutating func spelling(_ specifier: Specifier) -> [UInt8] {
        let names: [Specifier: [String]] = [
            .path: ["%p", "%{path}"], .lastComponent: ["%f"], .relativePath: ["%r"], .source: ["%{source}"],
            .handler: ["%{handler}"], .queue: ["%{queue}"], .operation: ["%{operation}"], .kind: ["%{kind}"],
            .event: ["%{event}"], .oldPath: ["%{old_path}"], .folder: ["%{folder}"], .line: ["%{line}"],
            .data: ["%{data}"], .signal: ["%{signal}"], .pid: ["%{pid}"], .exitStatus: ["%{exit_status}"],
            .reason: ["%{reason}"], .ofHandler: ["%{of_handler}"], .outcome: ["%{outcome}"], .unit: ["%{unit}"],
            .unitState: ["%{unit_state}"], .host: ["%{host}"], .object: ["%{object}"],
            .problem: ["%{problem}"], .action: ["%{action}"],
            .result: ["%{result}"], .time: ["%{time}"], .scheduled: ["%{scheduled}"], .attempt: ["%{attempt}"],
            .count: ["%{count}"], .peer: ["%{peer}"],
        ]
        if case .capture(let number) = specifier { return Array("%\(number)".utf8) }
        return Array((names[specifier]?.randomElement(using: &generator) ?? "").utf8)
    }

    mutating func path(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { $0 == 0x2F ? [$0] : escaped($0) }
    }

    mutating func output(_ output: StandardOutput) -> [UInt8] {
        switch output {
        case .journal: Array("journal".utf8)
        case .null: Array("null".utf8)
        case .inherit: Array("inherit".utf8)
        case .socket: preconditionFailure("it stands in no file")
        case .file(let file): Array("file:".utf8) + path(file)
        case .append(let file): Array("append:".utf8) + path(file)
        }
    }

    mutating func signal(_ number: Int32) -> String {
        let name = LinuxSignal.name(number)
        return [name, String(name.dropFirst(3)), String(number)].randomElement(using: &generator) ?? name
    }
}
