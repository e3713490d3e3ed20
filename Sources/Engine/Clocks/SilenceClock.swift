/// How long a source has not been heard. Monotonic microseconds.
struct SilenceClock: Sendable {
    /// `SilenceSec=`; 0: it has none.
    var span: Int64 = 0
    /// When it was heard last, or the clock began.
    var heard: Int64 = 0
    /// The deadline that has been set, which may be too early; `never`: none.
    var deadline = Int64.max
    /// Not while the source is suspended, and not before it was armed.
    var isRunning = false
    /// `OnSilence=` has been started, and nothing was heard since.
    var isSilent = false
    /// What was left of it when watchd stopped, until it goes on; less than 0: nothing to go on with.
    var left: Int64 = -1
    /// What the store says is left of it, or would be taken to be; less than 0: that it is silent.
    var stored: Int64 = 0

    /// How much of it may be forgotten by a crash: a quarter, or 10 s.
    var storedStep: Int64 { max(span / 4, 10_000_000) }
}
