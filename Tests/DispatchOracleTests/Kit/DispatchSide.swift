import CDispatch
import Dispatch
import Glibc
import Synchronization

/// A program's queues as Dispatch's own, on real threads; each block waits inside itself until it is told to end.
///
/// `DispatchQueue` wraps the same queues, but its initializer puts a concurrent one on a root that starts as many
/// threads as there are CPUs, and one more for each second in which all are blocked. So that what starts depends
/// neither on the machine nor on time, all queues stand on the root that serial queues have, which starts a thread
/// whenever there is work (flag 2 of `dispatch_get_global_queue`, `DISPATCH_QUEUE_OVERCOMMIT` in `queue_private.h`).
/// Queues made in C cannot be released from Swift: a program leaves some hundred bytes behind.
final class DispatchSide {
    private let program: DispatchProgram
    private let queues: [OpaquePointer]
    private let groups: [DispatchGroup]
    /// Made empty and then filled: libdispatch refuses to release one that has less than it was made with.
    private let semaphores: [DispatchSemaphore]
    private let notices = DispatchQueue(label: "notices")
    private let record = Record()
    private var gates: [Int: Gate] = [:]

    private final class Record: Sendable {
        let progress = Mutex(Progress())
    }

    /// Two doors: behind the first a block gives its semaphore back, behind the second it ends.
    private struct Gate {
        var submission: DispatchProgram.Submission
        let first = DispatchSemaphore(value: 0)
        let second = DispatchSemaphore(value: 0)
    }

    init(_ program: DispatchProgram) {
        self.program = program
        let root = dispatch_get_global_queue(0, 2)
        var queues: [OpaquePointer] = []
        for queue in program.queues {
            let target = queue.target.map { queues[$0] } ?? root
            let attribute = queue.isConcurrent ? dlsym(nil, "_dispatch_queue_attr_concurrent") : nil
            queues.append(dispatch_queue_create_with_target(queue.name, attribute.map { OpaquePointer($0) }, target))
        }
        self.queues = queues
        groups = (0..<program.groups).map { _ in DispatchGroup() }
        semaphores = program.semaphores.map { value in
            let semaphore = DispatchSemaphore(value: 0)
            for _ in 0..<value { semaphore.signal() }
            return semaphore
        }
    }

    /// Lets the process come to rest and tells what has happened by then.
    func standstill() throws(Standstill.Restless) -> Progress {
        try Standstill.wait()
        return record.progress.withLock { $0 }
    }

    func submit(_ id: Int, _ submission: DispatchProgram.Submission, isFirstInGroup: Bool) {
        if let group = submission.group { enter(group, isFirst: isFirstInGroup) }
        let gate = Gate(submission: submission)
        gates[id] = gate
        let group = submission.group.map { groups[$0] }
        let semaphore = submission.semaphore.map { semaphores[$0] }
        let work = { @Sendable [record] in
            semaphore?.wait()
            record.progress.withLock { _ = $0.started.insert(id) }
            gate.first.wait()
            if !submission.isConsuming { semaphore?.signal() }
            gate.second.wait()
            record.progress.withLock { _ = $0.ended.insert(id) }
            group?.leave()
        }
        if submission.isBarrier {
            dispatch_barrier_async(queues[submission.queue], work)
        } else {
            dispatch_async(queues[submission.queue], work)
        }
    }

    /// Who waits for the semaphore gets it before the next block of the same queue can ask for it: in the engine, too,
    /// who waits already is served first.
    func end(_ id: Int) throws(Standstill.Restless) {
        guard let gate = gates.removeValue(forKey: id) else { return }
        gate.first.signal()
        if gate.submission.semaphore != nil { try Standstill.wait() }
        gate.second.signal()
    }

    func suspend(_ queue: Int) { dispatch_suspend(object(queue)) }
    func resume(_ queue: Int) { dispatch_resume(object(queue)) }
    func signal(_ semaphore: Int) { semaphores[semaphore].signal() }

    func enter(_ group: Int, isFirst: Bool) {
        groups[group].enter()
        guard isFirst else { return }
        groups[group].notify(queue: notices) { @Sendable [record] in
            record.progress.withLock { $0.notices[group, default: 0] += 1 }
        }
    }

    func leave(_ group: Int) { groups[group].leave() }

    private func object(_ queue: Int) -> dispatch_object_t {
        unsafeBitCast(queues[queue], to: dispatch_object_t.self)
    }

    /// Lets everything run out, whatever is wrong.
    func abandon(suspensions: [Int], entered: [Int]) {
        for (queue, count) in suspensions.enumerated() { for _ in 0..<count { resume(queue) } }
        for (group, count) in entered.enumerated() { for _ in 0..<count { leave(group) } }
        for semaphore in semaphores { for _ in gates { semaphore.signal() } }
        for gate in gates.values {
            gate.first.signal()
            gate.second.signal()
        }
        gates = [:]
    }
}
