/// How idle the machine is, in logind's words.
package struct Idleness: Equatable, Sendable {
    /// `IdleHint`: nobody uses a session, and nothing forbids idleness.
    package var isIdle: Bool
    /// `IdleSinceHintMonotonic`, microseconds of the monotonic clock: when that has become so; 0: it never was otherwise.
    package var since: UInt64
    /// `IdleActionUSec`, microseconds: so long after its last key a terminal counts as idle (Systemd.md, fact 44).
    package var delay: UInt64

    package init(isIdle: Bool, since: UInt64, delay: UInt64) {
        (self.isIdle, self.since, self.delay) = (isIdle, since, delay)
    }

    package enum Standing: Equatable, Sendable {
        case isLongEnough
        /// At `next`, a microsecond of the monotonic clock, it may be, if nothing happens.
        case tooShort(next: UInt64)
        /// `next`: as before; `nil`: only a signal tells.
        case isInUse(next: UInt64?)
    }

    /// - Parameters:
    ///   - span: microseconds that it has to have been idle.
    ///   - now: microsecond of the monotonic clock.
    package func standing(for span: UInt64, at now: UInt64) -> Standing {
        guard isIdle else {
            let next = Self.sum(since, delay)
            return .isInUse(next: since > 0 && delay > 0 && next > now ? next : nil)
        }
        let end = Self.sum(since, span)
        return end <= now ? .isLongEnough : .tooShort(next: end)
    }

    private static func sum(_ time: UInt64, _ span: UInt64) -> UInt64 {
        let (sum, overflow) = time.addingReportingOverflow(span)
        return overflow ? .max : sum
    }
}
