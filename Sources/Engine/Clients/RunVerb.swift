import Schedule
import WatchFile

/// `Run`: a handler, or all handlers of a source, started by hand.
///
/// An operation that a call submits is its caller's own, as with `sync` of Dispatch: several paths may share an
/// operation, but it joins none that is there already, and nothing joins it later. So what a caller is told is what
/// became of its own.
extension Engine {
    mutating func run(_ command: Command.RunCommand, _ token: Token) throws(CommandError) {
        guard life.isOpen else { throw .draining }
        let (source, targets) = try destination(of: command)
        let facts = facts(command, source: source)
        try checkRoom(for: facts, source: source, targets)
        if command.waits, let caller = command.caller {
            // A run that could only wait for itself is not started at all.
            var trial = self
            let refs = trial.admit(facts, source: source, targets, command.trace).compactMap {
                admission -> OperationRef? in
                if case .operation(let id) = admission { trial.operations.ref(id: id) } else { nil }
            }
            if let chain = trial.deadlock(of: caller, .operations(refs)) { throw .wouldDeadlock(chain: chain) }
        }
        let admissions = admit(facts, source: source, targets, command.trace)
        answer(admissions, command, token, isSafe: !targets.contains { queues[$0.queue].definition.isDurable })
    }

    /// The source of its events, and the handlers that get them.
    private mutating func destination(
        of command: Command.RunCommand
    ) throws(CommandError) -> (source: Int, targets: TargetList) {
        let named = try checkNames(of: command)
        guard case .source(let source) = named else {
            guard case .handler(let handler) = named else { throw .noSuchName(command.name, nearest: nil) }
            // Operations that it requires are started with it; those of `After=` are not.
            let targets = TargetList(withRequired(target(handler: handlers[handler].name).map { [$0] } ?? []))
            try checkDescriptors(targets.map(\.handler))
            if command.isEmpty { try checkEntries(targets.map(\.handler), command.name) }
            return (internalSource(.run(handler: handlers[handler].name)), targets)
        }
        return (source, sources[source].targets)
    }

    /// The name is there to be run, and takes the operands that are given.
    @discardableResult
    func checkNames(of command: Command.RunCommand) throws(CommandError) -> Named {
        let named = try resolve(command.name, among: { isRunnable($0) })
        switch named {
        case .queue, .semaphore: break
        case .source(let index):
            guard command.paths.isEmpty || takesPaths(index) else { throw .takesNoPaths(command.name) }
            try checkLines(command, source: index)
            try checkDescriptors(sources[index].targets.map(\.handler))
            if command.isEmpty { try checkEntries(sources[index].targets.map(\.handler), command.name) }
        case .handler(let handler):
            try checkOneLine(command)
            try checkDescriptors([handler])
            if command.isEmpty { try checkEntries([handler], command.name) }
        }
        return named
    }

    /// As `run`, of a client that has planned it: it is accepted already, so that no bound refuses it. It is one link
    /// behind `depth` others.
    mutating func start(_ command: Command.RunCommand, depth: Int) throws(CommandError) -> [Admission] {
        let (source, targets) = try destination(of: command)
        return admit(facts(command, source: source), source: source, targets, command.trace, depth: depth + 1)
    }

    /// Nobody is started for a descriptor that only its source could have.
    func checkDescriptors(_ handlers: [Int]) throws(CommandError) {
        let needing = handlers.first { self.handlers[$0].definition.value.needsDescriptor }
        if let needing { throw .needsDescriptor(handler: self.handlers[needing].name) }
    }

    /// A line that its descriptor would not have told.
    private func checkLines(_ command: Command.RunCommand, source: Int) throws(CommandError) {
        guard let filter = lineFilter(source), !command.lines.isEmpty else { return }
        if case .descriptor(let trigger) = sources[source].definition?.value.trigger, trigger.framing == .line {
            try checkOneLine(command)
        }
        for line in command.lines {
            guard let reason = filter.refusal(of: line) else { continue }
            let text = String(decoding: line.prefix(100), as: UTF8.self)
            throw .refused("\(command.name) refuses the line “\(text)”: \(reason)")
        }
    }

    private func checkOneLine(_ command: Command.RunCommand) throws(CommandError) {
        guard command.lines.contains(where: { $0.contains(UInt8(ascii: "\n")) }) else { return }
        throw .refused("a line has no newline in it; give each line by itself")
    }

    private func lineFilter(_ source: Int) -> LineFilter? {
        guard case .descriptor(let trigger) = sources[source].definition?.value.trigger else { return nil }
        return LineFilter(trigger)
    }

    /// `rm -rf /srv/%f` without a path would be another command than the one that was meant.
    private func checkEntries(_ handlers: [Int], _ name: String) throws(CommandError) {
        for handler in handlers {
            guard let specifier = self.handlers[handler].definition.value.specifierOfEntry else { continue }
            throw .refused(
                "“\(self.handlers[handler].name)” uses \(specifier.spelling), which would stand for nothing: "
                    + "watchctl run \(name) \(specifier.isOfLine ? "--line TEXT" : "PATH")")
        }
    }

    private mutating func admit(
        _ facts: [Fact], source: Int, _ targets: TargetList, _ trace: TraceContext?, depth: Int = 0
    ) -> [Admission] {
        let newest = journal.ids.lastOperation
        let admissions = facts.flatMap { fact in
            var event = makeEvent(fact)
            event.isByHand = true
            if let trace { event.trace = trace }
            let names = handlerNames(targets)
            actions.append(.report(.event(event, sources[source].origin, handlers: names)))
            return admitAll(event, source: source, targets, depth: depth, behind: newest)
        }
        for case .operation(let id) in admissions { if let ref = operations.ref(id: id) { close(ref) } }
        return admissions
    }

    /// A path is an event of a source that watches some, or of one that only clients fire.
    private func takesPaths(_ source: Int) -> Bool {
        switch sources[source].definition?.value.trigger {
        case .path, .custom: true
        case .timer, .signal, .descriptor, .process, .group, .unit, nil: false
        }
    }

    private func isRunnable(_ named: Named) -> Bool {
        switch named {
        case .source: true
        // A command comes with what it is.
        case .handler(let handler): handler != commandHandler
        case .queue, .semaphore: false
        }
    }

    /// A queue that holds back when it is full takes in a run as a whole or not at all; nobody waits for room.
    private func checkRoom(for facts: [Fact], source: Int, _ targets: TargetList) throws(CommandError) {
        if let reason = journal.failure, targets.contains(where: { queues[$0.queue].definition.isDurable }) {
            throw .storeFailing(reason)
        }
        for target in targets where queues[target.queue].holdsBack {
            let events = facts.map { Event(id: 0, time: 0, count: 1, fact: $0) }
            let most = events.reduce(Load()) { $0 + $1.load }
            guard excess(most, queue: target.queue) != nil else { continue }
            if let measure = excess(load(facts, source: source, handler: target.handler), queue: target.queue) {
                throw full(target.queue, measure)
            }
        }
    }

    /// The load of a run by its facts: they fold among themselves.
    private func load(_ facts: [Fact], source: Int, handler: Int) -> Load {
        var entries = EntryList()
        for fact in facts {
            let merge = entries.isEmpty ? nil : merge(source: source, handler: handler)
            _ = entries.add(Event(id: 0, time: 0, fact: fact), merge: merge)
        }
        return entries.load
    }

    /// The facts for the handler of a run by hand: the paths, lines or data given, else an event as the source makes
    /// them.
    private func facts(_ command: Command.RunCommand, source: Int) -> [Fact] {
        var roots: [[UInt8]] = []
        if case .path(let trigger) = sources[source].definition?.value.trigger { roots = trigger.paths }
        let paths = command.paths.map { path in
            Fact.path(PathFact(.written, path: path, root: roots.first { path.starts(with: $0) } ?? []))
        }
        let filter = command.lines.isEmpty ? nil : lineFilter(source)
        let lines = command.lines.map { Fact.line(LineFact($0, captures: filter?.captures($0) ?? [])) }
        let given = paths + lines
        if !given.isEmpty { return given }
        if command.data == nil, case .timer = sources[source].definition?.value.trigger {
            return [.timer(scheduled: now.realtime)]
        }
        return [.custom(CustomFact(data: command.data ?? 1))]
    }

    private mutating func answer(
        _ admissions: [Admission], _ command: Command.RunCommand, _ token: Token, isSafe: Bool
    ) {
        var ids: [UInt64] = []
        var refusal: Reply = .operations([])
        for admission in admissions {
            switch admission {
            case .operation(let id): if !ids.contains(id) { ids.append(id) }
            case .ended(let result, let reason, _): refusal = .refused(result, reason: reason)
            }
        }
        let alive = ids.filter { operations.ref(id: $0) != nil }
        if command.waits, !alive.isEmpty {
            calls.run(alive, caller: command.caller, token)
            hurry(alive, caller: command.caller)
        } else {
            if command.isAwaited { hurry(alive, caller: command.caller) }
            reply(token, ids.isEmpty ? refusal : .operations(ids), isSafe: isSafe)
        }
    }
}
