import Schedule
import WatchFile

/// `watchctl priority`: where an operation that waits stands among the ready ones of its concurrent queue.
extension Engine {
    /// Until the operation has ended; it is stored with it.
    mutating func setPriority(_ priority: OperationPriority, of id: UInt64) throws(CommandError) {
        guard let ref = operations.ref(id: id) else { throw refusal(unplaced: id) ?? .noSuchOperation(id) }
        let queue = operations[ref].queue
        guard !queues[queue].isSerial else {
            let name = queues[queue].definition.name
            throw .refused("queue \(name) is serial: nobody overtakes there, so a priority means nothing")
        }
        guard operations[ref].runs.isEmpty else { throw .refused("operation \(id) runs already") }
        priorities[id] = priority
        save(ref)
        formLines()
    }
}
