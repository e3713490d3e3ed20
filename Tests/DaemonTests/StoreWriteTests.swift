import Testing
import WatchFile

@testable import Daemon
@testable import Engine

@Suite("Store writes") struct StoreWriteTests {
    @Test func onlyWhatNobodyWaitsForIsLazy() {
        #expect(StoreWrite.reserved(lastEventID: 1, lastOperationID: 1).isUrgent)
        #expect(StoreWrite.booted(.init(.timer, "t")).isUrgent)
        var stamp = TimerStamp(after: 1)
        #expect(!StoreWrite.timer(.init(.timer, "t"), stamp).isUrgent)
        stamp.isTold = true
        #expect(StoreWrite.timer(.init(.timer, "t"), stamp).isUrgent)
        stamp.isTold = false
        stamp.seen = 1
        #expect(StoreWrite.timer(.init(.timer, "t"), stamp).isUrgent)
    }

    /// What is running for the store would have failed after a crash, though its end was told.
    @Test func theEndOfWhatTheStoreHasIsNotLazy() {
        var view = OperationView(
            id: 1, handler: "h", queue: "q", origin: .source(.init(.custom, "c")), state: .finished, result: .done,
            events: [], entries: 1, deliveries: 1, depth: 0, submitted: 1, attempt: 1)
        #expect(!StoreWrite.ended(view).isUrgent)
        view.isStored = true
        #expect(StoreWrite.ended(view).isUrgent)
    }
}
