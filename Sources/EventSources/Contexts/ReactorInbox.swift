import LinuxSystem
import Synchronization

/// Work that others bring to a context with a reactor. Whoever enters the context does it first, in the order of its
/// coming; a thread of the reactor enters for its sake. So it needs no thread of Dispatch, of which there may be none.
final class ReactorInbox: Sendable {
    typealias Work = @Sendable () -> Void

    private struct State {
        var works: [Work] = []
        /// Threads in `Reactor.run`.
        var threads = 0
        /// A thread of the reactor is in the context, and looks here before it leaves.
        var isServed = false
        var isNoticed = false
    }

    /// Readable, edge-triggered, when there is work for which nobody is in the context.
    let descriptor: Int32
    private let state = Mutex(State())

    /// Lives as long as the program.
    init() throws(SystemError) { descriptor = try Linux.eventDescriptor().release() }

    /// False: no thread of the reactor is there to do it.
    func bring(_ work: @escaping Work) -> Bool {
        let (isTaken, isNews) = state.withLock { state in
            guard state.threads > 0 else { return (false, false) }
            state.works.append(work)
            return (true, Self.isNews(&state))
        }
        if isNews { Linux.signal(descriptor) }
        return isTaken
    }

    private static func isNews(_ state: inout State) -> Bool {
        guard !state.isServed, !state.isNoticed, !state.works.isEmpty else { return false }
        state.isNoticed = true
        return true
    }

    /// Does all that was brought before. In the context.
    func serve() {
        for work in take() { work() }
    }

    private func take() -> [Work] {
        state.withLock { state in
            state.isNoticed = false
            defer { state.works = [] }
            return state.works
        }
    }

    // MARK: Threads of the reactor

    /// A thread enters the context, and serves until `leave`.
    func enter() { state.withLock { $0.isServed = true } }

    /// Does what was brought meanwhile, until nothing is there or so many are done. In the context.
    func serve(atMost count: Int, while isFree: () -> Bool) {
        var left = count
        while left > 0, isFree() {
            let works = take()
            if works.isEmpty { return }
            for work in works { work() }
            left -= works.count
        }
    }

    func leave() {
        let isNews = state.withLock { state in
            state.isServed = false
            return Self.isNews(&state)
        }
        if isNews { Linux.signal(descriptor) }
    }

    func threadBegins() { state.withLock { $0.threads += 1 } }

    /// Returns the work that nobody is there for any more.
    func threadEnds() -> [Work] {
        let isLast = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        return isLast ? take() : []
    }
}
