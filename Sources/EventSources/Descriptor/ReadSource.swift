import Dispatch
package import LinuxSystem

/// A Dispatch read source on a descriptor that nobody else can hang up: signalfd, inotify, timerfd, an epoll set.
///
/// A pipe or socket must not come here: at a hang-up Dispatch spins, loses the last bytes or crashes (Dispatch.md, facts
/// 3–8); it belongs into an `EpollSet`.
package final class ReadSource {
    package let descriptor: Int32
    private let source: any DispatchSourceRead

    /// Calls `handler` on the context whenever there is something to read.
    package init(_ owned: consuming FileDescriptor, on context: Context, handler: @escaping () -> Void) {
        let descriptor = owned.release()
        self.descriptor = descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: context.queue)
        let bound = QueueBound(handler, to: context)
        source.setEventHandler { @Sendable in bound.value() }
        // Only here is the descriptor out of Dispatch's own epoll set (row 6).
        source.setCancelHandler { @Sendable in FileDescriptor(owning: descriptor).close() }
        source.activate()
    }

    /// Stops; the descriptor is closed once Dispatch has let go of it.
    package func cancel() { source.cancel() }
}
