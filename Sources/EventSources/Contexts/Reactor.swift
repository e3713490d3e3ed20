package import LinuxSystem

/// The wait of the main thread for the descriptors of a context, whose handlers run on that thread and in the context.
///
/// A read source of Dispatch wakes two threads for each event: the manager, which waits, and a worker, which handles.
/// Here the thread that waits enters the context itself (`Context.sync`), so that an event wakes one.
package final class Reactor: Sendable {
    /// Reports taken in one wait.
    private static let reportsPerWait = 16
    /// The token of `stop`; those of descriptors count from one.
    private static let stopToken: UInt64 = 0

    private final class Entries {
        var handlers: [UInt64: () -> Void] = [:]
        var lastToken = Reactor.stopToken
    }

    private let epoll: Int32
    /// Both ends of the pipe that ends the wait.
    private let stopEnds: (read: Int32, write: Int32)
    private let entries: QueueBound<Entries>

    /// Lives as long as the program.
    init(for context: Context) throws(SystemError) {
        let set = try Linux.epollCreate()
        stopEnds = try Linux.pipe(nonBlocking: true).split()
        try Linux.epollAdd(set.rawValue, stopEnds.read, .readable, token: Self.stopToken)
        epoll = set.release()
        entries = QueueBound(Entries(), to: context)
    }

    /// Calls `handler` on the context while there is something to read. The descriptor is to be removed before it is
    /// closed. To be called on the context.
    func add(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> UInt64 {
        let entries = entries.value
        entries.lastToken += 1
        try Linux.epollAdd(epoll, descriptor, .readable, token: entries.lastToken)
        entries.handlers[entries.lastToken] = handler
        return entries.lastToken
    }

    /// No handler is called afterwards. To be called on the context.
    func remove(_ token: UInt64, _ descriptor: Int32) {
        entries.value.handlers[token] = nil
        // It is in the set, so the kernel has no reason to refuse; if it did, its reports would find no handler.
        try? Linux.epollRemove(epoll, descriptor)
    }

    /// Waits and handles until `stop`. To be called on a thread that no context uses.
    package func run() throws(SystemError) {
        while true {
            for report in try Linux.epollWait(epoll, atMost: Self.reportsPerWait, timeout: -1) {
                if report.token == Self.stopToken { return }
                // A handler before it may have removed it.
                entries.context.sync { entries.value.handlers[report.token]?() }
            }
        }
    }

    /// Ends `run`, now or as soon as it is called. From any thread.
    package func stop() {
        // EAGAIN: it is to end anyway.
        _ = try? withUnsafeBytes(of: UInt8(1)) { byte throws(SystemError) in try Linux.write(stopEnds.write, byte) }
    }
}
