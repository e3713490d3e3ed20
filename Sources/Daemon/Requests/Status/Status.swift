import ControlInterface
import Engine
import EventSources
import Handlers
import LinuxSystem
import Schedule
import Varlink
import WatchFile

/// `GetStatus`: everything a person wants on one screen.
extension Runtime {
    func status(_ role: Peer.Role, _ done: @escaping Request.Completion) {
        inTurns(over: engine.sourceIDs, SourceStates()) { runtime, states, views in
            runtime.add(views, to: &states, role)
        } then: { runtime, states in
            runtime.add(to: runtime.head(role), states, role, done)
        }
    }

    /// A question that takes longer the more objects there are has a turn of its own where there are many.
    private func add(
        to reply: GetStatus.Reply, _ sources: SourceStates, _ role: Peer.Role, _ done: @escaping Request.Completion
    ) {
        let parts: [@Sendable (Runtime, inout GetStatus.Reply) -> Void] = [
            { $0.addProblems(sources, to: &$1, role) }, { $1.totals = ControlInterface.Counters($0.engine.totals) },
            { $0.addOperations(to: &$1, role) }, { $0.addResources(to: &$1) },
        ]
        let isMuch = engine.sourceIDs.count + engine.entriesPending > Self.sourcesInATurn
        inTurns(over: parts, of: isMuch ? 1 : parts.count, reply) { runtime, reply, parts in
            for part in parts { part(runtime, &reply) }
        } then: { _, reply in
            done(.of(reply))
        }
    }

    /// The list of problems, for those who are told of them.
    func withProblems(_ body: @escaping @Sendable (Runtime, [Problem]) -> Void) {
        inTurns(over: engine.sourceIDs, [GetStatus.Problem]()) { runtime, problems, views in
            problems += views.compactMap { runtime.problem($0, .administrator) }
        } then: { runtime, problems in
            let all = runtime.problems(problems, runtime.engine.queueViews, .administrator)
            body(runtime, all.map(Problem.init))
        }
    }

    private func head(_ role: Peer.Role) -> GetStatus.Reply {
        var reply = GetStatus.Reply(
            version: Manager.softwareVersion, host: String(decoding: Linux.hostName, as: UTF8.self),
            pid: Int(Linux.processID),
            started: wireTime(engine.started.realtime),
            uptimeUsec: Int(Linux.now(.boottime) - engine.started.boottime), state: state)
        reply.files = role == .administrator ? files : []
        // A handler that is written in its source has no section of its own.
        reply.sections = Set(locations.values).count
        reply.processes = processesRunning
        reply.maxProcesses = engine.settings.maxProcesses
        reply.operationsPending = engine.operationsWaiting
        reply.operationsRunning = engine.operationsRunning
        reply.operationsKept = engine.setAsideCount > 0 ? engine.setAsideCount : nil
        reply.memoryBytes = Self.memory
        reply.pendingBytes = engine.loadPending.bytes
        reply.containment = parts.containment.description
        reply.maxPendingBytes = engine.settings.maxMemory
        reply.store = store(role)
        reply.isAfterUncleanEnd = uncleanEnd?.isKnown ?? false
        return reply
    }

    private func addProblems(_ sources: SourceStates, to reply: inout GetStatus.Reply, _ role: Peer.Role) {
        let queues = engine.queueViews
        reply.problems = problems(sources.problems, queues, role)
        reply.pauses = sources.pauses + pauses(queues)
        reply.stopped = sources.stopped
        reply.next = sources.next.map(\.elapse)
        reply.held = sources.held
    }

    private func addOperations(to reply: inout GetStatus.Reply, _ role: Peer.Role) {
        let shown = Manager.maximumShownInStatus
        reply.running = engine.oldestViews(shown, running: true).map { view in
            var summary = OperationSummary(view, role)
            summary.usualUsec = usual.usual(view.handler).map { Int($0) }
            return summary
        }
        let waiting = (engine.oldestViews(shown, running: false) + engine.unplacedViews).sorted { $0.id < $1.id }
        reply.waiting = waiting.prefix(shown).map { OperationSummary($0, role) }
        reply.recent = recent.newest(shown).map { OperationSummary(settled($0), role) }
    }

    private func addResources(to reply: inout GetStatus.Reply) {
        let shown = Manager.maximumShownInStatus
        let semaphores = engine.semaphoreViews.filter { $0.waiting > 0 || $0.available != $0.definition.value }
        reply.semaphores = semaphores.prefix(shown).map(ListSemaphores.Semaphore.init)
        let groups = engine.groupViews.filter { $0.outstanding > 0 || $0.entered > 0 }
        reply.groups = groups.prefix(shown).map(GroupState.init)
    }

    private var state: GetStatus.Reply.State {
        guard readiness.isReached || engine.phase != .running else { return .starting }
        switch engine.phase {
        case .running: return .running
        case .reloading: return .reloading
        case .draining, .drained: return .draining
        }
    }

    /// Resident bytes, from `/proc/self/statm`.
    private static var memory: Int {
        let text = (try? Linux.readFile("/proc/self/statm", limit: 256)) ?? []
        let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
        return (fields.count > 1 ? Int(fields[1]) ?? 0 : 0) * Linux.pageSize
    }

    private func add(_ views: [SourceView], to states: inout SourceStates, _ role: Peer.Role) {
        let shown = Manager.maximumShownInStatus
        states.problems += views.compactMap { problem($0, role) }
        states.pauses += views.compactMap { view in
            view.suspensions.last.map {
                GetStatus.Pause(
                    object: view.id.description, suspension: ControlInterface.Suspension($0),
                    kept: view.counters[.held])
            }
        }
        states.stopped += stopped(views).prefix(shown - states.stopped.count)
        states.held += held(views).prefix(shown - states.held.count)
        states.next += views.compactMap { view in
            view.nextElapse.map { time in
                let elapse = GetStatus.Elapse(
                    source: view.id.description, time: wireTime(time), handlers: view.definition.routes.map(\.handler))
                return (time, elapse)
            }
        }
        states.next = Array(states.next.sorted { $0.time < $1.time }.prefix(shown))
    }

    private func pauses(_ queues: [QueueView]) -> [GetStatus.Pause] {
        queues.compactMap { view in
            view.suspensions.last.map {
                GetStatus.Pause(
                    object: "queue/\(view.definition.name)", suspension: ControlInterface.Suspension($0),
                    kept: view.entries)
            }
        }
    }

    // MARK: Problems

    private func problems(
        _ sources: [GetStatus.Problem], _ queues: [QueueView], _ role: Peer.Role
    ) -> [GetStatus.Problem] {
        let all =
            sources + overdueProblems(role) + failureProblems(role) + workerProblems(role)
            + queues.compactMap { problem($0) }
        let told = [cancelledProblem, lostProblem].compactMap(\.self)
        return configurationProblems(role) + storeProblems(role) + all + told + losses + orphans + orphanHolds
            + limits(role)
    }

    /// A source goes on after it; that something is missing stays true.
    private var losses: [GetStatus.Problem] {
        stands.gaps.map { id, since in
            GetStatus.Problem(
                object: id.description, since: wireTime(since),
                problem: "some of what came was lost before it was read, or may have been",
                action: "the log says why; shown until watchd is restarted")
        }
    }

    private func problem(_ view: SourceView, _ role: Peer.Role) -> GetStatus.Problem? {
        let since = wireTime(stands[view.id].condition?.since ?? engine.started.realtime)
        switch view.condition {
        case .failed(let reason, let retryAt) where view.definition.command != nil:
            var problem = GetStatus.Problem(
                object: view.id.description, since: since, problem: role == .administrator ? reason : "failed",
                action: retryAt == nil ? "it stays down" : "watchd starts it again",
                help: "watchctl explain \(view.id) · watchctl start \(view.id.name)")
            problem.nextTry = retryAt.map(wireTime)
            return problem
        case .failed(let reason, let retryAt):
            let next = retryAt == nil ? "watchd tells when it is armed again" : "watchd tries again by itself"
            var problem = GetStatus.Problem(
                object: view.id.description, since: since, problem: role == .administrator ? reason : "failed",
                action: next + (readiness.isAwaited(view.id) ? "; READY waits for it (Required=yes)" : ""))
            problem.nextTry = retryAt.map(wireTime)
            return problem
        case .waiting(let reason) where readiness.isAwaited(view.id):
            return GetStatus.Problem(
                object: view.id.description, since: since, problem: role == .administrator ? reason : "waiting",
                action: "READY waits for it (Required=yes)")
        case .opening, .armed, .waiting, .closed:
            if let loop = view.loop { return problem(loop, role) }
            if view.isHeld { return heldProblem(view, since) }
            return connectionLimit(view.id).flatMap { problem(view.id, $0) } ?? comparisonProblem(view.id, role)
                ?? limitProblem(view.id, role)
        }
    }

    private func problem(_ loop: FoundLoop, _ role: Peer.Role) -> GetStatus.Problem {
        GetStatus.Problem(
            object: loop.source, since: wireTime(loop.since),
            problem: role == .administrator ? LoopText.sentence(loop) : "a handler writes what starts it",
            action: LoopText.consequence(loop), help: LoopText.help)
    }

    private func heldProblem(_ view: SourceView, _ since: String) -> GetStatus.Problem? {
        // `RateLimit=` is what somebody wanted.
        guard let why = heldText(view), view.rateWait == nil || view.refusedWhileHeld > 0 else { return nil }
        let failed = view.isHeldByStore ? persistence?.failure.map { wireTime($0.since) } : nil
        let until =
            view.isHeldByStore
            ? "the store works" : view.rateWait != nil ? "its rate allows it" : "the backlog is below 7/8"
        return GetStatus.Problem(
            object: view.id.description, since: failed ?? view.heldSince.map(wireTime) ?? since,
            problem: "held back: \(why)",
            action: "goes on when \(until)" + (view.refusedWhileHeld == 0 ? "; \(keeping(view.id))" : ""))
    }

    /// Where what happens is kept while a source is held back.
    private func keeping(_ id: SourceID) -> String {
        guard case .descriptor(let trigger)? = engine.definition(of: id)?.trigger else { return "nothing is lost" }
        return switch trigger.listener {
        case .datagram(.ipv4), .datagram(.ipv6): "what its socket has no room for is lost, and counted then"
        case .tail: "nothing is lost that is not compressed or deleted meanwhile"
        default: "nothing is lost"
        }
    }

    /// Changes from before the start may not be told yet.
    private func comparisonProblem(_ id: SourceID, _ role: Peer.Role) -> GetStatus.Problem? {
        guard let comparison = stands[id].comparison else { return nil }
        return GetStatus.Problem(
            object: id.description, since: wireTime(comparison.since),
            problem: role == .administrator ? comparison.text : "comparing with what was handled before",
            action: "what has changed is told when it is found")
    }

    /// A source without watches, for want of something, compares its paths instead. What it cannot read it cannot see.
    private func limitProblem(_ id: SourceID, _ role: Peer.Role) -> GetStatus.Problem? {
        guard let (limit, since) = stands[id].limit, limit.cause != .nature else { return nil }
        var problem = GetStatus.Problem(object: id.description, since: wireTime(since), problem: limit.text, action: "")
        if limit.cause == .shortage {
            if role != .administrator { problem.problem = "something it needs is used up" }
            problem.action = "heals by itself when there is more"
        } else {
            if role != .administrator { problem.problem = "a part of it cannot be read" }
            problem.action = "what has changed there is told when it can be read"
            problem.help = "let watchd's user read it" + (isTree(id) ? ", or leave it out with Prune=" : "")
        }
        return problem
    }

    private func isTree(_ id: SourceID) -> Bool {
        guard case .path(let trigger)? = engine.definition(of: id)?.trigger else { return false }
        return trigger.isRecursive
    }

    /// Workers that have ended, or could not be started, and are started again.
    private func workerProblems(_ role: Peer.Role) -> [GetStatus.Problem] {
        engine.handlerViews.filter { !$0.isRemoved }.flatMap(\.workers).filter { $0.stage == .backingOff }.map {
            worker in
            let object = "handler/\(worker.handler)"
            var problem = GetStatus.Problem(
                object: object, since: wireTime(worker.since),
                problem: "worker \(worker.copy): "
                    + (role == .administrator ? worker.lastEnd ?? "has ended" : "has ended"),
                action: "watchd starts it again; its lines wait",
                help: "watchctl output \(worker.handler)" + (worker.copy == 1 ? "" : " --copy \(worker.copy)"))
            problem.nextTry = worker.nextStart.map(wireTime)
            problem.part = worker.copy
            return problem
        }
    }

    /// Where nobody waits it is what somebody wanted.
    private func problem(_ id: SourceID, _ limit: ConnectionLimit) -> GetStatus.Problem? {
        guard limit.hasWaiting else { return nil }
        return GetStatus.Problem(
            object: id.description, since: wireTime(limit.since), problem: limit.sentence,
            action: "they are let in when others have ended", help: "a larger MaxConnections=")
    }

    private func problem(_ view: QueueView) -> GetStatus.Problem? {
        let definition = view.definition
        guard let measure = view.fullness else { return nil }
        let waiting = measure == .entries ? "\(view.entries)" : ByteCount.rounded(view.bytes)
        let limit = definition.limit(measure)
        return GetStatus.Problem(
            object: "queue/\(definition.name)", since: wireTime(view.oldest ?? engine.started.realtime),
            problem: "backlog full: \(waiting) of \(limit)", action: "Overflow=\(definition.overflow.rawValue)",
            help: "a larger \(limit.prefix { $0 != "=" })=, or a faster handler")
    }

    private func limits(_ role: Peer.Role) -> [GetStatus.Problem] {
        let now = wireTime(Linux.now(.realtime))
        let hung = hungLanes.map {
            GetStatus.Problem(
                object: "run \($0)", since: now, problem: "starting it hangs", action: "other runs go on beside it",
                help: "is its program on a file system that does not answer?")
        }
        let listing = slow.hung.map {
            GetStatus.Problem(
                object: role == .administrator || SourceID(description: $0) != nil ? $0 : "watchd", since: now,
                problem: "what it needs from a file system, or a name service, hangs",
                action: "everything else goes on beside it", help: "does a mount not answer?")
        }
        return hung + listing + starving(now) + delays(role, now) + (slots.map { [$0] } ?? [])
    }

    /// Runs that wait for something that is used up: one problem for each reason.
    private func delays(_ role: Peer.Role, _ now: String) -> [GetStatus.Problem] {
        Dictionary(grouping: delayedRuns, by: \.reason).sorted { $0.key < $1.key }.map { reason, runs in
            let names = runs.map(\.name).sorted()
            return GetStatus.Problem(
                object: names.count == 1 ? "run \(names[0])" : "watchd", since: now,
                problem: role == .administrator ? reason : "something it needs is used up",
                action: names.count == 1 ? "the run waits" : "\(names.count) runs wait, such as \(names[0])")
        }
    }

    private func starving(_ now: String) -> [GetStatus.Problem] {
        guard starvingJobs > 0 else { return [] }
        return [
            GetStatus.Problem(
                object: "watchd", since: now,
                problem: "\(Lanes.hungLimit) threads hang on file systems that do not answer, and are not replaced",
                action: "\(counted(starvingJobs, "job")) waiting until one comes back",
                help: "umount --force the mounts that do not answer")
        ]
    }

    /// Every process slot taken, and for how long that is nobody's worry.
    private static let slotPatience: Int64 = 60_000_000

    private var slots: GetStatus.Problem? {
        guard let since = engine.slotsFullSince, Linux.now(.realtime) - since >= Self.slotPatience else { return nil }
        let oldest = engine.oldestViews(1, running: true).first
        return GetStatus.Problem(
            object: "watchd", since: wireTime(since),
            problem: "MaxProcesses=\(engine.settings.maxProcesses) in use"
                + (oldest.map { ", the longest by \($0.handler) \($0.id)" } ?? ""),
            action: "what is ready waits for the end of a run",
            help: (oldest.map { "watchctl cancel \($0.id), or " } ?? "") + "a larger MaxProcesses=")
    }
}

/// The part of `GetStatus` that is about sources, gathered in turns.
private struct SourceStates: Sendable {
    var problems: [GetStatus.Problem] = []
    var pauses: [GetStatus.Pause] = []
    var stopped: [GetStatus.Stopped] = []
    var held: [HeldEvents] = []
    /// The soonest first.
    var next: [(time: Int64, elapse: GetStatus.Elapse)] = []
}

extension Problem {
    fileprivate init(_ problem: GetStatus.Problem) {
        self.init(
            object: problem.object, sentence: problem.problem, action: problem.action, help: problem.help,
            since: problem.since)
        part = problem.part
    }
}
