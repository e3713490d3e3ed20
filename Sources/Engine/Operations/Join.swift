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
    }

    /// An event has joined it.
    mutating func noteJoin(_ event: Event, _ ref: OperationRef) {
        guard !joins.isEmpty, joins[ref.id] != nil, case .path(let fact) = event.fact else { return }
        joins[ref.id]?.insert(fact.root)
        submitIfFree(ref)
    }

    /// Asked last, when nothing else keeps it. A change may have been annulled since it came.
    mutating func waitsForJoin(_ ref: OperationRef) -> Bool {
        guard let roots = joins[ref.id] else { return false }
        guard missingRoots(roots, ref).isEmpty else { return true }
        let changed = changedRoots(ref)
        joins[ref.id] = changed
        return !missingRoots(changed, ref).isEmpty
    }

    /// Paths that have left the list, all with the key or the section, are waited for no more.
    private func missingRoots(_ roots: Set<[UInt8]>, _ ref: OperationRef) -> [[UInt8]] {
        let source = sources[operations[ref].source]
        guard !source.isRemoved, case .path(let path) = source.definition?.value.trigger, path.joinsAll else {
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

    /// `nil`: it waits for none.
    func joinSentence(_ ref: OperationRef) -> String? {
        guard !joins.isEmpty, joins[ref.id] != nil,
            case .path(let trigger) = sources[operations[ref].source].definition?.value.trigger
        else { return nil }
        // A change may have been annulled since.
        let missing = missingRoots(changedRoots(ref), ref)
        guard let first = missing.first.map(trigger.text) else { return nil }
        let more = missing.count > 1 ? " and \(missing.count - 1) more" : ""
        return "Join=all, a change of \(first)\(more)"
    }
}
