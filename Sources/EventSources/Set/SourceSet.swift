import Engine
package import LinuxSystem
package import WatchFile

/// All sources of the rim, by their names. Confined to its context.
package final class SourceSet {
    let environment: SourceEnvironment
    private var sources: [SourceID: any EventSource] = [:]
    private lazy var mounts = MountWatch(environment) { [weak self] in self?.mountsChanged($0) }
    private var signals: [Int32: SourceID] = [:]
    /// The signals that watchd itself needs, whatever the watch file says.
    private let ownSignals: SignalSet
    private var signalSource: SignalSource?
    /// All sources have been opened once: a signal that none of them claims is not kept for one to come.
    private var isComplete = false
    private let ownSignal: (SignalInfo) -> Void
    let spare: SpareDescriptors
    let passed: PassedDescriptors
    private let connector: ProcessConnector
    /// How many of that name were closed before all that they told was safe, and so consumed.
    private var unsettled: [SourceID: Int] = [:]
    /// Sources that are opened when that is done: of the same name mostly.
    private var unopened: [SourceID: SourceDefinition] = [:]
    /// Of sources that are open, or were closed just now.
    private var listeners: [SourceID: DescriptorTrigger.Listener] = [:]
    /// Sources that are opened when their paths answer.
    private var silent: [SourceID: Silent] = [:]
    /// Closed just now: a reload that changes one opens it again at once.
    private var parting: [SourceID: PathSource] = [:]
    private var bound: QueueBound<SourceSet> { QueueBound(self, to: environment.core) }

    private struct Silent {
        let source: any EventSource
        var isHeld = false
    }

    /// - Parameters:
    ///   - stored: FIFOs and sockets of an earlier watchd, to be owned from here on.
    ///   - passed: what the service manager has passed for sources.
    ///   - ownSignal: called for a signal that no source claims.
    package init(
        _ environment: SourceEnvironment, stored: [KeptDescriptor: Int32] = [:],
        passed: PassedDescriptors = PassedDescriptors(), ownSignals: SignalSet,
        ownSignal: @escaping (SignalInfo) -> Void
    ) throws(SystemError) {
        self.environment = environment
        for name in stored.keys { environment.connections.adopt(name) }
        spare = SpareDescriptors(
            stored,
            forget: { name in
                let wasKept = environment.connections.remove(name)
                if case .connection = name, !wasKept { return }
                environment.forget(name)
            }, closing: { environment.tellUnread($0, $1, unfinished: $2) },
            lost: { environment.tellLost($0, Unfinished(facts: $1), "no source reads it any more") })
        self.passed = passed
        connector = ProcessConnector(environment)
        self.ownSignals = ownSignals
        self.ownSignal = ownSignal
        signalSource = nil
        signalSource = try SignalSource(ownSignals, on: environment.core) { [weak self] in self?.received($0) }
    }

    /// inotify watches of a source.
    package func watchCount(_ id: SourceID) -> Int { sources[id]?.watchCount ?? 0 }

    /// Descriptors that a source keeps open.
    package func descriptorCount(_ id: SourceID) -> Int { sources[id]?.descriptorCount ?? 0 }

    /// Processes of others whose end a source waits for.
    package func processIDs(_ id: SourceID) -> [Int32] { sources[id]?.processIDs ?? [] }

    /// All connections of a source are open.
    package func connectionLimit(_ id: SourceID) -> ConnectionLimit? { sources[id]?.connectionLimit }

    /// - Parameter isDurable: what it tells is stored, and is to be consumed only then.
    package func open(_ definition: SourceDefinition, isDurable: Bool = false) {
        let id = definition.id
        switch definition.trigger {
        case .timer, .custom, .group: break
        case .unit(let trigger): if let source = environment.unitSource(id, trigger) { start(source, definition) }
        case .signal(let trigger): openSignals(id, trigger)
        case .path(let trigger): openPath(definition, trigger)
        case .process(.pidFile(let path)): start(ProcessSource(id, pidFile: path, environment), definition)
        case .process(.match(let match)): start(MatchSource(id, match, connector), definition)
        // It lives in the engine.
        case .process(.command): break
        case .descriptor(let trigger):
            let former = former(of: id, trigger.listener)
            listeners[id] = trigger.listener
            startWhenSettled(descriptorSource(id, trigger, isDurable: isDurable), definition, former)
        }
    }

    var pathSources: [PathSource] { sources.values.compactMap { $0 as? PathSource } }

    private func openPath(_ definition: SourceDefinition, _ trigger: PathTrigger) {
        let id = definition.id
        mounts.begin()
        guard environment.probes.silence(of: trigger.paths) == nil, let source = parting.removeValue(forKey: id) else {
            return start(PathSource(id, trigger, environment), definition)
        }
        sources[id] = source
        source.reopen(trigger)
    }

    /// It goes on watching until it is known that nobody opens it again.
    private func part(_ source: PathSource, _ id: SourceID) {
        parting[id] = source
        environment.core.async { [bound] in bound.value.parting.removeValue(forKey: id)?.close() }
    }

    private func start(_ source: any EventSource, _ definition: SourceDefinition) {
        sources[definition.id] = source
        whenAnswered(source, definition) { source.open() }
    }

    /// The source with the same FIFO or socket that was closed just now: a reload has given it this name.
    private func former(of id: SourceID, _ listener: DescriptorTrigger.Listener) -> SourceID? {
        guard listener.isExclusive else { return nil }
        return listeners.first { $0.value == listener && $0.key != id && sources[$0.key] == nil }?.key
    }

    private func inherit(_ former: SourceID, _ id: SourceID) {
        for (old, new, number) in spare.rename(former, to: id) {
            if case .connection = old {
                // The new source keeps it.
                if environment.connections.remove(old) { environment.forget(old) }
            } else {
                environment.forget(old)
                environment.keep(new, number)
            }
        }
    }

    /// The told items of a closed source must be consumed before another one may look into the same descriptor.
    private func startWhenSettled(_ source: any EventSource, _ definition: SourceDefinition, _ former: SourceID?) {
        let id = definition.id
        sources[id] = source
        guard let unsettled = [id, former].compactMap(\.self).first(where: { unsettled[$0] != nil }) else {
            if let former { inherit(former, id) }
            return open(source, definition)
        }
        unopened[unsettled] = definition
        let isCommand = environment.commands.all.contains { $0.id == id }
        let reason = isCommand ? "its command is being ended" : "what was read of it before is being stored"
        environment.send(.source(id, .waiting(reason)))
    }

    private func open(_ source: any EventSource, _ definition: SourceDefinition) {
        let id = definition.id
        whenAnswered(source, definition) { [self] in
            environment.tell(id, spare.takeLines(of: id))
            source.open()
            // It has taken what it can use, or takes it when it knows whose file it is to be.
            spare.discard(of: id, but: source.keptName)
        }
    }

    // MARK: Paths that do not answer

    /// Finds out which paths of these do not answer, for `open`; calls back when that is known, at once where they have
    /// none. It takes a second if one does not.
    package func probe(_ definitions: [SourceDefinition], then: @escaping () -> Void) {
        environment.probes.ask(definitions.flatMap(\.trigger.paths), then: then)
    }

    /// At once, where nothing is known to be silent.
    private func whenAnswered(_ source: any EventSource, _ definition: SourceDefinition, open: @escaping () -> Void) {
        let (id, paths) = (definition.id, definition.trigger.paths)
        guard environment.probes.silence(of: paths) != nil else { return open() }
        silent[id] = Silent(source: source)
        environment.probes.whenAnswered(paths) { [weak self] reason in
            guard let self, silent[id]?.source === source else { return }
            environment.send(.source(id, .failed(reason)))
        } then: { [weak self] in
            guard let self, let waiting = silent[id], waiting.source === source else { return }
            silent[id] = nil
            open()
            if waiting.isHeld { source.hold() }
        }
    }

    package func close(_ id: SourceID) {
        signals = signals.filter { $0.value != id }
        watchSignals()
        silent[id] = nil
        guard let source = sources.removeValue(forKey: id) else { return }
        if let source = source as? PathSource { return part(source, id) }
        unopened = unopened.filter { $0.value.id != id }
        unsettled[id, default: 0] += 1
        source.close { [weak self] in self?.settled(id) }
    }

    package func isCommand(_ id: SourceID) -> Bool { sources[id] is CommandSource }

    /// Calls back when the commands of the sources, which are closed, have ended, with the sources of those that could
    /// not be ended in time. They end by SIGKILL at the latest, which takes no longer than this (microseconds).
    package func whenCommandsHaveEnded(
        within patience: Int = CommandProcess.patience + 5_000_000, _ done: @escaping ([SourceID]) -> Void
    ) {
        var isOver = false
        let end = { [environment] in
            if isOver { return }
            isOver = true
            done(environment.commands.all.map(\.id))
        }
        environment.commands.whenEnded(end)
        let bound = QueueBound(end, to: environment.core)
        if !isOver { environment.core.after(patience) { bound.value() } }
    }

    /// Whether any run, also of sources that are closed.
    package var hasCommands: Bool { !environment.commands.all.isEmpty }

    /// Commands of sources that are closed are not waited for any longer.
    package func killCommands() { for source in environment.commands.all { source.kill() } }

    private func settled(_ id: SourceID) {
        let left = (unsettled[id] ?? 1) - 1
        unsettled[id] = left > 0 ? left : nil
        guard left == 0 else { return }
        guard let definition = unopened.removeValue(forKey: id), let source = sources[definition.id] else {
            return discardSpareLater(id)
        }
        if definition.id != id {
            inherit(id, definition.id)
            discardSpareLater(id)
        }
        open(source, definition)
    }

    /// Unless the source is opened anew, as a reload does.
    private func discardSpareLater(_ id: SourceID) {
        environment.core.async { [bound] in
            let set = bound.value
            guard set.sources[id] == nil else { return }
            set.listeners[id] = nil
            set.spare.discard(of: id)
        }
    }

    /// Every source has been opened once: stored descriptors that none has taken, or will take, are closed and
    /// forgotten.
    package func closeUnclaimed() {
        spare.discardAll(but: Set(sources.values.compactMap(\.keptName)))
        isComplete = true
        watchSignals()
    }

    /// The end, where the service manager keeps the descriptors: what else is left is named.
    package func closeUnkept() { spare.discardLines() }

    /// The end, where nobody keeps a descriptor: the bytes in them that nobody has read are named.
    package func closeAll() {
        spare.discardLines()
        for id in sources.keys.filter({ $0.kind == .descriptor }).sorted(by: { $0.name < $1.name }) { close(id) }
        spare.discardRested()
    }

    package func hold(_ id: SourceID) {
        if silent[id] == nil { sources[id]?.hold() } else { silent[id]?.isHeld = true }
    }
    /// Descriptors that are kept for the next daemon are left as they are; nothing else of the source goes on.
    package func rest(_ id: SourceID) { if silent.removeValue(forKey: id) == nil { sources[id]?.rest() } }

    package func release(_ id: SourceID) {
        if silent[id] == nil { sources[id]?.release() } else { silent[id]?.isHeld = false }
    }
    /// Notes of what durable sources have told and not taken out of their descriptors, as it stands now, to be stored as
    /// their positions. Only of those that have told something: of the others, what is stored counts.
    package var notes: [(id: SourceID, note: [UInt8])] { environment.untaken.told }

    /// The store could not be opened before: what stands in it of the positions is known now.
    package func positionsCame() { for source in sources.values { source.positionsCame() } }

    /// The line of an ignore file that keeps back the news of a path below a root of a source; `nil`: none does.
    package func ignored(_ path: [UInt8], below root: [UInt8], by id: SourceID) -> IgnoredPath? {
        (sources[id] as? PathSource)?.ignored(path, below: root)
    }

    /// Why less is seen of a path below a root of a source than there may be: a sentence.
    package func limit(at path: [UInt8], below root: [UInt8], of id: SourceID) -> String? {
        (sources[id] as? PathSource)?.limit(at: path, below: root)
    }

    /// Compares what stands at the paths of a source with what it has told of them, and tells the differences.
    package func compare(_ id: SourceID, then: @escaping (PathComparison) -> Void) {
        guard let source = sources[id] as? PathSource else { return then(.refused("it is not armed yet")) }
        source.compare(then: then)
    }

    /// The store has lost what it had.
    package func storeAgain() { for case let source as PathSource in sources.values { source.storeAgain() } }

    // MARK: Signals

    private func openSignals(_ id: SourceID, _ trigger: SignalTrigger) {
        for signal in trigger.signals { signals[signal] = id }
        watchSignals()
        environment.send(.source(id, .armed))
    }

    /// SIGCHLD.
    private static let childEnded: Int32 = 17

    /// Also those that nobody claims: they are blocked, and would wait for ever at the cost of their senders, whose
    /// number of waiting signals is limited. Not the ends of handlers, of which only one can wait.
    private func watchSignals() {
        var set = isComplete ? .managed : ownSignals
        set.remove(Self.childEnded)
        for signal in signals.keys { set.insert(signal) }
        // Fails only for a descriptor that is no signalfd.
        try? signalSource?.watch(set)
    }

    private func received(_ info: SignalInfo) {
        guard let id = signals[info.number] else { return ownSignal(info) }
        // At once, while the sender may still be there.
        let executable = info.senderProcess > 0 ? Linux.executable(of: info.senderProcess) : nil
        let fact = SignalFact(
            number: info.number, senderPID: info.senderProcess, senderUID: info.senderUser, value: info.value,
            senderExecutable: executable)
        environment.send(.event(id, .signal(fact)))
    }
}
