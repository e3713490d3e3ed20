import Engine
import LinuxSystem
import WatchFile

/// Which source a `[Descriptor]` is.
extension SourceSet {
    func descriptorSource(
        _ id: SourceID, _ trigger: DescriptorTrigger, isDurable: Bool
    ) -> any EventSource {
        if trigger.framing == .ready, let origin = origin(id, trigger) {
            return ReadySource(id, trigger, environment, origin: origin)
        }
        switch trigger.listener {
        case .fifo(let path):
            return FIFOSource(id, path: path, trigger, environment, isDurable: isDurable, spare: spare)
        case .datagram(let address):
            return DatagramSource(id, address, trigger, environment, isDurable: isDurable, spare: spare)
        case .stream(let address):
            return StreamSource(id, address, .stream, trigger, environment, isDurable: isDurable, spare: spare)
        case .sequentialPacket(let address):
            return StreamSource(
                id, address, .sequentialPacket, trigger, environment, isDurable: isDurable, spare: spare)
        case .special, .netlink, .messageQueue: return reader(id, trigger)
        case .passed(let name): return passedSource(id, name, trigger, isDurable: isDurable)
        case .command(let command):
            return CommandSource(id, command, trigger, environment, isDurable: isDurable, spare: spare)
        case .tail(let path): return TailSource(id, path: path, trigger, environment)
        case .pressure(let limit): return PressureSource(id, limit, environment)
        }
    }

    private func reader(_ id: SourceID, _ trigger: DescriptorTrigger) -> ReaderSource {
        let kind: ReaderSource.Kind =
            switch trigger.listener {
            case .netlink: .datagrams
            case .messageQueue: .messages
            default: .bytes
            }
        return ReaderSource(id, trigger, environment, kind: kind, spare: spare) { owner throws(SystemError) in
            try Self.openPlain(trigger, owner)
        }
    }

    /// The kind of descriptor decides how it is read.
    private func passedSource(
        _ id: SourceID, _ name: String, _ trigger: DescriptorTrigger, isDurable: Bool
    ) -> any EventSource {
        let number = try? passed.number(name)
        let type = number.flatMap { Linux.socketType($0) }
        var trigger = trigger
        if !trigger.isFramingGiven, let type, type != .stream { trigger.framing = .datagram }
        let isListening = number.map { Linux.isListening($0) } ?? false
        if let type, isListening, type != .datagram {
            let origin = StreamSource.Origin(
                open: { [passed] _ throws(SystemError) in try passed.duplicate(name) }, leave: { $0.close() })
            return StreamSource(
                id, trigger, environment, type: type, isDurable: isDurable, origin: origin, spare: spare)
        }
        let kind: ReaderSource.Kind =
            switch type {
            case .datagram: .datagrams
            case .sequentialPacket: .packets
            default: .bytes
            }
        return ReaderSource(id, trigger, environment, kind: kind, spare: spare) {
            [passed] _ throws(SystemError) in
            let own = try passed.duplicate(name)
            guard !trigger.accepts else {
                own.close()
                throw SystemError(
                    call: "Accept=yes", detail: "the descriptor passed as \(name) does not listen",
                    errno: .invalidArgument)
            }
            return own
        }
    }

    // MARK: Framing=ready

    private func origin(_ id: SourceID, _ trigger: DescriptorTrigger) -> StreamSource.Origin? {
        switch trigger.listener {
        case .datagram(let address): return origin(id, address, .datagram)
        case .stream(let address): return origin(id, address, .stream)
        case .sequentialPacket(let address): return origin(id, address, .sequentialPacket)
        case .passed(let name):
            return .init(
                open: { [passed] _ throws(SystemError) in try Self.writable(passed.duplicate(name), trigger) },
                leave: { $0.close() })
        case .fifo, .special, .netlink, .messageQueue:
            let path: [UInt8]? = if case .fifo(let path) = trigger.listener { path } else { nil }
            return .init(
                open: { owner throws(SystemError) in try Self.openPlain(trigger, owner) },
                leave: { $0.close() }, path: path)
        case .command, .tail, .pressure: return nil
        }
    }

    private func origin(_ id: SourceID, _ address: SocketAddress, _ type: SocketType) -> StreamSource.Origin {
        let opening = SocketOpening(id: id, address: address, type: type, environment: environment, spare: spare)
        return .init(
            open: { owner throws(SystemError) in try opening.takeOrBind(owner) }, leave: { opening.leave($0) },
            path: opening.path, keptName: .socket(id))
    }

    private static func openPlain(
        _ trigger: DescriptorTrigger, _ owner: FileOwner
    ) throws(SystemError) -> FileDescriptor {
        try DescriptorRoom.check()
        let isWritten = trigger.readiness == .writable
        switch trigger.listener {
        case .fifo(let path): return try FIFO.open(path, owner, isWritten: isWritten)
        case .special(let path): return try openSpecial(path, isWritten: isWritten)
        case .netlink(let family):
            return try Linux.netlinkSocket(family: NetlinkFamily.numbers[family.name] ?? 0, groups: family.groups)
        case .messageQueue(let name): return try MessageQueue.open(name, owner)
        case .datagram, .stream, .sequentialPacket, .passed, .command, .tail, .pressure:
            preconditionFailure("\(trigger.listener) is opened elsewhere")
        }
    }

    /// A listening socket is never reported to be writable: nobody would ever hear of it.
    private static func writable(
        _ descriptor: consuming FileDescriptor, _ trigger: DescriptorTrigger
    ) throws(SystemError) -> FileDescriptor {
        guard trigger.readiness == .writable, Linux.isListening(descriptor.rawValue) else { return descriptor }
        descriptor.close()
        throw SystemError(
            call: "Ready=writable", detail: "the descriptor that was passed listens, and can never be written",
            errno: .invalidArgument)
    }

    /// For both directions where that is allowed, as a handler that gets it may want to answer.
    private static func openSpecial(_ path: [UInt8], isWritten: Bool) throws(SystemError) -> FileDescriptor {
        do throws(SystemError) {
            return try Linux.open(path, [.readingAndWriting, .nonBlocking, .noControllingTerminal])
        } catch
            where !isWritten
            && [.accessDenied, .notPermitted, .invalidArgument, .isFolder, .readOnly].contains(error.errno)
        {
            return try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
        }
    }
}
