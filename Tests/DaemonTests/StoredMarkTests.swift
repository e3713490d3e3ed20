import Engine
import Handlers
import Store
import Testing
import WatchFile

@testable import Daemon

@Suite("Marks of the store") struct StoredMarkTests {
    /// Whether a mark with this time counts.
    private func isTaken(_ path: WritableKeyPath<TimerStamp, Int64?>, _ time: Int64) -> Bool {
        var stamp = TimerStamp(lastElapse: 1)
        stamp[keyPath: path] = time
        var contents = StoreContents()
        contents.marks["timer/path/in"] = StateCoding.encode(stamp)
        let taken = StoredState(contents, logger: Logger(level: .emerg)).timers[SourceID(.path, "in")]
        #expect(taken == nil || taken == stamp)
        return taken != nil
    }

    @Test func aTimeThatCannotBeReckonedWithIsNone() {
        let largest: Int64 = 1 << 60
        let paths: [WritableKeyPath<TimerStamp, Int64?>] = [
            \.lastElapse, \.after, \.seen, \.silenceLeft, \.silentSince,
        ]
        for path in paths {
            for time in [Int64.min, -largest - 1, largest + 1, Int64.max] { #expect(!isTaken(path, time), "\(time)") }
            for time in [-largest, -1, 0, largest] { #expect(isTaken(path, time), "\(time)") }
        }
    }
}
