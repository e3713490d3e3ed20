package import LinuxSystem

/// The wait for the descriptors of a context: the thread that waits enters the context itself (`Context.sync`) to handle
/// an event.
///
/// A read source of Dispatch wakes two threads for each event: the manager, which waits, and a worker, which handles;
/// and a lane is a third. Here one thread waits, handles, and starts the process that the event asks for (`lend`).
/// While it does that, and if that hangs, another thread of the reactor waits. Where Dispatch can have no thread, one of
/// the reactor's is lent to it.
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
    /// There is something in the inbox, or a thread has come to be owed.
    private static let inboxToken = UInt64.max
    /// Works done at a turn's end, so that events get their turns.
    private static let worksPerTurn = 64
    /// Milliseconds until another try to make a thread.
    private static let pauseOfOwing: Int32 = 1000

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
    /// Readable from `stop` on.
    private let stopDescriptor: Int32
    private let state: QueueBound<State>
    let inbox: ReactorInbox

    /// Lives as long as the program.
    init(for context: Context) throws(SystemError) {
        let set = try Linux.epollCreate()
        stopDescriptor = try Linux.eventDescriptor().release()
        inbox = try ReactorInbox()
        try Linux.epollAdd(set.rawValue, stopDescriptor, .readable, token: Self.stopToken)
        try Linux.epollAdd(set.rawValue, inbox.descriptor, [.readable, .edgeTriggered], token: Self.inboxToken)
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

    /// Waits and handles until `stop`. To be called on threads that are none of Dispatch's, at least one.
    ///
    /// - Parameter paysThreads: on two threads; from the second one on, Dispatch does not wait for threads that cannot be
    ///   made any more: the reactor sees to it that their work is done.
    package func run(paysThreads: Bool = false) throws(SystemError) {
        let isSecond = sync {
            state.value.threads += 1
            return state.value.threads == 2
        }
        inbox.threadBegins()
        // Not before: work for the context itself may wait for a thread of Dispatch until then.
        if paysThreads, isSecond { Linux.oweThreads(notice: inbox.descriptor) }
        // By a thread of Dispatch.
        defer { for work in inbox.threadEnds() { state.context.async(work) } }
        while true {
            let timeout = Linux.areThreadsOwed ? Self.pauseOfOwing : -1
            // One at a time: a job must not hold up the next.
            if let report = try Linux.epollWait(epoll, atMost: 1, timeout: timeout).first {
                if report.token == Self.stopToken { return }
                take(report)
            }
            // Not with a report at hand.
            if Linux.areThreadsOwed { payThreads() }
        }
    }

    private func take(_ report: EpollReport) {
        var job = state.context.sync { turn { handle(report) } }
        while let running = job {
            let rest = running()
            job = state.context.sync {
                state.value.lent -= 1
                return turn(rest)
            }
        }
    }

    /// Ends `run` on all threads, now or as soon as it is called. From any thread.
    package func stop() { Linux.signal(stopDescriptor) }

    /// Makes the threads that are owed, or is one of them for a while, if another thread waits for events.
    private func payThreads() {
        guard !Linux.makeOwedThreads() else { return }
        let isSpared = sync {
            guard state.value.threads - state.value.lent > 1 else { return false }
            state.value.lent += 1
            return true
        }
        guard isSpared else { return }
        // The thread that waits meanwhile tries to make the others.
        Linux.signal(inbox.descriptor)
        Linux.beOwedThread()
        sync { state.value.lent -= 1 }
    }

    private func sync<Result>(_ work: () -> Result) -> Result {
        // The state's context knows of no reactor.
        state.context.sync {
            inbox.serve()
            return work()
        }
    }

    private func turn(_ work: () -> Void) -> Job? {
        let state = state.value
        state.canLend = state.threads - state.lent > 1
        inbox.enter()
        inbox.serve()
        work()
        inbox.serve(atMost: Self.worksPerTurn) { state.job == nil }
        inbox.leave()
        state.canLend = false
        guard let job = state.job.take() else { return nil }
        state.lent += 1
        return job
    }

    private func handle(_ report: EpollReport) {
        // Another thread may have removed it; of the inbox there is none.
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
