/// The object that a `[Descriptor]` listens to, and how it is read.
extension Checker {
    /// The keys that say what it is; one of them stands in each.
    static let listenerKeys = [
        "ListenFIFO", "ListenDatagram", "ListenStream", "ListenSequentialPacket", "ListenSpecial", "ListenNetlink",
        "ListenMessageQueue", "FileDescriptorName", "Command", "Tail", "Pressure",
    ]

    mutating func descriptor(_ section: Section, _ entries: Entries) -> Trigger? {
        let given = Self.listenerKeys.compactMap { entries.entry($0) }
        guard let first = given.first else {
            return missing(
                "ListenFIFO=, ListenStream=, ListenDatagram=, Tail=, Command= or another of its kind", section)
        }
        for extra in given.dropFirst() where !extra.isUnreadable {
            problems.error(
                "a descriptor is one thing: \(extra.key.name)= besides \(first.key.name)=", at: extra.keyText)
        }
        guard let value = first.value, let listener = listener(value, first) else { return nil }
        let framing = entries["Framing"]?.word.flatMap(DescriptorTrigger.Framing.init)
        var trigger = DescriptorTrigger(listener: listener, framing: framing ?? listener.usualFraming)
        if case .passed = listener { trigger.isFramingGiven = framing != nil }
        trigger.maxLength = entries["MaxLength"]?.number ?? trigger.maxLength
        trigger.include = entries.list("Include").compactMap { $0.value?.pattern }
        trigger.exclude = entries.list("Exclude").compactMap { $0.value?.pattern }
        trigger.mode = entries["SocketMode"]?.number.map { UInt32($0) } ?? trigger.mode
        trigger.user = entries["SocketUser"]?.text
        trigger.group = entries["SocketGroup"]?.text
        trigger.readiness = entries["Ready"]?.word.flatMap(DescriptorTrigger.Readiness.init) ?? trigger.readiness
        trigger.accepts = entries["Accept"]?.flag ?? false
        trigger.maxConnections = entries["MaxConnections"]?.number ?? trigger.maxConnections
        if case .command(let command) = listener { trigger.launch = launch(command, section) }
        checkFraming(trigger, first, entries)
        checkKeys(of: trigger, first, entries)
        checkFileOwner(entries)
        return .descriptor(trigger)
    }

    private mutating func listener(_ value: Value, _ entry: Entry) -> DescriptorTrigger.Listener? {
        switch entry.key.name {
        case "ListenFIFO": value.path.map { .fifo($0) }
        case "ListenDatagram": value.address.map { .datagram($0) }
        case "ListenStream": value.address.map { .stream($0) }
        case "ListenSequentialPacket": sequentialPacket(value, entry)
        case "ListenSpecial": value.path.map { .special($0) }
        case "ListenNetlink": value.netlink.map { .netlink($0) }
        case "ListenMessageQueue": messageQueue(value, entry)
        case "FileDescriptorName": value.names.first.map { .passed($0.string) }
        case "Command": command(value)
        case "Tail": tail(value, entry)
        default: value.pressure.map { .pressure($0) }
        }
    }

    private mutating func sequentialPacket(_ value: Value, _ entry: Entry) -> DescriptorTrigger.Listener? {
        switch value.address {
        case .unix, .abstract: return value.address.map { .sequentialPacket($0) }
        case .ipv4, .ipv6:
            problems.error("ListenSequentialPacket= is a Unix socket: /path or @name", at: entry.text)
            return nil
        case nil: return nil
        }
    }

    private mutating func messageQueue(_ value: Value, _ entry: Entry) -> DescriptorTrigger.Listener? {
        guard let path = value.path else { return nil }
        // NAME_MAX bytes behind one slash (`mq_overview(7)`).
        guard (2...256).contains(path.count), !path.dropFirst().contains(UInt8(ascii: "/")) else {
            problems.error("the name of a message queue is a slash and 1 to 255 bytes without one", at: entry.text)
            return nil
        }
        return .messageQueue(path)
    }

    /// One file: a pattern would be the name of one that never comes.
    private mutating func tail(_ value: Value, _ entry: Entry) -> DescriptorTrigger.Listener? {
        guard let path = value.path else { return nil }
        if let sign = entry.text.bytes.firstIndex(where: { "*?[".utf8.contains($0) }) {
            let character = Unicode.Scalar(entry.text.bytes[sign])
            problems.error(
                "Tail= follows one file, and \(character) makes no pattern there: write a [Descriptor] for each file, "
                    + "or Command=/bin/sh -c 'exec tail -qn0 -F PATTERN' in place of Tail=; as part of a name it is "
                    + "\\x\(String(entry.text.bytes[sign], radix: 16))", at: entry.text[sign..<sign + 1])
            return nil
        }
        return .tail(path)
    }

    /// There is no event yet that a specifier could speak of.
    private mutating func command(_ value: Value) -> DescriptorTrigger.Listener? {
        guard let command = value.command else { return nil }
        for item in command.items {
            if case .everything = item.word {
                problems.error("%@ in Command=: it runs before there is an event", at: item.text)
                return nil
            }
            if let specifier = item.specifiers.first {
                problems.error(
                    "\(specifier.text.shown) in Command=: it runs before there is an event", at: specifier.text)
                return nil
            }
        }
        return .command(command.command)
    }

    /// As for the command of a `[Process]`, but for what is about its end and its output.
    private mutating func launch(_ command: Command, _ section: Section) -> CommandLaunch {
        let draft = launchDraft(section, KeyTable.launchNames, .exec([command]))
        checkContract(draft.entries)
        return draft.definition.map(CommandLaunch.init) ?? CommandLaunch()
    }

    // MARK: Owner

    /// They may come later, so it is no error.
    private mutating func checkFileOwner(_ entries: Entries) {
        for (key, what, isKnown) in [("SocketUser", "user", context.isUser), ("SocketGroup", "group", context.isGroup)]
        {
            guard let isKnown, let entry = entries.entry(key), let name = entry.value?.text else { continue }
            guard !name.isEmpty, UInt32(name) == nil, !isKnown(name) else { continue }
            problems.warning(
                "\(key)=\(name): there is no such \(what) now; the source fails until there is", at: entry.text)
        }
    }

    // MARK: Framing

    private mutating func checkFraming(_ trigger: DescriptorTrigger, _ listener: Entry, _ entries: Entries) {
        guard let entry = entries.entry("Framing"), entry.value != nil else { return }
        let name = "\(listener.key.name)="
        switch (trigger.framing, trigger.listener) {
        case (_, _) where trigger.accepts:
            problems.error("Accept=yes reads nothing: Framing= means nothing beside it", at: entry.keyText)
        case (.datagram, .fifo):
            problems.error("a FIFO has no datagrams: Framing=datagram needs ListenDatagram=", at: entry.text)
        case (.datagram, .stream), (.datagram, .special), (.datagram, .command), (.datagram, .tail):
            problems.error("\(name) has no datagrams: Framing=datagram needs ListenDatagram=", at: entry.text)
        case (.chunk, .datagram), (.chunk, .sequentialPacket), (.chunk, .netlink), (.chunk, .messageQueue):
            problems.error(
                "\(name) has no stream to cut into chunks: Framing=datagram gives each as it is", at: entry.text)
        case (_, .pressure): problems.error("Pressure= has nothing to read: Framing= means nothing", at: entry.keyText)
        case (.ready, .tail), (.ready, .command):
            problems.error("\(name) is read by watchd itself and cannot be handed over", at: entry.text)
        case (.line, _), (.datagram, _), (.chunk, _), (.ready, _): break
        }
    }

    /// Keys that mean something beside others only.
    private mutating func checkKeys(of trigger: DescriptorTrigger, _ listener: Entry, _ entries: Entries) {
        func refuse(_ key: String, _ reason: String) {
            guard let entry = entries.list(key).first, !entry.isDefault else { return }
            problems.error("\(key)= \(reason)", at: entry.keyText)
        }
        var isPressure = false
        if case .pressure = trigger.listener { isPressure = true }
        if trigger.framing != .ready { refuse("Ready", "needs Framing=ready") }
        if trigger.handsOver || isPressure {
            let reason = "is about what is read, and nothing is read here"
            for key in ["Include", "Exclude", "MaxLength"] { refuse(key, reason) }
        }
        switch trigger.listener {
        case .stream, .sequentialPacket:
            if trigger.readiness == .writable, trigger.framing == .ready {
                refuse("Ready", "waits in vain: what listens is never writable; Accept=yes hands over its connections")
            }
        case .passed: break
        case .fifo, .datagram, .special, .netlink, .messageQueue, .command, .tail, .pressure:
            if trigger.accepts { refuse("Accept", "needs ListenStream= or ListenSequentialPacket=") }
            refuse("MaxConnections", "needs ListenStream= or ListenSequentialPacket=")
        }
        switch trigger.listener {
        case .fifo, .datagram(.unix), .stream(.unix), .sequentialPacket(.unix), .messageQueue: break
        case .datagram, .stream, .sequentialPacket, .special, .netlink, .passed, .command, .tail, .pressure:
            for key in ["SocketUser", "SocketGroup"] { refuse(key, "is for a FIFO or socket file that watchd makes") }
        }
    }
}

extension DescriptorTrigger.Listener {
    var usualFraming: DescriptorTrigger.Framing {
        switch self {
        case .datagram, .sequentialPacket, .netlink, .messageQueue: .datagram
        case .fifo, .stream, .special, .passed, .command, .tail, .pressure: .line
        }
    }
}
