package import LinuxSystem

/// The wait for the descriptors of a context: the thread that waits enters the context itself (`Context.sync`) to handle
/// an event.
///
/// A read source of Dispatch wakes two threads for each event: the manager, which waits, and a worker, which handles;
/// and a lane is a third. Here one thread waits, handles, and starts the process that the event asks for (`lend`).
/// While it does that, and if that hangs, another thread of the reactor waits.
package final class Reactor: Sendable {
    /// Work outside of the context. It returns what is left to do in it.
    package typealias Job = @Sendable () -> @Sendable () -> Void

    private typealias Handler = (EpollEvents) -> Void
    private typealias Entry = (descriptor: Int32, interest: EpollEvents, handler: Handler)

    /// Once: `handle` asks anew. (A literal would be built by generic code each time.)
    private static let reading: EpollEvents = [.readable, .oneShot]
    /// Never asked anew, which would poll, and so lose what has come meanwhile (Dispatch.md, fact 45).
    private static let priority: EpollEvents = [.priority, .edgeTriggered]
    /// The token of `stop`; those of descriptors count from one.
    private static let stopToken: UInt64 = 0

    private final class State {
        var entries: [UInt64: Entry] = [:]
        var lastToken = Reactor.stopToken
        /// Threads in `run`.
        var threads = 0
        /// Threads that run a job.
        var lent = 0
        /// A thread of the reactor is in the context, and could be lent.
        var canLend = false
        /// The job it was lent to.
        var job: Job?
    }

    private let epoll: Int32
    /// Both ends of the pipe that ends the wait.
    private let stopEnds: (read: Int32, write: Int32)
    private let state: QueueBound<State>

    /// Lives as long as the program.
    init(for context: Context) throws(SystemError) {
        let set = try Linux.epollCreate()
        stopEnds = try Linux.pipe(nonBlocking: true).split()
        try Linux.epollAdd(set.rawValue, stopEnds.read, .readable, token: Self.stopToken)
        epoll = set.release()
        state = QueueBound(State(), to: context)
    }

    /// Calls `handler` on the context while there is something to read. The descriptor is to be removed before it is
    /// closed. To be called on the context.
    func add(_ descriptor: Int32, _ handler: @escaping () -> Void) throws(SystemError) -> UInt64 {
        try add(descriptor, Self.reading) { _ in handler() }
    }

    /// Calls `handler` on the context for each event of priority from now on. `isBroken`: there may be no other.
    func add(
        priorityOf descriptor: Int32, _ handler: @escaping (_ isBroken: Bool) -> Void
    ) throws(SystemError) -> UInt64 {
        try add(descriptor, Self.priority) { handler(!$0.contains(.priority) || $0.contains(.error)) }
    }

    private func add(
        _ descriptor: Int32, _ interest: EpollEvents, _ handler: @escaping Handler
    ) throws(SystemError) -> UInt64 {
        let state = state.value
        state.lastToken += 1
        try Linux.epollAdd(epoll, descriptor, interest, token: state.lastToken)
        state.entries[state.lastToken] = (descriptor, interest, handler)
        return state.lastToken
    }

    /// No handler is called afterwards. To be called on the context.
    func remove(_ token: UInt64) {
        guard let entry = state.value.entries.removeValue(forKey: token) else { return }
        // It is in the set, so the kernel has no reason to refuse; if it did, its reports would find no handler.
        try? Linux.epollRemove(epoll, entry.descriptor)
    }

    /// Runs `job` on the thread that is in the context as soon as it has left it; false: no thread can be spared. One
    /// always waits for events. To be called on the context.
    func lend(to job: @escaping Job) -> Bool {
        let state = state.value
        guard state.canLend, state.job == nil else { return false }
        state.job = job
        return true
    }

    /// Waits and handles until `stop`. To be called on threads that no context uses, at least one.
    package func run() throws(SystemError) {
        let context = state.context
        context.sync { state.value.threads += 1 }
        // One at a time: a job must not hold up the next.
        while let report = try Linux.epollWait(epoll, atMost: 1, timeout: -1).first, report.token != Self.stopToken {
            var job = context.sync { turn { handle(report) } }
            while let running = job {
                let rest = running()
                job = context.sync {
                    state.value.lent -= 1
                    return turn(rest)
                }
            }
        }
    }

    /// Ends `run` on all threads, now or as soon as it is called. From any thread.
    package func stop() {
        // EAGAIN: it is to end anyway.
        _ = try? withUnsafeBytes(of: UInt8(1)) { byte throws(SystemError) in try Linux.write(stopEnds.write, byte) }
    }

    private func turn(_ work: () -> Void) -> Job? {
        let state = state.value
        state.canLend = state.threads - state.lent > 1
        work()
        state.canLend = false
        guard let job = state.job.take() else { return nil }
        state.lent += 1
        return job
    }

    private func handle(_ report: EpollReport) {
        // Another thread may have removed it.
        guard let entry = state.value.entries[report.token] else { return }
        entry.handler(report.events)
        guard entry.interest.contains(.oneShot), state.value.entries[report.token] != nil else { return }
        // It was in the set a moment ago, and only memory of the kernel could be missing, of which this takes none.
        try? Linux.epollModify(epoll, entry.descriptor, entry.interest, token: report.token)
    }
}

extension Pipe {
    consuming func split() -> (read: Int32, write: Int32) { (readEnd.release(), writeEnd.release()) }
}
