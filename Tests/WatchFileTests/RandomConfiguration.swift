import Schedule
import WatchFile

/// Makes configurations that the checks accept, of everything that this version supports.
struct RandomConfiguration {
    var generator: SplitMix

    /// The first handlers start nothing further, so that no cycle can arise.
    private static let leaves = 3

    mutating func make() -> Configuration {
        var result = Configuration(settings: settings())
        let leaves = (0..<Self.leaves).map { "h\($0)" }
        (result.settings.onProblem, result.settings.onSolved) = (some(of: leaves), some(of: leaves))
        let width = result.settings.maxProcesses
        for name in QueueDefinition.builtInNames {
            result.queues.append(queue(name, name == "main" ? .serial : .concurrent(width: width)))
        }
        for index in 0..<number(0...3) {
            var queue = queue("q-\(index)", bool ? .serial : .concurrent(width: number(1...50)))
            queue.qos = QoS.allCases.randomElement(using: &generator) ?? .default
            let earlier = result.queues.map(\.name)
            queue.target = maybe { earlier.randomElement(using: &$0.generator) ?? "main" }
            result.queues.append(queue)
        }
        result.semaphores = (0..<number(0...3)).map {
            if number(0...2) == 0 {
                return SemaphoreDefinition(
                    name: "s_\($0)", members: Array(["0", "10", "/dev/a", "b:1", "ü%p"].prefix(number(1...5))))
            }
            return SemaphoreDefinition(name: "s_\($0)", value: bool ? number(0...5) : number(0...1_000_000_000))
        }
        let queues = result.queues.map(\.name)
        let customs = (0..<number(0...2)).map { "c.\($0)" }
        for index in 0..<Self.leaves + number(0...4) {
            var handler = handler("h\(index)", queues: queues, specifiers: Self.harmless)
            let earlier = (0..<index).map { "h\($0)" }
            handler.constraints.after = some(of: earlier)
            if index >= Self.leaves { startOthers(&handler, customs: customs, handlers: earlier) }
            result.handlers.append(handler)
        }
        for index in 0..<number(0...6) { addSource(index, to: &result, queues: queues) }
        // There `Unit=` is what is watched.
        let unitSources = Set(result.sources.filter { $0.id.kind == .unit }.map(\.id.name))
        for index in result.handlers.indices where unitSources.contains(result.handlers[index].name) {
            guard case .unit = result.handlers[index].action else { continue }
            result.handlers[index].action = .log(Template(literal: "x"))
        }
        let supervised = result.sources.filter { $0.command != nil }.map(\.id.name)
        for index in result.handlers.indices where result.handlers[index].name.hasPrefix("h") && number(0...4) == 0 {
            guard case .log = result.handlers[index].action, let name = supervised.first else { continue }
            let verb: ProcessAction.Verb = [.restart, .reload(1), .reload(10), .signal(12)][number(0...3)]
            result.handlers[index].action = .process(ProcessAction(process: name, verb: verb))
            result.handlers[index].standardInput = .event
            if result.handlers[index].overlap == .restart { result.handlers[index].overlap = .wait }
            if result.handlers[index].onStop == .leave { result.handlers[index].onStop = nil }
        }
        for name in customs {
            let trigger = CustomTrigger(merge: CustomTrigger.Merge.allCases.randomElement(using: &generator) ?? .add)
            addRoutes(.init(.custom, name), .custom(trigger), own: nil, to: &result, queues: queues)
        }
        for index in result.handlers.indices { constrain(&result.handlers[index], in: result) }
        avoidOverlapsWithoutSense(&result)
        for index in result.handlers.indices where number(0...2) == 0 {
            guard case .exec(let commands) = result.handlers[index].action else { continue }
            placeInUnit(&result.handlers[index], commands.count)
        }
        for index in result.handlers.indices where !result.handlers[index].hasProcess {
            dropUnused(&result.handlers[index])
        }
        let streams = Set(result.handlers.filter { $0.stream != nil }.map(\.name))
        for index in result.queues.indices where result.queues[index].finalizer.map(streams.contains) ?? false {
            result.queues[index].finalizer = nil
        }
        return result
    }

    // MARK: Small things

    var bool: Bool { mutating get { Bool.random(using: &generator) } }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { bool ? make(&self) : nil }

    mutating func span(from shortest: UInt64) -> TimeSpan {
        let value = UInt64.random(in: shortest...3_000_000_000_000_000, using: &generator)
        return TimeSpan(microseconds: max(shortest, value >> UInt64(number(0...40))))
    }

    /// Any bytes but NUL and `/`.
    mutating func component() -> [UInt8] {
        [UInt8(ascii: "n")]
            + (0..<number(0...5)).map { _ in
                let byte = UInt8.random(in: 1...255, using: &generator)
                return byte == UInt8(ascii: "/") ? 1 : byte
            }
    }

    mutating func path() -> [UInt8] {
        (0..<number(1...4)).reduce(into: []) { path, _ in path += [UInt8(ascii: "/")] + component() }
    }

    mutating func text() -> String {
        let letters = ["a", "Z", "é", "日", "\\.", "%", "#", ";", "=", "'", "\"", "[", "]", " x", "$", "{", "}"]
        return "t" + (0..<number(0...8)).map { _ in letters.randomElement(using: &generator) ?? "" }.joined() + "."
    }

    mutating func settings() -> DaemonSettings {
        var settings = DaemonSettings(
            controlSocket: maybe { $0.path() }, logLevel: LogLevel.allCases.randomElement(using: &generator) ?? .info,
            maxProcesses: number(1...1000), maxOperations: number(1...1_000_000_000),
            maxMemory: number(1...1 << 40), drain: bool ? .infinity : span(from: 0),
            keepHistoryBytes: number(0...1 << 40))
        settings.maxWatches = bool ? .number(number(1...1_000_000_000)) : .share(number(1...100))
        return settings
    }

    mutating func queue(_ name: String, _ kind: QueueDefinition.Kind) -> QueueDefinition {
        QueueDefinition(
            name: name, kind: kind, qos: QoS(rawValue: name) ?? .default, backlog: number(1...1_000_000_000),
            backlogBytes: bool ? number(1...1 << 20) << 20 : number(1...1 << 40),
            overflow: QueueDefinition.Overflow.allCases.randomElement(using: &generator) ?? .block, isSuspended: bool,
            rateLimit: maybe { $0.rateLimit() }, environment: environment(),
            finalizer: maybe { "h\($0.number(0...2))" },
            submitters: maybe { $0.bool ? .users : .group($0.bool ? "adm" : "4711") }
        )
    }

    mutating func rateLimit() -> RateLimit {
        let span = UInt64.random(in: 1000...86_400_000_000, using: &generator)
        return RateLimit(count: number(1...100_000), span: TimeSpan(microseconds: span))
    }

    mutating func environment() -> [EnvironmentVariable] {
        (0..<number(0...3)).map {
            EnvironmentVariable(name: "V_\($0)", value: Array(component().dropFirst(number(0...1))))
        }
    }

    // MARK: Handlers

    static let harmless: [Specifier] = [
        .source, .handler, .queue, .operation, .kind, .event, .signal, .pid, .exitStatus, .result, .time, .scheduled,
        .attempt, .count, .peer,
    ]

    mutating func handler(_ name: String, queues: [String], specifiers: [Specifier]) -> HandlerDefinition {
        var handler = HandlerDefinition(name: name, action: action(specifiers))
        handler.queue = maybe { queues.randomElement(using: &$0.generator) ?? "main" }
        handler.overlap = maybe { Overlap.allCases.randomElement(using: &$0.generator) ?? .wait }
        handler.timeout = bool ? .infinity : span(from: 1)
        if handler.timeout == .infinity, bool { handler.patience.slow = span(from: 1) }
        handler.timeoutStop = span(from: 0)
        handler.killSignal = signal()
        handler.killMode = KillMode.allCases.randomElement(using: &generator) ?? .tree
        handler.stride = maybe { $0.number(1...1_000_000_000) }
        handler.windows = windows()
        handler.conditions.paths = (0..<number(0...2)).map { _ in PathCondition(path: path(), isNegated: bool) }
        handler.conditions.commands = (0..<number(0...2)).map { _ in command(specifiers) }
        handler.retry = retry()
        handler.successExitStatus = exitStatuses()
        handler.workingDirectory = maybe { $0.path() }
        handler.environment = environment()
        handler.contract = contract()
        handler.contract.startsAtHome = handler.workingDirectory == nil && bool
        handler.standardInput =
            StandardInput.allCases.filter { $0 != .socket }.randomElement(using: &generator) ?? .event
        // Nobody reads it there.
        switch handler.action {
        case .mail, .stream, .unit, .process, .client: handler.standardInput = .event
        case .exec, .log, .emit: break
        }
        if case .unit = handler.action, handler.overlap == .restart { handler.overlap = .wait }
        handler.standardOutput = output()
        handler.standardError = output()
        if handler.stream != nil { dropForeignToStreams(&handler) }
        return handler
    }

    mutating func placeInUnit(_ handler: inout HandlerDefinition, _ commands: Int) {
        let properties = [UnitProperty("PrivateTmp", .flag(bool)), UnitProperty("ProtectHome", .text("tmpfs"))]
        handler.placement = UnitPlacement(properties: Array(properties.prefix(number(0...2))))
        handler.onStop = .leave
        if commands > 1 { handler.standardInput = .null }
        if handler.standardOutput == .inherit { handler.standardOutput = .null }
        if handler.standardError == .inherit { handler.standardError = .null }
    }

    /// Drops the keys that the checks refuse beside an action without a process.
    func dropUnused(_ handler: inout HandlerDefinition) {
        let plain = HandlerDefinition(name: handler.name, action: handler.action)
        (handler.contract, handler.workingDirectory) = (plain.contract, plain.workingDirectory)
        handler.environment = plain.environment
        handler.standardInput = plain.standardInput
        (handler.standardOutput, handler.standardError) = (plain.standardOutput, plain.standardError)
    }

    /// Drops the keys that the checks refuse beside `Stream=`.
    func dropForeignToStreams(_ handler: inout HandlerDefinition) {
        handler.stride = nil
        handler.conditions = RunConditions()
        handler.standardInput = .event
        handler.retry.preventExitStatus = ExitStatusSet()
        handler.successExitStatus = ExitStatusSet()
        if handler.overlap == .restart { handler.overlap = .wait }
        if handler.killMode == .none { handler.killMode = .tree }
    }

    mutating func contract() -> ProcessContract {
        var contract = ProcessContract()
        contract.user = maybe { $0.bool ? "www-data" : "\($0.number(0...60_000))" }
        contract.group = maybe { $0.bool ? "adm.x_Y" : "\($0.number(0...60_000))" }
        contract.supplementaryGroups = (0..<number(0...3)).map { "group\($0)" }
        contract.environmentFiles = (0..<number(0...2)).map {
            EnvironmentFile(path: Array("/etc/default/file\($0)".utf8), isOptional: bool)
        }
        contract.serviceCredentials = (0..<number(0...2)).map { "credential.\($0)" }
        contract.passedEnvironment = (0..<number(0...2)).map { "PASSED_\($0)" }
        contract.resources.memoryMax = maybe { $0.bool ? .max : UInt64($0.number(1...1 << 40)) }
        contract.resources.cpuQuota = maybe { $0.number(1...100_000) }
        contract.resources.tasksMax = maybe { $0.bool ? .max : UInt64($0.number(1...4_194_304)) }
        contract.resources.cpuWeight = maybe { $0.number(1...10_000) }
        contract.resources.ioWeight = maybe { $0.number(1...10_000) }
        contract.mask = UInt32(number(0o100...0o777))
        contract.nice = maybe { Int32($0.number(0...39) - 20) }
        contract.io = maybe {
            $0.bool
                ? IOScheduling(.idle) : IOScheduling($0.bool ? .realtime : .bestEffort, level: Int32($0.number(0...7)))
        }
        contract.cpu = maybe {
            $0.bool ? CPUScheduling(.batch) : CPUScheduling(.rr, priority: Int32($0.number(1...99)))
        }
        contract.oomScoreAdjust = maybe { Int32($0.number(0...2000) - 1000) }
        contract.hasNoNewPrivileges = bool
        for resource in ResourceLimit.Resource.allCases where bool {
            let soft = UInt64(number(0...40))
            contract.limits.append(ResourceLimit(resource, soft: soft, hard: bool ? soft : ResourceLimit.infinity))
        }
        return contract
    }

    mutating func exitStatuses() -> ExitStatusSet {
        ExitStatusSet(
            codes: Set((0..<number(0...3)).map { _ in Int32(number(0...255)) }),
            signals: Set((0..<number(0...2)).map { _ in signal() }))
    }

    mutating func retry() -> RetryPolicy {
        let delay = bool ? .seconds(1) : span(from: 1000)
        let longest = [max(.seconds(300), delay), delay, .infinity].randomElement(using: &generator) ?? .infinity
        return RetryPolicy(
            limit: maybe { $0.number(0...1_000_000_000) }, delay: delay, maxDelay: longest,
            preventExitStatus: exitStatuses())
    }

    /// What depends on the queues and semaphores that there are.
    mutating func constrain(_ handler: inout HandlerDefinition, in result: Configuration) {
        handler.constraints.delay = bool ? .zero : span(from: 1)
        if handler.constraints.delay > .zero, handler.stream == nil {
            handler.constraints.batchSize = maybe { $0.number(1...1_000_000_000) }
        }
        handler.constraints.startTimeout = bool ? .infinity : span(from: 1)
        if handler.constraints.startTimeout == .infinity, bool { handler.patience.late = span(from: 1) }
        handler.constraints.once = maybe { $0.bool ? .boot : .ever }
        let routes = result.sources.flatMap(\.routes).filter { $0.handler == handler.name }
        let names = Set(routes.map(\.queue) + [handler.queue ?? "default"])
        let queues = result.queues.filter { names.contains($0.name) }
        if queues.allSatisfy({ $0.kind != .serial }) {
            handler.constraints.priority = OperationPriority.allCases.randomElement(using: &generator) ?? .normal
            let hasGlobal = queues.contains { QueueDefinition.builtInNames.contains($0.name) }
            handler.constraints.isBarrier = !hasGlobal && bool
        }
        for semaphore in result.semaphores {
            let most = semaphore.value == 0 ? 1_000_000_000 : semaphore.value
            let count = SemaphoreCount(name: semaphore.name, count: number(1...most))
            switch semaphore.members.isEmpty ? number(0...3) : number(0...1) * 3 {
            case 0: handler.constraints.acquires.append(count)
            case 1: handler.constraints.consumes.append(count)
            case 2: handler.constraints.releases.append(count)
            default: break
            }
        }
    }

    mutating func signal() -> Int32 { Int32(bool ? number(1...31) : number(34...64)) }

    mutating func output() -> StandardOutput {
        [.journal, .null, .inherit, .file(path()), .append(path())].randomElement(using: &generator) ?? .null
    }

    mutating func action(_ specifiers: [Specifier]) -> HandlerAction {
        if bool { return .log(template([.literal(Array(text().utf8))], specifiers) { Array($0.text().utf8) }) }
        if number(0...5) == 0 {
            return .mail(to: Array(["root", "a.b+c@example.org", "x_y@mail-1.example"].prefix(number(1...3))))
        }
        if number(0...5) == 0 {
            let verb = UnitAction.Verb.allCases.randomElement(using: &generator) ?? .start
            let instance = Template(parts: [
                .literal(Array("b@x".utf8)), .specifier(.count), .literal(Array(".timer".utf8)),
            ])
            return .unit(
                UnitAction(
                    units: [Template(literal: #"a\x2d.service"#), instance], verb: verb, waits: verb.mayStart && bool))
        }
        if number(0...3) == 0 { return .stream(stream()) }
        return .exec((0..<number(1...3)).map { _ in command(specifiers) })
    }

    mutating func stream() -> StreamAction {
        let words = (0..<number(0...3)).map { _ in Command.Word.template(Template(parts: [.literal(component())])) }
        var stream = StreamAction(
            command: Command(words: [.template(Template(literal: bool ? "/bin/worker" : "worker"))] + words),
            workers: number(1...StreamAction.maximumWorkers), prefetch: number(1...StreamAction.maximumPrefetch),
            isAcknowledged: bool, idle: bool ? .infinity : span(from: 1), restartDelay: span(from: 1000))
        stream.restartMaxDelay = bool ? .infinity : max(stream.restartDelay, span(from: 1000))
        return stream
    }

    mutating func command(_ specifiers: [Specifier]) -> Command {
        let words = (0..<number(0...4)).map { _ -> Command.Word in
            number(0...5) == 0 ? .everything : .template(template([], specifiers) { $0.component() })
        }
        return Command(words: [.template(Template(literal: bool ? "/bin/prog" : "prog"))] + words)
    }

    /// Literals and specifiers in turn, as the parser gives them.
    mutating func template(
        _ start: [Template.Part], _ specifiers: [Specifier], literal: (inout Self) -> [UInt8]
    ) -> Template {
        var parts = start
        for _ in 0..<number(0...3) {
            if let specifier = specifiers.randomElement(using: &generator) { parts.append(.specifier(specifier)) }
            parts.append(.literal(literal(&self)))
        }
        return Template(parts: parts)
    }

    mutating func startOthers(_ handler: inout HandlerDefinition, customs: [String], handlers: [String]) {
        if let custom = customs.randomElement(using: &generator), bool {
            let data = [nil, Template(literal: "-7"), Template(parts: [.specifier(.count)])]
            handler.action = .emit(source: custom, data: data.randomElement(using: &generator) ?? nil)
        }
        handler.completions.success = some(of: handlers)
        handler.completions.failure = some(of: handlers)
        handler.completions.retry = some(of: handlers)
        handler.completions.change = some(of: handlers)
        handler.completions.finished = some(of: handlers)
        handler.completions.late = some(of: handlers)
        handler.completions.slow = some(of: handlers)
        handler.constraints.requires = some(of: handlers)
    }

    mutating func some(of names: [String]) -> [String] {
        Array(names.shuffled(using: &generator).prefix(number(0...2)))
    }
}

extension HandlerDefinition {
    /// Of its action, or of its conditions.
    var hasProcess: Bool {
        switch action {
        case .exec, .stream, .mail, .client: true
        case .log, .emit, .unit, .process: !conditions.commands.isEmpty
        }
    }
}
