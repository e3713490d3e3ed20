package import Engine
import EventSources
import LinuxSystem
import Systemd
package import WatchFile

/// `[Unit]`: state changes of systemd units, from the moment on at which the source is opened: the first list may come
/// later, and what has changed in between is told then, as is a change that is seen only when the bus is there again.
/// Confined to the core.
package final class UnitSource: EventSource, UnitListener {
    /// Units of which the result is asked for at once, when it was not told.
    private static let questionLimit = 256

    let id: SourceID
    private let trigger: UnitTrigger
    private let hub: UnitHub
    private let send: (Input) -> Void
    private var states: UnitStates
    /// Monotonic, microseconds.
    private let opened = Linux.now(.monotonic)
    /// Whether the states are those of some moment.
    private var isListed = false
    /// Failures that are told as soon as their result is known.
    private var failures: Set<String> = []
    /// Units that have been loaded, to be looked for.
    private var loaded: [String] = []

    package init(_ id: SourceID, _ trigger: UnitTrigger, _ hub: UnitHub, send: @escaping (Input) -> Void) {
        self.id = id
        self.trigger = trigger
        self.hub = hub
        self.send = send
        states = UnitStates(trigger.units)
    }

    package func open() { hub.add(self) }
    package func close() { hub.remove(self) }

    /// Each change is a fact of its own, and is kept by the engine.
    package func hold() {}
    package func release() {}

    func failed(_ condition: SourceCondition) {
        // Nobody answers any more why they failed, and their state is known: this is the only time to tell of them.
        let untold = failures.sorted()
        failures = []
        for unit in untold { tell(unit, .failed, nil) }
        loaded = []
        send(.source(id, condition))
    }

    // MARK: The state of everything

    /// The manager tells from now on; what stands now is to be found out.
    func connected(_ client: UnitClient) {
        let globs = trigger.units.filter(UnitStates.isGlob)
        let names = trigger.units.filter { !UnitStates.isGlob($0) }
        var resolved: [String] = []
        guard !names.isEmpty else { return list(client, globs) }
        for name in names {
            client.resolve(name) { [weak self, weak client] unit in
                resolved.append(unit)
                guard resolved.count == names.count, let self, let client else { return }
                list(client, resolved + globs)
            }
        }
    }

    private func list(_ client: UnitClient, _ patterns: [String]) {
        client.list(patterns) { [weak self, weak client] units, failure in
            guard let self, let client else { return }
            guard let units else { return hub.fail("systemd does not list its units: \(failure)") }
            listed(units, patterns, client)
        }
    }

    private func listed(_ units: [(name: String, state: String)], _ patterns: [String], _ client: UnitClient) {
        states.watch(patterns)
        let changes = saw(known(units))
        if isListed {
            for change in changes { changed(change.unit, change.state, result: nil, ask: client.result) }
        } else {
            began(with: changes, changeTime: client.changeTime, result: client.result)
        }
        isListed = true
        hub.answered()
        send(.source(id, condition))
    }

    /// Returns what is in another state than before.
    @discardableResult func saw(_ units: [(unit: String, state: UnitChange)]) -> [(unit: String, state: UnitChange)] {
        states.saw(all: units)
    }

    /// The first list: of its units some may have changed since the source was opened.
    ///
    /// - Parameters:
    ///   - changeTime: asks when the state of a unit has changed last, on the monotonic clock.
    ///   - result: asks for the result of a unit.
    func began(
        with units: [(unit: String, state: UnitChange)],
        changeTime: (_ unit: String, _ answer: @escaping (UInt64?) -> Void) -> Void,
        result: @escaping (_ unit: String, _ answer: @escaping (String?) -> Void) -> Void
    ) {
        for (unit, state) in units.filter({ trigger.events.contains($0.state) }).prefix(Self.questionLimit) {
            changeTime(unit) { [weak self] time in
                guard let self, let time, Int64(clamping: time) >= opened, states.isIn(state, unit) else { return }
                changed(unit, state, result: nil, ask: result)
            }
        }
    }

    private func known(_ units: [(name: String, state: String)]) -> [(unit: String, state: UnitChange)] {
        units.compactMap { unit in UnitStates.state(unit.state).map { (unit.name, $0) } }
    }

    private var condition: SourceCondition {
        guard states.isFull else { return .armed }
        return .failed(
            "more than \(UnitStates.limit) units match Unit= and are active: the others are not watched; narrow it")
    }

    // MARK: News

    func take(_ news: UnitClient.News, _ client: UnitClient) {
        guard isListed else { return }
        switch news {
        case .changed(let unit, let text, let result):
            guard states.isWatched(unit), let state = UnitStates.state(text) else { return }
            saw(unit, state, result, client)
        case .unloaded(let unit): if states.isWatched(unit) { saw(unit, .inactive, nil, client) }
        case .loaded(let unit): if states.isWatched(unit) { look(unit, client) }
        case .reloaded: connected(client)
        case .gone, .jobEnded: break
        }
    }

    private func saw(_ unit: String, _ state: UnitChange, _ result: String?, _ client: UnitClient) {
        // It has gone on before anybody was asked why it failed, or has said so itself.
        if state != .failed || result != nil, failures.remove(unit) != nil {
            tell(unit, .failed, state == .failed ? result : nil)
        }
        let wasFull = states.isFull
        if states.saw(unit, state) { changed(unit, state, result: result, ask: client.result) }
        if states.isFull != wasFull { send(.source(id, condition)) }
    }

    /// A unit that is loaded says nothing of its state until that changes. Those of one turn are asked for together.
    private func look(_ unit: String, _ client: UnitClient) {
        loaded.append(unit)
        guard loaded.count == 1 else { return }
        hub.later { [weak self, weak client] in
            guard let self, let client, !loaded.isEmpty else { return }
            let asked = loaded
            loaded = []
            client.list(asked) { [weak self, weak client] units, _ in
                guard let self, let client else { return }
                for unit in known(units ?? []) { saw(unit.unit, unit.state, nil, client) }
            }
        }
    }

    /// - Parameter ask: for the result of a unit; it may never be answered.
    func changed(
        _ unit: String, _ state: UnitChange, result: String?,
        ask: (_ unit: String, _ answer: @escaping (String?) -> Void) -> Void
    ) {
        guard trigger.events.contains(state) else { return }
        guard state == .failed, result == nil, failures.count < Self.questionLimit else {
            return tell(unit, state, result)
        }
        failures.insert(unit)
        ask(unit) { [weak self] result in
            guard let self, failures.remove(unit) != nil else { return }
            tell(unit, .failed, result)
        }
    }

    private func tell(_ unit: String, _ change: UnitChange, _ result: String?) {
        // A unit that is, or becomes, active has none yet.
        let result = [.active, .activating].contains(change) ? nil : result
        send(.event(id, .unit(UnitFact(unit: unit, change: change, result: result))))
    }
}
