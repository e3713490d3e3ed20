import Schedule
import WatchFile

/// What clients ask for.
extension Engine {
    mutating func perform(_ command: Command, _ token: Token) {
        do throws(CommandError) {
            switch command {
            case .emit(let emissions): try emit(emissions, token)
            case .run(let command): try run(command, token)
            case .suspend(let name, let by, let reason, let until):
                try suspend(name, by: by, reason: reason, until: until)
                actions.append(.reply(token, .done))
            case .resume(let name):
                try resume(name)
                actions.append(.reply(token, .done))
            case .cancel(let operation):
                guard let ref = operations.ref(id: operation) else { throw .noSuchOperation(operation) }
                cancel(ref)
                actions.append(.reply(token, .cancelled(1)))
            case .cancelQueue(let name):
                actions.append(.reply(token, .cancelled(try cancel(queue: name))))
            }
        } catch {
            actions.append(.reply(token, .failure(error)))
        }
    }

    // MARK: Names

    /// Something a name may mean, and its full name.
    enum Named: Equatable {
        case source(Int), queue(Int), handler(Int)
    }

    /// Finds what `name` (`uploads`, or with its kind, `path/uploads`) means among what the verb takes.
    ///
    /// A source's own action makes a handler of the same name; where both would do, the source is meant.
    func resolve(_ name: String, among isWanted: (Named) -> Bool) throws(CommandError) -> Named {
        let found = named.filter { ($0.full == name || $0.short == name) && isWanted($0.what) }
        if let only = found.first, found.count == 1 { return only.what }
        let withoutHandlers = found.filter { if case .handler = $0.what { false } else { true } }
        if let only = withoutHandlers.first, withoutHandlers.count == 1 { return only.what }
        guard found.isEmpty else { throw .ambiguousName(name, candidates: found.map(\.full).sorted()) }
        let all = named.filter { isWanted($0.what) }.flatMap { [$0.full, $0.short] }
        throw .noSuchName(name, nearest: Spelling.nearest(to: name, among: all))
    }

    private var named: [(full: String, short: String, what: Named)] {
        let sources = sources.indices.compactMap { index -> (full: String, short: String, what: Named)? in
            guard case .source(let id) = self.sources[index].origin, !self.sources[index].isRemoved else { return nil }
            return (id.description, id.name, .source(index))
        }
        let queues = queues.indices.map { index in
            let name = self.queues[index].definition.name
            return (full: "queue/\(name)", short: name, what: Named.queue(index))
        }
        let handlers = handlers.indices.filter { !self.handlers[$0].isRemoved }.map { index in
            (full: "handler/\(self.handlers[index].name)", short: self.handlers[index].name, what: Named.handler(index))
        }
        let aliases = QueueDefinition.aliases.compactMap { alias, name in
            self.queues.index(of: name).map { (full: "queue/\(alias)", short: alias, what: Named.queue($0)) }
        }
        return sources + queues + handlers + aliases
    }

    // MARK: Suspend, resume, cancel

    private mutating func suspend(
        _ name: String, by: String, reason: String?, until: Int64?
    ) throws(CommandError) {
        let resumesAt = until.map { now.boottime + ($0 - now.realtime) }
        let suspension = Suspension(
            by: by, reason: reason, since: now.realtime, until: until, resumesAt: resumesAt)
        switch try resolve(name, among: { if case .handler = $0 { false } else { true } }) {
        case .source(let index): suspend(source: index, suspension)
        case .queue(let index): suspend(queue: index, suspension)
        case .handler: break
        }
    }

    private mutating func resume(_ name: String) throws(CommandError) {
        let isResumed =
            switch try resolve(name, among: { if case .handler = $0 { false } else { true } }) {
            case .source(let index): resume(source: index)
            case .queue(let index): resume(queue: index)
            case .handler: false
            }
        guard isResumed else { throw .notSuspended(name) }
    }

    /// A waiting operation never starts; a running one is terminated.
    mutating func cancel(_ ref: OperationRef) {
        if operations.isWaiting(ref) {
            finish(ref, .cancelled, reason: "cancelled before it started")
        } else {
            terminate(ref, .cancelled)
        }
    }

    private mutating func cancel(queue name: String) throws(CommandError) -> Int {
        guard case .queue(let queue) = try resolve(name, among: { if case .queue = $0 { true } else { false } }) else {
            throw .noSuchName(name, nearest: nil)
        }
        let refs = operations.refs.filter { operations[$0].queue == queue }
        // Newest first, so that none is started by the end of an older one.
        for ref in refs.reversed() where operations.isAlive(ref) { cancel(ref) }
        return refs.count
    }

    // MARK: Emit

    private mutating func emit(_ emissions: [Command.Emission], _ token: Token) throws(CommandError) {
        guard phase == .running || phase == .reloading else { throw .draining }
        var resolved: [(source: Int, fact: CustomFact)] = []
        for emission in emissions {
            guard case .source(let index) = try resolveCustom(emission.name) else { continue }
            resolved.append((index, emission.fact))
        }
        let waiting = WaitingEmit(emissions: resolved, token: token)
        let isOvertaking = waitingEmits.contains { waiting in
            waiting.emissions.contains { one in resolved.contains { $0.source == one.source } }
        }
        switch room(for: waiting) {
        case .now where isOvertaking: waitingEmits.append(waiting)
        case .now: admit(waiting)
        case .refused(let queue):
            for (source, fact) in resolved {
                let event = makeEvent(.custom(fact))
                for target in sources[source].targets {
                    refuse(event, .dropped, "Overflow=drop-newest", source: source, target)
                }
            }
            throw full(queue)
        case .later(let queue):
            guard !isLargerThanBacklog(waiting, queue), waitingEmits.count < Self.waitingEmitLimit else {
                throw full(queue)
            }
            waitingEmits.append(waiting)
        }
    }

    private func full(_ queue: Int) -> CommandError {
        .queueFull(queue: queues[queue].definition.name, backlog: queues[queue].definition.backlog)
    }

    private func resolveCustom(_ name: String) throws(CommandError) -> Named {
        let isCustom: (Named) -> Bool = { named in
            guard case .source(let index) = named, case .source(let id) = sources[index].origin else { return false }
            return id.kind == .custom
        }
        do {
            return try resolve(name, among: isCustom)
        } catch .noSuchName {
            if named.contains(where: { $0.full == name || $0.short == name }) { throw .notCustom(name) }
            let customs = named.filter { isCustom($0.what) }.map(\.short)
            throw .noSuchName(name, nearest: Spelling.nearest(to: name, among: customs))
        }
    }

    private enum Room {
        case now
        case later(queue: Int)
        case refused(queue: Int)
    }

    /// Whether a whole call can be taken in. Events that would fold into one count as one.
    private func room(for call: WaitingEmit) -> Room {
        for (source, count) in Dictionary(call.emissions.map { ($0.source, 1) }, uniquingKeysWith: +) {
            guard sources[source].isSuspended, let queue = sources[source].targets.first?.queue else { continue }
            if sources[source].held.count + count > queues[queue].definition.backlog { return .later(queue: queue) }
        }
        for (queue, needed) in entriesNeeded(call) {
            let definition = queues[queue].definition
            let room = min(definition.backlog - queues[queue].entries, settings.maxOperations - entries)
            if needed <= room || definition.overflow == .dropOldest { continue }
            return definition.overflow == .block ? .later(queue: queue) : .refused(queue: queue)
        }
        return .now
    }

    private func isLargerThanBacklog(_ call: WaitingEmit, _ queue: Int) -> Bool {
        entriesNeeded(call).contains { $0.key == queue && $0.value > queues[queue].definition.backlog }
    }

    private func entriesNeeded(_ call: WaitingEmit) -> [Int: Int] {
        var needed: [Int: Int] = [:]
        var folded: Set<Int> = []
        for (source, fact) in call.emissions where !isNoEvent(fact.payload == nil ? fact.data : nil, source) {
            if let merge = sources[source].merge, merge == .replace || fact.payload == nil {
                guard folded.insert(source).inserted else { continue }
                let event = Event(id: 0, time: 0, fact: .custom(fact))
                for target in sources[source].targets
                where !mergeCandidates(event, source: source, target).contains(where: {
                    operations[$0].entries.wouldMerge(event, merge: merge)
                }) {
                    needed[target.queue, default: 0] += 1
                }
            } else {
                for target in sources[source].targets { needed[target.queue, default: 0] += 1 }
            }
        }
        return needed
    }

    private mutating func admit(_ call: WaitingEmit) {
        var ids: [UInt64] = []
        for (source, fact) in call.emissions {
            if fact.payload == nil, isNoEvent(fact.data, source) {
                ids.append(0)
            } else {
                accept(.custom(fact), from: source)
                ids.append(lastEventID)
            }
        }
        actions.append(.reply(call.token, .events(ids)))
    }

    /// In the order they came; who is larger does not wait behind who is smaller for ever, for nobody passes.
    mutating func admitWaitingEmits() {
        while let call = waitingEmits.first, case .now = room(for: call) {
            waitingEmits.removeFirst()
            admit(call)
        }
    }

    // MARK: Run

    private mutating func run(_ command: Command.RunCommand, _ token: Token) throws(CommandError) {
        guard phase == .running || phase == .reloading else { throw .draining }
        let named = try resolve(command.name) { if case .queue = $0 { false } else { true } }
        var admissions: [Admission] = []
        switch named {
        case .queue: break
        case .source(let source):
            for fact in facts(command, source: source) {
                let event = makeEvent(fact)
                actions.append(.report(accepted(event, source)))
                for target in sources[source].targets {
                    admissions.append(admit(event, source: source, target, depth: 1))
                }
            }
        case .handler(let handler):
            guard let target = target(handler: handlers[handler].name) else { break }
            let source = internalSource(.run(handler: handlers[handler].name))
            for fact in facts(command, source: nil) {
                let event = makeEvent(fact)
                actions.append(.report(.event(event, sources[source].origin, handlers: [handlers[handler].name])))
                admissions.append(admit(event, source: source, target, depth: 1))
            }
        }
        answer(admissions, command, token)
    }

    /// What a run by hand tells the handler: the paths, lines or data given, else an event as the source makes them.
    private func facts(_ command: Command.RunCommand, source: Int?) -> [Fact] {
        let roots = source.flatMap { source -> [[UInt8]]? in
            guard case .path(let trigger) = sources[source].definition?.trigger else { return nil }
            return trigger.paths
        }
        let paths = command.paths.map { path in
            Fact.path(PathFact(.written, path: path, root: roots?.first { path.starts(with: $0) } ?? []))
        }
        let given = paths + command.lines.map { .line(LineFact($0)) }
        if !given.isEmpty { return given }
        if command.data == nil, let source, case .timer = sources[source].definition?.trigger {
            return [.timer(scheduled: now.realtime)]
        }
        return [.custom(CustomFact(data: command.data ?? 1))]
    }

    private mutating func answer(_ admissions: [Admission], _ command: Command.RunCommand, _ token: Token) {
        var ids: [UInt64] = []
        var refusal: Reply = .operations([])
        for admission in admissions {
            switch admission {
            case .operation(let id): if !ids.contains(id) { ids.append(id) }
            case .ended(let result, let reason): refusal = .refused(result, reason: reason)
            }
        }
        guard let last = ids.last else {
            actions.append(.reply(token, refusal))
            return
        }
        if command.waits, let ref = operations.ref(id: last) {
            operations[ref].waiters.append(token)
        } else {
            actions.append(.reply(token, .operations(ids)))
        }
    }
}
