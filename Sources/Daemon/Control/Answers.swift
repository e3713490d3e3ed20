import EventSources
import Synchronization

/// Answers on their way from the core to the clients they are for.
///
/// To wake a thread takes longer than most answers do. So who has the core do something for clients and waits for that
/// takes along what was answered; what is answered at any other time is fetched once for all that has come together.
final class Answers: Sendable {
    struct Item: Sendable {
        var connection: QueueBound<ControlConnection>
        /// Its number on that connection.
        var call: Int
        var answer: Request.Answer
    }

    private struct State {
        var items: [Item] = []
        /// Somebody comes for them.
        var isExpected = false
        /// A reader that waited for the control context now would wait for clients.
        var isControlBusy = false
    }

    /// Where they are handed out.
    let control: Context
    private let state = Mutex(State())

    init(to control: Context) { self.control = control }

    func add(_ item: Item) {
        let mustFetch = state.withLock { state in
            state.items.append(item)
            defer { state.isExpected = true }
            return !state.isExpected
        }
        if mustFetch { control.async { [self] in deliver() } }
    }

    /// Runs `work` on the core and hands out what it has answered. Neither on the core nor on the control context, for
    /// which it waits as long as nothing else goes on there.
    func collect(on core: Context, _ work: () -> Void) {
        expect()
        core.sync(work)
        let (isEmpty, isControlBusy) = state.withLock { state in
            if state.items.isEmpty { state.isExpected = false }
            return (state.items.isEmpty, state.isControlBusy)
        }
        if isEmpty { return }
        if isControlBusy { control.async { [self] in deliver() } } else { control.sync { deliver() } }
    }

    // MARK: On the control context

    /// `deliver` will be called.
    func expect() { state.withLock { $0.isExpected = true } }

    func setControlBusy(_ isBusy: Bool) { state.withLock { $0.isControlBusy = isBusy } }

    func deliver() {
        let items = state.withLock { state in
            defer { (state.items, state.isExpected) = ([], false) }
            return state.items
        }
        for item in items { item.connection.value.send(item.answer, to: item.call) }
    }
}
