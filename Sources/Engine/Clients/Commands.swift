import Schedule
import WatchFile

/// Commands of clients.
extension Engine {
    mutating func perform(_ command: Command, _ token: Token) {
        do throws(CommandError) {
            switch command {
            case .emit(let emissions, let caller, let waits):
                try emit(emissions, caller: caller, waits: waits, token)
            case .run(let command): try run(command, token)
            case .submit(let command): try submit(command, token)
            case .suspend(let name, let by, let reason, let until):
                try suspend(name, by: by, reason: reason, until: until)
                reply(token, .done, isSafe: false)
            case .suspendAndWait(let name, let by, let reason, let until, let span, let caller):
                try suspendAndWait(
                    name, by: by, reason: reason, until: until, after: span, caller: caller, token)
            case .drain(let command): try drain(command, token)
            case .acquire(let command): try acquire(command, token)
            case .endHold(let operation):
                endHold(operation)
                actions.append(.reply(token, .done))
            case .resume(let name):
                try resume(name)
                reply(token, .done, isSafe: false)
            case .cancel(let operation):
                if let ref = operations.ref(id: operation) {
                    cancel(ref)
                } else if cancelOrphan(operation) {
                    placeFollowers()
                } else if !cancelSetAside(operation) {
                    throw .noSuchOperation(operation)
                }
                reply(token, .cancelled(1), isSafe: false)
            case .priority(let priority, let operation):
                try setPriority(priority, of: operation)
                reply(token, .done, isSafe: false)
            case .cancelQueue(let name):
                try cancel(queue: name, token)
            case .retry(let failed): try retry(failed, token)
            case .signal(let name, let count):
                actions.append(.reply(token, .signaled(available: try signal(semaphore: name, count: count))))
            case .enterGroup(let name, let holder): try enterGroup(name, holder, token)
            case .leaveGroup(let name, let ticket):
                try leaveGroup(name, ticket)
                actions.append(.reply(token, .done))
            case .process(let verb, let name): try steer(verb, name, token)
            case .wait(let awaited, let span, let caller, let raisesQoS):
                try wait(awaited, after: span, caller: caller, raisesQoS: raisesQoS, token)
            }
        } catch {
            actions.append(.reply(token, .failure(error)))
        }
    }

    // MARK: Names

    /// Something a name may mean, and its full name.
    enum Named: Equatable {
        case source(Int)
        case queue(Int)
        case handler(Int)
        case semaphore(Int)

        var isSemaphore: Bool { if case .semaphore = self { true } else { false } }
        /// Counted suspensions are for these.
        var isSuspendable: Bool {
            switch self {
            case .source, .queue: true
            case .handler, .semaphore: false
            }
        }
    }

    /// Finds what `name` (`uploads`, or with its kind, `path/uploads`) means among what the verb takes.
    ///
    /// A source's own action makes a handler of the same name; where both would do, the source is meant.
    func resolve(_ name: String, among isWanted: (Named) -> Bool) throws(CommandError) -> Named {
        try resolve(name, from: named(name).filter(isWanted), among: isWanted)
    }

    /// The same for what can be suspended and resumed: a source that was removed and still holds events as well.
    func resolveSuspendable(_ name: String) throws(CommandError) -> Named {
        let held = all(named: name).filter { named in
            if case .source(let index) = named { sources[index].isRemoved && sources[index].isSuspended } else { false }
        }
        return try resolve(name, from: named(name).filter(\.isSuspendable) + held, among: \.isSuspendable)
    }

    private func resolve(
        _ name: String, from found: [Named], among isWanted: (Named) -> Bool
    ) throws(CommandError) -> Named {
        if let only = found.first, found.count == 1 { return only }
        let withoutHandlers = found.filter { if case .handler = $0 { false } else { true } }
        if let only = withoutHandlers.first, withoutHandlers.count == 1 { return only }
        guard found.isEmpty else { throw .ambiguousName(name, candidates: found.map(fullName).sorted()) }
        let known = everything.filter(isWanted).map(fullName)
        let isFull = name.contains("/")
        let candidates = isFull ? known : known.map { String($0.drop { $0 != "/" }.dropFirst()) }
        throw .noSuchName(name, nearest: Spelling.nearest(to: name, among: candidates))
    }

    /// Whether anything has this name.
    func isKnown(_ name: String) -> Bool { !named(name).isEmpty }

    private func named(_ name: String) -> [Named] {
        // As `isListed` alone the function would take a copy of the engine along.
        all(named: name).filter { isListed($0) }
    }

    private func all(named name: String) -> [Named] {
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (kind, bare) = parts.count == 2 ? (parts[0], parts[1]) : (nil, name)
        let kinds = kind.map { SourceKind(rawValue: $0).map { [$0] } ?? [] } ?? SourceKind.allCases
        var found = kinds.compactMap { kind in sources.index(of: .source(SourceID(kind, bare))).map { Named.source($0) }
        }
        let queueName = QueueDefinition.aliases[bare] ?? bare
        if kind ?? "queue" == "queue", let queue = queues.index(of: queueName) { found.append(.queue(queue)) }
        if kind ?? "handler" == "handler", let handler = handlers.index(of: bare) { found.append(.handler(handler)) }
        if kind ?? "semaphore" == "semaphore", let semaphore = semaphores.index(of: bare),
            !semaphores[semaphore].isRoom
        {
            found.append(.semaphore(semaphore))
        }
        return found
    }

    private var everything: [Named] {
        let all =
            sources.indices.map { .source($0) } + queues.indices.map { .queue($0) }
            + handlers.indices.map { .handler($0) } + semaphores.indices.map { Named.semaphore($0) }
        return all.filter(isListed)
    }

    /// A queue that was removed can still be resumed and cancelled.
    private func isListed(_ named: Named) -> Bool {
        switch named {
        case .source(let index): !sources[index].isRemoved && sources[index].definition != nil
        case .queue: true
        case .handler(let index): !handlers[index].isRemoved
        case .semaphore(let index): !semaphores[index].isRemoved && !semaphores[index].isRoom
        }
    }

    private func fullName(_ named: Named) -> String {
        switch named {
        case .source(let index): sources[index].origin.description
        case .queue(let index): "queue/\(queues[index].definition.name)"
        case .handler(let index): "handler/\(handlers[index].name)"
        case .semaphore(let index): "semaphore/\(semaphores[index].definition.name)"
        }
    }

    // MARK: Suspend, resume, signal, cancel

    mutating func suspend(
        _ name: String, by: String, reason: String?, until: Int64?
    ) throws(CommandError) {
        let resumesAt = until.map { now.boottime + min(max($0, now.realtime) - now.realtime, Int64.max / 4) }
        let suspension = Suspension(
            by: by, reason: reason, since: now.realtime, until: until, resumesAt: resumesAt)
        switch try resolveSuspendable(name) {
        case .source(let index): suspend(source: index, suspension)
        case .queue(let index): suspend(queue: index, suspension)
        case .handler, .semaphore: break
        }
    }

    private mutating func resume(_ name: String) throws(CommandError) {
        let named: Named
        do throws(CommandError) { named = try resolveSuspendable(name) } catch {
            guard case .noSuchName = error, let full = try orphan(name) else { throw error }
            saveSuspensions(full, journal.orphans.resume(full))
            return
        }
        let isResumed =
            switch named {
            case .source(let index): resume(source: index)
            case .queue(let index): resume(queue: index)
            case .handler, .semaphore: false
            }
        guard isResumed else { throw .notSuspended(name) }
    }

    /// The full name of a section that is in no watch file any more, and suspended when it comes back.
    func orphan(_ name: String) throws(CommandError) -> String? {
        let known = journal.orphans.suspensions.keys
        let all = known.filter { $0 == name || $0.drop { $0 != "/" }.dropFirst() == name }.sorted()
        guard all.count < 2 else { throw .ambiguousName(name, candidates: all) }
        return all.first
    }

    mutating func signal(semaphore name: String, count: Int) throws(CommandError) -> Int {
        guard case .semaphore(let semaphore) = try resolve(name, among: \.isSemaphore) else { return 0 }
        guard semaphores[semaphore].definition.members.isEmpty else {
            throw .notSupported(
                "giving units by hand of semaphore \(semaphores[semaphore].name), whose Members= are lent to runs")
        }
        guard count >= 1, scheduler.give(semaphore, count) else { throw .badCount(count) }
        // Those who wait take theirs first.
        settle()
        return semaphores[semaphore].available
    }

    /// A waiting operation never starts; a running one is terminated.
    mutating func cancel(_ ref: OperationRef) {
        if operations[ref].runs.isEmpty {
            let isNew = operations.isWaiting(ref)
            finish(ref, .cancelled, reason: isNew ? "cancelled before it started" : "cancelled between two runs")
        } else {
            operations[ref].progress.isCancelled = true
            save(ref)
            startNoMore(ref, .cancelled)
            terminate(ref, .cancelled)
        }
    }
}
