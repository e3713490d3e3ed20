import WatchFile

/// `WouldDeadlock`: the `dispatch_sync` onto one's own queue, reported instead of suffered.
///
/// A client that is a part of a run waits for something. If that can only end after the run, neither ever does. To find
/// out, all operations are gathered that cannot end before the caller's: starting with the caller, as long as another
/// one is found that waits for one of them. This looks at every operation, but only when a handler waits; most wait for
/// older ones, so that one or two looks in order of age find them all.
struct DeadlockSearch {
    private struct Link {
        var cause: OperationRef
        var why: String
    }

    private let engine: Engine
    private let caller: OperationRef
    /// Those that cannot end before the caller, and why.
    private var stuck: [OperationRef: Link] = [:]
    /// In order of submission, those not submitted last.
    private let refs: [OperationRef]

    // Of those that are stuck, the first in order of submission …
    private var firstOnQueue: [Int: OperationRef] = [:]
    private var firstThrough: [Int: OperationRef] = [:]
    private var firstBarrier: [Int: OperationRef] = [:]
    private var firstWithKey: [Int: OperationRef] = [:]
    // … and what they hold.
    private var taken: [Int: (count: Int, by: OperationRef)] = [:]
    private var kept: [Int: (count: Int, by: OperationRef)] = [:]
    private var slots: (count: Int, by: OperationRef)?

    init(engine: Engine, caller: OperationRef) {
        self.engine = engine
        self.caller = caller
        refs = engine.operations.refs.sorted { Self.isBefore(engine.operations[$0], engine.operations[$1]) }
    }

    private static func isBefore(_ left: Operation, _ right: Operation) -> Bool {
        if left.place == 0 || right.place == 0 { return right.place == 0 && (left.place != 0 || left.id < right.id) }
        return left.place < right.place
    }

    // MARK: What is waited for

    mutating func chain(for awaited: Awaited) -> [String]? {
        spread()
        switch awaited {
        case .operation(let id): return engine.operations.ref(id: id).flatMap { isStuck($0) ? links(from: $0) : nil }
        case .named(let name): return chain(named: name)
        case .reload: return chainForReload()
        case .drain: return ["watchd stops only after operation \(caller.id) has ended, which waits for it"]
        }
    }

    private func chain(named name: String) -> [String]? {
        switch try? engine.resolve(name, among: { engine.isAwaitable($0) }) {
        case .queue(let queue):
            return firstThrough[queue].map {
                ["queue \(name) is not empty before operation \($0.id) ends"] + links(from: $0)
            }
        case .source(let source):
            let member = refs.first { engine.groups(of: $0).contains(source) && isStuck($0) }
            return member.map { ["group \(name) is not empty before operation \($0.id) ends"] + links(from: $0) }
        case .handler, .semaphore, nil: return nil
        }
    }

    private func chainForReload() -> [String]? {
        guard let main = engine.queues.index(of: "main"), let running = taken[main]?.by else { return nil }
        return ["a reload waits for operation \(running.id), which runs on main"] + links(from: running)
    }

    private func isStuck(_ ref: OperationRef) -> Bool { stuck[ref] != nil || ref == caller }

    private func links(from ref: OperationRef) -> [String] {
        var (sentences, current) = ([String](), ref)
        while current != caller, let link = stuck[current] {
            sentences.append("operation \(current.id) \(link.why) operation \(link.cause.id)")
            current = link.cause
        }
        return sentences + ["operation \(caller.id) is the one that waits"]
    }

    // MARK: The search

    private mutating func spread() {
        note(caller)
        var isNew = true
        while isNew {
            isNew = false
            for ref in refs where !isStuck(ref) {
                guard let link = link(ref) else { continue }
                stuck[ref] = link
                note(ref)
                isNew = true
            }
        }
    }

    private mutating func note(_ ref: OperationRef) {
        let operation = engine.operations[ref]
        let chain = engine.queues[operation.queue].chain
        keepFirst(ref, operation.queue, in: &firstOnQueue)
        for place in chain { keepFirst(ref, place, in: &firstThrough) }
        if operation.isBarrier { keepFirst(ref, operation.queue, in: &firstBarrier) }
        if operation.isExclusive {
            for key in operation.keys { keepFirst(ref, key, in: &firstWithKey) }
        }
        for run in operation.runs {
            if run.definition.value.needsProcess { slots = ((slots?.count ?? 0) + 1, ref) }
            for place in run.queues { taken[place] = ((taken[place]?.count ?? 0) + 1, ref) }
            for share in run.held { kept[share.semaphore] = ((kept[share.semaphore]?.count ?? 0) + share.count, ref) }
        }
    }

    private func keepFirst(_ ref: OperationRef, _ index: Int, in first: inout [Int: OperationRef]) {
        if let known = first[index], !isBefore(ref, known) { return }
        first[index] = ref
    }

    private func isBefore(_ left: OperationRef, _ right: OperationRef) -> Bool {
        Self.isBefore(engine.operations[left], engine.operations[right])
    }

    // MARK: Links

    /// One that is stuck and for which this one has to wait.
    private func link(_ ref: OperationRef) -> Link? {
        let operation = engine.operations[ref]
        if !operation.runs.isEmpty { return linkOfCaller(ref) }
        for id in engine.dependencies.dependencies(of: ref.id) {
            if let other = engine.operations.ref(id: id), isStuck(other) {
                return Link(cause: other, why: "depends on")
            }
        }
        return linkByOrder(ref, operation) ?? linkByWidth(operation) ?? linkBySlot(ref, operation)
            ?? linkBySemaphore(operation)
    }

    /// It runs, and a client in it waits for something stuck.
    private func linkOfCaller(_ ref: OperationRef) -> Link? {
        for call in engine.waitCalls.values where call.caller == ref.id {
            switch call.awaited {
            case .operation(let id):
                if let other = engine.operations.ref(id: id), isStuck(other) {
                    return Link(cause: other, why: "waits for")
                }
            case .named(let name):
                if let other = stuck(in: name) { return Link(cause: other, why: "waits for \(name), where there is") }
            case .reload, .drain: break
            }
        }
        for (token, call) in engine.runCalls where call.caller == ref.id {
            if let other = refs.first(where: { isStuck($0) && engine.operations[$0].waiters.contains(token) }) {
                return Link(cause: other, why: "waits for")
            }
        }
        return nil
    }

    /// One that is stuck in a queue or group of that name.
    private func stuck(in name: String) -> OperationRef? {
        switch try? engine.resolve(name, among: { engine.isAwaitable($0) }) {
        case .queue(let queue): firstThrough[queue]
        case .source(let source): refs.first { isStuck($0) && engine.groups(of: $0).contains(source) }
        case .handler, .semaphore, nil: nil
        }
    }

    /// Somebody who is stuck stands before it.
    private func linkByOrder(_ ref: OperationRef, _ operation: Operation) -> Link? {
        func link(_ other: OperationRef?, _ why: String) -> Link? {
            other.flatMap { isBefore($0, ref) ? Link(cause: $0, why: why) : nil }
        }
        if operation.isExclusive {
            for key in operation.keys {
                if let found = link(firstWithKey[key], "has the same key as") { return found }
            }
        }
        let name = engine.queues[operation.queue].definition.name
        if engine.queues[operation.queue].isSerial,
            let found = link(firstOnQueue[operation.queue], "waits on serial queue \(name) behind")
        {
            return found
        }
        for place in engine.queues[operation.queue].chain {
            if let found = link(firstBarrier[place], "waits behind barrier") { return found }
        }
        return operation.isBarrier ? link(firstThrough[operation.queue], "is a barrier behind") : nil
    }

    /// All the width of its queue or of a target is taken by those that are stuck.
    private func linkByWidth(_ operation: Operation) -> Link? {
        for place in engine.queues[operation.queue].chain {
            guard let taken = taken[place], taken.count >= engine.queues[place].width else { continue }
            let name = engine.queues[place].definition.name
            return Link(cause: taken.by, why: "finds all of queue \(name) taken by")
        }
        return nil
    }

    /// All the process slots that it may use are taken by those that are stuck.
    private func linkBySlot(_ ref: OperationRef, _ operation: Operation) -> Link? {
        let (qos, most) = (engine.queues[operation.queue].qos, engine.settings.maxProcesses)
        guard let slots, engine.needsProcess(engine.operations.ticket(ref)),
            slots.count >= SlotLines.limit(qos, maxProcesses: most)
        else { return nil }
        return Link(cause: slots.by, why: "finds all of MaxProcesses=\(most) that it may use taken by")
    }

    /// What is not held by those that are stuck is not enough.
    private func linkBySemaphore(_ operation: Operation) -> Link? {
        for demand in engine.handlers[operation.handler].demands {
            let state = engine.semaphores[demand.semaphore]
            guard let kept = kept[demand.semaphore],
                state.available + state.held - kept.count < demand.need(operation)
            else { continue }
            return Link(cause: kept.by, why: "needs semaphore \(state.definition.name), held by")
        }
        return nil
    }
}

extension Engine {
    /// The groups an operation's handler is a member of.
    func groups(of ref: OperationRef) -> [Int] { handlers[operations[ref].handler].groups }
}
