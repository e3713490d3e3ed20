import Schedule
import WatchFile

extension Run {
    /// With `KillMode=none` no signal is sent to its processes.
    var isLeftAlone: Bool {
        seat == nil && definition.value.isCommand && definition.value.killMode == .none
    }

    /// `timed out after 3s, SIGTERM sent 1s ago, SIGKILL in 2s`: why it is being ended, and how far that is; `nil`: it
    /// is not.
    func endingSentence(at now: Moment) -> String? {
        guard let ending else { return nil }
        return ([why(ending)] + steps(at: now)).joined(separator: ", ")
    }

    private func why(_ ending: Ending) -> String {
        switch ending {
        case .timedOut: "\(CompletionFact.timedOut)\(definition.value.timeout)"
        case .cancelled: "cancelled"
        case .stopped: "watchd stops"
        case .superseded: "newer events take its place"
        }
    }

    private func steps(at now: Moment) -> [String] {
        if isLeftAlone { return ["no further command of it starts (KillMode=none)"] }
        let definition = definition.value
        // A worker is told to give its line back, and nothing else is sent a signal.
        guard seat == nil, definition.isCommand else { return [] }
        let signal = isKilled ? "SIGKILL" : LinuxSignal.name(definition.killSignal)
        let sent = "\(signal) sent \(SpanText.elapsed(now.monotonic - endingSince)) ago"
        return [sent] + (deadline.map { ["SIGKILL in \(SpanText.remaining($0 - now.monotonic))"] } ?? [])
    }
}
