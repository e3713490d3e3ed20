/// Who does the same work: operations that do nothing, submitted while the queue is suspended, so many at once; then
/// the queue is resumed, and all end. As wide as `width`: one after the other, or several beside each other.
enum Contender: String, CaseIterable, Encodable {
    case engine
    case dispatch
    case operationQueue = "operation-queue"

    /// Operations that wait when the queue is resumed.
    static let batch = 1000
    static let widths = [1, 4]

    var text: String {
        switch self {
        case .engine: "watchd's engine"
        case .dispatch: "Dispatch queue"
        case .operationQueue: "OperationQueue"
        }
    }

    func makeWork(width: Int) -> any SameWork {
        switch self {
        case .engine: EngineWork(width: width)
        case .dispatch: DispatchWork(width: width)
        case .operationQueue: OperationQueueWork(width: width)
        }
    }
}

/// The work of one contender.
protocol SameWork: AnyObject {
    /// Puts so many operations through, in batches, and returns when the last has ended.
    ///
    /// - Throws: `Failure`, when they did not all run.
    func run(operations: Int) throws(Failure)
}

extension SameWork {
    /// Calls `batch` with the size of each.
    func inBatches(_ operations: Int, _ batch: (Int) -> Void) {
        var rest = operations
        while rest > 0 {
            batch(min(rest, Contender.batch))
            rest -= Contender.batch
        }
    }

    func check(_ count: Int, _ operations: Int) throws(Failure) {
        if count != operations { throw Failure(message: "\(count) of \(operations) operations ran") }
    }
}
