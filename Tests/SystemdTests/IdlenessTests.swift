import ProgramKit
import Systemd
import Testing

@Suite("Idleness", .ownThread) struct IdlenessTests {
    private static let second: UInt64 = 1_000_000

    private func standing(_ idleness: Idleness, for seconds: UInt64, at now: UInt64) -> Idleness.Standing {
        idleness.standing(for: seconds * Self.second, at: now * Self.second)
    }

    private func idleness(_ isIdle: Bool, since: UInt64, delay: UInt64 = 1800) -> Idleness {
        Idleness(isIdle: isIdle, since: since * Self.second, delay: delay * Self.second)
    }

    @Test func theSpanBeginsWhenTheMachineBecameIdle() {
        let idle = idleness(true, since: 100)
        #expect(standing(idle, for: 60, at: 159) == .tooShort(next: 160 * Self.second))
        #expect(standing(idle, for: 60, at: 160) == .isLongEnough)
        #expect(standing(idle, for: 60, at: 9999) == .isLongEnough)
        // Before anybody has used it, it is idle since boot.
        #expect(standing(idleness(true, since: 0), for: 60, at: 59) == .tooShort(next: 60 * Self.second))
        #expect(standing(idleness(true, since: 0), for: 60, at: 60) == .isLongEnough)
    }

    /// Of a terminal's last key logind tells nothing by itself.
    @Test func whatIsInUseIsLookedAtAgainWhenATerminalMayHaveBecomeIdle() {
        let used = idleness(false, since: 100)
        #expect(standing(used, for: 60, at: 200) == .isInUse(next: 1900 * Self.second))
        #expect(standing(used, for: 60, at: 1900) == .isInUse(next: nil))
        #expect(standing(idleness(false, since: 0), for: 60, at: 10) == .isInUse(next: nil))
        #expect(standing(idleness(false, since: 100, delay: 0), for: 60, at: 10) == .isInUse(next: nil))
    }

    @Test func numbersThatAreTooLargeAreNoTrouble() {
        let far = Idleness(isIdle: true, since: .max - 1, delay: .max)
        #expect(far.standing(for: .max, at: 5) == .tooShort(next: .max))
        let used = Idleness(isIdle: false, since: .max - 1, delay: .max)
        #expect(used.standing(for: 1, at: 5) == .isInUse(next: .max))
    }
}
