import Engine
import Testing
import WatchFile

@testable import Daemon

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
}
