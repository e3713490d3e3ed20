import Schedule
import WatchFile

/// The workers of `Stream=` handlers: when they are started, and when they are made to end.
extension Engine {
    // MARK: The watch file

    /// Handlers have the crews that their definitions ask for. A handler that was removed keeps its crew for what waits.
    mutating func applyCrews() {
        for handler in handlers.indices where !handlers[handler].isRemoved {
            let definition = handlers[handler].definition
            switch (definition.value.stream, handlers[handler].crew) {
            case (nil, nil): break
            case (nil, let crew?):
                handlers[handler].crew = nil
                dismiss(crew)
            case (let stream?, nil): handlers[handler].crew = scheduler.addCrew(definition, stream)
            case (let stream?, let crew?):
                let isOther = scheduler.crews[crew].definition.value != definition.value
                scheduler.crews[crew].definition = definition
                scheduler.crews[crew].stream = stream
                scheduler.fitRoom(crew)
                // The changed definition may be what mends it.
                if isOther { endPauses(of: crew) }
            }
        }
    }

    private mutating func endPauses(of crew: Int) {
        for copy in scheduler.crews[crew].members.indices
        where scheduler.crews[crew].members[copy].worker.isBackingOff {
            close(Seat(crew: crew, copy: copy), .replaced)
        }
    }

    /// Nobody needs them any more.
    mutating func dismiss(_ crew: Int) {
        scheduler.crews[crew].isRemoved = true
        tend(crew)
    }

    /// The launch of a crew's workers from now on.
    private func launch(of crew: Int) -> Crew.Launch {
        let definition = scheduler.crews[crew].definition.value
        let queue = queues.index(of: definition.queue ?? "default")
        return Crew.Launch(
            fingerprint: LaunchFingerprint(definition), environment: queue.map { queues[$0].environment } ?? [],
            qos: queue.map { scheduler[$0].qos } ?? .default)
    }

    // MARK: Workers that are wanted

    mutating func tendCrews() {
        for crew in scheduler.crews.indices { tend(crew) }
    }

    /// Starts workers for what waits, where they run on demand.
    mutating func tendOnDemand() {
        guard life.isOpen, life.hasStarted, scheduler.crews.areSomeOnDemand else { return }
        for crew in scheduler.crews.indices
        where scheduler.crews[crew].isOnDemand && semaphores[scheduler.crews[crew].room].waiting > 0 {
            if startsWanted(crew) > 0 { tend(crew) }
        }
    }

    /// Ends what is not wanted, and starts what is.
    private mutating func tend(_ crew: Int) {
        guard life.hasStarted else { return }
        let launch = launch(of: crew)
        let wanted = life.isOpen ? scheduler.crews[crew].wanted : 0
        while scheduler.crews[crew].members.count < wanted {
            scheduler.crews[crew].members.append(Crew.Member(worker: Worker(at: now)))
        }
        for copy in scheduler.crews[crew].members.indices {
            let seat = Seat(crew: crew, copy: copy)
            if copy >= wanted {
                close(seat, life.isOpen ? .unwanted : .stopping)
            } else if scheduler.crews[crew].members[copy].launch.map({ $0 != launch }) ?? false {
                close(seat, .replaced)
            }
        }
        var starts = startsWanted(crew)
        for copy in scheduler.crews[crew].members.indices.prefix(wanted)
        where starts > 0 && scheduler.crews[crew].members[copy].worker.isDown {
            start(Seat(crew: crew, copy: copy), launch)
            starts -= 1
        }
        trim(crew, wanted)
    }

    private mutating func trim(_ crew: Int, _ wanted: Int) {
        while scheduler.crews[crew].members.count > wanted,
            scheduler.crews[crew].members.last?.worker.isDown ?? false
        {
            scheduler.crews[crew].members.removeLast()
        }
        if scheduler.crews[crew].isRemoved, scheduler.crews[crew].members.isEmpty { scheduler.removeCrew(crew) }
    }

    /// How many more may be started now.
    private func startsWanted(_ crew: Int) -> Int {
        guard scheduler.crews[crew].isOnDemand else { return .max }
        let room = semaphores[scheduler.crews[crew].room]
        let prefetch = scheduler.crews[crew].stream.prefetch
        let coming = scheduler.crews[crew].members.count { $0.worker.isStarting } * prefetch + max(0, room.available)
        return max(0, room.waiting - coming + prefetch - 1) / prefetch
    }

    private mutating func start(_ seat: Seat, _ launch: Crew.Launch) {
        let run = RunID(operation: takeOperationID(), attempt: 1, part: seat.copy)
        let (definition, name) = (scheduler.crews[seat.crew].definition, scheduler.crews[seat.crew].handler)
        scheduler.crews[seat.crew].members[seat.copy].launch = launch
        _ = scheduler.crews[seat.crew].members[seat.copy].worker.start(as: run, at: now)
        scheduler.crews.note(run, seat)
        actions.append(
            .startWorker(
                StartRequest(
                    run: run, definition: definition, queue: "", qos: launch.qos, environment: launch.environment,
                    origin: .run(handler: name), events: [])))
    }

    // MARK: Of an earlier watchd

    /// Workers that a kill of the watchd before has left. They have read the end of their input, and what they had comes
    /// again: nothing is started in their place before they have ended, for which they have `TimeoutStopSec=`.
    mutating func restore(_ workers: [StoredWorker]) {
        for stored in workers {
            guard let handler = handlers.index(of: stored.handler), let crew = handlers[handler].crew else { continue }
            adopt(stored, crew)
        }
    }

    private mutating func adopt(_ stored: StoredWorker, _ crew: Int) {
        let (definition, now) = (scheduler.crews[crew].definition, now)
        var worker = Worker(at: now)
        let process = Worker.Process(run: stored.run, pid: stored.pid, since: now)
        worker.adopt(process, definition.value, at: now)
        let copy =
            scheduler.crews[crew].members.firstIndex { $0.worker.isDown } ?? scheduler.crews[crew].members.count
        if copy == scheduler.crews[crew].members.count {
            scheduler.crews[crew].members.append(Crew.Member(worker: worker))
        } else {
            scheduler.crews[crew].members[copy].worker = worker
        }
        let seat = Seat(crew: crew, copy: copy)
        scheduler.crews.note(stored.run, seat)
        var request = AdoptRequest(run: stored.run, definition: definition, pid: stored.pid, started: stored.started)
        request.isWorker = true
        actions.append(.adopt(request))
        watch(seat)
    }

    /// Nobody knows which units of semaphores their lines hold: they keep all that may be theirs, as the watch file has it
    /// now, until they have ended.
    mutating func lendToLeftWorkers() {
        for seat in scheduler.crews.seats.sorted(by: { $0.key < $1.key }).map(\.value) {
            let member = scheduler.crews[seat.crew].members[seat.copy]
            guard member.worker.reason == .left, member.lent.isEmpty else { continue }
            let (definition, lines) = (
                scheduler.crews[seat.crew].definition, scheduler.crews[seat.crew].stream.prefetch
            )
            scheduler.crews[seat.crew].members[seat.copy].lent = scheduler.lend(definition.value, lines: lines)
        }
    }

    // MARK: Ends

    /// It gets no further lines, and ends when it is through with those it has.
    private mutating func close(_ seat: Seat, _ reason: Worker.Reason) {
        let definition = scheduler.crews[seat.crew].definition.value
        let isEmpty = scheduler.crews[seat.crew].members[seat.copy].held == 0
        let now = now
        perform(
            scheduler.crews[seat.crew].members[seat.copy].worker.close(
                reason, definition, isEmpty: isEmpty, at: now), seat)
    }

    /// It is to end, whatever it holds.
    mutating func endWorker(_ seat: Seat, _ reason: Worker.Reason) {
        let (definition, now) = (scheduler.crews[seat.crew].definition.value, now)
        perform(
            scheduler.crews[seat.crew].members[seat.copy].worker.terminate(reason, definition, at: now), seat)
    }

    mutating func workerIsBroken(_ worker: RunID, _ reason: String) {
        guard let seat = scheduler.crews.seats[worker.operation] else { return }
        endWorker(seat, .broken(reason))
    }

    /// A stop: they may finish what they have.
    mutating func closeWorkers() { tendCrews() }

    /// A stop has no time left for them.
    mutating func endWorkers(isKilled: Bool) {
        let now = now
        for seat in scheduler.crews.seats.sorted(by: { $0.key < $1.key }).map(\.value) {
            guard isKilled else {
                endWorker(seat, .stopping)
                continue
            }
            perform(scheduler.crews[seat.crew].members[seat.copy].worker.kill(.stopping, at: now), seat)
        }
    }

    private mutating func perform(_ call: Worker.Call, _ seat: Seat) {
        switch call {
        case .nothing, .start: break
        case .close(let run): actions.append(.closeInput(run))
        case .signal(let run, let number):
            let mode = scheduler.crews[seat.crew].definition.value.killMode
            actions.append(.signal(run, number: number, mode: mode))
        }
        if call != .nothing { scheduler.fitRoom(seat.crew) }
        watch(seat)
    }

    private mutating func watch(_ seat: Seat) {
        if let deadline = scheduler.crews[seat.crew].members[seat.copy].worker.deadline {
            deadlines.add(.worker(seat), .monotonic, at: deadline)
        }
    }

    // MARK: News from the rim

    mutating func workerStarted(_ seat: Seat, pid: Int32) {
        let now = now
        scheduler.crews[seat.crew].members[seat.copy].worker.spawned(pid, at: now)
        guard scheduler.crews[seat.crew].members[seat.copy].worker.isOpen else { return }
        scheduler.fitRoom(seat.crew)
        actions.append(.report(.worker(news(seat, pid: pid))))
        watchIdleness(seat)
    }

    mutating func workerEnded(_ seat: Seat, _ id: RunID, _ exit: Exit?, reason: String?) {
        let now = now
        scheduler.crews.note(id, nil)
        let held = lines(of: seat)
        let stream = scheduler.crews[seat.crew].stream
        let before = scheduler.crews[seat.crew].members[seat.copy]
        scheduler.crews[seat.crew].members[seat.copy].worker.ended(
            exit, reason: reason, stream, hasServed: before.hasServed, at: now)
        scheduler.crews[seat.crew].members[seat.copy].launch = nil
        scheduler.crews[seat.crew].members[seat.copy].lent = []
        scheduler.giveBack(before.lent)
        scheduler.crews[seat.crew].members[seat.copy].hasServed = false
        scheduler.crews[seat.crew].members[seat.copy].idleDeadline = nil
        scheduler.fitRoom(seat.crew)
        let outcome = scheduler.crews[seat.crew].members[seat.copy].worker.outcome ?? "has ended"
        let isUnasked = before.worker.reason?.isNonsense ?? true
        for (index, ref) in held.enumerated() where operations.isAlive(ref) {
            cameBack(ref, isOldest: index == 0 && isUnasked, outcome)
        }
        var news = news(seat, pid: before.worker.process?.pid)
        (news.end, news.isTrouble) = (outcome, before.worker.reason?.isFault ?? true)
        news.givenBack = held.count
        news.pause = scheduler.crews[seat.crew].members[seat.copy].worker.deadline.map { $0 - now.monotonic }
        actions.append(.report(.worker(news)))
        watch(seat)
        tend(seat.crew)
    }

    private func news(_ seat: Seat, pid: Int32?) -> WorkerNews {
        let crew = scheduler.crews[seat.crew]
        return WorkerNews(
            handler: crew.handler, copy: seat.copy + 1, isOneOfSeveral: crew.members.count > 1, pid: pid)
    }

    // MARK: Time

    /// A worker is through with a line.
    mutating func lineLeft(_ seat: Seat) {
        guard scheduler.crews[seat.crew].members[seat.copy].held == 0 else { return }
        let (definition, now) = (scheduler.crews[seat.crew].definition.value, now)
        if scheduler.crews[seat.crew].members[seat.copy].worker.isOpen { return watchIdleness(seat) }
        scheduler.crews[seat.crew].members[seat.copy].worker.emptied(definition, at: now)
        watch(seat)
    }

    /// It holds nothing since now.
    private mutating func watchIdleness(_ seat: Seat) {
        scheduler.crews[seat.crew].members[seat.copy].idleSince = now.monotonic
        guard scheduler.crews[seat.crew].isOnDemand,
            scheduler.crews[seat.crew].members[seat.copy].idleDeadline == nil
        else { return }
        setIdleDeadline(seat)
    }

    private mutating func setIdleDeadline(_ seat: Seat) {
        let span = Int64(min(scheduler.crews[seat.crew].stream.idle.microseconds, UInt64(Int64.max / 8)))
        let time = scheduler.crews[seat.crew].members[seat.copy].idleSince + span
        scheduler.crews[seat.crew].members[seat.copy].idleDeadline = time
        deadlines.add(.worker(seat), .monotonic, at: time)
    }

    /// Times at which `workerElapsed` is to be called.
    func workerDeadlines(_ seat: Seat) -> [Int64] {
        let member = scheduler.crews[seat.crew].members[seat.copy]
        return [member.worker.deadline, member.idleDeadline].compactMap { $0 }
    }

    mutating func workerElapsed(_ seat: Seat) {
        guard scheduler.crews.contains(seat) else { return }
        let (definition, now) = (scheduler.crews[seat.crew].definition.value, now)
        perform(scheduler.crews[seat.crew].members[seat.copy].worker.elapsed(definition, at: now), seat)
        if let time = scheduler.crews[seat.crew].members[seat.copy].idleDeadline, time <= now.monotonic {
            scheduler.crews[seat.crew].members[seat.copy].idleDeadline = nil
            idled(seat)
        }
        tend(seat.crew)
    }

    private mutating func idled(_ seat: Seat) {
        let member = scheduler.crews[seat.crew].members[seat.copy]
        guard member.worker.isOpen, member.held == 0, scheduler.crews[seat.crew].isOnDemand else { return }
        let span = Int64(min(scheduler.crews[seat.crew].stream.idle.microseconds, UInt64(Int64.max / 8)))
        if member.idleSince + span <= now.monotonic { close(seat, .idle) } else { setIdleDeadline(seat) }
    }

    // MARK: For readers

    /// Why an operation has no worker.
    func sentence(of crew: Crew) -> String {
        let workers = crew.members.map(\.worker)
        if workers.contains(where: \.isOpen) {
            let count = workers.count == 1 ? "it has" : "each has"
            return "\(count) the \(crew.stream.prefetch == 1 ? "line" : "\(crew.stream.prefetch) lines") of Prefetch="
        }
        if workers.contains(where: \.isStarting) { return "being started" }
        if let next = workers.filter(\.isBackingOff).compactMap(\.deadline).min() {
            let end = workers.lazy.compactMap(\.outcome).first ?? "it has ended"
            return "restarts in \(SpanText.remaining(next - now.monotonic)) (\(end))"
        }
        if let left = workers.first(where: { $0.reason == .left })?.process?.pid {
            return "the one of the watchd before (process \(left)) has to end first"
        }
        return workers.contains { $0.process != nil } ? "being ended" : "none runs"
    }

    func workerViews(_ crew: Int) -> [WorkerView] {
        scheduler.crews[crew].members.indices.map { copy in
            let member = scheduler.crews[crew].members[copy]
            let worker = member.worker
            let holding = lines(of: Seat(crew: crew, copy: copy)).prefix(WorkerView.named).map(\.id)
            return WorkerView(
                handler: scheduler.crews[crew].handler, copy: copy + 1, stage: worker.stage, pid: worker.process?.pid,
                since: worker.since, held: member.held, holding: Array(holding), restarts: worker.restarts,
                nextStart: worker.isBackingOff ? worker.deadline.map { now.realtime + $0 - now.monotonic } : nil,
                lastEnd: worker.outcome, lastEndTime: worker.outcomeTime,
                isIdle: worker.isDown && scheduler.crews[crew].isOnDemand)
        }
    }
}
