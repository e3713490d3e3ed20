import Engine
import EventSources
import WatchFile

/// The time before READY.
extension Runtime {
    /// The service manager would end a start that takes long: every second it is told whom it waits for. A source that
    /// has to be armed may come as late as it likes.
    func startMayTakeLong() {
        core.after(1_000_000) { [bound] in
            let runtime = bound.value
            guard !runtime.readiness.isReached, runtime.engine.phase == .running || runtime.reloads.isUnderWay else {
                return
            }
            runtime.tellOfHung()
            runtime.manager.starting(runtime.readiness.text)
            runtime.startMayTakeLong()
        }
    }

    /// Sources that hang beside the core have been tried.
    private func tellOfHung() {
        for case let id? in slow.hung.map({ SourceID(description: $0) }) where readiness.isUntried(id) {
            handle(.source(id, .failed("what it needs does not answer (a hung file system?)")))
        }
    }
}
