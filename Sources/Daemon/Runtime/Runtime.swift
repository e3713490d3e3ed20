import ControlInterface
import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import Store
import Systemd
import WatchFile

/// Holds the engine on `watchd.core`: gives it inputs with the time, performs the actions it returns. Confined to the
/// core, and so is everything it owns.
final class Runtime {
    let parts: Daemon.Parts
    let core: Context
    let slow: Lanes
    private let probes: PathProbes
    let logger: Logger
    let manager: ServiceManager
    private(set) var engine: Engine
    let epoll: EpollSet
    var files: [String]
    /// Where the sections of the files in force stand, by their full names.
    var locations: [String: SourceLocation]
    var readiness = Readiness()
    /// How the sources stand.
    var stands = SourceStands()
    private(set) var sources: SourceSet?
    private(set) var runs: RunSet?
    /// The conditions of `HoldUntil=`.
    private(set) var holds: HoldWatches?
    private var lanes: Lanes?
    private(set) var memory: MemoryRelease?
    private(set) var timers: ClockTimers?
    /// Answers to clients, on the way there.
    let answers = Answers(to: Context("watchd.control"))
    /// Tells of a change of the local time zone.
    private var localZone: LinkWatch?
    /// The time zones in force.
    var zones: ZoneTable
    private(set) var control: ControlServer?
    private(set) var inotify: InotifyHub?
    var socketGuard: FileGuard?
    /// Descriptors that the service manager has kept and nobody has taken yet.
    var kept: KeptDescriptors
    let exit: () -> Void
    var bound: QueueBound<Runtime> { QueueBound(self, to: core) }

    let recent = RecentOperations()
    let attempts = FailedAttempts()
    let failures = OpenFailures()
    let usual = UsualDurations()
    private(set) lazy var refused = RefusedDeliveries { [unowned self] delivery in
        engine.record(delivery)
    } write: { [unowned self] view in
        persistence?.write([.ended(view)])
        follow.add(view)
    } after: { [core] delay, work in
        let work = QueueBound(work, to: core)
        core.after(Int(delay)) { work.value() }
    }
    private(set) lazy var bursts = EventBursts { [logger] origin, count in
        EventLog.more(count, of: origin, logger)
    } after: { [core] delay, work in
        let work = QueueBound(work, to: core)
        core.after(Int(delay)) { work.value() }
    }
    private(set) lazy var follow = FollowHub { [unowned self] id in
        engine.operation(id)
    } state: { [unowned self] after, limit in
        engine.operationViews(queue: nil, handler: nil, after: after, limit: limit)
    }
    let tickets = Tickets()
    /// The processes that hold units of semaphores, by the operation that stands for each.
    var holders: [UInt64: Tickets.ProcessEnd] = [:]
    /// Groups of `Submit=` that have been looked up since the watch files were read.
    var submitterGroups: [String: UInt32] = [:]
    let handovers = Handovers()
    /// How far sources have read.
    var positions: [SourceID: [UInt8]] = [:]
    var persistence: Persistence?
    /// `nil`: it has not begun.
    var begun: BegunRunsWriter?
    private(set) lazy var snapshots = SnapshotStore(self)
    private(set) var handled: HandledPaths?
    /// `WATCHD_INSTANCE` of its processes.
    lazy var instance = Instance(folder: StateDirectory.path(parts.configuration.settings))
    /// The fate of the store that was there before; told until the end.
    var storeLoss: StoreLoss?
    /// By this stop, and by the one before the start.
    var cancelled = WaitingByHandler()
    /// Wall clock, microseconds.
    var stopBegan: Int64?
    var cancelledBefore = WaitingByHandler()
    /// The end of the watchd before, where it was no stop.
    var uncleanEnd: UncleanEnd?
    var running = RunningProcesses()
    var processOutputs = ProcessOutputs()
    var stoppedProcesses = StoppedProcesses()
    /// Signals that came and are for no source: each is told once.
    var unclaimedSignals: Set<Int32> = []
    var members: WrittenMembers
    var waitingNotes = WaitingNotes()
    /// Monotonic microseconds at which the list of problems is made anew; `.max`: no look is planned.
    var nextProblemLook = Int64.max
    private var commands = OpenCommands()
    var reloads = Reloads()
    /// Of the start, or of the last reload; `nil` once a reload has succeeded.
    var refusal: Refusal?
    /// Only of a service.
    private(set) var keeper: ConfigurationKeeper?
    /// Inputs that came while actions were performed: they wait, so that actions are performed in their order.
    private var inputs: [Input] = []
    private var isHandling = false

    /// - Parameter probes: knows of the paths of the sources whether they answer.
    init(_ parts: Daemon.Parts, core: Context, slow: Lanes, probes: PathProbes, exit: @escaping () -> Void) throws {
        self.parts = parts
        self.core = core
        self.slow = slow
        self.probes = probes
        self.exit = exit
        logger = parts.logger
        files = parts.beginning.texts.map(\.file)
        refusal = parts.beginning.refusal
        kept = parts.kept
        locations = parts.configuration.locations
        zones = parts.configuration.zones
        members = WrittenMembers(parts.configuration)
        engine = Engine(
            parts.configuration, at: .current, seed: UInt64.random(in: 0...UInt64.max), host: Self.host,
            hostName: Linux.hostName)
        epoll = try EpollSet(on: core)
        manager = ServiceManager(logger: parts.logger)
        try openStore()
        try makeRim()
        if Daemon.isService {
            keeper = ConfigurationKeeper(
                folder: StateDirectory.path(engine.settings), arguments: parts.options.arguments, core: core,
                slow: slow, logger: logger)
            if refusal == nil { keeper?.keep(parts.beginning.texts) }
        }
    }

    private func makeRim() throws {
        let manager = manager
        let keep: (KeptDescriptor, Int32) -> Void = { manager.keep($0, $1) }
        let forget: (KeptDescriptor) -> Void = { manager.forget($0) }
        let inotify = InotifyHub(
            on: core, adopting: kept.take(.inotify), limit: engine.settings.maxWatches
        ) { keep(.inotify, $0) }
        inotify.slow = slow
        self.inotify = inotify
        let send: (Input) -> Void = { [unowned self] in handle($0) }
        let units = UnitHub(core: core, epoll: epoll, scope: UnitHub.ownScope)
        let lanes = Lanes(core: core, count: min(4, max(2, Linux.processorCount)), borrows: true)
        self.lanes = lanes
        let handled = HandledPaths(snapshots, core: core, slow: slow, hub: inotify)
        self.handled = handled
        sources = try SourceSet(
            SourceEnvironment(
                core: core, slow: slow, probes: probes, epoll: epoll, inotify: inotify,
                whenSafe: { [unowned self] in whenSafe($0) }, keep: keep, forget: forget,
                keepsConnections: manager.isManaged ? KeptConnections.limit : 0, handovers: handovers,
                instance: { [unowned self] in instance.names }, position: { [unowned self] in positions[$0] },
                positionsMissing: { [unowned self] in positionsMissing },
                snapshots: snapshots, handled: handled, ownPaths: ownPaths,
                comparing: { [unowned self] in compares($0, $1) },
                log: { [logger] in EventLog.line($1, of: $0, logger) },
                warn: { [logger] in logger.log(.warning, "\($0): \($1)", [("WATCHD_SOURCE", $0.description)]) },
                limited: { [unowned self] in isLimited($0, $1) },
                unitSource: { UnitSource($0, $1, units, send: send) },
                ownFolders: [StateDirectory.path(engine.settings)], send: send),
            stored: kept.takeSources(), passed: kept.takePassed(), ownSignals: [1, 2, 15]
        ) { [unowned self] in signalReceived($0) }
        runs = RunSet(
            RunEnvironment(
                core: core, slow: slow, epoll: epoll, lanes: lanes, logger: logger, nice: parts.nice,
                containment: parts.containment, credentials: CredentialFolders(beside: parts.socket),
                instance: { [unowned self] in instance.names }, keep: keep,
                forget: forget, handovers: handovers, units: units, wrote: { [unowned self] in wrote($0, $1) },
                send: send))
        holds = HoldWatches(
            HoldEnvironment(
                core: core, slow: slow, epoll: epoll, unitProbe: { UnitProbe($0, units, $1) },
                idleProbe: { [core, epoll] in IdleProbe($0, core: core, epoll: epoll, $1) }, send: send))
        memory = MemoryRelease(core: core, slow: slow) { [unowned self] in persistence }
        timers = try ClockTimers(on: core) { [unowned self] in handle(.clock) }
        watchLocalZone()
    }

    /// Before `start`, or when nothing is on its way.
    func restore(_ state: StoredState) {
        takePositions(state)
        members.restore(state)
        engine.restore(state)
        watchTickets(state)
        watchOrphanHolders()
    }

    /// Asks the engine in its place. A function of the engine that only reads is called with a copy of the whole, if it
    /// is called of the property.
    func askEngine<Answer>(_ question: (inout Engine) -> Answer) -> Answer { question(&engine) }

    func setStore(_ condition: StoreCondition) { engine.storeChanged(condition) }

    /// Files that watchd writes itself: whoever watched them would hear of nothing else.
    var ownPaths: [[UInt8]] {
        [StateDirectory.path(engine.settings), parts.socket].map { (try? Linux.realPath($0)) ?? $0 }
    }

    private func isLimited(_ id: SourceID, _ limit: SourceLimit?) {
        stands.take(limit, of: id, at: Linux.now(.realtime))
        problemsMayHaveChanged()
    }

    private func compares(_ id: SourceID, _ text: String?) {
        stands.take(comparison: text, of: id, at: Linux.now(.realtime))
        problemsMayHaveChanged()
    }

    private func warnOfHiddenProcesses() {
        guard Linux.place(of: Linux.processID) == nil else { return }
        logger.log(
            .warning,
            "/proc does not show processes: what an earlier watchd left running is not found, and may run twice; "
                + "mount /proc for watchd")
    }

    /// A change of the time zone replaces `/etc/localtime`, or a link that it leads to.
    private func watchLocalZone() {
        let failed = { [logger] (error: SystemError) in
            logger.log(.warning, "a change of the time zone may not be noticed before a reload: \(error)")
        }
        do throws(SystemError) {
            localZone = try LinkWatch("/etc/localtime", on: core, failed: failed) { [unowned self] in readZones() }
        } catch {
            failed(error)
        }
    }

    // MARK: Start

    /// - Parameter listener: `nil`: nobody has a socket to ask by, or a terminal.
    func start(serving listener: ControlListener?) {
        if let listener {
            control = ControlServer(listener, answers: answers, core: core, runtime: bound, logger: logger)
            announce()
            watch(listener)
        }
        warnOfZone()
        warnOfHiddenProcesses()
        for source in parts.configuration.sources { readiness.wait(for: source) }
        snapshots.begin(parts.configuration)
        // Inputs that an action causes come behind all actions: a clock is armed last for the time decided last.
        isHandling = true
        perform(engine.start())
        drainInputs()
        writeMembers()
        readFailures()
        readDurations()
        // Everything has been opened once: what is left of an earlier watchd belongs to nobody.
        sources?.closeUnclaimed()
        inotify?.startReading()
        for name in kept.unknown { manager.remove(name) }
        if let listener { manager.keep(listener) }
        if persistence?.hasOpened == true { forgetKept() }
        sourcesMayBeReady()
        if !readiness.isReached { startMayTakeLong() }
        manager.watch(core: core, control: control?.context)
    }

    /// READY when every source has been tried once, and each with `Required=yes` is armed.
    func sourcesMayBeReady() {
        guard readiness.reach() else { return }
        manager.ready(statusLine)
        logger.log(.notice, "ready: \(statusLine)", id: .ready)
        keeper?.begin()
        lookAround()
        memory?.startEnded()
    }

    // MARK: The engine

    /// Gives the engine an input and performs what it decides.
    func handle(_ input: Input) {
        inputs.append(input)
        if !isHandling { drainInputs() }
    }

    private func drainInputs() {
        isHandling = true
        var (next, isProblemInput) = (0, true)
        while next < inputs.count {
            let input = inputs[next]
            next += 1
            if case .problems = input {} else { isProblemInput = false }
            note(input)
            perform(engine.handle(input, at: .current))
            if case .event(_, let fact, _) = input, let handover = fact.handover { handovers.settle(handover) }
            // Its writes may be inputs.
            if next == inputs.count { runs?.flush() }
        }
        inputs.removeAll(keepingCapacity: inputs.count <= 64)
        isHandling = false
        refreshStatus()
        if !isProblemInput { problemsMayHaveChanged() }
    }

    func refreshStatus() {
        manager.statusMayHaveChanged({ statusLine }) { [core, bound] in core.async { bound.value.refreshStatus() } }
    }

    /// A question is no input: how long something waits still is told as of now.
    func lookAtClocks() { engine.look(at: .current) }

    private func note(_ input: Input) {
        running.note(input)
        noteProcessOutput(input)
        if case .gap(let id, _) = input { stands.lost(id, at: Linux.now(.realtime)) }
        if case .source(let id, let condition) = input { note(condition, of: id) }
    }

    // MARK: Commands

    /// - Parameter peer: who waits for the answer; the command is withdrawn when he goes before it comes.
    func command(_ command: EngineCommand, of peer: Peer? = nil, _ reply: @escaping (EngineReply) -> Void) {
        handle(.command(command, commands.add(of: peer?.connection, reply)))
    }

    /// Nobody reads the answer any more that this connection waits for, if it waits for one.
    func abandonCall(of connection: Int) {
        guard let (token, reply) = commands.take(of: connection) else { return }
        handle(.abandon(token))
        reply(.failure(.draining))
    }

    func newToken() -> Token { commands.newToken() }

    func answer(_ token: Token, _ reply: EngineReply) {
        if let waiting = commands.take(token) { return waiting(reply) }
        // The client of an `acquire` has gone since it was given its units.
        if case .waited(let view?) = reply, view.result == nil {
            return command(.endHold(operation: view.id)) { _ in }
        }
        guard case .failure(let error) = reply else { return }
        finishReload(token, .failure(error))
    }

    // MARK: For status

    func watchCount(_ id: SourceID) -> Int { sources?.watchCount(id) ?? 0 }
    func descriptorCount(_ id: SourceID) -> Int { sources?.descriptorCount(id) ?? 0 }
    func processIDs(_ id: SourceID) -> [Int32] { sources?.processIDs(id) ?? [] }
    func connectionLimit(_ id: SourceID) -> ConnectionLimit? { sources?.connectionLimit(id) }
    var hungLanes: [String] { lanes?.hung ?? [] }
    var lanesAreBusy: Bool { lanes?.isBusy ?? false }
    var starvingJobs: Int { slow.starving + (lanes?.starving ?? 0) }
    var delayedRuns: [(name: String, reason: String)] { runs?.delays ?? [] }
    /// Runs with a process, or about to have one.
    var processesRunning: Int {
        max(0, engine.processesRunning - delayedRuns.count - engine.processesWaitingForStore)
    }

    private func announce() {
        guard !logger.isJournal else { return }
        let lines = Announcement.lines(parts.configuration, files: files, socket: parts.socket) {
            probes.silence(of: $0) != nil
        }
        for line in lines { logger.print(line) }
    }
}

extension Moment {
    /// The three clocks now.
    static var current: Moment {
        Moment(
            realtime: Linux.now(.realtime), boottime: Linux.now(.boottime), monotonic: Linux.now(.monotonic))
    }
}
