import WatchFile

/// The keys of `[Descriptor]`.
extension ConfigurationPrinter {
    mutating func descriptor(_ trigger: DescriptorTrigger) {
        listener(trigger.listener)
        var isPressure = false
        if case .pressure = trigger.listener { isPressure = true }
        if trigger.isFramingGiven, !trigger.accepts, !isPressure { key("Framing", trigger.framing.rawValue) }
        if trigger.framing == .ready { key("Ready", trigger.readiness.rawValue) }
        if !trigger.handsOver, !isPressure {
            key("MaxLength", trigger.maxLength % 1024 == 0 ? "\(trigger.maxLength / 1024)K" : "\(trigger.maxLength)")
        }
        for pattern in trigger.include { key("Include", pattern) }
        for pattern in trigger.exclude { key("Exclude", pattern) }
        flag("Accept", trigger.accepts, default: false)
        if trigger.maxConnections != 64 { key("MaxConnections", "\(trigger.maxConnections)") }
        key("SocketMode", "0" + String(trigger.mode + 0o1000, radix: 8).dropFirst())
        trigger.user.map { key("SocketUser", $0) }
        trigger.group.map { key("SocketGroup", $0) }
    }

    private mutating func listener(_ listener: DescriptorTrigger.Listener) {
        switch listener {
        case .fifo(let file): key("ListenFIFO", path(file))
        case .datagram(let address): key("ListenDatagram", self.address(address))
        case .stream(let address): key("ListenStream", self.address(address))
        case .sequentialPacket(let address): key("ListenSequentialPacket", self.address(address))
        case .special(let file): key("ListenSpecial", path(file))
        case .netlink(let family): key("ListenNetlink", "\(family.name) \(family.groups)")
        case .messageQueue(let name): key("ListenMessageQueue", path(name))
        case .passed(let name): key("FileDescriptorName", name)
        case .command(let command):
            key("Command", Array(command.words.map { word($0) }.joined(separator: [0x20])))
        case .tail(let file): key("Tail", path(file))
        case .pressure(let limit):
            key("Pressure", "\(limit.resource.rawValue) \(limit.share.rawValue) \(limit.stall)us \(limit.window)us")
        }
    }
}
