import Schedule
import WatchFile

/// A new configuration takes the place of the old one at one moment: what has not changed goes on untouched.
///
/// A handler, queue or source is known by its name. A waiting operation keeps its key, its events and its place and
/// takes the new definition of its handler; a running one ends under the definition it was started with. A removed
/// definition stays until its last operation has ended.
extension Engine {
    /// How long a reload waits for a running operation of `main`.
    static let reloadPatience: Int64 = 10_000_000

    mutating func requestReload(_ configuration: Configuration, _ token: Token) {
        guard life.phase == .running else {
            let error: CommandError = life.isOpen ? .notSupported("a reload is already on its way") : .draining
            actions.append(.reply(token, .failure(error)))
            return
        }
        let deadline = now.monotonic + Self.reloadPatience
        life = .reloading(Life.PendingReload(configuration: configuration, token: token, deadline: deadline))
        if !mayApplyReload { deadlines.add(.reload, .monotonic, at: deadline) }
    }

    /// A reload is applied between two operations of `main`.
    var mayApplyReload: Bool {
        guard let reload = life.reload, let main = queues.index(of: "main") else { return true }
        return scheduler[main].runsThrough == 0 || reload.deadline <= now.monotonic
    }

    mutating func applyPendingReload() {
        guard let reload = life.reload else { return }
        life = .running
        let change = apply(reload.configuration)
        forgetLoops()
        placeOrphans()
        windowsMayHaveMoved()
        conditionsMayHaveMoved()
        startDelayedProcesses()
        let reloaded = Action.reloaded(reload.token, change)
        actions.append(journal.unsaved.isEmpty || !journal.isWorking ? reloaded : .committed(reloaded))
        // Widths, bounds and policies may have changed.
        for queue in queues.indices {
            scheduler.touch(queue: queue)
            door.roomMade(in: queue)
            queueMayBeEmpty(queue)
        }
        door.boundsMoved()
        submitAllFree()
    }

    /// Makes the configuration the one in force. Returns what changed.
    mutating func apply(_ configuration: Configuration) -> ConfigurationChange {
        var change = ConfigurationChange()
        if settings != configuration.settings { change.changed.append("watchd") }
        settings = configuration.settings
        applyProblems(configuration)
        scheduler.slots.resize(settings.maxProcesses)
        zonesChanged(configuration.zones)
        closeSources(configuration.sharedSources, &change)
        scheduler.apply(configuration.semaphores, &change)
        applyQueues(configuration.queues, &change)
        let changed = applyHandlers(configuration.handlers, &change)
        applyCrews()
        sources.reserveCapacity(configuration.sharedSources.count)
        for definition in configuration.sharedSources { applySource(definition, &change) }
        linkGroups()
        formLines()
        shortenDelays(of: changed)
        for handler in changed.sorted() where handlers[handler].isOnceDone { endOnce(handler) }
        if life.hasStarted { tendCrews() }
        for index in sources.indices where sources[index].definition == nil {
            sources[index].isRemoved = !isWanted(sources[index].origin)
            releaseSourceIfUnused(index)
        }
        for handler in handlers.indices { releaseHandlerIfUnused(handler) }
        for queue in queues.indices { releaseQueueIfUnused(queue) }
        for semaphore in semaphores.indices { scheduler.releaseSemaphoreIfUnused(semaphore) }
        return change
    }

    // MARK: Queues

    private mutating func applyQueues(_ definitions: [QueueDefinition], _ change: inout ConfigurationChange) {
        let names = Set(definitions.map(\.name))
        for name in queues.names.sorted() where !names.contains(name) && name != Self.clientQueue {
            guard let index = queues.index(of: name), !queues[index].isRemoved else { continue }
            change.removed.append("queue/\(name)")
            queues[index].isRemoved = true
        }
        for definition in definitions {
            guard let index = queues.index(of: definition.name) else {
                change.added.append("queue/\(definition.name)")
                var state = QueueState(definition: definition)
                if definition.isSuspended { state.suspensions = [fileSuspension] }
                let isSuspended = state.isSuspended
                scheduler.add(queue: queues.insert(state), definition, isSuspended: isSuspended)
                continue
            }
            let (old, wasRemoved) = (queues[index].definition, queues[index].isRemoved)
            queues[index].isRemoved = false
            queues[index].isFinalized = false
            if wasRemoved { change.added.append("queue/\(definition.name)") }
            guard old != definition else { continue }
            if !wasRemoved { change.changed.append("queue/\(definition.name)") }
            queues[index].definition = definition
            if old.isSuspended != definition.isSuspended {
                setFileSuspension(&queues[index].suspensions, definition.isSuspended)
            }
        }
    }

    private var fileSuspension: Suspension { Suspension(by: Suspension.watchFile, since: now.realtime) }

    private func setFileSuspension(_ suspensions: inout [Suspension], _ isSuspended: Bool) {
        if isSuspended {
            suspensions.insert(fileSuspension, at: 0)
        } else if let index = suspensions.firstIndex(where: { !$0.isMade }) {
            suspensions.remove(at: index)
        }
    }

    // MARK: Handlers

    /// - Returns: those that are defined otherwise now.
    private mutating func applyHandlers(
        _ definitions: [HandlerDefinition], _ change: inout ConfigurationChange
    ) -> Set<Int> {
        var changed: Set<Int> = []
        let names = Set(definitions.map(\.name))
        for name in handlers.names.sorted() where !names.contains(name) && name != CommandFact.handlerName {
            guard let index = handlers.index(of: name), !handlers[index].isRemoved else { continue }
            change.removed.append("handler/\(name)")
            handlers[index].isRemoved = true
        }
        for definition in definitions {
            guard let index = handlers.index(of: definition.name) else {
                change.added.append("handler/\(definition.name)")
                let index = handlers.insert(HandlerState(definition: SharedDefinition(definition)))
                scheduler.define(handler: index, Scheduler.Needs())
                onceChanged(index, from: nil, to: definition.constraints.once)
                continue
            }
            if handlers[index].isRemoved { change.added.append("handler/\(definition.name)") }
            let isChanged = handlers[index].definition.value != definition
            if isChanged, !handlers[index].isRemoved { change.changed.append("handler/\(definition.name)") }
            handlers[index].isRemoved = false
            guard isChanged else { continue }
            onceChanged(
                index, from: handlers[index].definition.value.constraints.once, to: definition.constraints.once)
            handlers[index].definition = SharedDefinition(definition)
            changed.insert(index)
        }
        return changed
    }

    // MARK: Sources

    /// Closes what is removed. Events held back for a route that goes are let go first, while it is still there. Events
    /// that a suspended source holds stay: they take the new routes, or wait for its resume with the old ones; and so
    /// do those that wait for a rate.
    private mutating func closeSources(_ definitions: [Shared<SourceDefinition>], _ change: inout ConfigurationChange) {
        let new = Dictionary(definitions.map { ($0.value.id, $0.value.routes) }) { first, _ in first }
        for index in sources.indices {
            guard case .source(let id) = sources[index].origin, let old = sources[index].definition?.value,
                !sources[index].isRemoved
            else { continue }
            if let routes = new[id] {
                if routes != old.routes, !keepsHeld(index) { letGoAll(index) }
                continue
            }
            if !sources[index].isSuspended { letGoAll(index) }
            change.removed.append(id.description)
            closeSource(index, id)
            sources[index].isRemoved = true
            if !sources[index].holds { leaveSuspensions(of: index) }
            for call in door.takeCalls(into: index) {
                actions.append(.reply(call.token, .failure(.noSuchName(id.description, nearest: nil))))
            }
            releaseSourceIfUnused(index)
        }
    }

    /// Its events wait for its resume or for its rate, not for room in a queue: they take other routes.
    private func keepsHeld(_ source: Int) -> Bool {
        sources[source].isSuspended || sources[source].rateDeadline != nil
    }

    /// Its section may come back: one that was suspended is suspended then.
    private mutating func leaveSuspensions(of source: Int) {
        journal.orphans.add(sources[source].suspensions, of: sources[source].origin.description)
        sources[source].suspensions = []
    }

    private mutating func closeSource(_ index: Int, _ id: SourceID) {
        if supervisor[index] != nil { superviseNoMore(index) }
        if isInRim(index) { actions.append(.close(id)) }
        sources[index].condition = .closed
        sources[index].isHeldInRim = false
        sources[index].timer = TimerState()
        stopSilence(index)
        if sources[index].silence.isSilent { sources[index].silence.endSilence() }
    }

    private mutating func applySource(_ shared: Shared<SourceDefinition>, _ change: inout ConfigurationChange) {
        let definition = shared.value
        let routes = definition.routes.compactMap { route -> SourceState.Target? in
            guard let handler = handlers.index(of: route.handler), let queue = queues.index(of: route.queue) else {
                return nil
            }
            return SourceState.Target(handler: handler, queue: queue)
        }
        let targets = TargetList(withRequired(routes))
        guard let index = sources.index(of: .source(definition.id)) else {
            change.added.append(definition.id.description)
            var state = SourceState(shared)
            state.targets = targets
            if definition.isSuspended { state.suspensions = [fileSuspension] }
            openSource(sources.insert(state), definition, isNew: true)
            return
        }
        // `nil`: only the store knew of it until now.
        let (old, wasRemoved) = (sources[index].definition?.value, sources[index].isRemoved)
        if sources[index].targets != targets {
            if keepsHeld(index) { reroute(index, to: targets) } else { letGoAll(index) }
        }
        sources[index].isRemoved = false
        sources[index].targets = targets
        if sources[index].isHoldStored != isDurable(source: index), sources[index].holds { saveHolds(index) }
        let isReopened = sources[index].isOpenDurable != isDurable(source: index) && definition.id.kind == .descriptor
        guard old != definition || wasRemoved || isReopened else { return }
        if old == definition, !wasRemoved {
            // Only how it is read has changed.
        } else if wasRemoved {
            change.added.append(definition.id.description)
        } else {
            change.changed.append(definition.id.description)
        }
        let mustReopen = old?.trigger != definition.trigger || wasRemoved || isReopened
        let keepsProcess = !wasRemoved && old?.command != nil && definition.command != nil
        var timer = wasRemoved ? nil : sources[index].timer
        if Self.fixedDelay(old) != Self.fixedDelay(definition) { timer?.stopDelay() }
        if mustReopen, !wasRemoved, !keepsProcess { closeSource(index, definition.id) }
        sources[index].define(shared)
        if wasRemoved || old?.isSuspended != definition.isSuspended {
            setFileSuspension(&sources[index].suspensions, definition.isSuspended)
        }
        if mustReopen {
            openSource(index, definition, isNew: wasRemoved, after: timer, keepsProcess: keepsProcess)
        } else {
            applySilence(index)
        }
        if sources[index].isSuspended { stopSilence(index) } else { startSilence(index) }
        if sources[index].isSuspended { holdSuspended(index) } else { door.resume(index) }
    }

    private static func fixedDelay(_ definition: SourceDefinition?) -> TimeSpan? {
        if case .timer(let trigger)? = definition?.trigger { trigger.after } else { nil }
    }

    /// - Parameter timer: where a timer stood that has changed.
    private mutating func openSource(
        _ index: Int, _ definition: SourceDefinition, isNew: Bool, after timer: TimerState? = nil,
        keepsProcess: Bool = false
    ) {
        sources[index].timer = TimerState()
        if !keepsProcess { sources[index].condition = .opening }
        sources[index].isOpenDurable = isDurable(source: index)
        switch definition.trigger {
        case .timer: openTimer(index, after: timer)
        case .custom, .group: sources[index].condition = .armed
        case .process(.command(let command)): supervise(index, definition.id, command, isNew: !keepsProcess)
        case .signal, .path, .descriptor, .process, .unit: actions.append(.open(definition))
        }
        applySilence(index)
        startSilence(index)
        if sources[index].isSuspended { holdSuspended(index) }
        // The closed source was held because of its held events; the new one would tell more than can be kept.
        if sources[index].holds { holdInRim(index, limit: holdLimit(index)) }
    }

    // MARK: Removed definitions

    mutating func releaseSourceIfUnused(_ index: Int) {
        guard sources.isInUse(index), sources[index].isRemoved else { return }
        guard sources[index].operations == 0, !sources[index].holds, door.lettingGo != index,
            supervisor[index] == nil,
            sources[index].group.tickets.isEmpty
        else {
            return
        }
        retired.filtered += sources[index].counters.filtered
        retired.gap += sources[index].counters.gap
        let left = sources[index].group.outstanding
        if left > 0 { refuseWaiters(forGroup: index, taken: left) } else { tell(.group(index)) }
        leaveSuspensions(of: index)
        sources.release(index)
    }

    mutating func releaseHandlerIfUnused(_ index: Int) {
        guard handlers.isInUse(index), handlers[index].isRemoved, handlers[index].operations == 0,
            !isFinalizer(handlers[index].name), !isHeldFor({ $0.handler == index }),
            !isAwaited(handler: handlers[index].name)
        else { return }
        retired = retired + handlers[index].counters
        scheduler.remove(handler: index)
        if let crew = handlers[index].crew { dismiss(crew) }
        handlers[index].groups = []
        trail.forget { $0.handler == index }
        if handlers[index].isOnceDone { journal.orphans.once.insert(handlers[index].name) }
        let told = handlers[index].definition.value.completions.all
        handlers.release(index)
        releaseAwaited(told)
    }

    /// A source that was removed while it was suspended holds events for it.
    private func isHeldFor(_ isMeant: (SourceState.Target) -> Bool) -> Bool {
        sources.indices.contains {
            sources[$0].isRemoved && (!sources[$0].held.isEmpty || door.lettingGo == $0)
                && sources[$0].targets.contains(where: isMeant)
        }
    }

    /// A queue that was removed has yet to run it.
    private func isFinalizer(_ name: String) -> Bool {
        queues.indices.contains {
            queues[$0].isRemoved && !queues[$0].isFinalized && queues[$0].definition.finalizer == name
        }
    }

    /// Nothing waits or runs there or in a queue that runs through it, and its finalizer has run.
    mutating func releaseQueueIfUnused(_ index: Int) {
        guard queues.isInUse(index), queues[index].isRemoved, queues[index].isEmpty,
            scheduler[index].runsThrough == 0, scheduler[index].through.count <= 1, !isHeldFor({ $0.queue == index })
        else { return }
        if life.isOpen, finalize(index) { return }
        let chain = scheduler[index].chain
        tell(.queue(index))
        trail.forget { $0.queue == index }
        journal.orphans.add(queues[index].suspensions, of: "queue/\(queues[index].definition.name)")
        queues.release(index)
        scheduler.remove(queue: index)
        for target in chain where target != index { releaseQueueIfUnused(target) }
    }
}
