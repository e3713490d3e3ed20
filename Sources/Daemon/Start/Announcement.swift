import ControlInterface
import Engine
import EventSources
import LinuxSystem
import Schedule
import WatchFile

/// The first lines of watchd in a terminal: the watched objects, and what to type elsewhere to see it work.
enum Announcement {
    /// Sources that it says how to try.
    private static let mostHints = 12

    /// - Parameter isSilent: whether a path of these hangs.
    static func lines(
        _ configuration: Configuration, files: [String], socket: [UInt8], isSilent: ([[UInt8]]) -> Bool
    ) -> [String] {
        let queues = configuration.queues.filter { !QueueDefinition.builtInNames.contains($0.name) }
        let counts = [
            counted(configuration.sources.count, "source"), counted(configuration.handlers.count, "handler"),
            counted(queues.count, "queue"),
        ]
        var lines = [
            "watchd \(Manager.softwareVersion), process \(Linux.processID): \(counts.joined(separator: ", ")) from "
                + (files.isEmpty ? "no file" : files.joined(separator: " "))
        ]
        var hints: [(String, String)] = []
        for source in configuration.sources where hints.count < mostHints && !isSilent(source.trigger.paths) {
            guard let command = hint(source.trigger, source.id.name, socket) else { continue }
            hints.append((source.id.description, command))
        }
        guard !hints.isEmpty else { return lines }
        let width = hints.map(\.0.count).max() ?? 0
        lines.append("Cause an event from a second terminal:")
        for (name, command) in hints {
            lines.append("    " + name + String(repeating: " ", count: width - name.count + 2) + command)
        }
        lines.append("See it: watchctl \(option(socket))status    Stop: Ctrl-C")
        return lines
    }

    /// Told only where the client would look elsewhere.
    private static func option(_ socket: [UInt8]) -> String {
        socket == ControlListener.defaultPath ? "" : "--socket \(quoted(socket)) "
    }

    private static func hint(_ trigger: Trigger, _ name: String, _ socket: [UInt8]) -> String? {
        switch trigger {
        case .timer, .unit, .group: return nil
        case .signal(let trigger):
            return trigger.signals.first.map { "kill -s \(LinuxSignal.name($0).dropFirst(3)) \(Linux.processID)" }
        case .path(let trigger):
            return pathHint(trigger)
        case .descriptor(let trigger):
            return descriptorHint(trigger.listener)
        case .process(.pidFile(let path)):
            let file = quoted(path)
            return (try? Linux.lstat(path)) == nil ? "sleep 2 & echo $! > \(file)" : "kill $(cat \(file))"
        case .process(.command): return "watchctl \(option(socket))restart \(name)"
        case .process(.match(let match)):
            let isPlain = !match.pattern.contains { "*?[".utf8.contains($0) }
            return isPlain ? quoted(match.pattern) : nil
        case .custom: return "watchctl \(option(socket))emit \(name)"
        }
    }

    /// A file that can be written, and that is told of.
    private static func pathHint(_ trigger: PathTrigger) -> String? {
        guard let root = trigger.paths.first, let kind = (try? Linux.stat(root))?.kind,
            !trigger.events.isDisjoint(with: [.written, .created, .modified])
        else { return nil }
        let wanted = trigger.filter.include.map {
            $0.description.replacing("**/", with: "").replacing("*", with: "hello")
        }
        let names = ["hello"] + wanted.filter { !$0.contains("/") }
        let files = kind == .folder ? names.map { root + Array("/\($0)".utf8) } : [root]
        return files.first { trigger.sight(of: $0) == .seen(root: root) }.map { "echo hello > \(quoted($0))" }
    }

    private static func descriptorHint(_ listener: DescriptorTrigger.Listener) -> String? {
        switch listener {
        case .fifo(let path): "echo hello > \(quoted(path))"
        case .datagram(let address): datagramHint(address)
        case .stream(let address): streamHint(address)
        case .sequentialPacket(let address):
            address.path.map { "echo hello | socat - UNIX-CONNECT:\(quoted($0)),type=5" }
        case .tail(let path): "echo hello >> \(quoted(path))"
        case .special, .netlink, .messageQueue, .passed, .command, .pressure: nil
        }
    }

    private static func streamHint(_ address: SocketAddress) -> String {
        switch address {
        case .unix(let path): "echo hello | socat - UNIX-CONNECT:\(quoted(path))"
        case .abstract(let name): "echo hello | socat - ABSTRACT-CONNECT:\(quoted(name))"
        case .ipv4, .ipv6: "echo hello > /dev/tcp/\(host(address))"
        }
    }

    private static func datagramHint(_ address: SocketAddress) -> String {
        switch address {
        case .unix(let path): "logger --socket \(quoted(path)) --stderr hello"
        case .abstract(let name): "echo hello | socat - ABSTRACT-SENDTO:\(quoted(name))"
        case .ipv4, .ipv6: "echo hello > /dev/udp/\(host(address))"
        }
    }

    /// `127.0.0.1/4567`, as a shell takes it; every address of the machine is `localhost`.
    private static func host(_ address: SocketAddress) -> String {
        switch address {
        case .ipv4(let bytes, let port), .ipv6(let bytes, let port):
            if bytes.allSatisfy({ $0 == 0 }) { return "localhost/\(port)" }
            let isOld = bytes.count == 4
            let text = "\(isOld ? Endpoint.ipv4(address: bytes, port: port) : .ipv6(address: bytes, port: port))"
            return isOld ? text.replacing(":", with: "/") : String(text.dropFirst()).replacing("]:", with: "/")
        case .unix(let name), .abstract(let name): return quoted(name)
        }
    }

    /// For a shell.
    private static func quoted(_ path: [UInt8]) -> String {
        let text = path.printable
        let isPlain = text.utf8.allSatisfy {
            ($0 >= 0x30 && $0 <= 0x39) || ($0 >= 0x41 && $0 <= 0x5A) || ($0 >= 0x61 && $0 <= 0x7A)
                || "/._-+,:@".utf8.contains($0)
        }
        return isPlain ? text : "'" + text.replacing("'", with: "'\\''") + "'"
    }
}

extension SocketAddress {
    fileprivate var path: [UInt8]? { if case .unix(let path) = self { path } else { nil } }
}
