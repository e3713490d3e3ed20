import Engine
import LinuxSystem
import WatchFile

/// What the service manager shows in one line.
extension Runtime {
    var statusLine: String {
        let sources = engine.sourceViews.filter { !$0.isRemoved }
        let failing = sources.count { if case .failed = $0.condition { true } else { false } }
        var parts = ["\(sources.count) sources" + (failing == 0 ? "" : " (\(failing) failing)")]
        parts.append("\(engine.processesRunning) handlers running")
        if engine.entriesPending > 0 { parts.append("\(engine.entriesPending) waiting") }
        let failed = engine.totals[.failed]
        if failed > 0 { parts.append("\(failed) failed") }
        if engine.phase != .running { parts.append(engine.phase.rawValue) }
        let line = parts.joined(separator: ", ")
        // It stays in sight until a reload succeeds.
        return refusal.map { "reload refused: \($0.reason); \(line)" } ?? line
    }
}
