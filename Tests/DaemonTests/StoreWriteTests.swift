import Engine
import Testing
import WatchFile

@testable import Daemon

@Suite("Store writes") struct StoreWriteTests {
    @Test func onlyWhatNobodyWaitsForIsLazy() {
        #expect(StoreWrite.reserved(lastEventID: 1, lastOperationID: 1).isUrgent)
        #expect(!StoreWrite.timer(.init(.timer, "t"), TimerStamp()).isUrgent)
    }
}
