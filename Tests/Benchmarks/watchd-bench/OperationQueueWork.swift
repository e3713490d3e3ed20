import Foundation

/// Foundation's `OperationQueue`, with block operations.
final class OperationQueueWork: SameWork {
    private let queue = OperationQueue()
    private let count = Counter()

    init(width: Int) { queue.maxConcurrentOperationCount = width }

    func run(operations: Int) throws(Failure) {
        count.reset()
        inBatches(operations) { batch in
            queue.isSuspended = true
            for _ in 0..<batch { queue.addOperation { [count] in count.add() } }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
        try check(count.value, operations)
    }
}
