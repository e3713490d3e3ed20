import Schedule
import Testing
import WatchFile

@testable import Engine

extension EngineFixture {
    /// The writes of timers, as the next watchd reads them.
    private var storedTimers: StoredState {
        var state = StoredState()
        for write in writes {
            if case .timer(let id, let stamp) = write { state.timers[id] = stamp }
            if case .booted(let id) = write { state.booted.insert(id) }
        }
        return state
    }

    /// The next watchd, so much later, which knows of timers what this one has stored.
    func next(
        _ configuration: Configuration, afterSeconds seconds: Int64, isReboot: Bool = false
    ) -> EngineFixture {
        let (distance, second) = (seconds * 1_000_000, Int64(1_000_000))
        var (now, state) = (now, storedTimers)
        now.realtime += distance
        now.boottime += distance
        now.monotonic += distance
        if isReboot {
            (now.boottime, now.monotonic) = (20 * second, 20 * second)
            state.booted = []
        }
        return EngineFixture(configuration, at: now, restoring: state)
    }
}
