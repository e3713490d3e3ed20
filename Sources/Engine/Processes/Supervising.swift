import Schedule
package import WatchFile

/// Supervised processes: the engine's part. `Supervisor` decides; its effects become actions, and ends become events.
extension Engine {
    /// Whether a run is that of a supervised process.
    package func isSupervised(_ run: RunID) -> Bool {
        supervisor.isSupervised(run) || scheduler.crews.seats[run.operation] != nil
    }

    /// The supervised process of a run, and which copy, from 1; `nil`: it is no supervised process's.
    package func owner(of run: RunID) -> (source: SourceID, copy: Int)? { supervisor.owner(of: run) }

    /// Of which handler a run is a worker, and which copy, from 1; `nil`: it is none.
    package func workplace(of run: RunID) -> (handler: String, copy: Int)? {
        scheduler.crews.seats[run.operation].map { (scheduler.crews[$0.crew].handler, $0.copy + 1) }
    }

    // MARK: Effects

    mutating func perform(_ effects: [Supervisor.Effect]) {
        for effect in effects { perform(effect) }
    }

    private mutating func perform(_ effect: Supervisor.Effect) {
        switch effect {
        case .start(let run, let definition, let id):
            var request = StartRequest(
                run: run, definition: definition, queue: "", qos: .default, environment: [], origin: .source(id),
                events: [])
            request.readiness = supervisor.readiness(of: run)
            actions.append(.start(request))
        case .adopt(let request): actions.append(.adopt(request))
        case .signal(let run, let number, let mode): actions.append(.signal(run, number: number, mode: mode))
        case .deadline(let source, let copy, let time):
            deadlines.add(.supervised(source: source, copy: copy), .monotonic, at: time)
        case .save(let id, let copy, let process): actions.append(.store(.process(id, copy: copy, process)))
        case .ended(let source, let fact): tellEnd(source, fact)
        case .lost(let stored): tellLost(stored)
        case .moved(let source):
            noteSupervised(source)
            if supervisor[source]?.isReady == true {
                submitThoseBehindProcesses()
                startDelayedProcesses()
            }
        case .gone(let source):
            releaseSourceIfUnused(source)
            startDelayedProcesses()
        case .answer(let token, let id, let views):
            if endSteering(token, reason: nil) { return }
            // A client that is told of a process may rely on its being found again.
            reply(token, .processes(id.description, views), isSafe: false)
        case .fail(let token, let id, let reason):
            if endSteering(token, reason: "\(id.description): \(reason)") { return }
            actions.append(.reply(token, .failure(.notUp(id.description, reason: reason))))
        }
    }

    mutating func startDelayedProcesses() {
        guard !supervisor.delayed.isEmpty, life.isOpen else { return }
        perform(supervisor.startDelayed(ids: &journal.ids.lastOperation, at: now))
    }

    /// An end is an event; where no handler wants it, it is only counted.
    private mutating func tellEnd(_ source: Int, _ fact: ProcessFact) {
        supervisor.countEnd(source)
        guard sources.isInUse(source), !sources[source].isRemoved else { return }
        guard sources[source].targets.isEmpty else { return accept(.process(fact), from: source) }
        let event = makeEvent(.process(fact))
        sources[source].lastEvent = event.time
        actions.append(.report(accepted(event, source)))
    }

    private mutating func tellLost(_ stored: StoredProcess) {
        actions.append(.store(.process(stored.source, copy: stored.copy, nil)))
        guard let source = sources.index(of: .source(stored.source)), supervisor[source] != nil else { return }
        tellEnd(source, ProcessFact(pid: stored.pid))
    }

    /// The source stands as its copies do.
    private mutating func noteSupervised(_ source: Int) {
        guard sources.isInUse(source), !sources[source].isRemoved, life.isOpen,
            let supervision = supervisor[source]
        else { return }
        let condition = supervisor.condition(of: source, supervision, at: now)
        let before = sources[source].condition
        sources[source].condition = condition
        silenceMayChange(source)
        guard !before.isSame(as: condition) else { return }
        let processes = supervision.copies.compactMap { $0.life?.pid }
        actions.append(.report(.condition(supervision.id, condition, processes: processes)))
    }

    // MARK: Inputs

    mutating func supervise(_ source: Int, _ id: SourceID, _ command: SupervisedCommand, isNew: Bool) {
        perform(supervisor.supervise(source, id, command, isNew: isNew, ids: &journal.ids.lastOperation, at: now))
    }

    mutating func superviseNoMore(_ source: Int) {
        perform(supervisor.superviseNoMore(source, ids: &journal.ids.lastOperation, at: now))
    }

    mutating func steer(_ verb: ProcessVerb, _ name: String, _ token: Token) throws(CommandError) {
        let source = try supervisedSource(named: name)
        guard verb == .stop || life.isOpen else { throw .draining }
        if verb != .start, supervisor[source]?.command.process.killMode == KillMode.none {
            throw .notUp(
                sources[source].origin.description,
                reason: "KillMode=none: watchd does not end it, so it can neither stop nor restart it")
        }
        perform(supervisor.steer(verb, source, token, ids: &journal.ids.lastOperation, at: now))
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
        guard supervisor[source] != nil, sources[source].definition?.value.command != nil else {
            throw .notSupervised(sources[source].origin.description)
        }
        return source
    }

    /// Takes over the processes that an earlier watchd left.
    mutating func restore(_ processes: [StoredProcess]) {
        for stored in processes.sorted(by: { $0.start < $1.start }) {
            journal.ids.note(operation: stored.start)
            // It may have been found before the store could be read.
            if supervisor.isSupervised(stored.run) { continue }
            guard stored.isAlive else {
                perform(supervisor.restore(lost: stored))
                continue
            }
            let source = restoredSource(.source(stored.source))
            perform(supervisor.adopt(stored, source, ids: &journal.ids.lastOperation, at: now))
        }
    }

    // MARK: Explain

    /// How a supervised process stands. `nil`: there is none of that name.
    package func explain(process name: String) -> [Explanation]? {
        guard let source = sources.index(of: .source(SourceID(.process, name))), let supervision = supervisor[source],
            !sources[source].isRemoved
        else { return nil }
        let section = sources[source].origin.description
        return supervision.views(at: now).flatMap { view in
            let end = view.lastEnd.map {
                Explanation(time: view.lastEndTime, code: .ended, sentence: "before: \($0)", section: section)
            }
            let who = supervision.copies.count > 1 ? "copy \(view.copy): " : ""
            let isFirst = view.stage == .down && view.isWanted && view.lastEnd == nil
            let wait = isFirst ? supervisor.firstWait(of: source) : nil
            let now = Explanation(
                code: wait == nil ? view.code : .dependency, sentence: who + (wait ?? sentence(view)), section: section)
            return [end, now].compactMap { $0 }
        }
    }

    private func sentence(_ view: SupervisedView) -> String {
        let age = SpanText.elapsed(now.realtime - view.since)
        let restarts = view.restarts == 0 ? "" : ", \(counted(view.restarts, "restart"))"
        let pid = view.pid.map { " (pid \($0))" } ?? ""
        return switch view.stage {
        case .up: "running for \(age)\(pid)\(restarts)"
        case .starting where view.pid != nil: "running for \(age)\(pid)\(restarts), and not ready yet"
        case .starting: "starting\(pid)\(restarts)"
        case .stopping: "stopping for \(age)\(pid)\(view.isWanted ? "; restarts when it has exited" : "")"
        case .backingOff:
            "restarts in \(SpanText.remaining((view.nextStart ?? now.realtime) - now.realtime))\(restarts)"
        case .down:
            view.isWanted ? "down for \(age): Restart= does not ask for another start" : "stopped for \(age)"
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
