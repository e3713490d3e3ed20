import Engine
import EventSources
import Synchronization

/// Brings the beginnings and ends of runs into `BegunRuns`, beside the core: a disk that hangs holds up nothing else.
///
/// Runs that end before their turn leave nothing to write. Notes that wait for a disk that hangs are bounded by the runs
/// that go on, and by the entries in the file. Confined to the core, but for these notes.
final class BegunRunsWriter {
    private struct Waiting {
        var begun: [UInt64: StoredOperation] = [:]
        /// Of entries that may be in the file.
        var ended: Set<UInt64> = []
        /// A write of them is on its way.
        var isPlanned = false
    }

    private final class Shared: Sendable {
        let waiting = Mutex(Waiting())
        let file: QueueBound<BegunRuns>

        init(_ file: QueueBound<BegunRuns>) { self.file = file }

        func note(_ change: (inout sending Waiting) -> Void) {
            let mustPlan = waiting.withLock { waiting in
                change(&waiting)
                defer { waiting.isPlanned = true }
                return !waiting.isPlanned
            }
            if mustPlan { file.context.async { [self] in write() } }
        }

        private func write() {
            let due = waiting.withLock { waiting in
                defer { waiting = Waiting() }
                return waiting
            }
            for id in due.ended { file.value.ended(id) }
            for operation in due.begun.values { file.value.began(operation) }
        }
    }

    private let shared: Shared
    /// The others that end have never begun here.
    private var running: Set<UInt64> = []

    init(folder: [UInt8], context: Context = Context("watchd.begun")) {
        shared = Shared(QueueBound(BegunRuns(folder: folder), to: context))
    }

    func began(_ operation: StoredOperation) {
        running.insert(operation.id)
        shared.note { $0.begun[operation.id] = operation }
    }

    func ended(_ id: UInt64) {
        guard running.remove(id) != nil else { return }
        shared.note { if $0.begun.removeValue(forKey: id) == nil { $0.ended.insert(id) } }
    }
}
