import Engine

/// The processes of handlers that run now. Confined to the core.
struct RunningProcesses {
    private var runs: [Int32: RunID] = [:]
    private var processes: [RunID: Int32] = [:]

    /// Notes what an input says of a run's process.
    mutating func note(_ input: Input) {
        switch input {
        case .runStarted(let run, let process?, _):
            runs[process] = run
            processes[run] = process
        case .runEnded(let run, _, _, _):
            guard let process = processes.removeValue(forKey: run), runs[process] == run else { return }
            runs[process] = nil
        default: break
        }
    }

    /// The operation of whose run a client is a part: that of its nearest ancestor that a run was started with; else
    /// what the nearest environment names, if that is executing.
    func operation(of client: Ancestry, isExecuting: (UInt64) -> Bool) -> UInt64? {
        if let run = client.processes.lazy.compactMap({ runs[$0.id] }).first { return run.operation }
        return client.processes.lazy.compactMap(\.operation).first(where: isExecuting)
    }
}
