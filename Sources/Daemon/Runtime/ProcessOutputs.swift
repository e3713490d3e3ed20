import Engine
import Handlers
import WatchFile

/// The end of the output of supervised processes and of workers, each copy over its restarts. Confined to the core.
struct ProcessOutputs {
    /// A copy of a process, from 1.
    struct Place: Hashable {
        /// `process/web`, or `handler/index`.
        var owner: String
        var copy: Int
    }

    private struct Output {
        /// Of processes that have ended.
        var earlier = RunOutput()
        var run: RunID?
    }

    private var outputs: [Place: Output] = [:]

    /// A process of the copy runs.
    mutating func began(_ run: RunID, _ place: Place) { outputs[place, default: Output()].run = run }

    mutating func ended(_ run: RunID, _ place: Place, _ output: RunOutput) {
        guard outputs[place]?.run == run, let earlier = outputs[place]?.earlier else { return }
        outputs[place] = Output(earlier: earlier + output)
    }

    /// There is no such source any more.
    mutating func forget(_ source: SourceID) {
        let name = source.description
        for place in outputs.keys where place.owner == name { outputs[place] = nil }
    }

    func output(of place: Place, _ runs: RunSet?) -> RunOutput {
        guard let output = outputs[place] else { return RunOutput() }
        guard let run = output.run, let running = runs?.output(of: run.operation) else { return output.earlier }
        return output.earlier + running
    }
}
