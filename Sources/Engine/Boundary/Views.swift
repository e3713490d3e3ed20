import Schedule
package import WatchFile

/// One operation as readers see it, waiting, running or ended.
package struct OperationView: Sendable {
    package var id: UInt64
    package var handler: String
    package var queue: String
    package var origin: Origin
    package var key: [UInt8]?
    package var state: OperationState
    /// Set when it has ended.
    package var result: Result?
    package var reason: String?
    /// The sentence of what it waits for.
    package var waitingFor: String?
    /// The same as a code.
    package var waitReason: ReasonCode?
    /// Operations it depends on that have not ended.
    package var dependencies: [UInt64] = []
    /// Of one that was superseded or joined another: that one.
    package var successor: UInt64?
    /// Of a command that has a time: not before it (wall clock, microseconds).
    package var notBefore: Int64?
    /// When it is tried again (wall clock, microseconds), while it is backing off.
    package var nextAttempt: Int64?
    /// Parts by `Stride=`, and how many of them have ended; 1 and 0 for one that is not split.
    package var parts = 1
    package var partsEnded = 0
    /// Empty where its changes came to nothing.
    package var events: [Event]
    /// How many events it carries; who remembers it may keep fewer.
    package var entries: Int
    package var deliveries: Int
    package var depth: Int
    /// Times are microseconds of the wall clock.
    package var submitted: Int64
    package var started: Int64?
    package var ended: Int64?
    /// From 1.
    package var attempt: Int
    /// Of its oldest run.
    package var pid: Int32?
    package var exit: Exit?
    package var output: [UInt8] = []
    /// The last words of its runs on how far they are (`Progress=`).
    package var progress: String?
    /// The members of semaphores that its runs hold.
    package var acquired: [AcquiredMembers] = []
    /// Of its last attempt, as far as its runs have ended.
    package var usage = ResourceUsage()
    /// The span that its first event came from, if it came from one; its runs are children of it.
    package var trace: TraceContext?
    package var isDurable = false
    /// A client started it with `Run`.
    package var isByHand = false
    /// A run of it may have happened before this attempt.
    package var isRedelivered = false
    /// The store has it, or had it until it ended.
    package var isStored = false
}

package struct SourceView: Sendable {
    package var id: SourceID
    package var definition: SourceDefinition
    package var condition: SourceCondition
    package var isHeld: Bool
    /// Wall clock, microseconds; `nil`: it is not, or that is not known.
    package var heldSince: Int64?
    /// It is held back because the store fails.
    package var isHeldByStore: Bool
    /// It is held back by its own `RateLimit=`.
    package var rateWait: RateWait?
    /// The bound that holds it back: `BacklogBytes=64M of queue images`. `nil`: none does.
    package var heldBy: String?
    /// Events that were dropped since it is held back or suspended, as it can keep no more.
    package var refusedWhileHeld: Int
    package var isRemoved: Bool
    /// It is in the watch file, or holds events for its resume.
    package var isListed: Bool { !isRemoved || !suspensions.isEmpty }
    package var suspensions: [Suspension]
    package var counters: Counters
    package var lastEvent: Int64?
    /// Wall clock, microseconds, as far as it is known now.
    package var nextElapse: Int64?
    /// With `SilenceSec=`, while it listens.
    package var silence: SilenceView?
    /// Of a supervised process.
    package var processes: [SupervisedView] = []
    /// A handler of it writes what it watches.
    package var loop: FoundLoop?
}

/// One worker of a `Stream=` handler, for readers.
package struct WorkerView: Equatable, Sendable {
    /// The most of its operations that are named.
    static let named = 20

    package var handler: String
    /// From 1.
    package var copy: Int
    package var stage: SupervisedView.Stage
    package var pid: Int32?
    /// Since when it is in this stage. Times are microseconds of the wall clock.
    package var since: Int64
    /// Lines that it holds.
    package var held: Int
    /// The oldest of their operations.
    package var holding: [UInt64]
    package var restarts: Int
    /// When it may start again, while it is backing off.
    package var nextStart: Int64?
    /// How it ended last, in a few words.
    package var lastEnd: String?
    package var lastEndTime: Int64?
    /// It is down because nothing is there for it.
    package var isIdle: Bool
}

/// Events of a source that wait for its `RateLimit=`.
package struct RateWait: Equatable, Sendable {
    /// Its full name.
    package var source: String
    package var events: Int
    /// Of the oldest: wall clock, microseconds.
    package var since: Int64
    /// `RateLimit=1/20s, 12s more`.
    package var sentence: String

    package var explanation: Explanation {
        let count = "\(counted(events, "event")) of \(source)"
        return Explanation(
            code: .rateLimit, sentence: "\(count) wait\(events == 1 ? "s" : "") for \(sentence)", section: source)
    }
}

package struct SilenceView: Sendable {
    /// Microseconds since its last event, or since it began to listen.
    package var quiet: Int64
    /// Microseconds, of `SilenceSec=`.
    package var span: Int64
    /// `OnSilence=` has been told.
    package var isTold: Bool
}

package struct QueueView: Sendable {
    package var definition: QueueDefinition
    package var isRemoved: Bool
    package var suspensions: [Suspension]
    package var counters: Counters
    /// Entries that wait.
    package var entries: Int
    /// Bytes that they take up.
    package var bytes: Int
    /// Which of its bounds is used up, or holds sources back; `nil`: neither.
    package var fullness: Load.Measure?
    /// Operations of its own that do not run, with those that a stop leaves to the next start; and that run.
    package var waiting: Int
    package var running: Int
    /// `QoS=` as its targets leave it.
    package var qos: QoS
    /// Entries above `Backlog=`, made by watchd itself.
    package var over: Int
    /// When the oldest waiting operation was submitted.
    package var oldest: Int64?
}

package struct SemaphoreView: Sendable {
    package var definition: SemaphoreDefinition
    package var isRemoved: Bool
    /// Negative after a reload that lowered `Value=`.
    package var available: Int
    /// Operations that stand in its line.
    package var waiting: Int
    /// The oldest operation first.
    package var holders: [SemaphoreHolder] = []
}

/// A run that holds units of a semaphore.
package struct SemaphoreHolder: Equatable, Sendable {
    package var operation: UInt64
    package var handler: String
    package var count: Int
    /// Their names, where they have some.
    package var members: [String]
}

package struct GroupView: Sendable {
    package var id: SourceID
    /// Operations of its members that have not ended.
    package var outstanding: Int
    /// Clients that have entered and not left.
    package var entered: Int
    /// Operations that an earlier watchd lost, as far as it is known, and that its next event tells.
    package var lost = 0
}

package struct HandlerView: Sendable {
    package var definition: HandlerDefinition
    package var isRemoved: Bool
    package var counters: Counters
    package var runningPIDs: [Int32]
    /// Of `Stream=`.
    package var workers: [WorkerView] = []
    package var lastResult: Result?
    package var lastEnded: Int64?
    /// In force, for events of its sources: more than one only where `Overlap=` is not written.
    package var overlaps: [Overlap] = []
}

extension Engine {
    /// The accounting over everything since the start.
    package var totals: Counters {
        var all =
            handlers.indices.reduce(retired) { $0 + handlers[$1].counters }
            + sources.indices.reduce(into: Counters()) {
                $0.filtered += sources[$1].counters.filtered
                $0.gap += sources[$1].counters.gap
            }
        all.enter(journal.orphans.deliveries, at: .pending)
        return shown(all, heldUp)
    }

    /// Operations that have their places but wait for the store before anything of them runs, while it fails.
    private var unsafeStarts: [OperationRef] {
        journal.isWorking ? [] : operations.oldest(.max / 4) { isStartUnsafe($0) }
    }

    /// Operations that have their places though nothing of them runs: they wait for the store, or for a process.
    private var heldUp: [OperationRef] {
        let delayed = overdue.delayed.compactMap { operations.ref(id: $0) }.filter { isHeldUp(operations[$0]) }
        return delayed.isEmpty ? unsafeStarts : Array(Set(delayed + unsafeStarts)).sorted()
    }

    /// As people understand it: these wait.
    private func shown(_ counters: Counters, _ waiting: [OperationRef]) -> Counters {
        var counters = counters
        let count = waiting.reduce(0) { $0 + operations[$1].entries.deliveries }
        counters.move(count, from: .running, to: .pending)
        return counters
    }

    package var entriesPending: Int { entries }
    /// The load of all queues.
    package var loadPending: Load { door.load }
    package var processesRunning: Int { scheduler.slots.taken }
    /// Of those, starts that wait until the store has them.
    package var processesWaitingForStore: Int {
        unsafeStarts.reduce(0) { sum, ref in
            sum + operations[ref].runs.count { $0.definition.value.needsProcess }
        }
    }
    /// Since when all process slots are taken, on the wall clock (microseconds); `nil`: there is a free one.
    package var slotsFullSince: Int64? { scheduler.slots.fullSince }

    /// Every operation that has not ended, oldest first.
    package var operationViews: [OperationView] { operations.refs.map { view($0) } }

    /// Operations that have not ended and wait.
    package var operationsWaiting: Int {
        queues.indices.reduce(heldUp.count + journal.orphans.count) { $0 + queues[$1].waiting }
    }

    /// Operations that have not ended and run.
    package var operationsRunning: Int { operations.count + journal.orphans.count - operationsWaiting }

    /// The oldest operations that run (or wait), at most `limit`.
    package func oldestViews(_ limit: Int, running isRunning: Bool) -> [OperationView] {
        let unsafe = Set(heldUp.map(\.id))
        return operations.oldest(limit) { ($0.progress.isRunning && !unsafe.contains($0.id)) == isRunning }.map {
            view($0)
        }
    }

    package func operationViews(queue: String?, handler: String?, after: UInt64, limit: Int) -> [OperationView] {
        refs(queue, handler, after, limit) { _ in true }.map { view($0) }
    }

    /// At most `limit` operations that have not ended, in a state that is wanted, with an id above `after`, oldest first.
    package func operationIDs(
        queue: String?, handler: String?, after: UInt64, limit: Int, where isWanted: (OperationState) -> Bool
    ) -> [UInt64] {
        refs(queue, handler, after, limit, isWanted).map(\.id)
    }

    private func refs(
        _ queue: String?, _ handler: String?, _ after: UInt64, _ limit: Int, _ isWanted: (OperationState) -> Bool
    ) -> [OperationRef] {
        operations.oldest(limit) { operation in
            let isUnsafe = !journal.isWorking && isStartUnsafe(operation)
            return operation.id > after && isWanted(isUnsafe ? .ready : operation.state)
                && (queue.map { $0 == queues[shownQueue(operation)].definition.name } ?? true)
                && (handler.map { $0 == handlers[operation.handler].name } ?? true)
        }
    }

    /// Operations that have not ended and were started by the end of that one.
    package func operationViews(startedBy id: UInt64) -> [OperationView] {
        operations.oldest(100) { operation in
            operation.descent.depth > 0
                && operation.entries.events.contains { event in
                    if case .completion(let fact) = event.fact { fact.operation == id } else { false }
                }
        }.map { view($0) }
    }

    package func operation(_ id: UInt64) -> OperationView? {
        operations.ref(id: id).map { view($0) } ?? journal.unplaced(id).map { view($0) }
    }

    /// `nil`: there is no such source.
    package func definition(of id: SourceID) -> SourceDefinition? {
        sources.index(of: .source(id)).flatMap { sources[$0].definition?.value }
    }

    /// Every source, without a look at what it does.
    package var sourceIDs: [SourceID] {
        sources.indices.compactMap { index in
            guard case .source(let id) = sources[index].origin, sources[index].definition != nil else { return nil }
            return id
        }
    }

    package var sourceViews: [SourceView] { sourceViews(at: sources.indices) }

    /// The sources among these that there are, in their order.
    package func sourceViews(of ids: some Sequence<SourceID>) -> [SourceView] {
        sourceViews(at: ids.compactMap { sources.index(of: .source($0)) })
    }

    private func sourceViews(at indices: [Int]) -> [SourceView] {
        let unsafe = heldUp
        return indices.compactMap { index in
            let state = sources[index]
            guard case .source(let id) = state.origin, let definition = state.definition?.value else { return nil }
            return SourceView(
                id: id, definition: definition, condition: state.condition,
                isHeld: state.isHeldInRim || !state.held.isEmpty, heldSince: state.held.since,
                isHeldByStore: door.isHeldByStore(index),
                rateWait: rateWait(index), heldBy: heldBy(index), refusedWhileHeld: state.held.refused,
                isRemoved: state.isRemoved, suspensions: state.suspensions,
                counters: shown(state.counters, unsafe.filter { operations[$0].source == index }),
                lastEvent: state.lastEvent,
                nextElapse: nextElapse(state), silence: silence(state),
                processes: supervisor[index]?.views(at: now) ?? [], loop: loop(of: index))
        }
    }

    private func silence(_ state: SourceState) -> SilenceView? {
        guard state.silence.span > 0, state.silence.isRunning else { return nil }
        return SilenceView(
            quiet: max(0, now.monotonic - state.silence.heard), span: state.silence.span, isTold: state.silence.isSilent
        )
    }

    /// `Submit=` of the queue that a name means, if there is one.
    package func submitters(ofQueue name: String) -> QueueDefinition.Submitters? {
        let named = try? resolve(name) { if case .queue = $0 { true } else { false } }
        guard case .queue(let queue) = named, !queues[queue].isRemoved else { return nil }
        return queues[queue].definition.submitters
    }

    package var queueViews: [QueueView] {
        let unsafe = heldUp
        let kept = journal.setAside.byAge.reduce(into: [:]) { $0[shownQueue($1), default: []].append($1.submitted) }
        return queues.indices.filter { queues[$0].name != Self.clientQueue }.map { index in
            let state = queues[index]
            let kept = kept[state.definition.name] ?? []
            let unsafe = unsafe.filter { operations[$0].queue == index }
            let oldest = state.arrivals.elements.first { operations.isWaiting($0) }
            return QueueView(
                definition: state.definition, isRemoved: state.isRemoved, suspensions: state.suspensions,
                counters: shown(state.counters, unsafe), entries: state.entries, bytes: state.load.bytes,
                fullness: state.fullness,
                waiting: state.waiting + unsafe.count + kept.count, running: state.running - unsafe.count,
                qos: scheduler[index].qos, over: max(0, state.entries - state.definition.backlog),
                oldest: oldest.map { operations[$0].times.submitted } ?? kept.first)
        }
    }

    package var handlerNames: [String] { handlers.indices.map { handlers[$0].name } }

    package var handlerViews: [HandlerView] { handlerViews { _ in true } }

    package func handlerViews(where isWanted: (String) -> Bool) -> [HandlerView] {
        let unsafe = heldUp
        var pids: [Int: [Int32]] = [:]
        for ref in operations.oldest(.max / 4, where: { !$0.runs.isEmpty }) {
            pids[operations[ref].handler, default: []] += operations[ref].runs.filter { $0.seat == nil }
                .compactMap(\.pid)
        }
        let overlaps = usualOverlaps(where: isWanted)
        return handlers.indices.filter { isWanted(handlers[$0].name) }.map { index in
            let state = handlers[index]
            var view = HandlerView(
                definition: state.definition.value, isRemoved: state.isRemoved,
                counters: shown(state.counters, unsafe.filter { operations[$0].handler == index }),
                runningPIDs: pids[index] ?? [], workers: state.crew.map(workerViews) ?? [],
                lastResult: state.lastResult, lastEnded: state.lastEnded)
            view.overlaps = view.definition.overlap.map { [$0] } ?? overlaps[index] ?? [.wait]
            return view
        }
    }

    /// By handler, where `Overlap=` is not written.
    private func usualOverlaps(where isWanted: (String) -> Bool) -> [Int: [Overlap]] {
        var overlaps: [Int: [Overlap]] = [:]
        for source in sources.indices where !sources[source].isRemoved && sources[source].definition != nil {
            for target in sources[source].targets where handlers[target.handler].definition.value.overlap == nil {
                let overlap = overlap(source, target.handler)
                guard overlaps[target.handler]?.contains(overlap) != true, isWanted(handlers[target.handler].name)
                else { continue }
                overlaps[target.handler, default: []].append(overlap)
            }
        }
        return overlaps
    }

    package var semaphoreViews: [SemaphoreView] {
        var holders: [Int: [SemaphoreHolder]] = [:]
        if semaphores.indices.contains(where: { !semaphores[$0].isRoom && semaphores[$0].held > 0 }) {
            for ref in operations.oldest(.max / 4, where: { !$0.runs.isEmpty }) {
                for share in operations[ref].runs.flatMap(\.held) {
                    holders[share.semaphore, default: []].append(
                        SemaphoreHolder(
                            operation: ref.id, handler: handlers[operations[ref].handler].name, count: share.count,
                            members: share.members))
                }
            }
        }
        return semaphores.indices.filter { !semaphores[$0].isRoom }.map { index in
            let state = semaphores[index]
            return SemaphoreView(
                definition: state.definition, isRemoved: state.isRemoved, available: state.available,
                waiting: state.waiting, holders: holders[index] ?? [])
        }
    }

    package var groupViews: [GroupView] { sources.indices.compactMap { groupView($0) } }

    /// `nil`: there is no such group.
    package func groupView(of id: SourceID) -> GroupView? { sources.index(of: .source(id)).flatMap { groupView($0) } }

    private func groupView(_ index: Int) -> GroupView? {
        guard isGroup(index), !sources[index].isRemoved, case .source(let id) = sources[index].origin else {
            return nil
        }
        let group = sources[index].group
        return GroupView(id: id, outstanding: group.outstanding, entered: group.tickets.count, lost: group.tally.lost)
    }

    /// None while it is suspended: then nothing of it is kept.
    private func nextElapse(_ state: SourceState) -> Int64? {
        if state.isSuspended { return nil }
        return Clock.allCases.compactMap { clock in
            let due = state.timer.due(clock)
            return due == TimerState.never ? nil : now.realtime + (due - now[clock])
        }.min()
    }

    /// Whether a start that waited for the store is still wanted.
    package func isStarting(_ id: RunID) -> Bool {
        !life.isDrained && running(id).map { !run(at: $0).hasBegun } ?? false
    }

    /// It is to end before it has begun.
    package func isUnwanted(_ id: RunID) -> Bool { running(id).map { run(at: $0).ending != nil } ?? false }

    private func run(at place: (ref: OperationRef, index: Int)) -> Run { operations[place.ref].runs[place.index] }

    func view(_ ref: OperationRef) -> OperationView { view(operations[ref], isEnding: false) }

    /// `isEnding`: it waits for nothing any more.
    func view(_ operation: Operation, isEnding: Bool) -> OperationView {
        var view = OperationView(
            id: operation.id, handler: handlers[operation.handler].name,
            queue: queues[shownQueue(operation)].definition.name, origin: sources[operation.source].origin,
            key: operation.keys.first.map { keys[$0].name.bytes }, state: operation.state,
            events: tracedEvents(operation), entries: operation.entries.count,
            deliveries: operation.entries.deliveries, depth: Int(operation.descent.depth),
            submitted: operation.times.submitted,
            started: started(operation),
            attempt: Int(operation.progress.attempt),
            pid: operation.runs.lazy.compactMap(\.pid).first)
        view.trace = trace(of: operation)
        view.progress = operation.runs.lazy.compactMap(\.progress).first
        view.isDurable = operation.record.isDurable
        view.isByHand = operation.descent.isByHand
        view.isRedelivered = operation.progress.isRedelivered || view.events.contains(where: \.isRepeated)
        view.isStored = operation.record.isStored
        if let split = splits[operation.id] {
            (view.parts, view.partsEnded, view.usage) = (split.count, split.done.count, split.usage)
            if isEnding, split.failure != nil { view.pid = split.failedPID }
        }
        for run in operation.runs where !run.usage.isInitial { view.usage.add(run.usage.value) }
        guard !isEnding else { return view }
        view.acquired = scheduler.members(of: operation.runs.flatMap(\.held))
        view.dependencies = dependencies.dependencies(of: operation.id)
        if !commands.isEmpty, let time = commands[operation.id]?.notBefore, time > now.realtime {
            view.notBefore = time
        }
        if operation.turn.station == .backingOff {
            view.nextAttempt = now.realtime + operation.times.wakeUp - now.monotonic
        }
        if let ref = operations.ref(id: operation.id), !operation.progress.isRunning || isHeldUp(operation),
            let wait = waits(of: ref).first
        {
            if operation.progress.isRunning { (view.state, view.started) = (.ready, nil) }
            view.waitingFor = wait.sentence
            view.waitReason = wait.code
        }
        return view
    }

    /// When its attempt began; `nil`: it has not, or is ended before any of it ran.
    private func started(_ operation: Operation) -> Int64? {
        if operation.record.isDurable, !operation.runs.isEmpty, operation.runs.allSatisfy(\.isEndedUnbegun) {
            return nil
        }
        guard !splits.isEmpty, let split = splits[operation.id] else { return operation.runs.first?.started }
        return operation.progress.isRunning ? split.started : nil
    }

    /// Stored events held by a source that does not exist (any more).
    package var orphanHolds: [StoredHold] { journal.orphans.holds }

    /// Durable operations that the stop left for the next start.
    package var setAsideCount: Int { journal.setAside.count }

    /// Stored operations whose handler or queue does not exist.
    package var orphanCount: Int { journal.orphans.count }

    /// Stored operations in no table: those orphans, and what the stop leaves to the next start; oldest first.
    package var unplacedViews: [OperationView] { journal.unplaced.map { view($0) } }

    /// The stored operations in no table that hold units of a semaphore for a client's process.
    package var orphanHolders: [(operation: UInt64, holder: CommandFact.Holder)] {
        journal.orphans.byAge.compactMap { orphan in orphan.holder.map { (orphan.id, $0) } }
    }

    /// How many of them wait for each handler or queue, by its full name, and since when the oldest does.
    package var missingSections: [String: (count: Int, since: Int64)] {
        journal.orphans.byAge.reduce(into: [:]) { all, orphan in
            guard let name = missing(orphan) else { return }
            let (count, since) = all[name] ?? (0, orphan.submitted)
            all[name] = (count + 1, min(since, orphan.submitted))
        }
    }

    /// The section without which an orphan has no place; `nil`: it has both, and waits for another orphan.
    private func missing(_ orphan: StoredOperation) -> String? {
        if isGone(handler: orphan.handler) {
            return "handler/\(orphan.handler)"
        }
        return queues.index(of: orphan.queue).map { queues[$0].isRemoved } ?? true ? "queue/\(orphan.queue)" : nil
    }

    func isGone(handler name: String) -> Bool {
        handlers.index(of: name).map { handlers[$0].isRemoved && !isOfClient($0) } ?? true
    }

    private func wait(of orphan: StoredOperation) -> String {
        if journal.setAside[orphan.id] != nil { return "the next start of watchd" }
        if let missing = missing(orphan) { return "\(missing), which does not exist any more" }
        let other = orphan.dependencies.lazy.compactMap { journal.orphans[$0.operation] }.first
        let place = other.flatMap(missing).map { ", which waits for \($0)" } ?? ""
        return "operation \(other?.id ?? 0)\(place)"
    }

    func view(_ orphan: StoredOperation) -> OperationView {
        let list = EntryList(orphan.events + orphan.appended)
        var view = OperationView(
            id: orphan.id, handler: orphan.handler, queue: shownQueue(orphan), origin: orphan.origin,
            key: orphan.keys.first, state: .pending, events: list.events, entries: list.count,
            deliveries: list.deliveries, depth: orphan.depth, submitted: orphan.submitted, attempt: orphan.attempt)
        let living = orphan.runs.isEmpty ? "" : "; \(orphan.processes) may still run"
        view.waitingFor = wait(of: orphan) + living
        view.waitReason = journal.setAside[orphan.id] == nil ? .orphaned : .start
        view.trace = traces.trace(of: list.events)
        (view.isDurable, view.isStored) = (orphan.isDurable, true)
        view.isRedelivered = orphan.isRedelivered || list.events.contains(where: \.isRepeated)
        if case .command(let fact) = orphan.events.last?.fact, let time = fact.notBefore, time > now.realtime {
            view.notBefore = time
            view.waitingFor? += "; and for its time, \(SpanText.remaining(time - now.realtime)) more"
        }
        return view
    }
}
