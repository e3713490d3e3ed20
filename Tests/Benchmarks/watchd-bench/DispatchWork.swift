import Dispatch
import Synchronization

/// A plain Dispatch queue: serial, or concurrent. A concurrent one has no width of its own; it is as wide as there are
/// processors.
final class DispatchWork: SameWork {
    private let queue: DispatchQueue
    private let count = Counter()

    init(width: Int) {
        queue = DispatchQueue(label: "watchd-bench.same", attributes: width == 1 ? [] : .concurrent)
    }

    func run(operations: Int) throws(Failure) {
        let group = DispatchGroup()
        count.reset()
        inBatches(operations) { batch in
            queue.suspend()
            for _ in 0..<batch { queue.async(group: group) { [count] in count.add() } }
            queue.resume()
            group.wait()
        }
        try check(count.value, operations)
    }
}

/// What an operation does.
final class Counter: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .relaxed) }

    func reset() { count.store(0, ordering: .releasing) }
}
