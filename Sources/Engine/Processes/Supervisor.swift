import Schedule
import WatchFile

/// Supervised processes (`[Process]` with `Command=`) and the callers that wait for them, by the index of their source.
///
/// `SupervisedProcess` decides for each copy. Each input returns what follows from it, in order; the engine makes actions
/// and events of that. A start has a number of its own from those of the operations (`ids`). A process of an earlier
/// watchd is adopted before anything is started, so no copy ever runs twice.
struct Supervisor: Sendable {
    /// A step that the engine takes after an input.
    enum Effect: Sendable {
        case start(RunID, SharedDefinition, SourceID)
        case adopt(AdoptRequest)
        case signal(RunID, number: Int32, KillMode)
        /// Monotonic microsecond at which `elapsed` is to be called.
        case deadline(source: Int, copy: Int, at: Int64)
        /// The store has this process for the copy, or none.
        case save(SourceID, copy: Int, StoredProcess?)
        case ended(source: Int, ProcessFact)
        /// It ended while there was no watchd: nobody knows when or how.
        case lost(StoredProcess)
        /// The condition of the source may be another one.
        case moved(source: Int)
        /// Nothing of the source is left.
        case gone(source: Int)
        case answer(Token, SourceID, [SupervisedView])
        case fail(Token, SourceID, reason: String)
    }

    /// A caller that waits until copies are up, or gone.
    private struct Call: Sendable {
        var source: Int
        var id: SourceID
        var awaited: SupervisedProcess.Wanted
        /// Copies whose news it waits for.
        var missing: Set<Int>
    }

    /// The supervised process of a start.
    private struct Start: Sendable {
        var source: Int
        var copy: Int
    }

    private var supervisions: [Int: Supervision] = [:]
    /// Processes that run or are being started, by `RunID.operation`.
    private var runs: [UInt64: Start] = [:]
    private var calls: [Token: Call] = [:]
    /// Ends that nobody saw, to be told by `begin`.
    private var lost: [StoredProcess] = []
    /// Processes may be started.
    private var hasBegun = false
    /// Sources whose copies wait for their first start until others are ready (`After=process/NAME`).
    private(set) var delayed: Set<Int> = []

    subscript(source: Int) -> Supervision? { supervisions[source] }

    func isSupervised(_ run: RunID) -> Bool { runs[run.operation] != nil }

    /// The supervised process of a run, and which copy, from 1; `nil`: it is no supervised process's.
    func owner(of run: RunID) -> (source: SourceID, copy: Int)? {
        guard let start = runs[run.operation], let supervision = supervisions[start.source] else { return nil }
        return (supervision.id, start.copy + 1)
    }

    /// `RunID.operation` of all processes.
    var starts: [UInt64] { runs.keys.sorted() }

    /// A stop of watchd waits for some of them.
    var isWaitedFor: Bool { supervisions.values.contains(where: \.isWaitedFor) }

    /// The longest `TimeoutStopSec=` of those that a stop waits for, in microseconds.
    var patience: UInt64 {
        supervisions.values.filter(\.isWaitedFor).map(\.command.process.timeoutStop.microseconds).max() ?? 0
    }

    // MARK: The watch file

    /// Makes a command the one of its source. One that stays as it is goes on; another one takes its place when the old
    /// process is gone.
    ///
    /// - Parameter isNew: it was not there before, or was removed: whoever stopped it is forgotten.
    mutating func supervise(
        _ source: Int, _ id: SourceID, _ command: SupervisedCommand, isNew: Bool, ids: inout UInt64, at now: Moment
    ) -> [Effect] {
        var supervision = supervisions[source] ?? Supervision(id, command)
        let isReplaced = !supervision.command.isLaunchedAs(command)
        let isReadyOtherwise = supervision.command.readiness != command.readiness
        let workers = supervision.command.workers
        supervision.command = command
        supervision.definition = SharedDefinition(command.process)
        while supervision.copies.count < command.workers { supervision.copies.append(SupervisedProcess(at: now)) }
        supervisions[source] = supervision
        var effects: [Effect] = []
        // The others may come with the same reload: they are looked at when all are there.
        if isNew, !command.after.isEmpty { delayed.insert(source) }
        let isDelayed = delayed.contains(source)
        for copy in supervision.copies.indices {
            let isWanted = copy < command.workers
            if isWanted, isDelayed, isNew || copy >= workers { continue }
            effects += step(source, copy, ids: &ids, at: now) { process, command, run in
                guard isWanted else { return process.stop(command, at: now) }
                if isNew || copy >= workers { return process.start(as: run, at: now) }
                guard process.wanted == .up else { return .nothing }
                // A running process is judged by the definition of its start.
                let isReplaced = isReplaced || (isReadyOtherwise && process.isGettingReady)
                if isReplaced { return process.restart(command, as: run, at: now) }
                // It has ended, and only now it is to be restarted.
                return process.stage == .down && command.restart != .no ? process.start(as: run, at: now) : .nothing
            }
        }
        supervisions[source]?.trim()
        return effects + [.moved(source: source)]
    }

    // MARK: After others

    /// The first process that has to be ready before a source starts its own; `nil`: all are, or are no more.
    func unready(before source: Int) -> String? {
        supervisions[source]?.command.after.first { name in
            supervisions.values.contains { $0.id.name == name && $0.command.workers > 0 && !$0.isReady }
        }
    }

    /// Starts those that have waited for others which are ready now.
    mutating func startDelayed(ids: inout UInt64, at now: Moment) -> [Effect] {
        guard hasBegun else { return [] }
        var effects: [Effect] = []
        for source in delayed.sorted() where unready(before: source) == nil {
            delayed.remove(source)
            effects += startWanted(source, ids: &ids, at: now)
        }
        return effects
    }

    private mutating func startWanted(_ source: Int, ids: inout UInt64, at now: Moment) -> [Effect] {
        var effects: [Effect] = []
        for copy in 0..<(supervisions[source]?.command.workers ?? 0) {
            effects += step(source, copy, ids: &ids, at: now) { process, _, run in
                process.wanted == .up && process.stage == .down ? process.start(as: run, at: now) : .nothing
            }
        }
        return effects + [.moved(source: source)]
    }

    /// Its source is removed, or has become one of another kind.
    mutating func superviseNoMore(_ source: Int, ids: inout UInt64, at now: Moment) -> [Effect] {
        let effects = stop(source, ids: &ids, at: now)
        supervisions[source]?.command.workers = 0
        delayed.remove(source)
        return effects + trim(source)
    }

    /// Starts what is wanted and does not run: nothing was started before all that runs still was adopted.
    mutating func begin(ids: inout UInt64, at now: Moment) -> [Effect] {
        hasBegun = true
        var effects = lost.map { Effect.lost($0) }
        lost = []
        for source in supervisions.keys.sorted() {
            // Nothing is ready yet but what was adopted.
            if unready(before: source) != nil {
                delayed.insert(source)
                effects += [.moved(source: source)]
            } else {
                delayed.remove(source)
                effects += startWanted(source, ids: &ids, at: now)
            }
            effects += trim(source)
        }
        return effects
    }

    private mutating func trim(_ source: Int) -> [Effect] {
        supervisions[source]?.trim()
        guard supervisions[source]?.copies.isEmpty == true else { return [] }
        supervisions[source] = nil
        return [.gone(source: source)]
    }

    // MARK: Steps

    /// Gives a copy an input.
    private mutating func step(
        _ source: Int, _ copy: Int, ids: inout UInt64, at now: Moment,
        _ input: (inout SupervisedProcess, SupervisedCommand, RunID) -> SupervisedProcess.Step
    ) -> [Effect] {
        // Before all is adopted, that it is wanted is all there is to know.
        guard let supervision = supervisions[source], hasBegun || supervision.copies[copy].life != nil
        else { return [] }
        var process = supervision.copies[copy]
        let step = input(&process, supervision.command, RunID(operation: ids + 1, attempt: 1, part: copy))
        supervisions[source]?.copies[copy] = process
        var effects: [Effect] = []
        switch step {
        case .nothing: break
        case .start(let run):
            ids += 1
            runs[run.operation] = Start(source: source, copy: copy)
            effects.append(.start(run, supervision.definition, supervision.id))
        case .signal(let run, let number):
            effects.append(.signal(run, number: number, supervision.command.process.killMode))
        }
        if let deadline = process.deadline { effects.append(.deadline(source: source, copy: copy, at: deadline)) }
        return effects + answers(source, copy, at: now)
    }

    private mutating func stop(_ source: Int, ids: inout UInt64, at now: Moment) -> [Effect] {
        var effects: [Effect] = []
        for copy in supervisions[source]?.copies.indices ?? 0..<0 {
            effects += step(source, copy, ids: &ids, at: now) { process, command, _ in process.stop(command, at: now) }
        }
        return effects
    }

    mutating func elapsed(_ source: Int, _ copy: Int, ids: inout UInt64, at now: Moment) -> [Effect] {
        guard supervisions[source]?.copies.indices.contains(copy) == true else { return [] }
        return step(source, copy, ids: &ids, at: now) { process, _, run in process.elapsed(as: run, at: now) }
            + [.moved(source: source)]
    }

    func isDeadline(_ time: Int64, _ source: Int, _ copy: Int) -> Bool {
        guard let copies = supervisions[source]?.copies, copies.indices.contains(copy) else { return false }
        return copies[copy].deadline == time
    }

    // MARK: News from the rim

    /// `nil`: the run is no supervised process's.
    mutating func started(_ id: RunID, pid: Int32, at now: Moment) -> [Effect]? {
        guard let run = runs[id.operation] else { return nil }
        let isReady = supervisions[run.source]?.command.readiness == .running
        supervisions[run.source]?.copies[run.copy].spawned(pid, isReady: isReady, at: now)
        return save(run, at: now) + answers(run.source, run.copy, at: now) + [.moved(source: run.source)]
    }

    /// The supervised process has become ready. (One that has ended meanwhile is not known any more.)
    mutating func ready(_ id: RunID, at now: Moment) -> [Effect] {
        guard let run = runs[id.operation] else { return [] }
        supervisions[run.source]?.copies[run.copy].becomeReady()
        return answers(run.source, run.copy, at: now) + [.moved(source: run.source)]
    }

    /// When a copy that is being started is ready.
    func readiness(of run: RunID) -> SupervisedCommand.Readiness {
        runs[run.operation].flatMap { supervisions[$0.source]?.command.readiness } ?? .running
    }

    /// `nil`: the run is no supervised process's.
    mutating func ended(
        _ id: RunID, _ exit: Exit?, reason: String?, ids: inout UInt64, at now: Moment
    ) -> [Effect]? {
        guard let run = runs.removeValue(forKey: id.operation) else { return nil }
        let life = supervisions[run.source]?.copies[run.copy].life
        var effects = step(run.source, run.copy, ids: &ids, at: now) { process, command, next in
            process.ended(exit, reason: reason, command, as: next, at: now)
        }
        if let life, let pid = life.pid {
            effects += save(run, at: now)
            let runTime = max(0, now.boottime - life.since.boottime)
            effects.append(.ended(source: run.source, ProcessFact(pid: pid, exit: exit, runTime: runTime)))
        }
        return effects + trim(run.source) + [.moved(source: run.source)]
    }

    /// An end of it is told.
    mutating func countEnd(_ source: Int) { supervisions[source]?.ends += 1 }

    // MARK: The store

    /// Saves all processes, for a store that knows of none.
    func saveAll(at now: Moment) -> [Effect] {
        runs.sorted { $0.key < $1.key }.flatMap { save($0.value, at: now) }
    }

    private func save(_ run: Start, at now: Moment) -> [Effect] {
        guard let supervision = supervisions[run.source] else { return [] }
        var stored: StoredProcess?
        if let life = supervision.copies[run.copy].life, let pid = life.pid {
            stored = StoredProcess(
                source: supervision.id, copy: run.copy, start: life.run.operation, pid: pid,
                started: life.since.realtime, seen: now.boottime, launch: supervision.command.launch)
        }
        return [.save(supervision.id, copy: run.copy, stored)]
    }

    /// A process that an earlier watchd left has ended meanwhile.
    mutating func restore(lost stored: StoredProcess) -> [Effect] {
        if hasBegun { return [.lost(stored)] }
        lost.append(stored)
        return []
    }

    /// A process that an earlier watchd left keeps running under its copy, or is ended where no section wants it any
    /// more.
    mutating func adopt(_ stored: StoredProcess, _ source: Int, ids: inout UInt64, at now: Moment) -> [Effect] {
        var supervision = supervisions[source] ?? Supervision(stored.source, .forgotten(stored.source.name))
        while supervision.copies.count <= stored.copy { supervision.copies.append(SupervisedProcess(at: now)) }
        var copy = stored.copy
        if supervision.copies[copy].life != nil {
            // Its place is taken, as it can be when the store was opened late: one too many.
            copy = max(supervision.copies.count, supervision.command.workers)
            while supervision.copies.count <= copy { supervision.copies.append(SupervisedProcess(at: now)) }
        }
        let age = max(0, now.realtime - stored.started)
        let since = Moment(
            realtime: stored.started, boottime: now.boottime - age, monotonic: now.monotonic - age)
        supervision.copies[copy].adopt(.init(run: stored.run, pid: stored.pid, since: since), at: now)
        supervisions[source] = supervision
        let run = Start(source: source, copy: copy)
        runs[stored.start] = run
        var request = AdoptRequest(
            run: stored.run, definition: supervision.definition, pid: stored.pid, seen: stored.seen)
        request.isUnwanted = copy >= supervision.command.workers
        var effects = [Effect.adopt(request)]
        if request.isUnwanted {
            effects += step(source, copy, ids: &ids, at: now) { process, command, _ in process.stop(command, at: now) }
        } else if let launch = stored.launch, launch != supervision.command.launch {
            effects += step(source, copy, ids: &ids, at: now) { process, command, run in
                process.restart(command, as: run, at: now)
            }
        } else if stored.launch == nil {
            effects += save(run, at: now)
        }
        return effects + [.moved(source: source)]
    }

    // MARK: Start, stop, restart

    mutating func steer(
        _ verb: ProcessVerb, _ source: Int, _ token: Token, ids: inout UInt64, at now: Moment
    ) -> [Effect] {
        guard let supervision = supervisions[source] else { return [] }
        let workers = supervision.command.workers
        // Whoever says so himself waits for nobody.
        delayed.remove(source)
        var effects: [Effect] = []
        for copy in 0..<workers {
            effects += step(source, copy, ids: &ids, at: now) { process, command, run in
                switch verb {
                case .start: process.start(as: run, at: now)
                case .stop: process.stop(command, at: now)
                case .restart: process.restart(command, as: run, at: now)
                }
            }
        }
        let awaited: SupervisedProcess.Wanted = verb == .stop ? .down : .up
        let missing = (0..<workers).filter { copy in
            supervisions[source]?.copies[copy].stage != (awaited == .up ? .up : .down)
        }
        calls[token] = Call(source: source, id: supervision.id, awaited: awaited, missing: Set(missing))
        effects.append(.moved(source: source))
        return effects + (missing.isEmpty ? answer(token, at: now) : [])
    }

    /// A copy has moved: callers that wait for that may have their answer.
    private mutating func answers(_ source: Int, _ copy: Int, at now: Moment) -> [Effect] {
        guard !calls.isEmpty, let process = supervisions[source]?.copies[copy] else { return [] }
        var effects: [Effect] = []
        for token in calls.keys.sorted() {
            guard let call = calls[token], call.source == source, call.missing.contains(copy) else { continue }
            switch (call.awaited, process.stage) {
            case (.up, .up), (.down, .down):
                calls[token]?.missing.remove(copy)
                if call.missing.count == 1 { effects += answer(token, at: now) }
            case (.up, _) where process.wanted == .down: effects += fail(token, "it was stopped meanwhile")
            case (.down, _) where process.wanted == .up: effects += fail(token, "it was started meanwhile")
            case (.up, .down), (.up, .backingOff): effects += fail(token, process.outcome?.sentence ?? "it is down")
            case (.up, .starting), (.up, .stopping): break
            case (.down, .starting), (.down, .up), (.down, .backingOff), (.down, .stopping): break
            }
        }
        return effects
    }

    private mutating func answer(_ token: Token, at now: Moment) -> [Effect] {
        guard let call = calls.removeValue(forKey: token) else { return [] }
        return [.answer(token, call.id, supervisions[call.source]?.views(at: now) ?? [])]
    }

    private mutating func fail(_ token: Token, _ reason: String) -> [Effect] {
        guard let call = calls.removeValue(forKey: token) else { return [] }
        return [.fail(token, call.id, reason: reason)]
    }

    mutating func abandon(_ token: Token) { calls[token] = nil }

    /// All callers that wait: they are answered otherwise.
    mutating func takeCallers() -> [Token] {
        defer { calls = [:] }
        return calls.keys.sorted()
    }

    // MARK: A stop of watchd

    /// With `KillMode=none` it is left running, and adopted at the next start.
    mutating func stopAll(ids: inout UInt64, at now: Moment) -> [Effect] {
        var effects: [Effect] = []
        for source in supervisions.keys.sorted()
        where supervisions[source]?.command.process.killMode != KillMode.none {
            effects += stop(source, ids: &ids, at: now)
        }
        return effects
    }

    /// Processes that `stopAll` has left running.
    var leftRunning: [AdoptRequest] {
        let left = supervisions.filter { $0.value.command.process.killMode == .none }.sorted { $0.key < $1.key }
        return left.flatMap { _, supervision in
            supervision.copies.compactMap { copy in
                guard let life = copy.life, let pid = life.pid else { return nil }
                return AdoptRequest(run: life.run, definition: supervision.definition, pid: pid)
            }
        }
    }

    mutating func killAll(ids: inout UInt64, at now: Moment) -> [Effect] {
        var effects: [Effect] = []
        for source in supervisions.keys.sorted() {
            for copy in supervisions[source]?.copies.indices ?? 0..<0 {
                effects += step(source, copy, ids: &ids, at: now) { process, _, _ in process.kill(at: now) }
            }
        }
        return effects
    }
}
