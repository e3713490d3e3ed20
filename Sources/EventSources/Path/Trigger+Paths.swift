package import WatchFile

extension Trigger {
    /// Without which its source cannot be armed, in whatever file system they are.
    package var paths: [[UInt8]] {
        switch self {
        case .path(let trigger): trigger.paths + (trigger.levels?.conditions.map(\.path) ?? [])
        case .process(.pidFile(let path)): [path]
        case .descriptor(let trigger): trigger.paths
        case .timer, .signal, .process, .unit, .custom, .group: []
        }
    }
}

extension DescriptorTrigger {
    /// The same.
    var paths: [[UInt8]] {
        switch listener {
        case .fifo(let path), .special(let path), .tail(let path): [path]
        case .datagram(.unix(let path)), .stream(.unix(let path)), .sequentialPacket(.unix(let path)): [path]
        case .datagram, .stream, .sequentialPacket, .netlink, .messageQueue, .passed, .pressure: []
        case .command(let command): CommandStart.program(command).map { [$0] } ?? []
        }
    }
}
