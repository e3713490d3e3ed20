import WatchFile

/// `Join=all`: an operation of a path source is submitted when something of each of its paths has changed.
///
/// Once it has its place in line it takes in no more (`Admission`): what comes then is for the next one.
extension Engine {
    /// A new operation has its first event, or is there again.
    mutating func beginJoin(_ ref: OperationRef) {
        guard sources[operations[ref].source].traits.contains(.joinsAll), !operations[ref].descent.isByHand,
            !operations[ref].isClosed, operations[ref].turn.station == .unsubmitted
        else { return }
        joins[ref.id] = changedRoots(ref)
        endJoinIfComplete(ref)
    }

    /// An event has joined it.
    mutating func noteJoin(_ event: Event, _ ref: OperationRef) {
        guard !joins.isEmpty, joins[ref.id] != nil, case .path(let fact) = event.fact else { return }
        joins[ref.id]?.insert(fact.root)
        endJoinIfComplete(ref)
        if joins[ref.id] == nil { submitIfFree(ref) }
    }

    /// A change may have been annulled since.
    private mutating func endJoinIfComplete(_ ref: OperationRef) {
        guard let roots = joins[ref.id], isComplete(roots, ref) else { return }
        let changed = changedRoots(ref)
        joins[ref.id] = isComplete(changed, ref) ? nil : changed
    }

    private func isComplete(_ roots: Set<[UInt8]>, _ ref: OperationRef) -> Bool {
        missingRoots(roots, ref).isEmpty
    }

    private func missingRoots(_ roots: Set<[UInt8]>, _ ref: OperationRef) -> [[UInt8]] {
        guard case .path(let path) = sources[operations[ref].source].definition?.value.trigger, path.joinsAll else {
            return []
        }
        return path.paths.filter { !roots.contains($0) }
    }

    private func changedRoots(_ ref: OperationRef) -> Set<[UInt8]> {
        Set(
            operations[ref].entries.events.compactMap { event in
                if case .path(let fact) = event.fact { fact.root } else { nil }
            })
    }

    /// Paths may have left the list, or the key the file.
    mutating func joinsMayHaveEnded() {
        guard !joins.isEmpty else { return }
        for ref in joins.keys.sorted().compactMap({ operations.ref(id: $0) }) {
            endJoinIfComplete(ref)
            if joins[ref.id] == nil { submitIfFree(ref) }
        }
    }

    /// `nil`: it waits for none.
    func joinSentence(_ ref: OperationRef) -> String? {
        guard !joins.isEmpty, joins[ref.id] != nil,
            case .path(let trigger) = sources[operations[ref].source].definition?.value.trigger
        else { return nil }
        // A change may have been annulled since.
        let missing = missingRoots(changedRoots(ref), ref)
        let first = missing.first.map(trigger.text) ?? ""
        let more = missing.count > 1 ? " and \(missing.count - 1) more" : ""
        return "Join=all, a change of \(first)\(more)"
    }
}
