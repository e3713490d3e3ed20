package import LinuxSystem
import Synchronization

/// Waits for POLLPRI (PSI, `cgroup.events`) in one thread, which is started when the first descriptor comes: an epoll
/// set that is watched itself would lose such events (Dispatch.md, fact 42). Confined to its context.
package final class PriorityPoller {
    private struct Wanted: Sendable {
        var token: UInt64
        var descriptor: Int32
    }

    /// The poll set of the thread.
    private final class Shared: Sendable {
        let wanted = Mutex<[Wanted]>([])
    }

    private let core: Context
    private let shared = Shared()
    private var handlers: [UInt64: (_ isBroken: Bool) -> Void] = [:]
    private var lastToken: UInt64 = 0
    /// The descriptor that ends a wait; the thread lives as long as watchd.
    private var wake: Int32?

    private let name: String

    package init(on core: Context, name: String = "watchd.pressure") {
        self.core = core
        self.name = name
    }

    /// - Parameter handler: called on the context. `isBroken`: nothing more will come.
    package func add(
        _ descriptor: Int32, _ handler: @escaping (_ isBroken: Bool) -> Void
    ) throws(SystemError) -> UInt64 {
        if wake == nil { try start() }
        lastToken += 1
        handlers[lastToken] = handler
        let wanted = Wanted(token: lastToken, descriptor: descriptor)
        shared.wanted.withLock { $0.append(wanted) }
        poke()
        return lastToken
    }

    /// The descriptor may be closed afterwards.
    package func remove(_ token: UInt64) {
        handlers[token] = nil
        shared.wanted.withLock { $0.removeAll { $0.token == token } }
        poke()
    }

    private func poke() {
        guard let wake else { return }
        // EAGAIN: it is to wake up anyway.
        _ = try? [UInt8](repeating: 1, count: 1).withUnsafeBytes { bytes throws(SystemError) in
            try Linux.write(wake, bytes)
        }
    }

    private func start() throws(SystemError) {
        let (read, write) = try Linux.pipe(nonBlocking: true).split()
        wake = write
        let bound = QueueBound(self, to: core)
        Context(name).async { [core, shared] in
            while true {
                Self.wait(read, shared) { token, isBroken in
                    core.async { bound.value.handlers[token]?(isBroken) }
                }
            }
        }
    }

    private static func wait(_ wake: Int32, _ shared: Shared, _ tell: (UInt64, Bool) -> Void) {
        let wanted = shared.wanted.withLock { $0 }
        let entries = [(wake, PollEvents.readable)] + wanted.map { ($0.descriptor, PollEvents.priority) }
        guard let found = try? Linux.poll(entries, timeout: -1) else { return }
        if found[0].contains(.readable) { _ = try? Linux.read(wake, atMost: 4096) }
        for (entry, events) in zip(wanted, found.dropFirst()) where !events.isEmpty {
            let isBroken = !events.contains(.priority) || !events.isDisjoint(with: [.error, .invalid])
            if isBroken { shared.wanted.withLock { $0.removeAll { $0.token == entry.token } } }
            tell(entry.token, isBroken)
        }
    }
}

extension Pipe {
    consuming func split() -> (read: Int32, write: Int32) { (readEnd.release(), writeEnd.release()) }
}
