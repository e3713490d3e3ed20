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
    let slow = Context("watchd.slow")
    let logger: Logger
    let manager: ServiceManager
    private(set) var engine: Engine
    let epoll: EpollSet
    var files: [String]
    /// Where the sections of the files in force stand, by their full names.
    var locations: [String: SourceLocation]
    private(set) var hasStarted = false
    private var sources: SourceSet?
    private var runs: RunSet?
    private var lanes: Lanes?
    private var memory: MemoryRelease?
    private var timers: ClockTimers?
    /// What clients are told, on the way there.
    let answers = Answers(to: Context("watchd.control"))
    /// Tells of a change of the local time zone.
    private var localZone: FolderWatch?
    /// The time zones in force.
    var zones: ZoneTable
    private(set) var control: ControlServer?
    private var inotify: InotifyHub?
    /// What the service manager has kept and nobody has taken yet.
    private(set) var kept: KeptDescriptors
    let exit: () -> Void
    var bound: QueueBound<Runtime> { QueueBound(self, to: core) }

    let recent = RecentOperations()
    let attempts = FailedAttempts()
    private(set) lazy var follow = FollowHub { [unowned self] id in
        engine.operation(id)
    } state: { [unowned self] after, limit in
        engine.operationViews(queue: nil, handler: nil, after: after, limit: limit)
    }
    let tickets = Tickets()
    private let handovers = Handovers()
    /// How far sources have read.
    private var positions: [SourceID: [UInt8]] = [:]
    var persistence: Persistence?
    /// Where a damaged store is now, and since when; what could not be read of it is lost.
    var damaged: (path: [UInt8], since: Int64)?
    private(set) var running = RunningProcesses()
    /// Since when a source has been where it is.
    private(set) var conditions: [SourceID: (condition: SourceCondition, since: Int64)] = [:]

    /// Sources that have lost something before it could be accepted, since when.
    private(set) var gaps: [SourceID: Int64] = [:]

    /// Sources that READY still waits for, and whether they must be armed.
    var untried: [SourceID: Bool] = [:]
    private var replies: [Token: (EngineReply) -> Void] = [:]
    /// The command that each connection waits for.
    private var calls: [Int: Token] = [:]
    var reloads: [Token: (Swift.Result<ConfigurationChange, EngineProblem>) -> Void] = [:]
    private var lastToken: UInt64 = 0
    var isReloading = false
    /// Who asked for a reload while one was on its way: one more is made for all of them.
    var laterReloads: [(ReloadOutcome) -> Void] = []
    /// Why the last reload was refused, and when; `nil` once one has succeeded.
    var refusal: (reason: String, since: Int64)?
    /// Inputs that came while actions were performed: they wait, so that actions are performed in their order.
    private var inputs: [Input] = []
    private var isHandling = false

    init(_ parts: Daemon.Parts, core: Context, exit: @escaping () -> Void) throws {
        self.parts = parts
        self.core = core
        self.exit = exit
        logger = parts.logger
        files = parts.files
        kept = parts.kept
        locations = parts.configuration.locations
        zones = parts.configuration.zones
        engine = Engine(
            parts.configuration, at: .current, seed: UInt64.random(in: 0...UInt64.max), host: Self.machineID)
        epoll = try EpollSet(on: core)
        manager = ServiceManager(logger: parts.logger)
        try openStore()
        try makeRim()
    }

    private func makeRim() throws {
        let inotify = try InotifyHub(on: core, adopting: kept.take(.inotify))
        self.inotify = inotify
        let manager = manager
        let keep: (KeptDescriptor, Int32) -> Void = { manager.keep($0.name, $1) }
        let forget: (KeptDescriptor) -> Void = { manager.forget($0.name) }
        keep(.inotify, inotify.storeDescriptor)
        let send: (Input) -> Void = { [unowned self] in handle($0) }
        let units = UnitHub(core: core, epoll: epoll, scope: UnitHub.ownScope)
        let lanes = Lanes(core: core, count: min(4, max(2, Linux.processorCount)))
        self.lanes = lanes
        sources = try SourceSet(
            SourceEnvironment(
                core: core, slow: slow, epoll: epoll, inotify: inotify,
                whenSafe: { [unowned self] in whenSafe($0) }, keep: keep, forget: forget, handovers: handovers,
                position: { [unowned self] in positions[$0] }, log: { [logger] in EventLog.line($1, of: $0, logger) },
                warn: { [logger] in logger.log(.warning, "\($0): \($1)", [("WATCHD_SOURCE", $0.description)]) },
                unitSource: { UnitSource($0, $1, units, send: send) }, send: send),
            stored: kept.takeSources(), passed: kept.takePassed(), ownSignals: [1, 2, 15]
        ) { [unowned self] in signalReceived($0) }
        runs = RunSet(
            RunEnvironment(
                core: core, slow: slow, epoll: epoll, lanes: lanes, logger: logger, nice: parts.nice,
                instance: instance, keep: keep, forget: forget, handovers: handovers, send: send))
        memory = MemoryRelease(core: core, slow: slow) { [unowned self] in
            engine.entriesPending == 0 && engine.processesRunning == 0
        }
        timers = try ClockTimers(on: core) { [unowned self] in handle(.clock) }
        watchLocalZone()
    }

    /// Before `start`, or when nothing is on its way.
    func restore(_ state: StoredState) {
        positions.merge(state.positions) { current, _ in current }
        engine.restore(state)
    }
    func setStore(_ condition: StoreCondition) { engine.storeChanged(condition) }

    /// Whoever sets the time zone replaces `/etc/localtime`.
    private func watchLocalZone() {
        do throws(SystemError) {
            localZone = try FolderWatch("/etc", names: ["localtime"], on: core) { [unowned self] in readZones() }
        } catch {
            logger.log(.warning, "a change of the time zone will not be noticed before a reload: \(error)")
        }
    }

    /// `WATCHD_INSTANCE` of its processes.
    var instance: String { String(decoding: StateDirectory.path(parts.configuration.settings), as: UTF8.self) }

    private func adopt(_ request: AdoptRequest) {
        EventLog.adopted(request, logger)
        running.note(.runStarted(request.run, pid: request.pid))
        runs?.adopt(request, pidfd: kept.take(.pidfd(request.run)), output: kept.take(.output(request.run)))
    }

    // MARK: Start

    func start() {
        control = ControlServer(parts.listener, answers: answers, core: core, runtime: bound, logger: logger)
        announce()
        for source in parts.configuration.sources { mustBeTried(source) }
        perform(engine.start())
        drainInputs()
        // Everything has been opened once: what is left of an earlier watchd belongs to nobody.
        sources?.closeUnclaimed()
        inotify?.startReading()
        for name in kept.unknown { manager.forget(name) }
        if persistence?.hasOpened == true { forgetKept() }
        sourcesMayBeReady()
        if !hasStarted { startMayTakeLong() }
        manager.watch(core: core, control: control?.context)
    }

    /// READY when every source has been tried once, and each with `Required=yes` is armed.
    private func sourcesMayBeReady() {
        guard !hasStarted, untried.isEmpty else { return }
        hasStarted = true
        manager.ready(statusLine)
        logger.log(.notice, "ready: \(statusLine)", id: .ready)
    }

    // MARK: The engine

    /// Gives the engine an input and performs what it decides.
    func handle(_ input: Input) {
        inputs.append(input)
        if !isHandling { drainInputs() }
    }

    private func drainInputs() {
        isHandling = true
        var next = 0
        while next < inputs.count {
            let input = inputs[next]
            next += 1
            note(input)
            perform(engine.handle(input, at: .current))
            if case .event(_, .line(let line), _) = input, let handover = line.handover { handovers.settle(handover) }
        }
        inputs.removeAll(keepingCapacity: inputs.count <= 64)
        isHandling = false
        refreshStatus()
    }

    private func refreshStatus() {
        manager.statusMayHaveChanged({ statusLine }) { [core, bound] in core.async { bound.value.refreshStatus() } }
    }

    /// A question is no input: how long something waits still is told as of now.
    func lookAtClocks() { engine.look(at: .current) }

    private func note(_ input: Input) {
        running.note(input)
        // Processes too short to be looked at are everywhere: they are counted, and said once in the log.
        if case .gap(let id, _) = input, id.kind != .process, gaps[id] == nil { gaps[id] = Linux.now(.realtime) }
        if case .source(let id, let condition) = input { note(condition, of: id) }
    }

    private func note(_ condition: SourceCondition, of id: SourceID) {
        let before = conditions[id]?.condition
        if before?.isSame(as: condition) ?? false { return }
        conditions[id] = (condition, Linux.now(.realtime))
        if untried[id] == false || condition == .armed { untried[id] = nil }
        EventLog.source(id, condition, before: before, logger)
    }

    private func perform(_ actions: [Action]) {
        // A start goes first: what is told of it takes a processor too.
        for case .start(let request) in actions { start(request) }
        persistence?.write(actions)
        for action in actions { perform(action) }
        sourcesMayBeReady()
    }

    /// What had to wait for the store.
    private func performOne(_ action: Action) {
        guard case .start(let request) = action else { return perform(action) }
        if engine.isStarting(request.run) { start(request) }
    }

    private func start(_ request: StartRequest) {
        if request.isRedelivered { EventLog.redelivered(request, logger) }
        runs?.start(request)
    }

    /// Does it when all that was told to the store is safe.
    func whenSafe(_ work: @escaping () -> Void) {
        if let persistence { persistence.whenSafe(work) } else { work() }
    }

    private func perform(_ action: Action) {
        switch action {
        case .open(let definition):
            mustBeTried(definition)
            sources?.open(definition, isDurable: engine.isDurable(definition.id))
        case .close(let id):
            (conditions[id], untried[id], gaps[id]) = (nil, nil, nil)
            close(id)
        case .hold(let id): sources?.hold(id)
        case .release(let id): sources?.release(id)
        case .arm(.realtime, let time): arm(.realtime, at: time)
        case .arm(.boottime, let time): arm(.boottime, at: time)
        case .arm(.monotonic, let time): arm(.monotonic, at: time)
        case .store(.position(let id, let position)): positions[id] = position
        case .start, .store: break
        case .adopt(let request): adopt(request)
        case .committed(let action): whenSafe { [unowned self] in performOne(action) }
        case .stored(let action):
            guard let persistence else { return performOne(action) }
            persistence.whenSafe(orFailing: true) { [unowned self] in performOne(action) }
        case .signal(let run, let number, let mode):
            if engine.phase == .draining { logEnding(run, number) }
            runs?.signal(run, number: number, mode: mode)
        case .log(let handler, let operation, let text):
            let fields = [("WATCHD_HANDLER", handler), ("WATCHD_OPERATION", "\(operation)")]
            logger.write(.notice, "\(handler): \(String(decoding: text, as: UTF8.self))", fields)
        case .reply(let token, let reply): answer(token, reply)
        case .report(let report): take(report)
        case .reloaded(let token, let change): reloaded(token, change)
        case .drained(let leftBehind): drained(leftBehind: leftBehind)
        }
    }

    /// At a stop, what the service manager keeps for the next start is left as it is.
    private func close(_ id: SourceID) {
        guard engine.phase == .draining, manager.isManaged, id.kind == .descriptor || id.kind == .path else {
            sources?.close(id)
            return
        }
        sources?.hold(id)
        // What happens from here on is read after the next start.
        inotify?.close()
    }

    /// What the service manager kept for runs that are over.
    func forgetKept() {
        for name in kept.closeRest() { manager.forget(name.name) }
    }

    private func arm(_ clock: LinuxSystem.Clock, at time: Int64) {
        do {
            try timers?.arm(clock, at: time)
        } catch {
            logger.log(.err, "a timer could not be set: \(error)")
        }
    }

    private func take(_ report: Report) {
        EventLog.log(report, logger)
        note(report)
        switch report {
        case .ended(let view):
            recent.add(view)
            memory?.operationEnded()
            follow.add(.operation(view))
        case .event(let event, let origin, let handlers): follow.add(.event(event, origin, handlers))
        case .operation(let id, let state):
            follow.note(id)
            guard follow.isFollowed, var view = engine.operation(id) else { return follow.add(.state(id, state)) }
            view.state = state
            follow.add(.operation(view))
        case .retrying(var view):
            view.ended = view.ended ?? Linux.now(.realtime)
            attempts.add(view)
            follow.add(.operation(view))
        case .condition(let id, let condition, _): note(condition, of: id)
        case .refused, .missed: break
        }
    }

    /// What is handed over is closed when nobody has it any more.
    private func note(_ report: Report) {
        switch report {
        case .event(let event, _, let handlers):
            event.handover.map { handovers.accepted($0, deliveries: handlers.count) }
        case .refused(let event, _, _, _, _): event.handover.map { handovers.ended($0, hasFailed: true) }
        case .ended(let view) where view.result != .superseded:
            for event in view.events {
                event.handover.map { handovers.ended($0, hasFailed: view.result != .done) }
            }
        case .ended, .operation, .retrying, .condition, .missed: break
        }
    }

    // MARK: Commands

    /// - Parameter peer: who waits for the answer; the command is withdrawn when he goes before it comes.
    func command(_ command: EngineCommand, of peer: Peer? = nil, _ reply: @escaping (EngineReply) -> Void) {
        let token = newToken()
        replies[token] = reply
        if let connection = peer?.connection {
            calls[connection] = token
            replies[token] = { [unowned self] answer in
                calls[connection] = nil
                reply(answer)
            }
        }
        handle(.command(command, token))
    }

    /// Nobody reads the answer any more that this connection waits for, if it waits for one.
    func abandonCall(of connection: Int) {
        guard let token = calls[connection], let reply = replies.removeValue(forKey: token) else { return }
        handle(.abandon(token))
        reply(.failure(.draining))
    }

    func newToken() -> Token {
        lastToken += 1
        return Token(lastToken)
    }

    private func answer(_ token: Token, _ reply: EngineReply) {
        if let waiting = replies.removeValue(forKey: token) { return waiting(reply) }
        guard case .failure(let error) = reply else { return }
        finishReload(token, .failure(error))
    }

    // MARK: For status

    func watchCount(_ id: SourceID) -> Int { sources?.watchCount(id) ?? 0 }
    func descriptorCount(_ id: SourceID) -> Int { sources?.descriptorCount(id) ?? 0 }
    var hungLanes: [String] { lanes?.hung ?? [] }
    var delayedRuns: [(name: String, reason: String)] { runs?.delays ?? [] }

    private func announce() {
        guard !logger.isJournal else { return }
        for line in Announcement.lines(parts.configuration, files: files, socket: parts.listener.path) {
            logger.print(line)
        }
    }
}

extension Event {
    /// The number of the descriptor that it hands over. What is told of another operation hands over nothing.
    fileprivate var handover: UInt64? { if case .line(let line) = fact { line.handover } else { nil } }
}

extension Moment {
    /// The three clocks now.
    static var current: Moment {
        Moment(
            realtime: Linux.now(.realtime), boottime: Linux.now(.boottime), monotonic: Linux.now(.monotonic))
    }
}
