import Schedule
import WatchFile

/// Supervised processes: `[Process]` with `Command=`. `SupervisedProcess` decides for each copy; here its steps become
/// actions, and its ends events.
///
/// A start has a number of its own from those of the operations, and is told to the rim as a run of it. A process of an
/// earlier watchd is adopted before anything is started, so no copy ever runs twice.
extension Engine {
    /// Who waits for a process to be up, or gone.
    struct ProcessCall: Sendable {
        var source: Int
        var awaited: SupervisedProcess.Wanted
        /// Copies whose news he waits for.
        var missing: Set<Int>
    }

    func isSupervised(_ source: Int) -> Bool { supervisions[source] != nil }

    /// Whether a run is that of a supervised process.
    package func isSupervised(_ run: RunID) -> Bool { supervisedRuns[run.operation] != nil }

    // MARK: The watch file

    /// Makes a command the one of its source. One that stays as it is goes on; another one takes its place when the old
    /// process is gone.
    ///
    /// - Parameter isNew: it was not there before, or was removed: whoever stopped it is forgotten.
    mutating func supervise(_ source: Int, _ command: SupervisedCommand, isNew: Bool) {
        var supervision = supervisions[source] ?? Supervision(command)
        let isReplaced = !supervision.command.isLaunchedAs(command)
        let workers = supervision.command.workers
        supervision.command = command
        supervision.definition = SharedDefinition(command.process)
        while supervision.copies.count < command.workers { supervision.copies.append(SupervisedProcess(at: now)) }
        supervisions[source] = supervision
        for copy in supervision.copies.indices {
            let isWanted = copy < command.workers
            step(source, copy) { process, command, run, now in
                guard isWanted else { return process.stop(command, at: now) }
                if isNew || copy >= workers { return process.start(as: run, at: now) }
                guard process.wanted == .up else { return .nothing }
                if isReplaced { return process.restart(command, as: run, at: now) }
                // It has ended, and only now it is to be restarted.
                return process.stage == .down && command.restart != .no ? process.start(as: run, at: now) : .nothing
            }
        }
        supervisions[source]?.trim()
        noteSupervised(source)
    }

    /// Its source is removed, or has become one of another kind.
    mutating func superviseNoMore(_ source: Int) {
        for copy in supervisions[source]?.copies.indices ?? 0..<0 {
            step(source, copy) { process, command, _, now in process.stop(command, at: now) }
        }
        supervisions[source]?.command.workers = 0
        trimSupervision(source)
    }

    private mutating func trimSupervision(_ source: Int) {
        supervisions[source]?.trim()
        guard supervisions[source]?.copies.isEmpty == true else { return }
        supervisions[source] = nil
        releaseSourceIfUnused(source)
    }

    /// Starts what is wanted and does not run: nothing was started before all that runs still was adopted.
    mutating func beginSupervision() {
        hasBegun = true
        for lost in lostProcesses { tellLost(lost) }
        lostProcesses = []
        for source in supervisions.keys.sorted() {
            for copy in 0..<(supervisions[source]?.command.workers ?? 0) {
                step(source, copy) { process, _, run, now in
                    process.wanted == .up && process.stage == .down ? process.start(as: run, at: now) : .nothing
                }
            }
            noteSupervised(source)
            trimSupervision(source)
        }
    }

    // MARK: Steps

    /// Gives a copy an input and does what it calls for.
    mutating func step(
        _ source: Int, _ copy: Int,
        _ input: (inout SupervisedProcess, SupervisedCommand, RunID, Moment) -> SupervisedProcess.Step
    ) {
        // Before all is adopted, that it is wanted is all there is to know.
        guard let supervision = supervisions[source], hasBegun || supervision.copies[copy].life != nil else { return }
        var process = supervision.copies[copy]
        let command = supervision.command
        let run = RunID(operation: lastOperationID + 1, attempt: 1, part: copy)
        let step = input(&process, command, run, now)
        supervisions[source]?.copies[copy] = process
        switch step {
        case .nothing: break
        case .start(let run): startSupervised(source, copy, run)
        case .signal(let run, let number):
            actions.append(.signal(run, number: number, mode: command.process.killMode))
        }
        if let deadline = process.deadline {
            deadlines.add(.supervised(source: source, copy: copy), .monotonic, at: deadline)
        }
        answerProcessCalls(source, copy)
    }

    private mutating func startSupervised(_ source: Int, _ copy: Int, _ run: RunID) {
        guard let definition = supervisions[source]?.definition else { return }
        lastOperationID += 1
        supervisedRuns[run.operation] = SupervisedRun(source: source, copy: copy)
        actions.append(
            .start(
                StartRequest(
                    run: run, definition: definition, queue: "", qos: .default, environment: [],
                    origin: sources[source].origin, events: [])))
    }

    mutating func supervisedDeadline(_ source: Int, _ copy: Int) {
        guard supervisions[source]?.copies.indices.contains(copy) == true else { return }
        step(source, copy) { process, _, run, now in process.elapsed(as: run, at: now) }
        noteSupervised(source)
    }

    func supervisedDeadline(_ source: Int, _ copy: Int, is time: Int64) -> Bool {
        guard let copies = supervisions[source]?.copies, copies.indices.contains(copy) else { return false }
        return copies[copy].deadline == time
    }

    // MARK: What the rim tells

    /// False: the run is no supervised process's.
    mutating func supervisedStarted(_ id: RunID, pid: Int32) -> Bool {
        guard let run = supervisedRuns[id.operation] else { return false }
        supervisions[run.source]?.copies[run.copy].spawned(pid, at: now)
        saveSupervised(run)
        answerProcessCalls(run.source, run.copy)
        noteSupervised(run.source)
        return true
    }

    mutating func supervisedEnded(_ id: RunID, _ exit: Exit?, reason: String?) -> Bool {
        guard let run = supervisedRuns.removeValue(forKey: id.operation) else { return false }
        let life = supervisions[run.source]?.copies[run.copy].life
        step(run.source, run.copy) { process, command, next, now in
            process.ended(exit, reason: reason, command, as: next, at: now)
        }
        if let life, let pid = life.pid {
            saveSupervised(run)
            let runTime = max(0, now.boottime - life.since.boottime)
            tellEnd(run.source, ProcessFact(pid: pid, exit: exit, runTime: runTime))
        }
        trimSupervision(run.source)
        noteSupervised(run.source)
        return true
    }

    /// An end is an event; where no handler wants it, it is only counted.
    mutating func tellEnd(_ source: Int, _ fact: ProcessFact) {
        supervisions[source]?.ends += 1
        guard sources.isInUse(source), !sources[source].isRemoved else { return }
        guard sources[source].targets.isEmpty else { return accept(.process(fact), from: source) }
        let event = makeEvent(.process(fact))
        sources[source].lastEvent = event.time
        noteHeard(source, depth: 0)
        actions.append(.report(accepted(event, source)))
    }

    /// The store has the process that is up, or none.
    mutating func saveSupervised(_ run: SupervisedRun) {
        guard case .source(let id) = sources[run.source].origin, let supervision = supervisions[run.source] else {
            return
        }
        var stored: StoredProcess?
        if let life = supervision.copies[run.copy].life, let pid = life.pid {
            stored = StoredProcess(
                source: id, copy: run.copy, start: life.run.operation, pid: pid, started: life.since.realtime,
                seen: now.boottime, launch: supervision.command.launch)
        }
        actions.append(.store(.process(id, copy: run.copy, stored)))
    }

    // MARK: Where it stands

    /// Its source stands as its copies do.
    mutating func noteSupervised(_ source: Int) {
        guard sources.isInUse(source), !sources[source].isRemoved, phase != .draining, phase != .drained,
            case .source(let id) = sources[source].origin, let supervision = supervisions[source]
        else { return }
        let condition = supervision.condition(at: now)
        let before = sources[source].condition
        sources[source].condition = condition
        guard !before.isSame(as: condition) else { return }
        startSilence(source)
        actions.append(.report(.condition(id, condition, processes: supervision.copies.compactMap { $0.life?.pid })))
    }
}

/// Whose process a start is.
struct SupervisedRun: Sendable {
    var source: Int
    var copy: Int
}
