package import LinuxSystem

/// A source of events of priority (POLLPRI), which PSI and `mountinfo` tell only to the first who polls, and
/// `cgroup.events` until it is read. Confined to its context.
///
/// The source may not tell of an event that came before it was made: its owner looks at the file afterwards.
package final class PrioritySource {
    private let descriptor: Int32
    private let reactor: Reactor
    private var token: UInt64?

    /// Calls `handler` on the context for each event. `isBroken`: there may be no other.
    ///
    /// - Parameter context: one with a reactor: in an epoll set that is watched itself such events are lost
    ///   (Dispatch.md, fact 42), so without one it cannot be made.
    package init(
        _ owned: consuming FileDescriptor, on context: Context, handler: @escaping (_ isBroken: Bool) -> Void
    ) throws(SystemError) {
        guard let reactor = context.reactor else {
            owned.close()
            throw SystemError(call: "epoll_wait", detail: "without a thread that waits", errno: .notSupported)
        }
        self.reactor = reactor
        descriptor = owned.release()
        do throws(SystemError) {
            token = try reactor.add(priorityOf: descriptor, handler)
        } catch {
            FileDescriptor(owning: descriptor).close()
            throw error
        }
    }

    /// No handler is called afterwards; the descriptor is closed.
    package func cancel() {
        guard let token = token.take() else { return }
        reactor.remove(token)
        FileDescriptor(owning: descriptor).close()
    }
}
