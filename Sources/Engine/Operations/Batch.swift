import Schedule
import WatchFile

/// `BatchSize=`: an operation that waits for `DelaySec=` is submitted as soon as it has so many entries. What comes while
/// it stands in line joins it still. `SettleSec=` is not cut short.
extension Engine {
    /// It has as many entries as its handler waits for.
    func isBatchFull(_ ref: OperationRef, _ definition: SharedDefinition) -> Bool {
        guard let size = definition.value.constraints.batchSize else { return false }
        return operations[ref].entries.count >= size
    }

    /// An event has joined it.
    mutating func batchMayBeFull(_ ref: OperationRef) {
        // Of nearly all that events join, the first is false.
        guard operations[ref].turn.station == .unsubmitted, operations[ref].times.wakeUp > now.monotonic,
            operations[ref].times.latest == 0, isBatchFull(ref, definition(of: ref))
        else { return }
        operations[ref].times.wakeUp = now.monotonic
        setStartTimeout(ref)
        save(ref)
        submitIfFree(ref)
    }

    /// `, or 3 more entries`; empty: it waits for no batch.
    func batchSentence(_ ref: OperationRef) -> String {
        guard let size = definition(of: ref).value.constraints.batchSize else { return "" }
        let missing = size - operations[ref].entries.count
        return missing > 0 ? ", or \(missing) more \(missing == 1 ? "entry" : "entries")" : ""
    }
}
