import Schedule
import WatchFile

/// Supervised processes: what clients ask, a stop, and what was left running by an earlier watchd.
extension Engine {
    // MARK: Start, stop, restart

    mutating func steer(_ verb: ProcessVerb, _ name: String, _ token: Token) throws(CommandError) {
        let source = try supervisedSource(named: name)
        if verb != .start, supervisions[source]?.command.process.killMode == KillMode.none {
            throw .notUp(
                sources[source].origin.description,
                reason: "KillMode=none: watchd does not end it, so it can neither stop nor restart it")
        }
        let workers = supervisions[source]?.command.workers ?? 0
        for copy in 0..<workers {
            step(source, copy) { process, command, run, now in
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
        processCalls[token] = ProcessCall(source: source, awaited: awaited, missing: Set(missing))
        noteSupervised(source)
        if missing.isEmpty { answerProcessCall(token) }
    }

    private func supervisedSource(named name: String) throws(CommandError) -> Int {
        let isProcess = { (named: Named) in
            guard case .source(let index) = named, case .source(let id) = self.sources[index].origin else {
                return false
            }
            return id.kind == .process
        }
        guard case .source(let source) = try resolve(name, among: isProcess) else {
            throw .noSuchName(name, nearest: nil)
        }
        guard isSupervised(source), sources[source].definition?.value.command != nil else {
            throw .notSupervised(sources[source].origin.description)
        }
        return source
    }

    /// A copy has moved: who waits for that may have his answer.
    mutating func answerProcessCalls(_ source: Int, _ copy: Int) {
        guard !processCalls.isEmpty, let process = supervisions[source]?.copies[copy] else { return }
        for token in processCalls.keys.sorted() {
            guard let call = processCalls[token], call.source == source, call.missing.contains(copy) else { continue }
            switch (call.awaited, process.stage) {
            case (.up, .up), (.down, .down):
                processCalls[token]?.missing.remove(copy)
                if call.missing.count == 1 { answerProcessCall(token) }
            case (.up, _) where process.wanted == .down: failProcessCall(token, source, "it was stopped meanwhile")
            case (.down, _) where process.wanted == .up: failProcessCall(token, source, "it was started meanwhile")
            case (.up, .down), (.up, .backingOff):
                failProcessCall(token, source, process.outcome?.sentence ?? "it is down")
            case (.up, .starting), (.up, .stopping): break
            case (.down, .starting), (.down, .up), (.down, .backingOff), (.down, .stopping): break
            }
        }
    }

    private mutating func answerProcessCall(_ token: Token) {
        guard let call = processCalls.removeValue(forKey: token) else { return }
        let views = supervisions[call.source]?.views(at: now) ?? []
        // Who is told of a process may rely on its being found again.
        reply(token, .processes(sources[call.source].origin.description, views), isSafe: false)
    }

    private mutating func failProcessCall(_ token: Token, _ source: Int, _ reason: String) {
        processCalls[token] = nil
        actions.append(.reply(token, .failure(.notUp(sources[source].origin.description, reason: reason))))
    }

    // MARK: A stop of watchd

    mutating func stopSupervised() {
        for source in supervisions.keys.sorted() {
            // It is left running, and adopted at the next start.
            if supervisions[source]?.command.process.killMode == KillMode.none { continue }
            for copy in supervisions[source]?.copies.indices ?? 0..<0 {
                step(source, copy) { process, command, _, now in process.stop(command, at: now) }
            }
        }
    }

    mutating func killSupervised() {
        for source in supervisions.keys.sorted() {
            for copy in supervisions[source]?.copies.indices ?? 0..<0 {
                step(source, copy) { process, _, _, now in process.kill(at: now) }
            }
        }
    }

    /// The longest `TimeoutStopSec=` of those that a stop waits for, in microseconds.
    var supervisedPatience: UInt64 {
        supervisions.values.filter(\.isWaitedFor).map(\.command.process.timeoutStop.microseconds).max() ?? 0
    }

    // MARK: What an earlier watchd left

    /// Those that run keep running under their copies, or are ended where nobody wants them any more.
    mutating func restore(_ processes: [StoredProcess]) {
        for stored in processes.sorted(by: { $0.start < $1.start }) {
            lastOperationID = max(lastOperationID, stored.start)
            if supervisedRuns[stored.start] != nil {
                // It was found before the store could be read.
            } else if stored.isAlive {
                adopt(stored)
            } else if hasBegun {
                tellLost(stored)
            } else {
                lostProcesses.append(stored)
            }
        }
    }

    private mutating func adopt(_ stored: StoredProcess) {
        let source = restoredSource(.source(stored.source))
        var supervision = supervisions[source] ?? Supervision(.forgotten(stored.source.name))
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
        supervisedRuns[stored.start] = SupervisedRun(source: source, copy: copy)
        var request = AdoptRequest(
            run: stored.run, definition: supervision.definition, pid: stored.pid, seen: stored.seen)
        request.isUnwanted = copy >= supervision.command.workers
        actions.append(.adopt(request))
        if request.isUnwanted {
            step(source, copy) { process, command, _, now in process.stop(command, at: now) }
        } else if let launch = stored.launch, launch != supervision.command.launch {
            step(source, copy) { process, command, run, now in process.restart(command, as: run, at: now) }
        } else if stored.launch == nil {
            saveSupervised(SupervisedRun(source: source, copy: copy))
        }
        noteSupervised(source)
    }

    /// It ended while there was no watchd: nobody knows when or how.
    mutating func tellLost(_ stored: StoredProcess) {
        actions.append(.store(.process(stored.source, copy: stored.copy, nil)))
        guard let source = sources.index(of: .source(stored.source)), isSupervised(source) else { return }
        tellEnd(source, ProcessFact(pid: stored.pid))
    }

    // MARK: Explain

    /// How a supervised process stands. `nil`: there is none of that name.
    package func explain(process name: String) -> [Explanation]? {
        guard let source = sources.index(of: .source(SourceID(.process, name))), let supervision = supervisions[source],
            !sources[source].isRemoved
        else { return nil }
        let section = sources[source].origin.description
        return supervision.views(at: now).flatMap { view in
            let end = view.lastEnd.map {
                Explanation(time: view.lastEndTime, code: .ended, sentence: "before: \($0)", section: section)
            }
            let who = supervision.copies.count > 1 ? "copy \(view.copy): " : ""
            let now = Explanation(code: view.code, sentence: who + sentence(view), section: section)
            return [end, now].compactMap { $0 }
        }
    }

    private func sentence(_ view: SupervisedView) -> String {
        let age = (now.realtime - view.since).shortSpan
        let restarts = view.restarts == 0 ? "" : ", \(view.restarts) restart\(view.restarts == 1 ? "" : "s")"
        let process = view.pid.map { "process \($0)" } ?? "a process"
        return switch view.stage {
        case .up: "\(process) runs since \(age)\(restarts)"
        case .starting: "\(process) is being started\(restarts)"
        case .stopping: "\(process) is asked to end since \(age)\(view.isWanted ? ", then it starts again" : "")"
        case .backingOff:
            "starts again in \(((view.nextStart ?? now.realtime) - now.realtime).shortSpan)\(restarts)"
        case .down:
            view.isWanted ? "down since \(age): Restart= does not ask for another start" : "stopped since \(age)"
        }
    }
}

extension SupervisedView {
    fileprivate var code: ReasonCode {
        switch stage {
        case .starting, .up, .stopping: .running
        case .backingOff: .backingOff
        case .down: .idle
        }
    }
}

extension SupervisedCommand {
    /// That of a process whose section is gone: it is only ended.
    static func forgotten(_ name: String) -> SupervisedCommand {
        SupervisedCommand(process: HandlerDefinition(name: name, action: .exec([])), workers: 0)
    }
}
