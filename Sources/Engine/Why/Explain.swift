import Schedule
import WatchFile

/// `Explain`: why something waits now, and what was decided about it lately.
extension Engine {
    /// Why an operation that has not ended stands where it stands: what happened to it, then what it waits for now.
    /// `nil`: nothing is known of it (any more).
    package func explain(operation id: UInt64) -> [Explanation]? {
        let past = explanations { $0.operation == id || $0.other == id }
        guard let ref = operations.ref(id: id) else {
            let all = past + (journal.unplaced(id).map { [explanation(of: $0)] } ?? [])
            return all.isEmpty ? nil : all
        }
        return past + present(ref)
    }

    /// How a queue stands and what it has decided lately. `name` is its bare name. `nil`: there is none.
    package func explain(queue name: String) -> [Explanation]? {
        let unplaced = unplaced("queue/\(name)") { shownQueue($0) == name }
        guard let queue = queues.index(of: name) else { return unplaced.isEmpty ? nil : unplaced }
        return explanations { $0.queue == queue } + stand(of: queue, unplaced)
    }

    /// How a handler stands and what became of its deliveries lately. `nil`: there is none.
    package func explain(handler name: String) -> [Explanation]? {
        let section = "handler/\(name)"
        let unplaced = unplaced(section) { $0.handler == name }
        guard let handler = handlers.index(of: name) else { return unplaced.isEmpty ? nil : unplaced }
        let live = operations.oldest(Self.explainLimit) { $0.handler == handler }
        let more = rest(of: handlers[handler].operations, named: live.count, section)
        let held = sources.indices.filter { index in sources[index].targets.contains { $0.handler == handler } }
            .compactMap { rateWait($0)?.explanation }
        let now = live.flatMap { Array(present($0).prefix(1)) } + more + held + unplaced
        let nothing = Explanation(code: .idle, sentence: "nothing of it waits or runs", section: section)
        return explanations { $0.handler == handler } + (now.isEmpty ? [nothing] : now)
    }

    /// The decisions about events, and the outcomes of the operations that they are in, or how those stand.
    package func explain(events ids: Set<UInt64>) -> [Explanation] {
        if ids.isEmpty { return [] }
        var carrying: Set<UInt64> = []
        for step in trail.steps(where: { ids.contains($0.event) && $0.operation != 0 }) {
            if step.code == .annulled { carrying.remove(step.operation) } else { carrying.insert(step.operation) }
        }
        let live = carrying.sorted().compactMap { operations.ref(id: $0) }.prefix(Self.explainLimit)
        return explanations { ids.contains($0.event) || $0.event == 0 && carrying.contains($0.operation) }
            + live.flatMap { Array(present($0).prefix(1)) }
    }

    /// Operations named in the explanation of a queue or a handler.
    static let explainLimit = 20
    /// Decisions of the past told in one explanation: the latest.
    static let explainPastLimit = 100

    // MARK: The past

    private func explanations(where isWanted: (Trail.Step) -> Bool) -> [Explanation] {
        trail.steps(where: isWanted).suffix(Self.explainPastLimit).map(explanation)
    }

    private func explanation(_ step: Trail.Step) -> Explanation {
        Explanation(
            time: step.time, code: step.code, sentence: sentence(step),
            operation: step.operation == 0 ? nil : step.operation, other: step.other == 0 ? nil : step.other,
            section: "handler/\(handlers[step.handler].name)")
    }

    private func sentence(_ step: Trail.Step) -> String {
        let queue = queues[step.queue].definition.name
        let handler = handlers[step.handler].name
        let event = step.event == 0 ? "" : "event \(step.event) "
        switch (step.code, step.detail) {
        case (.submitted, _): return "\(event)made operation \(step.operation) of \(handler) on queue \(queue)"
        case (.joined, _): return "\(event)joined operation \(step.operation), which had not started"
        case (.started, .again):
            return "operation \(step.operation) of \(handler) started again on queue \(queue): "
                + "how its run before had ended is not known"
        case (.started, .waited(let wait, let span)):
            return "operation \(step.operation) of \(handler) started on queue \(queue) after "
                + "\(SpanText.elapsed(span)): it waited for \(name(of: wait, step))"
        case (.started, .afterStop):
            return "operation \(step.operation) of \(handler) started again on queue \(queue): "
                + "a stop of watchd had ended its run before"
        case (.started, .handedAgain):
            return "operation \(step.operation) of \(handler) was handed on again on queue \(queue): "
                + "its worker had ended before it was through with it"
        case (.started, _): return "operation \(step.operation) of \(handler) started on queue \(queue)"
        case (_, .superseded):
            return "operation \(step.operation) was superseded, operation \(step.other) has its events"
        case (_, .text(let text)):
            return step.operation == 0 ? "\(event)\(step.code.rawValue): \(text)" : text
        case (_, .result(let result)): return "operation \(step.operation) ended \(result.rawValue)"
        case (_, .none), (_, .again), (_, .afterStop), (_, .handedAgain), (_, .waited):
            return "operation \(step.operation) \(step.code.rawValue)"
        }
    }

    private func name(of wait: Operation.Wait, _ step: Trail.Step) -> String {
        let constraints = handlers[step.handler].definition.value.constraints
        switch wait {
        case .turn: return "its turn there"
        case .keys: return "another of its key"
        case .semaphores:
            let names = (constraints.acquires + constraints.consumes).map(\.name)
            let semaphores = names.isEmpty ? nil : "semaphore \(names.joined(separator: " and "))"
            let worker = handlers[step.handler].definition.value.stream == nil ? nil : "a worker"
            return [semaphores, worker].compactMap(\.self).joined(separator: " or ")
        case .submission:
            let keys = [
                constraints.delay > .zero ? "DelaySec=" : nil, constraints.digest > .zero ? "DigestSec=" : nil,
            ]
            guard let key = keys.compactMap(\.self).first else {
                return "quiet, a time, a condition, or what it depends on"
            }
            return constraints.after.isEmpty ? key : "\(key) or what it depends on"
        }
    }

    // MARK: Now

    /// The oldest operations that are in no table.
    private func unplaced(_ section: String, where isWanted: (StoredOperation) -> Bool) -> [Explanation] {
        let wanted = journal.unplaced.filter(isWanted)
        return wanted.prefix(Self.explainLimit).map(explanation)
            + rest(of: wanted.count, named: Self.explainLimit, section)
    }

    private func explanation(of stored: StoredOperation) -> Explanation {
        let view = view(stored)
        return Explanation(
            code: view.waitReason ?? .orphaned,
            sentence: "operation \(stored.id) waits for \(view.waitingFor ?? "its handler")", operation: stored.id,
            section: "handler/\(stored.handler)")
    }

    /// Its runs, and what keeps the rest of it from starting.
    private func present(_ ref: OperationRef) -> [Explanation] {
        (operations[ref].progress.isRunning && !isHeldUp(operations[ref]) ? [runs(of: ref)] : []) + waits(of: ref)
    }

    private func runs(of ref: OperationRef) -> Explanation {
        let operation = operations[ref]
        let pids = operation.runs.compactMap(\.pid).map(String.init).joined(separator: ", ")
        let process = pids.isEmpty ? "" : ", process \(pids)"
        let ending = operation.runs.lazy.compactMap { $0.endingSentence(at: now) }.first.map { ": \($0)" } ?? ""
        return Explanation(
            code: .running, sentence: "operation \(operation.id) runs\(process)\(ending)", operation: operation.id,
            section: "queue/\(queues[operation.queue].definition.name)")
    }

    private func stand(of queue: Int, _ unplaced: [Explanation]) -> [Explanation] {
        let state = queues[queue]
        let section = "queue/\(state.definition.name)"
        var steps: [Explanation] = []
        for suspension in state.suspensions {
            steps.append(Explanation(code: .suspended, sentence: sentence(suspension), section: section))
        }
        if let measure = state.fullness {
            let sentence =
                "\(state.definition.limit(measure)) is full: Overflow=\(state.definition.overflow.rawValue)"
            steps.append(Explanation(code: .full, sentence: sentence, section: section))
        }
        let live = operations.oldest(Self.explainLimit) { $0.queue == queue }
        steps += live.flatMap { Array(present($0).prefix(1)) }
        steps += rest(of: state.waiting + state.running, named: live.count, section) + unplaced
        if steps.isEmpty { steps.append(Explanation(code: .idle, sentence: "nothing waits or runs", section: section)) }
        return steps
    }

    /// `suspended by root, “a new disk”, 59min more`.
    package func sentence(_ suspension: Suspension) -> String {
        let reason = suspension.reason.map { ", “\($0)”" } ?? ""
        let left = suspension.resumesAt.map { ", \(SpanText.remaining($0 - now.boottime)) more" } ?? ""
        return "suspended by \(suspension.by)\(reason)\(left)"
    }

    /// An explanation names only the oldest operations; one step counts the others.
    private func rest(of count: Int, named: Int, _ section: String) -> [Explanation] {
        if count <= named { return [] }
        let sentence = "\(counted(count - named, "more operation")) not named here"
        return [Explanation(code: .more, sentence: sentence, section: section)]
    }

    /// The first thing an operation waits for, as a sentence.
    func waitSentence(_ ref: OperationRef) -> String? { waits(of: ref).first?.sentence }

    /// Everything that keeps an operation from starting, what has to end first in front.
    func waits(of ref: OperationRef) -> [Explanation] {
        let operation = operations[ref]
        switch operation.turn.station {
        case .unsubmitted: return waitsBeforeSubmission(ref)
        case .backingOff:
            let section = "handler/\(handlers[operation.handler].name)"
            let sentence =
                "attempt \(operation.progress.attempt) in \(SpanText.remaining(operation.times.wakeUp - now.monotonic))"
            return [wait(ref, .backingOff, sentence, section: section)]
        case .none, .gone: return isStartUnsafe(ref) ? waitsForStore(ref) : waitsForProcess(ref)
        case .keys, .queue, .semaphores: break
        }
        let waits = scheduler.obstacles(before: ref).compactMap { wait(ref, $0) }
        if !waits.isEmpty { return waits }
        let queue = queues[operation.queue].definition.name
        return [wait(ref, .turn, "its turn on queue \(queue)", section: "queue/\(queue)")]
    }

    private func wait(
        _ ref: OperationRef, _ code: ReasonCode, _ sentence: String, other: UInt64? = nil, section: String
    ) -> Explanation {
        Explanation(
            code: code, sentence: sentence, operation: operations[ref].id, other: other, section: section)
    }

    private func waitsBeforeSubmission(_ ref: OperationRef) -> [Explanation] {
        let section = "handler/\(handlers[operations[ref].handler].name)"
        var waits = dependencies.dependencies(of: operations[ref].id).compactMap { id -> Explanation? in
            guard let other = operations.ref(id: id) else { return nil }
            let name = handlers[operations[other].handler].name
            let isRequired = dependencies.isRequired(id, by: ref)
            let isOfClient = operations[ref].handler == commandHandler
            let key = "\(isRequired ? "Requires" : "After")=\(name)"
            let why = isOfClient ? isRequired ? "--requires" : "--after" : key
            return wait(ref, .dependency, "operation \(id) (\(why))", other: id, section: section)
        }
        let left = operations[ref].times.wakeUp - now.monotonic
        if let sentence = settleSentence(ref) {
            let source = sources[operations[ref].source].origin.description
            waits.append(wait(ref, .settle, sentence, section: source))
        } else if left > 0 {
            let key = isDigest(source: operations[ref].source) ? "DigestSec" : "DelaySec"
            let sentence = "\(key)=, \(SpanText.remaining(left)) more\(batchSentence(ref))"
            waits.append(wait(ref, .delay, sentence, section: section))
        }
        if let left = timeLeft(ref) {
            waits.append(wait(ref, .delay, "its time, \(SpanText.remaining(left)) more", section: section))
        }
        if let (sentence, process) = processSentence(ref) {
            waits.append(wait(ref, .dependency, sentence, section: process))
        }
        if let sentence = joinSentence(ref) {
            let source = sources[operations[ref].source].origin.description
            waits.append(wait(ref, .join, sentence, section: source))
        }
        if let sentence = loopSentence(ref) {
            let source = sources[operations[ref].source].origin.description
            waits.append(wait(ref, .loop, sentence, section: source))
        }
        if clocks.windowEnds[operations[ref].id] != nil, let open = holdingWindow(ref) {
            let sentence = "HoldDuring=\(sentence(open))"
            waits.append(wait(ref, .window, sentence, section: section))
        }
        if let sentence = conditionSentence(ref) { waits.append(wait(ref, .condition, sentence, section: section)) }
        return waits
    }

    private func waitsForStore(_ ref: OperationRef) -> [Explanation] {
        guard let reason = journal.failure, operations[ref].record.isDurable else { return [] }
        let section = "queue/\(queues[operations[ref].queue].definition.name)"
        return [wait(ref, .store, "the store: \(reason)", section: section)]
    }

    private func waitsForProcess(_ ref: OperationRef) -> [Explanation] {
        guard let reason = delay(operations[ref]) else { return [] }
        let section = "queue/\(queues[operations[ref].queue].definition.name)"
        return [wait(ref, .processSlot, "a process: \(reason)", section: section)]
    }

    /// Why none of its runs can be started now.
    private func delay(_ operation: Operation) -> String? {
        guard operation.progress.isRunning, operation.runs.allSatisfy({ $0.delay != nil }) else { return nil }
        return operation.runs.first?.delay
    }

    /// It has its places, but nothing of it runs.
    func isHeldUp(_ operation: Operation) -> Bool { isStartUnsafe(operation) || delay(operation) != nil }

    /// Its places are taken, but what is to run has not begun: it begins when the store has it. (Or is just being
    /// spawned, for a moment.)
    func isStartUnsafe(_ ref: OperationRef) -> Bool { isStartUnsafe(operations[ref]) }

    func isStartUnsafe(_ operation: Operation) -> Bool { !journal.isWorking && isUnbegun(operation) }

    /// Its runs begin when the store has it.
    func isUnbegun(_ operation: Operation) -> Bool {
        guard operation.progress.isRunning, operation.record.isDurable else { return false }
        return operation.runs.allSatisfy { !$0.hasBegun }
    }

    /// An obstacle in words.
    private func wait(_ ref: OperationRef, _ obstacle: Obstacle) -> Explanation? {
        let handler = "handler/\(handlers[operations[ref].handler].name)"
        let own = "queue/\(queues[operations[ref].queue].definition.name)"
        switch obstacle {
        case .store: return waitsForStore(ref).first
        case .closed: return nil
        case .suspended(let place):
            let name = queues[place].definition.name
            let by = queues[place].suspensions.last?.by ?? ""
            return wait(ref, .suspended, "queue \(name) suspended by \(by)", section: "queue/\(name)")
        case .reload(let place):
            return wait(ref, .reload, "a reload", section: "queue/\(queues[place].definition.name)")
        case .key(let first):
            let id = operations[first].id
            return wait(ref, .key, "operation \(id) (same key)", other: id, section: handler)
        case .order(let head):
            // A line of the same worker does not keep the next one waiting.
            if isLine(head, besideLackingWorker: ref) { return nil }
            let (id, name) = (operations[head].id, queues[operations[ref].queue].definition.name)
            let sentence =
                "queue \(name): \(operations[head].progress.isRunning ? "one at a time" : "\(id) comes first")"
            return wait(ref, .order, sentence, other: id, section: own)
        case .barrier(let first, let place, _):
            let (id, name) = (operations[first].id, queues[place].definition.name)
            let behind = scheduler[place].barriers.count(before: operations.ticket(ref))
            let more = behind > 1 ? " and what is before it" : ""
            let sentence = "barrier \(id) on queue \(name)\(more)"
            return wait(ref, .barrier, sentence, other: id, section: "queue/\(name)")
        case .beforeBarrier(let count):
            let sentence = "barrier: \(counted(count, "operation")) before it"
            return wait(ref, .barrier, sentence, section: handler)
        case .rate:
            let rate = scheduler[operations[ref].queue].rate
            guard let limit = rate.limit, let time = rate.deadline ?? rate.opening else { return nil }
            let sentence =
                "RateLimit=\(limit.count)/\(limit.span.brief), \(SpanText.remaining(time - now.monotonic)) more"
            return wait(ref, .rateLimit, sentence, section: own)
        case .width(let place):
            let rules = scheduler[place].rules
            let name = queues[place].definition.name
            let sentence =
                rules.isSerial ? "queue \(name): one at a time" : "queue \(name): Width=\(rules.width) in use"
            let isOwn = place == operations[ref].queue
            return wait(ref, isOwn ? .width : .targetWidth, sentence, section: "queue/\(name)")
        case .slot: return waitForSlot(ref)
        case .semaphore(let demand, let lack): return wait(ref, demand, lack)
        }
    }

    /// Whether the other one is a line that a worker of the same handler has, and the operation waits for such a worker.
    private func isLine(_ other: Ticket, besideLackingWorker ref: OperationRef) -> Bool {
        guard operations[other].handler == operations[ref].handler,
            operations[other].runs.contains(where: { $0.seat != nil })
        else { return false }
        let ticket = operations.ticket(ref)
        return scheduler.demands(ticket).contains {
            semaphores[$0.semaphore].isRoom && scheduler.lack(of: $0, ticket) != nil
        }
    }

    private func wait(
        _ ref: OperationRef, _ demand: SemaphoreDemand, _ lack: Scheduler.SemaphoreLack
    ) -> Explanation {
        let state = semaphores[demand.semaphore]
        if state.isRoom { return waitForWorker(ref, lack) }
        let name = state.definition.name
        switch lack {
        case .units:
            let need = demand.need(operations[ref])
            let sentence = "semaphore \(name): \(need) needed, \(state.available) free, \(state.waiting) in line"
            return wait(ref, .semaphore, sentence, section: "semaphore/\(name)")
        case .turn(let ahead):
            let id = operations[ahead].id
            let sentence = "semaphore \(name): operation \(id) is before it in line"
            return wait(ref, .semaphore, sentence, other: id, section: "semaphore/\(name)")
        }
    }

    private func waitForWorker(_ ref: OperationRef, _ lack: Scheduler.SemaphoreLack) -> Explanation {
        let name = handlers[operations[ref].handler].name
        let section = "handler/\(name)"
        if case .turn(let ahead) = lack {
            let id = operations[ahead].id
            return wait(ref, .worker, "a worker of \(name): operation \(id) comes first", other: id, section: section)
        }
        let state = handlers[operations[ref].handler].crew.map { sentence(of: scheduler.crews[$0]) } ?? "there is none"
        return wait(ref, .worker, "a worker of \(name): \(state)", section: section)
    }

    private func waitForSlot(_ ref: OperationRef) -> Explanation {
        let limit = scheduler.slots.limit(scheduler.qos(on: operations[ref].queue, operations[ref].turn))
        let kept = limit < settings.maxProcesses ? " (\(settings.maxProcesses - limit) kept for user-interactive)" : ""
        let sentence = "MaxProcesses=\(settings.maxProcesses) in use\(kept)"
        return wait(ref, .processSlot, sentence, section: "watchd")
    }
}
