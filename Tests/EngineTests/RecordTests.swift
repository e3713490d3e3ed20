import Testing

@testable import Engine

@Suite("An operation's stand with the store")
struct RecordTests {
    @Test func theStoreIsToldNothingOfWhatIsNotKept() {
        var record = Record()
        let told = [record.change(), record.join(entries: 1), record.rewrite()]
        #expect(told == [false, false, false] && !record.isUnsaved && !record.isStored)
    }

    @Test func whatIsNewIsWrittenAsAWholeOnce() {
        var record = Record()
        record.isDurable = true
        // The second time it stands on the list already.
        let listed = [record.change(), record.change()]
        #expect(listed == [true, false] && record.isUnsaved && !record.isStored)
        let isAlone = record.join(entries: 2)
        #expect(!isAlone, "the event is written with all others")
        let first = record.write()
        #expect(first == .whole && record.isStored && !record.isUnsaved)
        _ = record.change()
        let second = record.write()
        #expect(second == .change)
    }

    @Test func eventsAreToldOneByOneUntilAllOfThemTakeLess() {
        var record = Record(isDurable: true, isYoung: false)
        for _ in 0..<34 {
            let step = step(&record)
            #expect(step == [true, true, false])
        }
        let (whole, anew) = (step(&record), step(&record))
        #expect(whole == [true, false, true] && anew == [true, true, false])
    }

    @Test func entriesThatHaveChangedAreWrittenAsAWhole() {
        var record = Record(isDurable: false, isYoung: false)
        let isRewritten = [record.change(), record.rewrite(), record.join(entries: 9)]
        let write = record.write()
        #expect(record.isLong && isRewritten == [true, true, false] && write == .whole)
    }

    @Test func whatTheStoreHasLostIsWrittenAnew() {
        var record = Record(isDurable: true, isYoung: false)
        record.lose()
        #expect(!record.isStored)
        let step = step(&record)
        #expect(step == [true, false, true])
        _ = record.change()
        record.lose()
        let isListed = record.change()
        let write = record.write()
        #expect(!isListed && write == .whole, "it stands on the list already")
    }

    /// An event joins one that has a single entry: it stands on the list, the event is told by itself, all is written.
    private func step(_ record: inout Record) -> [Bool] {
        [record.change(), record.join(entries: 1), record.write() == .whole]
    }
}
