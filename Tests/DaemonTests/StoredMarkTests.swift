import Engine
import Handlers
import Store
import Testing
import WatchFile

@testable import Daemon

@Suite("Marks of the store") struct StoredMarkTests {
    /// Whether a mark with this time counts.
    private func isTaken(_ path: WritableKeyPath<TimerStamp, Int64?>, _ time: Int64) -> Bool {
        isTaken { $0[keyPath: path] = time }
    }

    private func isTaken(_ change: (inout TimerStamp) -> Void) -> Bool {
        var stamp = TimerStamp(lastElapse: 1)
        change(&stamp)
        var contents = StoreContents()
        contents.marks["timer/path/in"] = StateCoding.encode(stamp)
        let taken = StoredState(contents, logger: Logger(level: .emerg)).timers[SourceID(.path, "in")]
        #expect(taken == nil || taken == stamp)
        return taken != nil
    }

    private var note: WaitingNote {
        let operations = [(UInt64(7), "job"), (8, "job"), (9, "mail")].map { id, handler in
            WaitingOperation(
                id: id, handler: handler, queue: "default", origin: "custom/\(handler)", submitted: 5, entries: 2,
                deliveries: 3, cause: "custom/\(handler), 2 events")
        }
        return WaitingNote(["job": 2, "mail": 1, "held": 4], operations)
    }

    @Test func theNoteOfWhatWaitsIsReadAsItWasWritten() {
        #expect(WaitingNote(bytes: note.bytes) == note)
        #expect(WaitingNote().bytes.isEmpty && WaitingNote(bytes: []).isEmpty)
        for count in 1..<note.bytes.count { #expect(WaitingNote(bytes: Array(note.bytes.prefix(count))).isEmpty) }
    }

    @Test func operationsThatAreFoundAgainAreNotLost() {
        let lost = note.without { $0 != 8 }
        #expect(lost.operations.map(\.id) == [8])
        #expect(lost.counts == ["job": 1, "held": 4])
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
        for path in [\TimerStamp.delayedCalendar, \.delayedSlot] {
            for time in [-largest - 1, largest + 1] {
                #expect(!isTaken { $0[keyPath: path] = DelayedElapse(scheduled: time, due: 0) }, "\(time)")
                #expect(!isTaken { $0[keyPath: path] = DelayedElapse(scheduled: 0, due: time) }, "\(time)")
            }
            #expect(isTaken { $0[keyPath: path] = DelayedElapse(scheduled: -largest, due: largest) })
        }
    }
}
