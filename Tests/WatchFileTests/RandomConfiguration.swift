import Schedule
import WatchFile

/// Makes configurations that the checks accept, of everything that this version supports.
struct RandomConfiguration {
    var generator: SplitMix

    /// The first handlers start nothing further, so that no cycle can arise.
    private static let leaves = 3

    mutating func make() -> Configuration {
        var result = Configuration(settings: settings())
        let width = result.settings.maxProcesses
        for name in QueueDefinition.builtInNames {
            result.queues.append(queue(name, name == "main" ? .serial : .concurrent(width: width)))
        }
        for index in 0..<number(0...3) {
            result.queues.append(queue("q-\(index)", bool ? .serial : .concurrent(width: number(1...50))))
        }
        let queues = result.queues.map(\.name)
        let customs = (0..<number(0...2)).map { "c.\($0)" }
        for index in 0..<Self.leaves + number(0...4) {
            var handler = handler("h\(index)", queues: queues, specifiers: Self.harmless)
            if index >= Self.leaves {
                startOthers(&handler, customs: customs, handlers: (0..<index).map { "h\($0)" })
            }
            result.handlers.append(handler)
        }
        for index in 0..<number(0...6) { addSource(index, to: &result, queues: queues) }
        for name in customs {
            let trigger = CustomTrigger(merge: CustomTrigger.Merge.allCases.randomElement(using: &generator) ?? .add)
            addRoutes(.init(.custom, name), .custom(trigger), own: nil, to: &result, queues: queues)
        }
        avoidSkippingWithoutKey(&result)
        return result
    }

    // MARK: Small things

    private var bool: Bool { mutating get { Bool.random(using: &generator) } }

    private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    private mutating func maybe<Value>(_ make: (inout Self) -> Value) -> Value? { bool ? make(&self) : nil }

    private mutating func span(from shortest: UInt64) -> TimeSpan {
        let value = UInt64.random(in: shortest...3_000_000_000_000_000, using: &generator)
        return TimeSpan(microseconds: max(shortest, value >> UInt64(number(0...40))))
    }

    /// Any bytes but NUL and `/`.
    private mutating func component() -> [UInt8] {
        [UInt8(ascii: "n")]
            + (0..<number(0...5)).map { _ in
                let byte = UInt8.random(in: 1...255, using: &generator)
                return byte == UInt8(ascii: "/") ? 1 : byte
            }
    }

    private mutating func path() -> [UInt8] {
        (0..<number(1...4)).reduce(into: []) { path, _ in path += [UInt8(ascii: "/")] + component() }
    }

    private mutating func text() -> String {
        let letters = ["a", "Z", "é", "日", "\\.", "%", "#", ";", "=", "'", "\"", "[", "]", " x", "$", "{", "}"]
        return "t" + (0..<number(0...8)).map { _ in letters.randomElement(using: &generator) ?? "" }.joined() + "."
    }

    private mutating func settings() -> DaemonSettings {
        DaemonSettings(
            controlSocket: maybe { $0.path() }, logLevel: LogLevel.allCases.randomElement(using: &generator) ?? .info,
            maxProcesses: number(1...1000), maxOperations: number(1...1_000_000_000),
            drain: bool ? .infinity : span(from: 0))
    }

    private mutating func queue(_ name: String, _ kind: QueueDefinition.Kind) -> QueueDefinition {
        QueueDefinition(
            name: name, kind: kind, backlog: number(1...1_000_000_000),
            overflow: QueueDefinition.Overflow.allCases.randomElement(using: &generator) ?? .block, isSuspended: bool)
    }

    // MARK: Handlers

    private static let harmless: [Specifier] = [
        .source, .handler, .queue, .operation, .kind, .event, .signal, .pid, .exitStatus, .result, .time, .scheduled,
        .attempt, .count, .peer,
    ]

    private mutating func handler(_ name: String, queues: [String], specifiers: [Specifier]) -> HandlerDefinition {
        var handler = HandlerDefinition(name: name, action: action(specifiers))
        handler.queue = maybe { queues.randomElement(using: &$0.generator) ?? "main" }
        handler.overlap = maybe { Overlap.allCases.randomElement(using: &$0.generator) ?? .wait }
        handler.timeout = bool ? .infinity : span(from: 1)
        handler.timeoutStop = span(from: 0)
        handler.killSignal = signal()
        handler.killMode = KillMode.allCases.randomElement(using: &generator) ?? .tree
        handler.successExitStatus = ExitStatusSet(
            codes: Set((0..<number(0...3)).map { _ in Int32(number(0...255)) }),
            signals: Set((0..<number(0...2)).map { _ in signal() }))
        handler.workingDirectory = maybe { $0.path() }
        handler.environment = (0..<number(0...3)).map {
            EnvironmentVariable(name: "V_\($0)", value: Array(component().dropFirst(number(0...1))))
        }
        handler.standardInput = StandardInput.allCases.randomElement(using: &generator) ?? .event
        handler.standardOutput = output()
        handler.standardError = output()
        return handler
    }

    private mutating func signal() -> Int32 { Int32(bool ? number(1...31) : number(34...64)) }

    private mutating func output() -> StandardOutput {
        [.journal, .null, .inherit, .file(path()), .append(path())].randomElement(using: &generator) ?? .null
    }

    private mutating func action(_ specifiers: [Specifier]) -> HandlerAction {
        if bool { return .log(template([.literal(Array(text().utf8))], specifiers) { Array($0.text().utf8) }) }
        return .exec(
            (0..<number(1...3)).map { _ in
                let words = (0..<number(0...4)).map { _ -> Command.Word in
                    number(0...5) == 0 ? .everything : .template(template([], specifiers) { $0.component() })
                }
                return Command(words: [.template(Template(literal: bool ? "/bin/prog" : "prog"))] + words)
            })
    }

    /// Literals and specifiers in turn, as the parser gives them.
    private mutating func template(
        _ start: [Template.Part], _ specifiers: [Specifier], literal: (inout Self) -> [UInt8]
    ) -> Template {
        var parts = start
        for _ in 0..<number(0...3) {
            if let specifier = specifiers.randomElement(using: &generator) { parts.append(.specifier(specifier)) }
            parts.append(.literal(literal(&self)))
        }
        return Template(parts: parts)
    }

    private mutating func startOthers(_ handler: inout HandlerDefinition, customs: [String], handlers: [String]) {
        if let custom = customs.randomElement(using: &generator), bool {
            let data = [nil, Template(literal: "-7"), Template(parts: [.specifier(.count)])]
            handler.action = .emit(source: custom, data: data.randomElement(using: &generator) ?? nil)
        }
        handler.onSuccess = some(of: handlers)
        handler.onFailure = some(of: handlers)
        handler.onFinished = some(of: handlers)
    }

    private mutating func some(of names: [String]) -> [String] {
        Array(names.shuffled(using: &generator).prefix(number(0...2)))
    }

    // MARK: Sources

    private mutating func addSource(_ index: Int, to result: inout Configuration, queues: [String]) {
        let kinds: [SourceKind] = [.timer, .signal, .path, .descriptor, .process]
        let kind = kinds.randomElement(using: &generator) ?? .timer
        let own: [Specifier]? =
            bool ? Self.harmless + (kind == .path ? [.path, .lastComponent, .folder, .oldPath] : [.line]) : nil
        addRoutes(.init(kind, "s\(index)"), trigger(kind, index), own: own, to: &result, queues: queues)
    }

    /// `own`: the specifiers that the source's own handler may use.
    private mutating func addRoutes(
        _ id: SourceID, _ trigger: Trigger, own: [Specifier]?, to result: inout Configuration, queues: [String]
    ) {
        var names = id.kind == .custom ? ["h0"] : some(of: result.handlers.map(\.name))
        var queue = maybe { queues.randomElement(using: &$0.generator) ?? "main" }
        if let own {
            var handler = handler(id.name, queues: queues, specifiers: own)
            handler.queue = queue
            result.handlers.append(handler)
            names = [id.name] + names
        } else if names.isEmpty {
            names = ["h1"]
        }
        let routes = names.map { name in
            let usual = result.handlers.first { $0.name == name }?.queue
            return Route(handler: name, queue: queue ?? usual ?? "default")
        }
        if own == nil, Set(routes.map(\.queue)).count == 1 { queue = routes[0].queue }
        var source = SourceDefinition(id: id, routes: routes, trigger: trigger)
        source.summary = maybe { $0.text() }
        source.isSuspended = bool
        source.isRequired = bool
        source.coalesces = id.kind == .descriptor ? false : bool
        source.key = key(id.kind)
        result.sources.append(source)
    }

    private mutating func key(_ kind: SourceKind) -> KeyRule {
        // What names the path makes every specifier of it sound.
        if kind == .path { return .template(Template(parts: [.specifier(.path)] + (bool ? [.literal([0x2E])] : []))) }
        let template = Template(parts: [.literal(Array(text().utf8)), .specifier(.count)])
        return [.handler, .none, .template(template)].randomElement(using: &generator) ?? .handler
    }

    private mutating func trigger(_ kind: SourceKind, _ index: Int) -> Trigger {
        switch kind {
        case .timer:
            .timer(
                TimerTrigger(
                    every: span(from: 1000), after: maybe { $0.span(from: 1000) },
                    onStartup: maybe { $0.span(from: 1000) }, onBoot: maybe { $0.span(from: 1000) }))
        case .signal: .signal(SignalTrigger(signals: [Int32(34 + index), Int32(44 + index)]))
        case .path:
            .path(
                PathTrigger(
                    paths: Set((0..<number(1...3)).map { _ in path() }).sorted { $0.lexicographicallyPrecedes($1) },
                    events: PathEvents(rawValue: UInt8(number(1...63)))))
        case .process: .process(ProcessTrigger(pidFile: path()))
        default: .descriptor(descriptor(index))
        }
    }

    private mutating func descriptor(_ index: Int) -> DescriptorTrigger {
        let port = UInt16(1000 + index)
        let unique = Array("/\(index)".utf8)
        let address: [SocketAddress] = [
            .unix(unique + path()), .abstract(Array("n\(index)".utf8) + component()),
            .ipv4(address: (0..<4).map { _ in UInt8(number(0...255)) }, port: port),
            .ipv6(address: (0..<16).map { _ in UInt8(bool ? 0 : number(0...255)) }, port: port),
            .ipv6(address: Array(repeating: 0, count: 16), port: port),
        ]
        let isFIFO = bool
        return DescriptorTrigger(
            listener: isFIFO
                ? .fifo(unique + path()) : .datagram(address.randomElement(using: &generator) ?? .unix([])),
            framing: isFIFO || bool ? .line : .datagram, maxLength: bool ? 4096 : number(1...1 << 30),
            mode: UInt32(number(0...0o777)))
    }

    /// Written out, `Overlap=skip` needs a key.
    private func avoidSkippingWithoutKey(_ result: inout Configuration) {
        for source in result.sources where source.key == .none {
            for index in result.handlers.indices
            where source.routes.contains(where: { $0.handler == result.handlers[index].name }) {
                if result.handlers[index].overlap == .skip { result.handlers[index].overlap = .wait }
            }
        }
    }
}
