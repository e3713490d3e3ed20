import WatchFile

extension Engine {
    /// Why `caller` may not wait for something: one sentence for each link, from what is waited for to the caller.
    /// `nil`: it may.
    package func deadlock(of caller: UInt64, waitingFor awaited: Awaited) -> [String]? {
        switch awaited {
        case .operation(let id): operations.ref(id: id).flatMap { deadlock(of: caller, .operations([$0])) }
        case .named(let name): wait(named: name).flatMap { deadlock(of: caller, $0) }
        case .reload: deadlock(of: caller, .reload)
        case .drain:
            operations.ref(id: caller).map {
                ["watchd stops only after operation \($0.id) has ended, which waits for it"]
            }
        }
    }

    func deadlock(of caller: UInt64, _ wait: DeadlockSearch.Wait) -> [String]? {
        guard let ref = operations.ref(id: caller) else { return nil }
        return DeadlockSearch(engine: self, caller: ref, wait: wait).chain()
    }

    private func wait(named name: String) -> DeadlockSearch.Wait? {
        switch try? resolve(name, among: { isAwaitable($0) }) {
        case .queue(let queue): .queue(queue, name: name)
        case .source(let source): .group(source, name: name)
        case .handler, .semaphore, nil: nil
        }
    }

    /// Waits of clients that are parts of runs, by their operation. A wait with a time-out does not count.
    func waits(of operations: [OperationRef]) -> [UInt64: [DeadlockSearch.Wait]] {
        var waits: [UInt64: [DeadlockSearch.Wait]] = [:]
        for call in calls.endlessWaits {
            guard let caller = call.caller else { continue }
            switch call.subject {
            case .operation(let id):
                if let ref = self.operations.ref(id: id) { waits[caller, default: []].append(.operations([ref])) }
            case .queue(let queue): waits[caller, default: []].append(.queue(queue, name: call.name))
            case .idleQueue, .idleSource: waits[caller, default: []].append(.operations(runners(call.subject)))
            case .held(let id):
                if let ref = self.operations.ref(id: id) { waits[caller, default: []].append(.operations([ref])) }
            case .group(let source): waits[caller, default: []].append(.group(source, name: call.name))
            }
        }
        if calls.isCalledFromRuns {
            for ref in operations {
                for caller in calls.callers(awaiting: ref.id) {
                    waits[caller, default: []].append(.operations([ref]))
                }
            }
        }
        for (index, call) in door.calls.enumerated() {
            guard let caller = call.caller else { continue }
            waits[caller, default: []].append(.room(roomNeeded(call, behind: door.calls.prefix(index))))
        }
        return waits
    }
}
