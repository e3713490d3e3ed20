import Testing

@testable import Daemon

@Suite("Complaints about clients") struct ComplaintsTests {
    @Test func oneInAMinuteIsToldWithTheNumberOfTheOthers() {
        var complaints = Complaints()
        let told = [0, 1, 59_999_999, 60_000_000, 60_000_001, 200_000_000].map { complaints.next(at: $0) }
        #expect(told == [0, nil, nil, 2, nil, 1])
    }
}
