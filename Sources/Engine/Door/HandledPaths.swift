package import WatchFile

/// Which changes of paths are handled: told to the rim, which keeps a snapshot of it (`Action.handled`).
///
/// A delivery that the store keeps has ended as far as the snapshot is concerned: it outlives this watchd by itself, and
/// a comparison that told it too would have it done twice.
extension Engine {
    /// A change of a source that keeps a snapshot.
    mutating func acceptChange(_ fact: PathFact, _ state: PathState, of id: SourceID) {
        guard let source = sources.index(of: .source(id)), !sources[source].isRemoved else { return }
        // A comparison has found what is being delivered: the source was opened anew.
        if fact.isRecovered, !state.isFresh, handling.newest(fact.path, of: id) == state { return }
        handling.begin()
        accept(.path(fact), from: source)
        let isKept = handling.isKept
        let reached = takeReached()
        var moments = [PathMoment(root: fact.root, path: fact.path, state: state)]
        if let oldPath = fact.oldPath {
            moments.insert(PathMoment(root: fact.root, path: oldPath, state: .nothing), at: 0)
        }
        let handled = moments.compactMap { moment in
            // The store brings it to some handlers, whatever becomes of the others.
            handling.note(moment, of: id, waitingFor: reached) ? isKept ? moment.asTold : nil : moment
        }
        tellHandled(id, handled, isStored: isKept)
    }

    /// Paths in operations that the store keeps, and in what it keeps of sources that hold something back.
    package var storedPaths: [SourceID: Set<[UInt8]>] {
        var paths: [SourceID: Set<[UInt8]>] = [:]
        func note(_ events: [Event], of origin: Origin) {
            guard case .source(let id) = origin, id.kind == .path else { return }
            for event in events {
                guard case .path(let fact) = event.fact else { continue }
                paths[id, default: []].insert(fact.path)
                if let oldPath = fact.oldPath { paths[id, default: []].insert(oldPath) }
            }
        }
        operations.forEachOperation { operation in
            guard operation.record.isDurable else { return }
            note(operation.entries.events, of: sources[operation.source].origin)
        }
        for source in sources.indices where sources[source].isHoldStored {
            note(sources[source].held.events, of: sources[source].origin)
        }
        return paths
    }

    private mutating func tellHandled(_ id: SourceID, _ handled: [PathMoment], isStored: Bool = false) {
        if !handled.isEmpty { actions.append(.handled(id, handled, isStored: isStored)) }
    }

    // MARK: At the door

    /// Operations that a change has reached; one delivery may have ended an operation that another one had reached.
    private mutating func takeReached() -> [UInt64] {
        handling.end().filter { Handling.isNoOperation($0) || operations.ref(id: $0) != nil }
    }

    /// The outcome of a delivery at the door.
    mutating func noteReached(_ admission: Admission) {
        guard handling.isNoting else { return }
        switch admission {
        case .operation(let id): if let ref = operations.ref(id: id) { noteReached(ref) }
        // The stop comes before it: the next start tells it again.
        case .ended(.cancelled, _, _) where life.isStopping: handling.reach(Handling.never)
        case .ended: break
        }
    }

    mutating func noteReached(_ ref: OperationRef) {
        guard handling.isNoting, operations.isAlive(ref) else { return }
        if isDurable(ref) { handling.keep() } else { handling.reach(ref.id) }
    }

    /// The source holds it. Held events that the store keeps are delivered to durable queues only.
    mutating func noteHeld(_ source: Int) {
        guard handling.isNoting, sources[source].holds else { return }
        let isKept = sources[source].targets.allSatisfy { queues[$0.queue].definition.isDurable }
        if isKept { handling.keep() } else { handling.reach(Handling.held(by: source)) }
    }

    /// An event that was held goes on.
    mutating func letGo(_ event: Event, of source: Int, _ admit: (inout Engine) -> Void) {
        let held = Handling.held(by: source)
        guard handling.isWaiting(for: held), case .path(let fact) = event.fact,
            case .source(let id) = sources[source].origin
        else { return admit(&self) }
        handling.begin()
        admit(&self)
        let reached = takeReached()
        for path in [fact.path, fact.oldPath].compactMap(\.self) {
            handling.extend(path, of: id, waitingFor: held, by: reached)
        }
        heldMayHaveEnded(source)
    }

    /// Changes that came to nothing while they were held count as handled once nothing is held any more.
    mutating func heldMayHaveEnded(_ source: Int) {
        guard !sources[source].holds, let ended = handling.end(Handling.held(by: source), isTold: false)
        else { return }
        tellHandled(ended.source, ended.handled)
    }

    // MARK: Ends

    /// An operation has ended, unless the stop of watchd has ended it: the next start tells its changes again.
    mutating func endHandling(_ operation: Operation, _ result: Result, successor: UInt64?) {
        guard handling.isWaiting(for: operation.id) else { return }
        switch result {
        case .superseded, .annulled:
            guard let heir = successor.flatMap({ operations.ref(id: $0) }) else { break }
            if !isDurable(heir) { return handling.move(from: operation.id, to: heir.id) }
        case .stopped: return noteTold(operation)
        case .cancelled where life.isStopping && !operation.progress.isCancelled: return noteTold(operation)
        case .done, .failed, .cancelled, .skipped, .dropped: break
        }
        guard let ended = handling.end(operation.id, isTold: operation.progress.hasStarted) else { return }
        tellHandled(ended.source, ended.handled)
    }

    /// Its changes are not handled, and a run of it was told of them. The next start tells them again where they can
    /// still be seen; of what has gone by then it tells the end.
    mutating func noteTold(_ operation: Operation) {
        guard operation.progress.hasStarted, let noted = handling.told(operation.id) else { return }
        tellHandled(noted.source, noted.told)
    }

    /// From now on the store keeps the operation.
    mutating func endHandlingAsKept(_ ref: OperationRef) {
        guard let ended = handling.end(ref.id) else { return }
        tellHandled(ended.source, ended.handled, isStored: true)
    }
}

extension StoredState {
    /// Paths at which something stands as far as runs were told that go on, and that the store itself does not bring to
    /// their end; with their watched path. A run that is gone may not have taken it in.
    package var startedPaths: [SourceID: [[UInt8]: (root: [UInt8], kind: PathState.Kind)]] {
        var paths: [SourceID: [[UInt8]: (root: [UInt8], kind: PathState.Kind)]] = [:]
        let started = operations.filter { !$0.isDurable && !$0.runs.isEmpty }
        for operation in started.sorted(by: { $0.id < $1.id }) {
            guard case .source(let id) = operation.origin, id.kind == .path else { continue }
            for event in operation.events + operation.appended {
                guard case .path(let fact) = event.fact else { continue }
                if let oldPath = fact.oldPath { paths[id]?[oldPath] = nil }
                paths[id, default: [:]][fact.path] =
                    fact.change == .deleted ? nil : (fact.root, fact.isFolder ? .folder : .file)
            }
        }
        return paths
    }
}
