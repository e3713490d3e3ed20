import Engine
import EventSources
import Handlers
import LinuxSystem
import WatchFile

/// Which of the stored operations still have a process: one that the service manager has kept a descriptor of, one that
/// says so in its environment, or a service of its own.
struct Adoption {
    let kept: KeptDescriptors
    let found: [AdoptableProcess]
    /// Operations that were too young to be stored.
    let begun: [UInt64: StoredOperation]
    let configuration: Configuration
    /// Operations that have ended: what they left running is no run.
    let hasEnded: (UInt64) -> Bool

    /// Whether anything may still run.
    static func isPossible(_ state: StoredState, wasClosed: Bool) -> Bool {
        !wasClosed || state.operations.contains(where: \.isExecuting)
    }

    /// The operations with the runs that can be seen; those of other queues that were too young to be stored are added.
    func apply(to state: inout StoredState) {
        for index in state.operations.indices where state.operations[index].isExecuting {
            state.operations[index].runs = runs(of: state.operations[index])
        }
        // Of one start, who was started first is the worker itself.
        for process in found.sorted(by: { $0.started < $1.started }) where process.isWorker {
            guard !state.workers.contains(where: { $0.run == process.run }) else { continue }
            state.workers.append(
                StoredWorker(handler: process.handler, run: process.run, pid: process.pid, started: process.started))
        }
        var known = Set(state.operations.map(\.id))
        let durable = Set(configuration.queues.filter(\.isDurable).map(\.name))
        for process in found where !known.contains(process.run.operation) && !durable.contains(process.queue) {
            if process.isSupervised || process.isWorker { continue }
            // In the cgroup of its run a process need not say more than that.
            if process.handler.isEmpty, noted(process)?.isDurable ?? true { continue }
            guard !hasEnded(process.run.operation) else { continue }
            known.insert(process.run.operation)
            state.operations.append(operation(process))
        }
        state.operations += gone(known)
    }

    /// Operations that had begun and of which nothing is found: a job of a unit, or a process that has ended meanwhile.
    /// Nobody can say how they ended, and they fail by that.
    private func gone(_ known: Set<UInt64>) -> [StoredOperation] {
        begun.values.sorted { $0.id < $1.id }.compactMap { operation in
            guard !known.contains(operation.id), operation.stride == nil, !operation.isDurable,
                isDoneOutside(operation), !hasEnded(operation.id)
            else { return nil }
            var operation = operation
            operation.isYoung = true
            operation.runs = [StoredRun(part: 0, pid: 0, started: operation.submitted)]
            return operation
        }
    }

    /// By a process, or by the service manager.
    private func isDoneOutside(_ operation: StoredOperation) -> Bool {
        if case .command? = operation.events.first?.fact { return true }
        guard let handler = configuration.handlers.first(where: { $0.name == operation.handler }), handler.stream == nil
        else { return false }
        return if case .unit = handler.action { true } else { handler.isCommand }
    }

    private func runs(of operation: StoredOperation) -> [StoredRun] {
        let living = found.filter { $0.run.operation == operation.id && $0.run.attempt == operation.attempt }
        let hasSeveralCommands =
            configuration.handlers.first { $0.name == operation.handler }.map { $0.commandCount > 1 } ?? false
        var runs: [StoredRun] = []
        for var run in operation.runs {
            let own = living.filter { $0.run.part == run.part }
            if own.contains(where: \.isService) {
                // Its process may have ended: the unit knows how.
                runs.append(run)
                continue
            }
            let id = RunID(operation: operation.id, attempt: operation.attempt, part: run.part)
            if let pidfd = kept.numbers[.pidfd(id)] {
                // By now it may be the next one of several commands.
                if let pid = (try? Linux.pidfdInfo(pidfd))?.processID, pid > 0 { run.pid = pid }
                runs.append(run)
            } else if own.contains(where: { $0.pid == run.pid }) {
                runs.append(run)
            } else if hasSeveralCommands, let next = own.min(by: { $0.started < $1.started }) {
                run.pid = next.pid
                runs.append(run)
            } else if AdoptableProcess.isZombie(run.pid, startedAt: run.started) {
                // How it ended is known.
                runs.append(run)
            } else if !operation.isDurable {
                // Of another queue, it fails when nobody can say how it ended.
                runs.append(run)
            }
        }
        // Those that were too young to be stored: of one part, who was started first is the run itself.
        for process in living.sorted(by: { $0.started < $1.started })
        where !operation.runs.contains(where: { $0.part == process.run.part })
            && !runs.contains(where: { $0.part == process.run.part })
        {
            runs.append(run(process))
        }
        return runs
    }

    /// One that was too young to be stored; the members of semaphores that it holds stand in its environment.
    private func run(_ process: AdoptableProcess) -> StoredRun {
        var run = StoredRun(part: process.run.part, pid: process.pid, started: process.started)
        run.acquired = configuration.semaphores.filter { !$0.members.isEmpty }.compactMap { semaphore in
            process.acquired[SemaphoreDefinition.variable(semaphore.name)].map { text in
                AcquiredMembers(semaphore: semaphore.name, members: text.split(separator: " ").map(String.init))
            }
        }
        return run
    }

    /// Where nothing was noted of it, nothing is known but what its environment says.
    private func operation(_ process: AdoptableProcess) -> StoredOperation {
        var operation = noted(process) ?? unknown(process)
        operation.isYoung = true
        operation.runs = runs(of: operation)
        return operation
    }

    private func noted(_ process: AdoptableProcess) -> StoredOperation? {
        begun[process.run.operation].flatMap { $0.attempt == process.run.attempt ? $0 : nil }
    }

    private func unknown(_ process: AdoptableProcess) -> StoredOperation {
        var operation = StoredOperation(
            id: process.run.operation, handler: process.handler, queue: process.queue,
            origin: origin(process), submitted: process.started)
        operation.keys = [[]]
        operation.attempt = process.run.attempt
        operation.isExecuting = true
        operation.isClosed = true
        operation.isDurable = false
        operation.events = [Event(id: 0, time: process.started, fact: .custom(CustomFact(data: 1)))]
        return operation
    }

    /// A source that is not there (any more) may never have been one.
    private func origin(_ process: AdoptableProcess) -> Origin {
        switch Origin(description: "\(process.kind)/\(process.source)") {
        case .source(let id)? where !configuration.sources.contains { $0.id == id }: .run(handler: process.handler)
        case let origin?: origin
        case nil: .run(handler: process.handler)
        }
    }
}
