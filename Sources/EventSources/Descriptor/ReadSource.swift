import Dispatch
package import LinuxSystem

/// A source of something to read on a descriptor that nobody else can hang up: signalfd, inotify, timerfd, an epoll set.
/// The context's `Reactor` waits for it where there is one, else a read source of Dispatch.
///
/// A pipe or socket must not come here: at a hang-up Dispatch spins, loses the last bytes or crashes (Dispatch.md, facts
/// 3–8); it belongs into an `EpollSet`. Confined to its context.
package final class ReadSource {
    package let descriptor: Int32
    private var stop: (() -> Void)?

    /// Calls `handler` on the context whenever there is something to read.
    package init(_ owned: consuming FileDescriptor, on context: Context, handler: @escaping () -> Void) {
        let descriptor = owned.release()
        self.descriptor = descriptor
        if let reactor = context.reactor, let token = try? reactor.add(descriptor, handler) {
            stop = {
                reactor.remove(token)
                // Its handler may be what stops it, and may read once more.
                context.async { FileDescriptor(owning: descriptor).close() }
            }
            return
        }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: context.queue)
        let bound = QueueBound(handler, to: context)
        source.setEventHandler { @Sendable in bound.value() }
        // Only here is the descriptor out of Dispatch's own epoll set (row 6).
        source.setCancelHandler { @Sendable in FileDescriptor(owning: descriptor).close() }
        source.activate()
        stop = { source.cancel() }
    }

    /// Stops; the descriptor is closed once nobody waits for it.
    package func cancel() { stop.take()?() }
}
