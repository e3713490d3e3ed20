import Foundation
import Synchronization

/// A program's queues as Foundation's own.
final class OperationSide {
    private let queues: [OperationQueue]
    private let record = Record()
    private var operations: [Int: GatedOperation] = [:]

    final class Record: Sendable {
        let progress = Mutex(Progress())
    }

    init(_ program: OperationProgram) {
        queues = program.widths.map { width in
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = width
            return queue
        }
    }

    func standstill() throws(Standstill.Restless) -> Progress {
        try Standstill.wait()
        return record.progress.withLock { $0 }
    }

    func add(_ parts: [OperationProgram.Part], ids: [Int]) {
        let wereSuspended = queues.map(\.isSuspended)
        for queue in queues { queue.isSuspended = true }
        for (part, id) in zip(parts, ids) {
            let operation = GatedOperation(id: id, record)
            operation.queuePriority = Self.priorities[part.priority]
            for number in part.after { if let other = operations[ids[number]] { operation.addDependency(other) } }
            operations[id] = operation
            queues[part.queue].addOperation(operation)
        }
        for (queue, wasSuspended) in zip(queues, wereSuspended) { queue.isSuspended = wasSuspended }
    }

    private static let priorities: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]

    func end(_ id: Int) { operations[id]?.end() }
    func cancel(_ id: Int) { operations[id]?.cancel() }
    func cancelAll(_ queue: Int) { queues[queue].cancelAllOperations() }
    func setSuspended(_ queue: Int, _ value: Bool) { queues[queue].isSuspended = value }

    /// How many its queues have not finished with.
    var unfinished: Int { queues.reduce(0) { $0 + $1.operationCount } }

    /// Lets everything run out, whatever is wrong.
    func abandon() throws(Standstill.Restless) {
        for queue in queues {
            queue.cancelAllOperations()
            queue.isSuspended = false
        }
        try Standstill.wait()
        for operation in operations.values where operation.isExecuting { operation.end() }
        try Standstill.wait()
    }
}

/// Starts, and is executing until it is told to end; it occupies no thread meanwhile.
final class GatedOperation: Operation, @unchecked Sendable {
    private enum State { case new, executing, finished }

    private let id: Int
    private let record: OperationSide.Record
    private let state = Mutex(State.new)

    init(id: Int, _ record: OperationSide.Record) {
        self.id = id
        self.record = record
    }

    override var isAsynchronous: Bool { true }
    override var isExecuting: Bool { state.withLock { $0 == .executing } }
    override var isFinished: Bool { state.withLock { $0 == .finished } }

    override func start() {
        if isCancelled { return change(to: .finished) }
        change(to: .executing)
        record.progress.withLock { _ = $0.started.insert(id) }
    }

    func end() {
        record.progress.withLock { _ = $0.ended.insert(id) }
        change(to: .finished)
    }

    private func change(to new: State) {
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        state.withLock { $0 = new }
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}
