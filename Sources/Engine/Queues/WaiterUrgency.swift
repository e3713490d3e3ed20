import WatchFile

/// An operation that somebody waits for takes the QoS of who waits, where that is higher than its queue's, as `sync` of
/// Dispatch does; and so do those that stand before it on its queue. It counts for the order of starts and for what the
/// process gets, until the operation has ended.
extension Engine {
    /// The QoS of a person who waits at a terminal.
    static let personsQoS = QoS.userInitiated

    /// A caller waits for the ends of these.
    ///
    /// - Parameter caller: the operation of whose run it is a part; it has the QoS of its queue.
    mutating func hurry(_ ids: [UInt64], caller: UInt64?) {
        // A client that holds units of a semaphore counts as a person.
        let run = caller.flatMap { operations.ref(id: $0) }.flatMap { isOfClient(operations[$0].handler) ? nil : $0 }
        let qos = run.map { scheduler[operations[$0].queue].qos } ?? Self.personsQoS
        for id in ids {
            guard let ref = operations.ref(id: id),
                qos > scheduler.qos(on: operations[ref].queue, operations[ref].turn)
            else { continue }
            urgencies[id] = max(urgencies[id] ?? .background, qos)
            operations[ref].turn.urgency = qos
            scheduler.hurry(operations[ref].queue, qos, upTo: operations[ref].turn.place)
        }
    }

    /// An operation has ended: the others of its queue that are waited for decide now.
    mutating func hurryNoMore(_ operation: Operation) {
        guard !urgencies.isEmpty, urgencies.removeValue(forKey: operation.id) != nil else { return }
        scheduler[operation.queue].urgency = .background
        scheduler[operation.queue].urgentUpTo = 0
        for (id, qos) in urgencies {
            guard let ref = operations.ref(id: id), operations[ref].queue == operation.queue else { continue }
            scheduler.hurry(operation.queue, qos, upTo: operations[ref].turn.place)
        }
    }
}

extension Scheduler {
    /// The QoS that an operation of the queue starts with; its turn matters only where somebody waits on the queue.
    func qos(on queue: Int, _ turn: @autoclosure () -> Operation.Turn) -> QoS {
        let (own, urgency) = (lanes[queue].qos, lanes[queue].urgency)
        guard urgency > own else { return own }
        let turn = turn()
        return max(own, turn.urgency, turn.place <= lanes[queue].urgentUpTo ? urgency : .background)
    }

    /// The candidate of a queue may stand in another line now.
    ///
    /// - Parameter place: of the operation that is waited for; 0: it has none yet, and nobody stands before it.
    mutating func hurry(_ queue: Int, _ qos: QoS, upTo place: UInt64) {
        self[queue].urgency = max(lanes[queue].urgency, qos)
        self[queue].urgentUpTo = max(lanes[queue].urgentUpTo, place)
        guard lanes[queue].standing?.spot == .slots else { return }
        self[queue].standing = nil
        touch(queue: queue)
    }
}
