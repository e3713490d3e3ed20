import Schedule
import WatchFile

@testable import Engine

/// What may start when, kept apart from the engine: fed with what goes in and what comes out, and with what any reader
/// of the engine can see. It knows nothing of lines, stations or work-lists.
///
/// After every input it insists that whatever was started was allowed to (`SchedulingModel+Starts`), and that nothing
/// that still waits could start now (`SchedulingModel+Standstill`): a lost wake-up shows at once.
struct SchedulingModel {
    /// An operation that has not ended. A class: what is looked at in pairs is not copied.
    final class Item {
        let id: UInt64
        var view: OperationView
        /// All of them: a rename has two, and a view shows one. It keeps them whatever a reload changes.
        var keys: Set<KeyTable.Name> = []
        /// Parts by `Stride=` that this attempt has yet to start.
        var partsLeft = 0
        /// The batch in which it was first seen, and that in which it was found submitted.
        var created: Int
        var submitted: Int?
        /// Monotonic microseconds.
        var createdAt: Int64
        var hasStarted = false
        /// What it was started with last.
        var startedWith: HandlerDefinition?
        /// Whether it was started as a barrier, and as one that its keys exclude: it stays so to its end, whatever a
        /// reload changes. `nil`: it cannot be told from outside.
        var startedAsBarrier: Bool?
        var startedExclusive = true
        /// A caller waits for its end, so that it and what stands before it have a higher QoS than their queue.
        var isAwaited = false
        /// While it backs off: no attempt before, and one not later than (monotonic microseconds).
        var pause: ClosedRange<Int64>?
        /// Failures so far, for the length of the pause.
        var failures = 0
        /// The operations it has to wait for, by handler.
        var dependencies: [String: Set<UInt64>] = [:]

        init(_ view: OperationView, created: Int, createdAt: Int64) {
            (id, self.view, self.created, self.createdAt) = (view.id, view, created, createdAt)
        }
    }

    /// A run that has not ended.
    struct ActiveRun {
        var id: RunID
        var queue: String
        var definition: HandlerDefinition
        /// The queues it took a place on.
        var chain: Set<String>
        /// Further ones, if it was started before the reload in the same batch.
        var perhaps: Set<String>
        var isInteractive: Bool
    }

    var now = Moment(realtime: 0, boottime: 0, monotonic: 0)
    var batch = 0
    var items: [UInt64: Item] = [:]
    var runs: [RunID: ActiveRun] = [:]
    /// Monotonic microseconds of the starts on each queue that has a rate, oldest first.
    var starts: [String: [Int64]] = [:]
    /// What the model thinks is free of each semaphore.
    var free: [String: Int] = [:]
    /// Deliveries by their end.
    var ends: [Result: Int] = [:]
    var entered: [String: Int] = [:]

    // What any reader sees, as of the end of the batch.
    var queues: [String: QueueView] = [:]
    /// Each with its targets.
    var chains: [String: [String]] = [:]
    /// The queues before the batch.
    var queuesBefore: [String: QueueView] = [:]
    var handlers: [String: HandlerDefinition] = [:]
    /// What all checks of one batch look at.
    var board = Board()
    var semaphores: [String: SemaphoreView] = [:]
    /// `HoldDuring=` of sources.
    var sourceWindows: [Origin: [CalendarWindow]] = [:]
    /// `MaxSettleSec=` of the sources that have one, in microseconds.
    var settling: [Origin: Int64] = [:]
    var zones = ZoneTable()
    var phase = Engine.Phase.running
    var settings = DaemonSettings()
    /// Whether a new configuration came into force in this batch.
    var isReloaded = false
    /// The batch of the last one: what was made before keeps what it has to wait for.
    var lastReload = 0
    /// The events there were then: their operations do not take on more to wait for, nor do those that come after a
    /// superseded one.
    private var eventsBeforeReload: Set<UInt64> = []
    var lastReloadAt: Int64 = 0
    /// Queues on which something waits or runs that was made in this batch.
    private(set) var newcomers: Set<String> = []
    /// The first starts of operations in this batch, in order.
    var firstStarts: [UInt64] = []
    /// The members of semaphores that runs hold.
    var lent: [RunID: [AcquiredMembers]] = [:]
    private var given: (semaphore: String, count: Int)?
    private var group: (name: String, isEntering: Bool)?
    /// The input is of a caller who waits for what comes of it.
    private(set) var isCallerWaiting = false

    /// Takes an input and what the engine made of it. Returns a sentence about the first thing that is wrong.
    mutating func take(_ input: Input?, _ actions: [Action], _ engine: Engine, at now: Moment) -> String? {
        self.now = now
        batch += 1
        firstStarts = []
        defer { if isReloaded { (lastReload, lastReloadAt) = (batch, now.monotonic) } }
        isReloaded = batch == 1 || actions.contains { if case .reloaded = $0 { true } else { false } }
        queuesBefore = queues
        let views = engine.operationViews
        newcomers = Set(views.filter { items[$0.id] == nil }.map(\.queue))
        read(engine)
        if let input { take(input) }
        if let given, actions.contains(where: { if case .reply(_, .signaled) = $0 { true } else { false } }) {
            give(given.semaphore, given.count)
        }
        var wrong: String?
        for action in actions {
            let found = take(action)
            if wrong == nil { wrong = found }
        }
        refresh(views, engine)
        board = Board(self)
        return wrong ?? checkStarts() ?? checkDependencies() ?? checkStandstill() ?? checkSemaphores()
            ?? checkCounts(engine)
    }

    private mutating func read(_ engine: Engine) {
        let old = semaphores
        queues = Dictionary(uniqueKeysWithValues: engine.queueViews.map { ($0.definition.name, $0) })
        if isReloaded {
            handlers = Dictionary(uniqueKeysWithValues: engine.handlerViews.map { ($0.definition.name, $0.definition) })
        }
        semaphores = Dictionary(uniqueKeysWithValues: engine.semaphoreViews.map { ($0.definition.name, $0) })
        chains = queues.reduce(into: [:]) { $0[$1.key] = chain($1.key, in: queues) }
        (phase, settings, zones) = (engine.phase, engine.settings, engine.clocks.zones)
        sourceWindows = engine.sources.indices.reduce(into: [:]) { found, index in
            let source = engine.sources[index]
            if let windows = source.definition?.value.windows.holdDuring, !windows.isEmpty {
                found[source.origin] = windows
            }
        }
        settling = engine.sources.indices.reduce(into: [:]) { found, index in
            let source = engine.sources[index]
            source.settle.map { found[source.origin] = Int64(clamping: min($0.longest.microseconds, 1 << 59)) }
        }
        for (name, view) in semaphores {
            let before = old[name].flatMap {
                ($0.isRemoved && !view.isRemoved) || !$0.definition.members.isEmpty ? nil : $0.definition.value
            }
            free[name] =
                before.map { (free[name] ?? 0) + view.definition.value - $0 } ?? view.definition.value - held(name)
            if !view.definition.members.isEmpty { free[name] = freeMembers(view.definition) }
        }
    }

    /// Those that nobody holds, less what is held without a name.
    private func freeMembers(_ definition: SemaphoreDefinition) -> Int {
        let taken = lentMembers(definition.name)
        return definition.members.count { !taken.contains($0) } - (held(definition.name) - taken.count)
    }

    func lentMembers(_ semaphore: String) -> [String] {
        lent.values.flatMap { $0 }.filter { $0.semaphore == semaphore }.flatMap(\.members)
    }

    /// Beyond the limit nothing is kept.
    private mutating func give(_ semaphore: String, _ count: Int) {
        free[semaphore] = min(free[semaphore, default: 0] + count, Engine.semaphoreLimit - held(semaphore))
    }

    private func held(_ semaphore: String) -> Int {
        runs.values.reduce(0) { sum, run in
            sum + run.definition.constraints.acquires.filter { $0.name == semaphore }.reduce(0) { $0 + $1.count }
        }
    }

    // MARK: Inputs

    private mutating func take(_ input: Input) {
        given = nil
        group = nil
        isCallerWaiting = false
        switch input {
        case .runEnded(let run, _, _, _), .runNotStarted(let run, _), .runSkipped(let run, _, _):
            guard let ended = runs.removeValue(forKey: run) else { return }
            let members = lent.removeValue(forKey: run) ?? []
            for share in ended.definition.constraints.acquires {
                if let definition = semaphores[share.name]?.definition, !definition.members.isEmpty {
                    // One that the watch file does not have any more is free for nobody.
                    let own = members.first { $0.semaphore == share.name }?.members
                    free[share.name, default: 0] += own?.count { definition.members.contains($0) } ?? share.count
                } else {
                    free[share.name, default: 0] += share.count
                }
            }
        case .command(.signal(let name, let count), _): given = (name, count)
        case .command(.run(let command), _): isCallerWaiting = command.waits
        case .command(.wait(.operation(let id), after: _, caller: _, raisesQoS: true), _):
            items[id]?.isAwaited = true
        case .command(.enterGroup(let name, _), _): group = (name, true)
        case .command(.leaveGroup(let name, _), _): group = (name, false)
        default: break
        }
    }

    private mutating func take(_ action: Action) -> String? {
        switch action {
        case .start(let request): return start(request)
        case .committed(let action), .stored(let action): return take(action)
        case .reply(_, .ticket): if let group { entered[group.name, default: 0] += 1 }
        case .reply(_, .done): if let group, !group.isEntering { entered[group.name, default: 0] -= 1 }
        case .report(.ended(let view)): ended(view)
        case .report(.retrying(let view)): retried(view)
        case .report(.refused(let refused)): ends[refused.result, default: 0] += refused.event.count
        default: break
        }
        return nil
    }

    private mutating func ended(_ view: OperationView) {
        if view.result == .done, let definition = items[view.id]?.startedWith {
            for share in definition.constraints.releases { give(share.name, share.count) }
        }
        if view.result == .done, handlers[view.handler]?.needsProcess == false {
            // It is started and has ended in one step, and nobody is told of its start.
            countStart(view.queue)
            countSemaphores(view)
        }
        if let result = view.result, result != .superseded { ends[result, default: 0] += view.deliveries }
        items[view.id] = nil
        for id in items.keys {
            for (handler, awaited) in items[id]?.dependencies ?? [:] where awaited.contains(view.id) {
                guard view.result == .superseded, let successor = view.successor else { continue }
                items[id]?.dependencies[handler]?.remove(view.id)
                items[id]?.dependencies[handler]?.insert(successor)
            }
        }
    }

    /// Of one that nobody was told to start.
    private mutating func countSemaphores(_ view: OperationView) {
        guard items[view.id]?.startedWith == nil, let constraints = handlers[view.handler]?.constraints else { return }
        for share in constraints.consumes { free[share.name, default: 0] -= share.count }
        for share in constraints.releases { give(share.name, share.count) }
    }

    private mutating func retried(_ view: OperationView) {
        guard let item = items[view.id], let policy = item.startedWith?.retry else { return }
        let doubled = Double(policy.delay.microseconds) * Double(1 << min(item.failures, 40))
        let pause = Int64(min(doubled, Double(policy.maxDelay.microseconds), 1e15))
        item.failures += 1
        item.pause = (now.monotonic + pause)...(now.monotonic + pause + pause / 10)
    }

    /// A limit counts only what started while there was one.
    mutating func countStart(_ queue: String) {
        guard let limit = queues[queue]?.definition.rateLimit else { return }
        let first = now.monotonic - Int64(clamping: limit.span.microseconds)
        starts[queue] = (starts[queue] ?? []).filter { $0 > first } + [now.monotonic]
    }

    // MARK: What is there

    private mutating func refresh(_ views: [OperationView], _ engine: Engine) {
        for view in views {
            let item = items[view.id] ?? Item(view, created: batch, createdAt: now.monotonic)
            if isCallerWaiting, item.created == batch || item.view.deliveries != view.deliveries {
                item.isAwaited = true
            }
            item.view = view
            if let ref = engine.operations.ref(id: view.id) {
                item.partsLeft = Int(engine.operations[ref].progress.toStart)
                item.keys = Set(engine.operations[ref].keys.map { engine.keys[$0].name })
            }
            if item.hasStarted || ![.delay, .settle, .join, .loop, .dependency, .window].contains(view.waitReason),
                item.submitted == nil
            {
                item.submitted = batch
            }
            items[view.id] = item
        }
        if isReloaded { eventsBeforeReload = Set(views.flatMap { $0.events.map(\.id) }) }
        for view in views {
            guard let item = items[view.id], item.created > lastReload else { continue }
            if item.submitted == nil || item.created == batch { findDependencies(view) }
        }
    }

    /// The operations of the handlers it names that carry events of its own.
    private mutating func findDependencies(_ view: OperationView) {
        guard let constraints = handlers[view.handler]?.constraints, !isReloaded else { return }
        let events = Set(view.events.map(\.id)).subtracting(eventsBeforeReload)
        for handler in Set(constraints.after + constraints.requires) {
            let found = items.values.filter {
                $0.view.handler == handler && $0.view.origin == view.origin
                    && !events.isDisjoint(with: $0.view.events.map(\.id))
            }
            items[view.id]?.dependencies[handler, default: []].formUnion(found.map(\.view.id))
        }
    }
}
