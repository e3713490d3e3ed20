import Engine
import EventSources
import Handlers
import LinuxSystem
import Store
import Systemd
import WatchFile

/// The store, and what it has kept.
extension Runtime {
    /// Opens the store and lets the engine take up what stands in it.
    ///
    /// - Throws: what does not heal by itself: another watchd has it, a later version wrote it.
    func openStore() throws(StoreError) {
        manager.extendTimeout(atMost: Self.longestOpening)
        defer { manager.extendNoMore() }
        let folder = StateDirectory.path(engine.settings)
        var failure: StoreError?
        var store: Store?
        var wasClosed = true
        do throws(StoreError) {
            let opened = try Store(folder: folder, durability: engine.settings.sync == .full ? .power : .crash)
            let contents = opened.takeContents()
            wasClosed = contents.wasClosed
            var state = state(contents)
            let hasForgotten = contents.wasRemoved || contents.missing > 0
            let isNew = hasForgotten || contents.setAside != nil && contents.marks["ids"] == nil
            Self.reserveIDs(&state, opened, isNew: isNew)
            takeUp(state, contents)
            store = opened
        } catch {
            guard error.isTransient else { throw error }
            logger.log(.err, "\(error); durable queues wait until it works, the rest goes on", id: .storeFailing)
            failure = error
            startWithoutStore(error)
        }
        persistence = Persistence(
            store, folder: folder, failure: failure, settings: engine.settings, core: core, answers: answers,
            logger: logger
        ) { [unowned self] change in storeChanged(change) }
        begun = BegunRunsWriter(folder: folder)
        if !cancelledBefore.isEmpty { persistence?.write([.cancelledByStop("")]) }
        recordLost()
        if !wasClosed { persistence?.check() }
    }

    /// Microseconds that reading (and repairing) a large store may take.
    private static let longestOpening = 600_000_000

    /// It is opened later. Runs that can be found without it take their places.
    private func startWithoutStore(_ error: StoreError) {
        var state = StoredState()
        SupervisedAdoption.apply(to: &state, kept, livingProcesses(of: state, [:]))
        restore(state)
        setStore(.failing("\(error)"))
    }

    private func tell(_ loss: StoreLoss?) {
        guard let loss else { return }
        storeLoss = loss
        logger.log(.crit, loss.sentence)
    }

    /// Before any is given out. On a full disk they are the wall clock's microseconds, and so are they of a store that
    /// does not know which were given out before (`isNew`).
    private static func reserveIDs(_ state: inout StoredState, _ store: Store, isNew: Bool) {
        if isNew {
            let now = UInt64(clamping: Linux.now(.realtime))
            (state.lastEventID, state.lastOperationID) = (max(state.lastEventID, now), max(state.lastOperationID, now))
        }
        let (event, operation) = (state.lastEventID + Engine.idsReserved, state.lastOperationID + Engine.idsReserved)
        do throws(StoreError) {
            try store.commit(StoreWrite.reserved(lastEventID: event, lastOperationID: operation).changes)
            state.idsReserved = Engine.idsReserved
        } catch {
            let now = UInt64(clamping: Linux.now(.realtime))
            (state.lastEventID, state.lastOperationID) = (max(event, now), max(operation, now))
        }
    }

    /// Each stop is told of at one start.
    private func tellCancelled(_ state: StoredState) {
        cancelledBefore = WaitingByHandler(text: state.cancelledByStop)
        if !cancelledBefore.isEmpty {
            logger.log(.warning, "the last stop cancelled \(cancelledBefore.sentence)")
        }
    }

    private func takeUp(_ state: StoredState, _ contents: StoreContents) {
        snapshots.take(contents, state)
        tellCancelled(state)
        tell(StoreLoss(contents, state, folder: StateDirectory.path(engine.settings)))
        let record = recordReader()
        tellUncleanEnd(contents, state) { record($0) != nil }
        let running = state.operations.count { operation in
            operation.runs.contains { run in
                runs(RunID(operation: operation.id, attempt: operation.attempt, part: run.part), run.pid)
            }
        }
        restore(state)
        for hold in engine.orphanHolds {
            let count = hold.events.reduce(0) { $0 + $1.count }
            logger.log(
                .warning,
                "\(hold.source) is in no watch file any more: \(count) events that it held are kept until it is there again"
            )
        }
        guard !state.operations.isEmpty else { return }
        let again = state.operations.count { $0.isExecuting && $0.runs.isEmpty }
        let orphans = engine.orphanCount
        let parts = [
            "\(counted(state.operations.count, "operation")) restored",
            running > 0 ? "\(running) of them still run" : nil,
            again > 0 ? "\(again) may have run and are redelivered" : nil,
            orphans > 0 ? "\(orphans) wait for a handler or queue that does not exist" : nil,
        ]
        logger.log(.notice, parts.compactMap { $0 }.joined(separator: ", "))
    }

    /// The state in the store, with the processes that still run and those that have to be looked up.
    private func state(_ contents: StoreContents) -> StoredState {
        var state = StoredState(contents, logger: logger)
        // After a stop nothing is lost that was not told.
        if contents.wasClosed { state.groups = [:] }
        let record = recordReader()
        for operation in Self.unknownRequirements(state.operations) {
            state.results[operation] = record(operation).flatMap { EngineResult(rawValue: $0.result) }
        }
        state.verdicts = lastVerdicts()
        // The folder may only now be there.
        instance = instance.kept()
        let isPossible = Adoption.isPossible(state, wasClosed: contents.wasClosed)
        let begun = isPossible ? BegunRuns.read(folder: StateDirectory.path(engine.settings)) : [:]
        let found = isPossible ? livingProcesses(of: state, begun) : []
        SupervisedAdoption.apply(to: &state, kept, found)
        guard isPossible else { return state }
        Adoption(kept: kept, found: found, begun: begun, configuration: parts.configuration) {
            record($0) != nil
        }.apply(to: &state)
        return state
    }

    /// `OnChange=` compares with the last run of an earlier watchd.
    private func lastVerdicts() -> [String: EngineResult] {
        let names = parts.configuration.handlers.filter { !$0.completions.change.isEmpty }.map(\.name)
        guard !names.isEmpty, let history = try? HistoryReader(folder: StateDirectory.path(engine.settings)) else {
            return [:]
        }
        var query = HistoryQuery()
        (query.results, query.limit) = (EngineResult.allCases.filter { $0 == .done || $0.isFailure }.map(\.rawValue), 1)
        return names.reduce(into: [:]) { verdicts, name in
            query.handler = name
            verdicts[name] = (try? history.page(query))?.first.flatMap { EngineResult(rawValue: $0.result) }
        }
    }

    /// Looks operations up in the history, before anything is written.
    private func recordReader() -> (UInt64) -> HistoryRow? {
        let history = try? HistoryReader(folder: StateDirectory.path(engine.settings))
        return { id in (try? history?.record(id))?.row }
    }

    /// Processes that an earlier watchd left, of a user that their section or command names, or that were noted.
    ///
    /// - Parameter begun: operations that were too young to be stored.
    private func livingProcesses(of state: StoredState, _ begun: [UInt64: StoredOperation]) -> [AdoptableProcess] {
        let services = LivingServices(instance.names).processes
        let known = Set(services.map(\.run))
        let all = (try? AdoptableProcess.all(instance: instance.names, parts.containment)) ?? []
        end(commands: all.filter(\.isCommand))
        let others = all.filter { !$0.isCommand }
        // A condition of a service has gone before it.
        let found = services + others.filter { !known.contains($0.run) }
        let stored = state.operations.filter(\.isExecuting).reduce(into: begun) { $0[$1.id] = $1 }
        return found.filter { process in
            let operation = process.isSupervised || process.isWorker ? nil : stored[process.run.operation]
            if let operation, operation.attempt == process.run.attempt,
                operation.runs.contains(where: process.isProcess)
            {
                return true
            }
            return process.mayBe(of: definition(of: process, operation)?.contract)
        }
    }

    private func definition(of process: AdoptableProcess, _ operation: StoredOperation?) -> HandlerDefinition? {
        if case .command(let command)? = operation?.events.first?.fact { return command.definition }
        if process.isSupervised {
            let id = SourceID(.process, process.source)
            return parts.configuration.sources.first { $0.id == id }?.command?.process
        }
        return parts.configuration.handlers.first { $0.name == process.handler }
    }

    private func end(commands: [AdoptableProcess]) {
        let killed = LeftCommands.end(commands, instance: instance.names)
        for command in commands {
            let end = killed.contains(command) ? "did not end by SIGTERM and was killed" : "was ended"
            logger.log(
                .notice,
                "\(command.source): its command of an earlier watchd still ran, process \(command.pid), and \(end)",
                [("WATCHD_SOURCE", command.source)])
        }
    }

    /// Operations that others require and that are not among them. By index: there may be very many, and hardly one
    /// that requires anything.
    private static func unknownRequirements(_ operations: [StoredOperation]) -> [UInt64] {
        let required = operations.indices.flatMap { index in
            operations[index].dependencies.filter(\.isRequired).map(\.operation)
        }
        if required.isEmpty { return [] }
        let known = Set(operations.indices.map { operations[$0].id })
        return required.filter { !known.contains($0) }
    }

    func takePositions(_ state: StoredState) { positions.merge(state.positions) { current, _ in current } }

    /// Why nobody knows how far sources had read.
    var positionsMissing: String? {
        guard let persistence, !persistence.hasOpened else { return nil }
        return persistence.failure.map { "\($0.error)" } ?? "it is being opened"
    }

    private func storeChanged(_ change: Persistence.Change) {
        switch change {
        case .working: handle(.store(.working))
        case .failing(let error): handle(.store(.failing("\(error)")))
        case .opened(let contents):
            let state = state(contents)
            tell(StoreLoss(contents, state, folder: StateDirectory.path(engine.settings)))
            // Nobody knew it when they were due.
            let late = "the store, which could be opened only now, has"
            for name in state.once.sorted() where engine.isOnceDone(name) {
                logger.log(.warning, "\(name) has run once more: \(late) Once= as fulfilled")
            }
            for id in state.booted.map(\.description).sorted()
            where SourceID(description: id).map(engine.hasBooted) == true {
                logger.log(.warning, "\(id) has elapsed once more: \(late) OnBootSec= as elapsed in this boot")
            }
            for name in state.suspensions.keys.sorted() where engine.suspensions(of: name) != nil {
                logger.log(.warning, "\(name) has gone on since the start: \(late) it as suspended")
            }
            let record = recordReader()
            tellUncleanEnd(contents, state) { record($0) != nil }
            recordLost()
            members.restore(state)
            // Sources that are let go by this look for them.
            takePositions(state)
            snapshots.take(contents, state)
            handle(.restored(state))
            watchTickets(state)
            watchOrphanHolders()
            snapshots.begin(parts.configuration)
            sources?.positionsCame()
            forgetKept()
        case .replaced(let contents):
            tell(StoreLoss(replaced: contents, folder: StateDirectory.path(engine.settings)))
            let byName = positions.sorted { $0.key.description < $1.key.description }
            persistence?.write(byName.map { .position($0.key, $0.value) })
            // The file by which runs are found again may have gone with the store.
            instance = instance.kept()
            handle(.storeIsNew)
            snapshots.take(contents, isAnew: true)
            sources?.storeAgain()
        }
    }

    /// Failed operations that nobody has to look at any more.
    func forget(_ ids: [UInt64], then: @escaping () -> Void) {
        persistence?.write(ids.map { .forgotten($0) })
        whenSafe(then)
    }
}

extension Persistence {
    /// The engine's writes of one `handle`, and its reports of ends.
    func write(_ actions: [Action]) {
        var writes: [StoreWrite] = []
        for action in actions {
            switch action {
            case .store(let write): writes.append(write)
            case .handled(let id, let moments, isStored: true): writes += Self.writes(moments, of: id)
            case .report(.ended(let view)): writes.append(.ended(view))
            case .report(.retrying(let view)): writes.append(.retrying(view))
            default: break
            }
        }
        write(writes)
    }
}
