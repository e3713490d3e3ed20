package import Schedule
package import WatchFile

/// Decides: which event goes to which handler, what merges, what waits for what, what starts now, what a stop does.
///
/// It is a router: most of its state is in values that know nothing of one another, and it hands on what follows from
/// one to the next. `Door` keeps what is held back, `Scheduler` the operations and their lines, `Clocks` the time,
/// `Journal` what the store has to be told, `Calls` the callers, `Supervisor` the supervised processes, `Life` whether
/// it runs or stops.
///
/// The engine is a value. It has no clock, no descriptor and no thread: every input carries the time, and effects are
/// returned as actions that the runtime performs afterwards. So every rule can be tested without waiting, and the same
/// inputs at the same times give the same decisions.
///
/// An event that is accepted becomes one *delivery* for each handler of its source. A delivery joins an operation that
/// still waits, or makes a new one (`Door/Admission`). The operation is *submitted* when its delay and the operations
/// that it depends on have ended (`Operations/Submission`, `Operations/Dependencies`); then it takes its place in the
/// line of its key and of its queue. It starts when it stands first in both, no barrier is before it, the queue and its
/// targets have width and are not suspended, there is a process slot, and the semaphores it needs are there: all of it
/// is taken in one step, and a waiting operation holds nothing but its key (`Queues/Obstacles`, `Queues/Scheduling`,
/// `Operations/Starting`). Its attempts end in `Operations/Retry`, it ends in `Operations/Ending`. Every change goes
/// through `Door/Accounting`, so that the counts of source, queue and handler always add up.
///
/// Nothing on the path of an event looks at all waiting operations; work that follows from a change is put on
/// work-lists (`Scheduler.next`, `Door.next`) and done by `settle` before `handle` returns.
package struct Engine: Sendable {
    /// The longest chain of `Emit=` and `On…=` from an outside event.
    package static let chainLimit = HandlerDefinition.longestChain
    /// Load that watchd, and handlers on their own queues, may add beyond `MaxOperations=` and `MaxMemory=`: a loop of
    /// `Emit=` with many branches ends here.
    package static let overLimit = Load(entries: 10_000, bytes: 64 << 20)
    /// Callers of `Emit` that may wait for room.
    package static let waitingEmitLimit = 64
    /// The greatest value of a semaphore.
    package static let semaphoreLimit = 1_000_000_000

    package enum Phase: String, Sendable {
        case running, reloading, draining, drained
    }

    package private(set) var phase = Phase.running
    package internal(set) var settings: DaemonSettings
    /// When this engine was made: the daemon's start.
    package var started: Moment { clocks.started }

    var handlers = Registry<HandlerState>()
    var queues = Registry<QueueState>()
    var sources = Registry<SourceState>()
    var scheduler: Scheduler
    var dependencies = DependencyTable()
    /// Of operations split by `Stride=` that have started.
    var splits: [UInt64: Split] = [:]
    /// Of operations that have failed and are tried again.
    var attempts: [UInt64: Attempts] = [:]
    var overdue = Overdue()
    /// `Join=all`: the roots of which something has changed, of operations that wait for others.
    var joins: [UInt64: Set<[UInt8]>] = [:]
    /// Of operations that are commands of clients.
    var commands: [UInt64: SubmittedCommand] = [:]
    /// Of operations that have another priority than their handler's.
    var priorities: [UInt64: OperationPriority] = [:]
    /// Of operations that somebody waits for, where that counts.
    var urgencies: [UInt64: QoS] = [:]
    /// Callers of `Emit` that wait for the end of what their event starts.
    var emitWaits: [EmitWait] = []
    /// The handler of commands, from the first one on.
    var commandHandler: Int?
    /// `Loop=`.
    var loops = LoopWatch()
    /// `OnProblem=`, `OnSolved=`; and the handlers that may run because of them.
    var problemWatch = ProblemWatch()
    var problemTellers: Set<String> = []
    var trail = Trail()
    var deadlines = Deadlines()
    var clocks: Clocks
    /// For `%{host}`.
    let hostName: [UInt8]
    /// For `TRACEPARENT`.
    let traces: TraceNumbers

    var door = Door()
    var entries: Int { door.load.entries }
    /// `[Process]` with `Command=`.
    var supervisor = Supervisor()
    var steerings = Steerings()
    /// The counts of handlers that were removed.
    var retired = Counters()
    /// Callers of `Run` and `Wait`.
    var calls = Calls()
    var drains = Drains()
    /// The first one is being done.
    var queueCancellations: [QueueCancellation] = []
    /// `HoldUntil=`.
    var holding = Holding()
    /// Changes of paths that are not handled yet.
    package internal(set) var handling = Handling()
    var life = Life.starting {
        didSet {
            phase = life.phase
            scheduler.surroundings.phase = phase
        }
    }
    var journal: Journal
    var now: Moment { clocks.now }
    var actions: [Action] = []
    /// Nothing, ever. With a value of any type in it the engine is handed to its functions by its address; of a struct of
    /// known types alone the compiler makes a copy, 1.7 KB, for every call of a function that changes nothing.
    private let addressed: (any Sendable)? = nil

    /// Starts empty but for the configuration; `start()` returns the first actions.
    ///
    /// - Parameters:
    ///   - seed: of random delays: the same seed and the same inputs give the same decisions.
    ///   - host: what tells this watchd from others, and stays (`machine-id(5)`).
    ///   - hostName: for `%{host}`.
    package init(
        _ configuration: Configuration, at now: Moment, seed: UInt64 = 0, host: [UInt8] = [], hostName: [UInt8] = []
    ) {
        settings = configuration.settings
        scheduler = Scheduler(maxProcesses: settings.maxProcesses, at: now.monotonic)
        clocks = Clocks(now, zones: configuration.zones, host: host, seed: seed)
        self.hostName = hostName
        traces = TraceNumbers(host: host)
        journal = Journal(ids: IDs(realtime: now.realtime))
        _ = apply(configuration)
    }

    /// The actions that open the sources.
    package mutating func start() -> [Action] {
        if !life.hasStarted { life = .running }
        perform(supervisor.begin(ids: &journal.ids.lastOperation, at: now))
        tendCrews()
        for source in sources.indices where timerRule(source)?.isStored ?? false {
            saveStamp(source)
        }
        passDeadlines()
        settle()
        tellStore()
        return takeActions()
    }

    /// Takes one input and decides. The times of `now` never run backwards but for the wall clock.
    package mutating func handle(_ input: Input, at now: Moment) -> [Action] {
        clocks.pass(now)
        scheduler.surroundings.now = now.monotonic
        actions.reserveCapacity(8)
        clocksChanged()
        switch input {
        case .event(let id, let fact, let count):
            // A source that was removed may still hold what its operations need, but takes nothing in any more.
            if let source = sources.index(of: .source(id)), !sources[source].isRemoved, count > 0 {
                accept(fact, count: count, from: source)
            }
        case .change(let id, let fact, let state):
            acceptChange(fact, state, of: id)
        case .lines(let id, let facts, let position):
            acceptLines(facts, of: id, position)
        case .source(let id, let condition):
            if let source = sources.index(of: .source(id)) {
                sources[source].condition = condition
                silenceMayChange(source)
            }
        case .gap(let id, let count), .cut(let id, let count):
            if let source = sources.index(of: .source(id)) {
                sources[source].counters.gap += count
            } else {
                // Of one that was removed with something untold.
                retired.gap += count
            }
        case .filtered(let id, let count):
            if let source = sources.index(of: .source(id)) { sources[source].counters.filtered += count }
        case .clock:
            // Setting the clock has cancelled its timer.
            deadlines.disarm(.realtime)
        case .zones(let zones):
            zonesChanged(zones)
        case .runStarted(let run, let pid, let asks):
            runStarted(run, pid: pid, asks: asks)
        case .runDelayed(let run, let reason):
            runDelayed(run, reason: reason)
        case .runNotStarted(let run, let reason):
            runEnded(run, exit: nil, output: [], reason: reason)
        case .runGivenUp(let run, let reason):
            runGivenUp(run, reason: reason)
        case .runSkipped(let run, let output, let reason):
            runSkipped(run, output: output, reason: reason)
        case .runEnded(let run, let exit, let output, let reason):
            runEnded(run, exit: exit, output: output, reason: reason)
        case .handed(let run, let pid):
            handed(run, pid: pid)
        case .answered(let worker, let answers):
            answered(worker, answers)
        case .workerIsBroken(let worker, let reason):
            workerIsBroken(worker, reason)
        case .hold(let condition, let obstacle):
            conditionIs(condition, obstacle: obstacle)
        case .progress(let run, let text):
            progressed(run, text)
        case .runUsed(let run, let usage):
            runUsed(run, usage)
        case .ready(let run):
            perform(supervisor.ready(run, at: now))
        case .problems(let problems):
            problemsAre(problems)
        case .runIsLong(let run):
            runIsLong(run)
        case .store(let condition):
            storeChanged(condition)
        case .restored(let state):
            restore(state)
        case .storeIsNew:
            saveAll()
        case .command(let command, let token):
            perform(command, token)
        case .abandon(let token):
            abandon(token)
        case .reload(let configuration, let token):
            requestReload(configuration, token)
        case .drain:
            beginDrain()
        case .hurry:
            hurryDrain()
        }
        passDeadlines()
        settle()
        if !calls.isEmpty || !drains.byToken.isEmpty { tellIdle() }
        tellStore()
        return takeActions()
    }

    /// Lets views tell how long something waits still, not how long it did at the last input.
    package mutating func look(at now: Moment) {
        clocks.now = now
        scheduler.surroundings.now = now.monotonic
    }

    private mutating func takeActions() -> [Action] {
        defer { actions = [] }
        return actions
    }

    // MARK: Consequences

    /// Does what follows from the changes made, until nothing is left to do.
    mutating func settle() {
        repeat {
            // Operations that a stop leaves to the next start are not started any more.
            if life.isDraining { setAsideUnsaved() }
        } while settleOnce()
        if life.isDraining, isIdle {
            if finalizeAll() { return settle() }
            finishDrain(leftBehind: [])
        }
        tendOnDemand()
        armClocks()
    }

    /// False: there was nothing to do. Starts come first, so that they make room before anybody asks for it.
    private mutating func settleOnce() -> Bool {
        let step = scheduler.next()
        noteRateWaits()
        switch step {
        case .start(let ref):
            start(ref)
            return true
        case .done: return true
        case .nothing: break
        }
        if scheduler.areRestartsMoved {
            restartWhatMay()
        } else if let step = door.next(isStoreWorking: journal.isWorking) {
            letIn(step)
        } else if life.phase == .reloading, mayApplyReload {
            applyPendingReload()
        } else {
            return false
        }
        return true
    }

    private mutating func letIn(_ step: Door.Step) {
        switch step {
        case .source(let source): letGo(source, isFirst: false)
        case .queue(let queue): letGo(heldBy: queue)
        case .total: letGoHeldByTotal()
        case .calls: retryWaitingEmits()
        }
    }

    /// Rates that keep queues from starting anything are looked at again when they allow it.
    mutating func noteRateWaits() {
        guard !scheduler.rateWaits.isEmpty else { return }
        for (queue, time) in scheduler.takeRateWaits() { deadlines.add(.queueRate(queue), .monotonic, at: time) }
    }
}

extension Engine {
    /// Operations that have not ended.
    var operations: OperationTable {
        @inline(__always) _read { yield scheduler.operations }
        @inline(__always) _modify { yield &scheduler.operations }
    }

    var keys: KeyTable { @inline(__always) _read { yield scheduler.keys } }

    var semaphores: Registry<SemaphoreState> { _read { yield scheduler.semaphores } }
}

extension Moment {
    package subscript(clock: Clock) -> Int64 {
        switch clock {
        case .realtime: realtime
        case .boottime: boottime
        case .monotonic: monotonic
        }
    }
}
