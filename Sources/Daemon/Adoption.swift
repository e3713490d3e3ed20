import Engine
import EventSources
import Handlers
import LinuxSystem

/// Which of the stored operations still have a process: one that the service manager has kept a descriptor of, or one
/// that says so in its environment.
struct Adoption {
    let kept: KeptDescriptors
    let found: [AdoptableProcess]

    /// The operations with the runs that can be seen; those of other queues that were too young to be stored are added.
    func apply(to state: inout StoredState) {
        for index in state.operations.indices where state.operations[index].isExecuting {
            state.operations[index].runs = runs(of: state.operations[index])
        }
        let known = Set(state.operations.map(\.id))
        for process in found where !known.contains(process.run.operation) {
            state.operations.append(operation(process))
        }
    }

    private func runs(of operation: StoredOperation) -> [StoredRun] {
        let living = found.filter { $0.run.operation == operation.id && $0.run.attempt == operation.attempt }
        var runs = operation.runs.filter { run in
            let id = RunID(operation: operation.id, attempt: operation.attempt, part: run.part)
            // Of another queue, it fails when nobody can say how it ended.
            return !operation.isDurable || kept.numbers[.pidfd(id)] != nil
                || living.contains { $0.pid == run.pid && $0.run.part == run.part }
        }
        // Those that were too young to be stored: of one part, who was started first is the run itself.
        for process in living.sorted(by: { $0.started < $1.started })
        where !operation.runs.contains(where: { $0.part == process.run.part })
            && !runs.contains(where: { $0.part == process.run.part })
        {
            runs.append(StoredRun(part: process.run.part, pid: process.pid, started: process.started))
        }
        return runs
    }

    /// Nothing is known of it but what its environment says.
    private func operation(_ process: AdoptableProcess) -> StoredOperation {
        var operation = StoredOperation(
            id: process.run.operation, handler: process.handler, queue: process.queue,
            origin: .run(handler: process.handler), submitted: process.started)
        operation.keys = [[]]
        operation.attempt = process.run.attempt
        operation.isExecuting = true
        operation.isClosed = true
        operation.isDurable = false
        operation.runs = [StoredRun(part: process.run.part, pid: process.pid, started: process.started)]
        operation.events = [Event(id: 0, time: process.started, fact: .custom(CustomFact(data: 1)))]
        return operation
    }
}
