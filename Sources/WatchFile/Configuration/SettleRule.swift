package import Schedule

/// `SettleSec=` and `MaxSettleSec=` of `[Path]`: an operation is submitted when its key has been quiet for a while.
package struct SettleRule: Equatable, Sendable {
    /// Without an event of its key; never 0.
    package var quiet: TimeSpan
    /// From its first event on, whatever comes; `.infinity`: no bound.
    package var longest: TimeSpan

    package init(quiet: TimeSpan, longest: TimeSpan? = nil) {
        self.quiet = quiet
        self.longest = longest ?? TimeSpan(microseconds: min(quiet.microseconds, .max / 20) * 10)
    }
}
