import Engine
package import EventSources
import LinuxSystem
package import Schedule
import Systemd

/// `idle:…` of `HoldUntil=`: logind says that nobody has used the machine for so long. Woken by logind's signals, and by
/// one timer for the rest of the span. Confined to the core.
package final class IdleProbe: HoldProbe {
    private let span: TimeSpan
    private let core: Context
    private let epoll: EpollSet
    private let tell: (String?) -> Void
    private var client: LoginClient?
    private var isOver = false
    private var isAsking = false
    /// Something has happened since it was asked.
    private var isStale = false
    /// Of the planned looks only the last one counts.
    private var plans = 0
    private lazy var link = BusLink(
        core: core, epoll: epoll, scope: .system, opened: { [weak self] in self?.opened($0) },
        lost: { [weak self] in self?.lost($0) })

    /// - Parameter tell: takes the obstacle, `nil` where there is none.
    package init(_ span: TimeSpan, core: Context, epoll: EpollSet, _ tell: @escaping (String?) -> Void) {
        (self.span, self.core, self.epoll, self.tell) = (span, core, epoll, tell)
    }

    package func begin() { link.open() }

    package func end() {
        isOver = true
        // Not while the connection is read.
        link.later { [self] in
            client = nil
            link.close()
        }
    }

    // MARK: The connection

    private func opened(_ bus: Bus) {
        let client = LoginClient(bus) { [weak self] in self?.lookLater() }
        self.client = client
        client.subscribe { [weak self] failure in
            guard let self else { return }
            if let failure { return link.fail("the system bus does not tell of logind: \(failure)") }
            link.isAgreed()
            look()
        }
    }

    private func lost(_ condition: SourceCondition) {
        (client, isAsking) = (nil, false)
        guard !isOver, case .failed(let reason, _) = condition else { return }
        tell(reason)
    }

    // MARK: Looking

    private func lookLater() {
        guard !isAsking else {
            isStale = true
            return
        }
        link.later { [weak self] in self?.look() }
    }

    private func look() {
        guard !isOver, let client else { return }
        guard !isAsking else {
            isStale = true
            return
        }
        (isAsking, isStale) = (true, false)
        client.idleness { [weak self] in self?.take($0, failure: $1) }
        link.pumpLater()
    }

    private func take(_ idleness: Idleness?, failure: String) {
        isAsking = false
        guard !isOver else { return }
        guard let idleness else {
            return link.fail("systemd-logind does not say whether the machine is idle: \(failure)")
        }
        link.answered()
        act(idleness.standing(for: span.microseconds, at: UInt64(Linux.now(.monotonic))))
        if isStale { lookLater() }
    }

    private func act(_ standing: Idleness.Standing) {
        switch standing {
        case .isLongEnough: tell(nil)
        case .tooShort(let next):
            tell("the machine has been idle for less than that")
            plan(next)
        case .isInUse(let next):
            tell("the machine is in use")
            if let next { plan(next) }
        }
    }

    /// At this microsecond of the monotonic clock.
    private func plan(_ time: UInt64) {
        plans += 1
        let look = QueueBound({ [weak self, plans] in if self?.plans == plans { self?.look() } }, to: core)
        core.after(max(0, Int(clamping: time) - Int(Linux.now(.monotonic)))) { look.value() }
    }
}
