import Engine

/// The processes of handlers that run now. Confined to the core.
struct RunningProcesses {
    private var runs: [Int32: RunID] = [:]
    private var processes: [RunID: Int32] = [:]

    /// Notes what an input says of a run's process.
    mutating func note(_ input: Input) {
        switch input {
        case .runStarted(let run, let process?, _):
            // It may have had another one before.
            forget(run)
            runs[process] = run
            processes[run] = process
        case .runEnded(let run, _, _, _), .runSkipped(let run, _, _), .runGivenUp(let run, _),
            .runNotStarted(let run, _):
            forget(run)
        default: break
        }
    }

    private mutating func forget(_ run: RunID) {
        guard let process = processes.removeValue(forKey: run), runs[process] == run else { return }
        runs[process] = nil
    }

    /// The operation of whose run a client is a part: that of its nearest ancestor that a run was started with; else
    /// what the nearest environment names, if that is executing.
    func operation(of client: Ancestry, isExecuting: (UInt64) -> Bool) -> UInt64? {
        if let run = client.processes.lazy.compactMap({ runs[$0.id] }).first { return run.operation }
        return client.processes.lazy.compactMap(\.operation).first(where: isExecuting)
    }
}
