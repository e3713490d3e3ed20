import Engine
import EventSources
import LinuxSystem
import Systemd
import WatchFile

/// `unit:…` of `HoldUntil=`: the unit is active. Woken by the service manager's signals. Confined to the core.
package final class UnitProbe: HoldProbe, UnitListener {
    private let hub: UnitHub
    private let tell: (String?) -> Void
    /// An alias becomes the name that the unit has itself, once the manager has told it.
    private var unit: String
    private weak var client: UnitClient?
    private var isOver = false

    /// - Parameters:
    ///   - unit: with its suffix.
    ///   - tell: takes the obstacle, `nil` where there is none.
    package init(_ unit: String, _ hub: UnitHub, _ tell: @escaping (String?) -> Void) {
        (self.unit, self.hub, self.tell) = (unit, hub, tell)
    }

    package func begin() { hub.add(self) }

    package func end() {
        isOver = true
        // Not while the connection is read.
        hub.later { [self] in hub.remove(self) }
    }

    func connected(_ client: UnitClient) {
        self.client = client
        client.resolve(unit) { [weak self, weak client] unit in
            guard let self, let client else { return }
            self.unit = unit
            ask(client)
        }
        hub.flush()
    }

    /// The signals tell each change from the subscription on, so the last answer or signal is the state.
    private func ask(_ client: UnitClient) {
        client.state(of: unit) { [weak self] state, failure in
            guard let self else { return }
            hub.answered()
            look(state, failure: failure)
        }
        hub.flush()
    }

    func take(_ news: UnitClient.News, _ client: UnitClient) {
        switch news {
        case .changed(unit, let state, _): look(state)
        case .unloaded(unit): look("inactive")
        case .loaded(unit): hub.later { [weak self, weak client] in if let client { self?.ask(client) } }
        // Its files may have changed what the name stands for.
        case .reloaded: connected(client)
        case .changed, .unloaded, .loaded, .jobEnded, .gone: break
        }
    }

    func failed(_ condition: SourceCondition) {
        guard !isOver, case .failed(let reason, _) = condition else { return }
        tell(reason)
    }

    private func look(_ state: String?, failure: String = "") {
        guard !isOver else { return }
        guard let state else { return tell(failure) }
        tell(UnitStates.state(state) == .active ? nil : "\(unit) is \(state)")
    }
}
