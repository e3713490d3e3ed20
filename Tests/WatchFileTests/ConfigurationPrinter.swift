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

    private mutating func line(_ text: String) {
        if Bool.random(using: &generator) { bytes += Array("  # between\n\n".utf8) }
        bytes += Array(text.utf8) + newline
    }

    private var newline: [UInt8] { generator.state % 3 == 0 ? [13, 10] : [10] }

    private mutating func key(_ name: String, _ value: String) { key(name, Array(value.utf8)) }

    private mutating func key(_ name: String, _ value: [UInt8]) {
        bytes += Array(name.utf8) + (Bool.random(using: &generator) ? [0x20, 0x3D, 0x09] : [0x3D]) + value + newline
    }

    private mutating func flag(_ name: String, _ value: Bool, default normal: Bool) {
        if value == normal, Bool.random(using: &generator) { return }
        key(
            name,
            (value ? ["yes", "true", "on", "1"] : ["no", "false", "off", "0"]).randomElement(using: &generator) ?? "")
    }

    private mutating func settings(_ settings: DaemonSettings) {
        line("[Watchd]")
        settings.controlSocket.map { key("ControlSocket", path($0)) }
        key("LogLevel", "\(settings.logLevel)")
        key("MaxProcesses", "\(settings.maxProcesses)")
        key("MaxOperations", "\(settings.maxOperations)")
        key("DrainSec", settings.drain.description)
    }

    private mutating func section(_ queue: QueueDefinition) {
        line("[Queue \(queue.name)]")
        if !QueueDefinition.builtInNames.contains(queue.name), case .concurrent(let width) = queue.kind {
            key("Type", "concurrent")
            key("Width", "\(width)")
        }
        key("Backlog", "\(queue.backlog)")
        key("Overflow", queue.overflow.rawValue)
        flag("Suspended", queue.isSuspended, default: false)
    }

    // MARK: Handlers

    private mutating func handler(_ handler: HandlerDefinition) {
        action(handler.action)
        handler.overlap.map { key("Overlap", $0.rawValue) }
        key("TimeoutSec", handler.timeout.description)
        key("TimeoutStopSec", handler.timeoutStop.description)
        key("KillSignal", signal(handler.killSignal))
        key("KillMode", handler.killMode.rawValue)
        for code in handler.successExitStatus.codes.sorted() { key("SuccessExitStatus", "\(code)") }
        for number in handler.successExitStatus.signals.sorted() { key("SuccessExitStatus", LinuxSignal.name(number)) }
        handler.workingDirectory.map { key("WorkingDirectory", path($0)) }
        for variable in handler.environment {
            key("Environment", Array("\(variable.name)=".utf8) + variable.value.flatMap { escaped($0) })
        }
        key("StandardInput", handler.standardInput.rawValue)
        key("StandardOutput", output(handler.standardOutput))
        key("StandardError", output(handler.standardError))
        for (name, list) in [
            ("OnSuccess", handler.onSuccess), ("OnFailure", handler.onFailure), ("OnFinished", handler.onFinished),
        ] {
            for handler in list { key(name, handler) }
        }
    }

    private mutating func action(_ action: HandlerAction) {
        switch action {
        case .exec(let commands):
            for command in commands {
                key("Exec", Array(command.words.map { word($0) }.joined(separator: [0x20, 0x20])))
            }
        case .log(let template): key("Log", text(template))
        case .emit(let source, let data): key("Emit", Array(source.utf8) + (data.map { [0x20] + text($0) } ?? []))
        }
    }

    private mutating func word(_ word: Command.Word) -> [UInt8] {
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
    private mutating func inWord(_ byte: UInt8, _ quote: String) -> [UInt8] {
        let isSpecial =
            [0x0A, 0x0D, 0x22, 0x27, 0x5C].contains(byte) || quote.isEmpty && [0x09, 0x20, 0x3B].contains(byte)
        return isSpecial || Int.random(in: 0..<8, using: &generator) == 0 ? escaped(byte) : [byte]
    }

    private mutating func escaped(_ byte: UInt8) -> [UInt8] {
        if (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) { return [byte] }
        if byte == 0x20, Bool.random(using: &generator) { return Array("\\s".utf8) }
        let radix = Bool.random(using: &generator) ? 16 : 8
        let digits = String(byte, radix: radix)
        let width = radix == 16 ? 2 : 3
        return Array(("\\" + (radix == 16 ? "x" : "")).utf8) + Array(repeating: 0x30, count: width - digits.count)
            + Array(digits.utf8)
    }

    private mutating func text(_ template: Template) -> [UInt8] {
        template.parts.flatMap { part -> [UInt8] in
            switch part {
            case .literal(let bytes): bytes.flatMap { $0 == 0x25 ? [0x25, 0x25] : [$0] }
            case .specifier(let specifier): spelling(specifier)
            }
        }
    }

    private mutating func spelling(_ specifier: Specifier) -> [UInt8] {
        let names: [Specifier: [String]] = [
            .path: ["%p", "%{path}"], .lastComponent: ["%f"], .relativePath: ["%r"], .source: ["%{source}"],
            .handler: ["%{handler}"], .queue: ["%{queue}"], .operation: ["%{operation}"], .kind: ["%{kind}"],
            .event: ["%{event}"], .oldPath: ["%{old_path}"], .folder: ["%{folder}"], .line: ["%{line}"],
            .data: ["%{data}"], .signal: ["%{signal}"], .pid: ["%{pid}"], .exitStatus: ["%{exit_status}"],
            .result: ["%{result}"], .time: ["%{time}"], .scheduled: ["%{scheduled}"], .attempt: ["%{attempt}"],
            .count: ["%{count}"], .peer: ["%{peer}"],
        ]
        if case .capture(let number) = specifier { return Array("%\(number)".utf8) }
        return Array((names[specifier]?.randomElement(using: &generator) ?? "").utf8)
    }

    private mutating func path(_ path: [UInt8]) -> [UInt8] {
        path.flatMap { $0 == 0x2F ? [$0] : escaped($0) }
    }

    private mutating func output(_ output: StandardOutput) -> [UInt8] {
        switch output {
        case .journal: Array("journal".utf8)
        case .null: Array("null".utf8)
        case .inherit: Array("inherit".utf8)
        case .file(let file): Array("file:".utf8) + path(file)
        case .append(let file): Array("append:".utf8) + path(file)
        }
    }

    private mutating func signal(_ number: Int32) -> String {
        let name = LinuxSignal.name(number)
        return [name, String(name.dropFirst(3)), String(number)].randomElement(using: &generator) ?? name
    }

    // MARK: Sources

    private mutating func section(_ source: SourceDefinition, own: HandlerDefinition?) {
        let kind = source.id.kind.rawValue
        line("[\(kind.prefix(1).uppercased() + kind.dropFirst()) \(source.id.name)]")
        trigger(source.trigger)
        own.map { handler($0) }
        for route in source.routes where route.handler != own?.name { key("Handler", route.handler) }
        let queues = Set(source.routes.map(\.queue))
        if let own {
            own.queue.map { key("Queue", $0) }
        } else if queues.count == 1, let queue = queues.first {
            key("Queue", queue)
        }
        source.summary.map { key("Description", $0) }
        switch source.key {
        case .handler: if source.id.kind == .descriptor { key("Key", "") }
        case .none: key("Key", "none")
        case .template(let template): key("Key", text(template))
        }
        flag("Coalesce", source.coalesces, default: source.id.kind != .descriptor)
        flag("Suspended", source.isSuspended, default: false)
        flag("Required", source.isRequired, default: false)
    }

    private mutating func trigger(_ trigger: Trigger) {
        switch trigger {
        case .timer(let timer):
            timer.every.map { key("EverySec", $0.description) }
            timer.after.map { key("AfterSec", $0.description) }
            timer.onStartup.map { key("OnStartupSec", $0.description) }
            timer.onBoot.map { key("OnBootSec", $0.description) }
        case .signal(let trigger): key("Signal", trigger.signals.map { signal($0) }.joined(separator: " "))
        case .path(let trigger):
            for path in trigger.paths { key("Path", self.path(path)) }
            key("Events", events(trigger.events))
            flag("Recursive", false, default: false)
        case .descriptor(let trigger):
            switch trigger.listener {
            case .fifo(let file): key("ListenFIFO", path(file))
            case .datagram(let address): key("ListenDatagram", self.address(address))
            }
            key("Framing", trigger.framing.rawValue)
            key("MaxLength", trigger.maxLength % 1024 == 0 ? "\(trigger.maxLength / 1024)K" : "\(trigger.maxLength)")
            key("SocketMode", "0" + String(trigger.mode + 0o1000, radix: 8).dropFirst())
        case .process(let trigger):
            key("PIDFile", path(trigger.pidFile))
            key("Events", "exit")
        case .custom(let trigger): key("Merge", trigger.merge.rawValue)
        }
    }

    private func events(_ events: PathEvents) -> String {
        let names: [(PathEvents, String)] = [
            (.written, "written"), (.renamed, "renamed"), (.deleted, "deleted"), (.created, "created"),
            (.modified, "modified"), (.attributes, "attributes"),
        ]
        return names.filter { events.contains($0.0) }.map(\.1).joined(separator: " ")
    }

    private mutating func address(_ address: SocketAddress) -> [UInt8] {
        switch address {
        case .unix(let file): return path(file)
        case .abstract(let name): return [0x40] + name.flatMap { escaped($0) }
        case .ipv4(let address, let port):
            return Array("\(address.map(String.init).joined(separator: ".")):\(port)".utf8)
        case .ipv6(let address, let port):
            if address.allSatisfy({ $0 == 0 }) { return Array("\(port)".utf8) }
            let groups = stride(from: 0, to: 16, by: 2).map {
                String(Int(address[$0]) << 8 | Int(address[$0 + 1]), radix: 16)
            }
            return Array("[\(groups.joined(separator: ":"))]:\(port)".utf8)
        }
    }
}
