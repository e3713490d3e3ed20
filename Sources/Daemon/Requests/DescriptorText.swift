import LinuxSystem
import WatchFile

extension DescriptorTrigger {
    /// The place it listens to, in a few words.
    var text: String {
        let text =
            switch listener {
            case .fifo(let path), .special(let path), .messageQueue(let path): path.printable
            case .datagram(let address), .stream(let address), .sequentialPacket(let address): address.text
            case .netlink(let family): "netlink \(family.name) \(family.groups)"
            case .passed(let name): "passed as \(name)"
            case .command(let command): "output of \(command.text)"
            case .tail(let path): "lines appended to \(path.printable)"
            case .pressure(let limit):
                "\(limit.resource.rawValue) \(limit.share.rawValue) \(limit.stall / 1000)ms in \(limit.window / 1000)ms"
            }
        if accepts { return text + ", each connection" }
        return framing == .ready ? text + ", \(readiness.rawValue)" : text
    }
}

extension SocketAddress {
    var text: String {
        switch self {
        case .unix(let path): path.printable
        case .abstract(let name): "@\(name.printable)"
        case .ipv4(let address, let port): Endpoint.ipv4(address: address, port: port).description
        case .ipv6(let address, let port): Endpoint.ipv6(address: address, port: port).description
        }
    }
}

extension Command {
    /// The program, without its arguments, which may be secret.
    fileprivate var text: String {
        guard case .template(let template)? = words.first else { return "a command" }
        return template.expanded { _ in [] }.printable
    }
}
