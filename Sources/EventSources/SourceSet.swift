import Engine
package import LinuxSystem
package import WatchFile

/// All sources of the rim, by their names. Confined to its context.
package final class SourceSet {
    private let environment: SourceEnvironment
    private var sources: [SourceID: any EventSource] = [:]
    private var signals: [Int32: SourceID] = [:]
    /// The signals that watchd itself needs, whatever the watch file says.
    private let ownSignals: SignalSet
    private var signalSource: SignalSource?
    private let ownSignal: (SignalInfo) -> Void

    /// - Parameter ownSignal: called for a signal that no source claims.
    package init(
        _ environment: SourceEnvironment, ownSignals: SignalSet, ownSignal: @escaping (SignalInfo) -> Void
    ) throws(SystemError) {
        self.environment = environment
        self.ownSignals = ownSignals
        self.ownSignal = ownSignal
        signalSource = nil
        signalSource = try SignalSource(ownSignals, on: environment.core) { [unowned self] in received($0) }
    }

    /// inotify watches of a source.
    package func watchCount(_ id: SourceID) -> Int { sources[id]?.watchCount ?? 0 }

    package func open(_ definition: SourceDefinition) {
        let id = definition.id
        let source: any EventSource
        switch definition.trigger {
        case .timer, .custom, .group: return
        case .signal(let trigger): return openSignals(id, trigger)
        case .path(let trigger): source = PathSource(id, trigger, environment)
        case .process(let trigger): source = ProcessSource(id, trigger, environment)
        case .descriptor(let trigger):
            switch trigger.listener {
            case .fifo(let path): source = FIFOSource(id, path: path, trigger, environment)
            case .datagram(let address): source = DatagramSource(id, address, trigger, environment)
            }
        }
        sources[id] = source
        source.open()
    }

    package func close(_ id: SourceID) {
        signals = signals.filter { $0.value != id }
        watchSignals()
        sources.removeValue(forKey: id)?.close()
    }

    package func hold(_ id: SourceID) { sources[id]?.hold() }
    package func release(_ id: SourceID) { sources[id]?.release() }

    // MARK: Signals

    private func openSignals(_ id: SourceID, _ trigger: SignalTrigger) {
        for signal in trigger.signals { signals[signal] = id }
        watchSignals()
        environment.send(.source(id, .armed))
    }

    private func watchSignals() {
        var set = ownSignals
        for signal in signals.keys { set.insert(signal) }
        // Fails only for a descriptor that is no signalfd.
        try? signalSource?.watch(set)
    }

    private func received(_ info: SignalInfo) {
        guard let id = signals[info.number] else { return ownSignal(info) }
        let fact = SignalFact(
            number: info.number, senderPID: info.senderProcess, senderUID: info.senderUser, value: info.value)
        environment.send(.event(id, .signal(fact)))
    }
}
