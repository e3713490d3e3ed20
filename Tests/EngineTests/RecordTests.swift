import Testing

@testable import Engine

@Suite("An operation's stand with the store")
struct RecordTests {
    @Test func theStoreIsToldNothingOfWhatIsNotKept() {
        var record = Record()
        #expect(!record.change() && !record.isUnsaved && !record.isStored)
        #expect(!record.join(entries: 1) && !record.rewrite())
    }

    @Test func whatIsNewIsWrittenAsAWholeOnce() {
        var record = Record()
        record.isDurable = true
        #expect(record.change() && record.isUnsaved && !record.isStored)
        #expect(!record.change(), "it stands on the list already")
        #expect(!record.join(entries: 2), "the event is written with all others")
        #expect(record.write() == .whole && record.isStored && !record.isUnsaved)
        #expect(record.change() && record.write() == .change)
    }

    @Test func eventsAreToldOneByOneUntilAllOfThemTakeLess() {
        var record = Record(isDurable: true)
        for _ in 0..<34 {
            _ = record.change()
            #expect(record.join(entries: 1) && record.write() == .change)
        }
        #expect(record.change() && !record.join(entries: 1) && record.write() == .whole)
        #expect(record.change() && record.join(entries: 1), "from there it is counted anew")
    }

    @Test func entriesThatHaveChangedAreWrittenAsAWhole() {
        var record = Record(isDurable: false)
        #expect(record.isLong && record.change() && record.rewrite())
        #expect(!record.join(entries: 9) && record.write() == .whole)
    }

    @Test func whatTheStoreHasLostIsWrittenAnew() {
        var record = Record(isDurable: true)
        record.lose()
        #expect(!record.isStored && record.change() && record.write() == .whole)
        _ = record.change()
        record.lose()
        #expect(!record.change() && record.isUnsaved, "it stands on the list already")
        #expect(record.write() == .whole)
    }
}
