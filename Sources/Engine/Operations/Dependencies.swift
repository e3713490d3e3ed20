import WatchFile

/// `After=` and `Requires=`, among the handlers of one event.
extension Engine {
    /// The fate of one event's deliveries so far, by handler.
    typealias Admissions = [(handler: Int, admission: Admission)]

    /// The operations that a delivery has to wait for.
    struct Dependencies {
        var operations: [(id: UInt64, isRequired: Bool)] = []
        /// Why it may not run at all: what it requires has ended at the door already.
        var refusal: String?

        static let none = Dependencies()
    }

    /// The handlers of one event, those first that others wait for; what is required and not among them is added.
    func withRequired(_ targets: [SourceState.Target]) -> [SourceState.Target] {
        guard targets.contains(where: { isDependent($0.handler) }) else { return targets }
        var all = targets
        var next = 0
        while next < all.count {
            for name in constraints(all[next].handler).requires {
                guard let handler = handlers.index(of: name), !all.contains(where: { $0.handler == handler }) else {
                    continue
                }
                let own = handlers[handler].definition.value.queue ?? "default"
                if let queue = queues.index(of: own) { all.append(.init(handler: handler, queue: queue)) }
            }
            next += 1
        }
        var sorted: [SourceState.Target] = []
        var visited: Set<Int> = []
        for target in all { visit(target, all, &visited, &sorted) }
        return sorted
    }

    private func visit(
        _ target: SourceState.Target, _ all: [SourceState.Target], _ visited: inout Set<Int>,
        _ sorted: inout [SourceState.Target]
    ) {
        guard visited.insert(target.handler).inserted else {
            // The same handler on another queue.
            if !sorted.contains(target), sorted.contains(where: { $0.handler == target.handler }) {
                sorted.append(target)
            }
            return
        }
        let names = constraints(target.handler).after + constraints(target.handler).requires
        for other in all where names.contains(handlers[other.handler].name) { visit(other, all, &visited, &sorted) }
        sorted.append(target)
    }

    private func constraints(_ handler: Int) -> StartConstraints { handlers[handler].definition.value.constraints }

    func isDependent(_ handler: Int) -> Bool {
        !constraints(handler).after.isEmpty || !constraints(handler).requires.isEmpty
    }

    /// The dependencies of a handler's delivery of an event, given the fate of the others.
    func dependencies(_ handler: Int, _ admissions: Admissions) -> Dependencies {
        guard !admissions.isEmpty, isDependent(handler) else { return .none }
        var found = Dependencies()
        let constraints = constraints(handler)
        for (other, admission) in admissions {
            let name = handlers[other].name
            let isRequired = constraints.requires.contains(name)
            guard isRequired || constraints.after.contains(name) else { continue }
            switch admission {
            case .operation(let id):
                if operations.ref(id: id) != nil { found.operations.append((id, isRequired)) }
            case .ended(let result, let reason, let seenAs):
                if isRequired, !isSuccess(seenAs) {
                    found.refusal = "Requires=\(name): \(result.rawValue), \(reason)"
                }
            }
        }
        return found
    }

    /// Whether a delivery with these dependencies may join an operation: it must not have its place already.
    func mayJoin(_ ref: OperationRef, _ dependencies: Dependencies) -> Bool {
        if dependencies.operations.isEmpty || operations[ref].turn.station == .unsubmitted { return true }
        let known = self.dependencies.dependencies(of: ref.id)
        return dependencies.operations.allSatisfy { known.contains($0.id) }
    }

    mutating func depend(_ ref: OperationRef, _ dependencies: Dependencies) {
        for (id, isRequired) in dependencies.operations {
            guard let other = operations.ref(id: id) else { continue }
            if self.dependencies.add(ref, on: id, isRequired: isRequired) { operations[ref].blockers += 1 }
            save(ref)
            if operations[other].isClosed { close(ref) }
        }
    }

    // MARK: The fate of dependents

    /// An operation has ended: those that waited for it go on, or are cancelled in turn; or wait for its successor.
    mutating func resolveDependents(of id: UInt64, _ result: Result, successor: UInt64?) {
        if life.isStopping { resolveLeft(behind: id, result, successor: successor) }
        guard !dependencies.isEmpty else { return }
        if let successor { return resolve(id, result, successor: successor) }
        dependencies.ends.append((id, result))
        // Not by recursion: a chain of operations that require one another may be as long as a queue.
        guard dependencies.ends.count == 1 else { return }
        var next = 0
        while next < dependencies.ends.count {
            resolve(dependencies.ends[next].id, dependencies.ends[next].result, successor: nil)
            next += 1
        }
        dependencies.ends = []
    }

    private mutating func resolve(_ id: UInt64, _ result: Result, successor: UInt64?) {
        for dependent in dependencies.end(id) {
            let ref = dependent.operation
            guard operations.isAlive(ref) else { continue }
            operations[ref].blockers -= 1
            save(ref)
            if let successor {
                depend(ref, Dependencies(operations: [(successor, dependent.isRequired)]))
                if operations[ref].blockers > 0 { continue }
            } else {
                // Later events would be in another operation of that handler.
                close(ref)
            }
            if dependent.isRequired, !isSuccess(result) {
                finish(ref, .cancelled, reason: "\(requirement(ref)): operation \(id) \(result.rawValue)")
            } else {
                submitIfFree(ref)
            }
        }
    }

    /// What makes an operation depend on the success of another one.
    func requirement(_ ref: OperationRef) -> String {
        operations[ref].handler == commandHandler ? "--requires" : "Requires="
    }

    /// Whether a result counts as success for those that require it; an annulled operation does.
    func isSuccess(_ result: Result) -> Bool {
        switch result {
        case .done, .annulled: true
        case .failed, .stopped, .cancelled, .skipped, .dropped, .superseded: false
        }
    }
}
