import Engine
import LinuxSystem
import Schedule
import WatchFile

/// The state that the service manager shows in one line.
extension Runtime {
    /// No drain takes longer (microseconds): what runs is waited for, then terminated, then killed, then left behind,
    /// and what is to be kept is written.
    var drainLimit: Int {
        let supervised = engine.sourceViews.compactMap { $0.definition.command?.process.timeoutStop }
        let longest = (engine.handlerViews.map(\.definition.timeoutStop) + supervised).max() ?? .zero
        return [engine.settings.drain, longest, .seconds(15), Self.storePatience].reduce(0) { sum, span in
            let (next, overflow) = sum.addingReportingOverflow(Int(clamping: span.microseconds))
            return overflow ? .max : next
        }
    }

    var statusLine: String {
        let sources = engine.sourceViews.filter { !$0.isRemoved }
        let failing = sources.count { if case .failed = $0.condition { true } else { false } }
        let delayed = delayedRuns.count
        var parts = [counted(sources.count, "source") + (failing == 0 ? "" : " (\(failing) failing)")]
        parts.append("\(counted(processesRunning, "handler")) running")
        if delayed > 0 { parts.append("\(delayed) that cannot be started yet") }
        if engine.entriesPending > 0 { parts.append("\(engine.entriesPending) waiting") }
        let failed = openFailures.count
        if failed > 0 { parts.append("\(failed) failed") }
        if engine.phase != .running { parts.append(engine.phase.rawValue) }
        let line = parts.joined(separator: ", ")
        // It stays in sight until a reload succeeds.
        return refusal.map { "\($0.title): \($0.reason); \(line)" } ?? line
    }
}
