package import Schedule

/// `[Timer]`: at least one of the six times; a span is at least 1 ms.
package struct TimerTrigger: Equatable, Sendable {
    /// `OnCalendar=`: each that elapses makes an event; two at one instant make one.
    package var calendars: [CalendarExpression] = []
    /// `OnCron=`.
    package var crons: [CronExpression] = []
    /// `EverySec=`: fixed rate on a grid anchored at boot.
    package var every: TimeSpan?
    /// `AfterSec=`: fixed delay after its operations ended.
    package var after: TimeSpan?
    package var onStartup: TimeSpan?
    package var onBoot: TimeSpan?
    /// `AccuracySec=`: how much later than it is due an elapse may come, so that one wake-up serves several.
    package var accuracy = Self.finestAccuracy
    /// `RandomizedDelaySec=`: added to each elapse, uniform from 0 to this.
    package var randomizedDelay = TimeSpan.zero
    /// `FixedRandomDelay=`: the same delay each time, of this host and timer.
    package var hasFixedRandomDelay = false
    package var catchUp = CatchUp.none
    /// `CatchUpMaxSec=`: what was missed longer ago is left out.
    package var catchUpLimit = Self.usualCatchUpLimit
    package var daylightSaving = DaylightSaving.run

    /// The default of `AccuracySec=`.
    package static let finestAccuracy = TimeSpan.milliseconds(1)
    /// The default of `CatchUpMaxSec=`.
    package static let usualCatchUpLimit = TimeSpan.seconds(24 * 3600)

    package init(
        every: TimeSpan? = nil, after: TimeSpan? = nil, onStartup: TimeSpan? = nil, onBoot: TimeSpan? = nil
    ) {
        self.every = every
        self.after = after
        self.onStartup = onStartup
        self.onBoot = onBoot
    }

    /// Whether it looks at the wall clock.
    package var hasCalendar: Bool { !calendars.isEmpty || !crons.isEmpty }
}

/// `CatchUp=`: what becomes of elapses that came while the machine slept or watchd was not there.
package enum CatchUp: String, CaseIterable, Sendable {
    case none
    /// One event for all of them.
    case one
    /// An operation each.
    case all
}
