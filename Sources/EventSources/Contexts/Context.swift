package import Dispatch
package import LinuxSystem

/// A serial Dispatch queue that state is confined to. (*Queue* is kept for the handler queues of the watch file.)
///
/// Serial queues only: a concurrent or global queue wakes the process once a second for life and can end it when
/// descriptors run out (Dispatch.md, facts 23–26).
package struct Context: Sendable {
    package let queue: DispatchQueue
    /// The wait for its descriptors, where it is not left to Dispatch.
    private(set) var reactor: Reactor?

    /// `name` shows in backtraces: `watchd.core`.
    package init(_ name: String) { queue = DispatchQueue(label: name) }

    /// A context whose read sources are handled on the thread that calls `Reactor.run`.
    package static func withReactor(_ name: String) throws(SystemError) -> (Context, Reactor) {
        var context = Context(name)
        let reactor = try Reactor(for: context)
        context.reactor = reactor
        return (context, reactor)
    }

    package func async(_ work: @escaping @Sendable () -> Void) {
        if let reactor, reactor.inbox.bring(work) { return }
        queue.async(execute: work)
    }

    /// Here and now, alone as ever on this context: where nothing goes on there, no other thread has to wake up for it;
    /// else it waits for its turn. Never from a context that this one waits for.
    package func sync<Result>(_ work: () -> Result) -> Result {
        guard let reactor else { return queue.sync(execute: work) }
        return queue.sync {
            reactor.inbox.serve()
            return work()
        }
    }

    /// Once, after this many microseconds of the monotonic clock.
    package func after(_ microseconds: Int, _ work: @escaping @Sendable () -> Void) {
        let deadline = DispatchTime.now() + .microseconds(microseconds)
        guard reactor != nil else { return queue.asyncAfter(deadline: deadline, execute: work) }
        Self.delays.asyncAfter(deadline: deadline) { async(work) }
    }

    /// Where the delays of contexts with a reactor end.
    private static let delays = DispatchQueue(label: "watchd.delays")

    /// Stops the program when it runs anywhere else.
    package func assertIsCurrent() { dispatchPrecondition(condition: .onQueue(queue)) }
}

/// Something that only one context may touch. Every access checks that.
///
/// The only `@unchecked Sendable` of watchd: the reference may go anywhere, since the value can be reached only on its
/// context, which runs one thing at a time.
package final class QueueBound<Value>: @unchecked Sendable {
    package let context: Context
    private let content: Value

    package init(_ value: Value, to context: Context) {
        content = value
        self.context = context
    }

    package var value: Value {
        context.assertIsCurrent()
        return content
    }
}
