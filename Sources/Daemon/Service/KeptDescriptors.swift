import EventSources
import LinuxSystem
import Systemd

/// Descriptors of an earlier watchd that the service manager has kept (`FileDescriptorStoreMax=`). Owned here until
/// they are taken.
struct KeptDescriptors: Sendable {
    private(set) var numbers: [KeptDescriptor: Int32] = [:]
    /// Names of an earlier or later version.
    private(set) var unknown: [String] = []
    /// Descriptors for other purposes.
    private(set) var others: [PassedDescriptor] = []

    /// Of one name the newest counts; it is passed first.
    init(_ passed: [PassedDescriptor]) {
        for descriptor in passed {
            guard let name = KeptDescriptor(name: descriptor.name) else {
                if !ControlListener.isOwn(descriptor.name) { unknown.append(descriptor.name) }
                others.append(descriptor)
                continue
            }
            if numbers[name] == nil {
                numbers[name] = descriptor.rawValue
            } else {
                FileDescriptor(owning: descriptor.rawValue).close()
            }
        }
    }

    mutating func take(_ name: KeptDescriptor) -> FileDescriptor? {
        numbers.removeValue(forKey: name).map { FileDescriptor(owning: $0) }
    }

    /// FIFOs, sockets and connections of sources.
    mutating func takeSources() -> [KeptDescriptor: Int32] {
        let sources = numbers.filter { name, _ in
            switch name {
            case .fifo, .socket, .connection: true
            case .inotify, .pidfd, .output: false
            }
        }
        for name in sources.keys { numbers[name] = nil }
        return sources
    }

    /// Descriptors that socket units have passed for sources, by name; all but the control socket.
    mutating func takePassed() -> PassedDescriptors {
        let passed = others.filter { !ControlListener.isOwn($0.name) }
        return PassedDescriptors(Dictionary(grouping: passed, by: \.name).mapValues { $0.map(\.rawValue) })
    }

    /// Closes what nobody has taken. Returns the names.
    mutating func closeRest() -> [KeptDescriptor] {
        defer { numbers = [:] }
        let rest = numbers.sorted { $0.value < $1.value }
        for (_, number) in rest { FileDescriptor(owning: number).close() }
        return rest.map(\.key)
    }
}
