import Engine
import EventSources
import Handlers
import LinuxSystem
import WatchFile

/// Which processes of supervised commands an earlier watchd left running: those that the store knows by number and
/// time, and those that were too young for that and say so in their environment.
enum SupervisedAdoption {
    static func apply(to state: inout StoredState, _ kept: KeptDescriptors, _ found: [AdoptableProcess]) {
        var starts: [Place: UInt64] = [:]
        for index in state.processes.indices {
            let stored = state.processes[index]
            state.processes[index].isAlive = isAlive(stored, kept)
            let place = Place(source: stored.source, copy: stored.copy)
            starts[place] = max(starts[place] ?? 0, stored.start)
        }
        // Of one start, who was started first is the process itself.
        for process in found.sorted(by: { $0.started < $1.started }) where process.isSupervised {
            let place = Place(source: SourceID(.process, process.source), copy: process.run.part)
            guard process.run.operation > starts[place] ?? 0 else { continue }
            starts[place] = process.run.operation
            state.processes.append(
                StoredProcess(
                    source: place.source, copy: place.copy, start: process.run.operation, pid: process.pid,
                    started: process.started, seen: Linux.now(.boottime), launch: nil))
        }
    }

    private struct Place: Hashable {
        var source: SourceID
        var copy: Int
    }

    private static func isAlive(_ process: StoredProcess, _ kept: KeptDescriptors) -> Bool {
        if kept.numbers[.pidfd(process.run)] != nil { return true }
        return Linux.place(of: process.pid).map { $0.started <= process.seen } ?? false
    }
}
