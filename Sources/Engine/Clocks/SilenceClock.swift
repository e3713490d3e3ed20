import Schedule

/// How long a source has not been heard. Monotonic microseconds.
///
/// There is one deadline at a time. An event only notes when it came: a deadline that comes too early for it is set
/// anew then, so that hearing costs nothing.
struct SilenceClock: Sendable {
    /// The step that an input calls for.
    enum Step: Equatable, Sendable {
        case nothing
        /// The store is to be told how much is left.
        case save
        /// Handlers are to be told, and the store before.
        case tell(SilenceFact)
    }

    /// `SilenceSec=`; 0: it has none.
    private(set) var span: Int64 = 0
    /// When it was heard last, or the clock began.
    private(set) var heard: Int64 = 0
    /// The deadline that has been set, which may be too early; `never`: none.
    private(set) var deadline = Int64.max
    /// Not while the source is suspended, and not before it was armed.
    private(set) var isRunning = false
    /// `OnSilence=` has been started, and nothing was heard since.
    private(set) var isSilent = false
    /// Time that was left of it when watchd stopped, until it goes on; less than 0: nothing to go on with.
    private var left: Int64 = -1
    /// Time that is left of it by the store, or would be taken to be; less than 0: by the store it is silent.
    private var stored: Int64 = 0

    /// How much of it may be forgotten by a crash: a quarter, or 1 s.
    private var storedStep: Int64 { max(span / 4, 1_000_000) }

    /// Goes on with a new span.
    mutating func define(span: Int64) {
        if span == 0 || self.span == 0 {
            self = SilenceClock()
            // A clock that the store does not know begins anew.
            stored = span
        }
        self.span = span
        deadline = .max
    }

    /// Begins anew, or goes on.
    mutating func start(at now: Int64) {
        isRunning = true
        if !isSilent { heard = now - (left >= 0 ? span - left : 0) }
        left = -1
    }

    mutating func stop() {
        isRunning = false
        deadline = .max
    }

    /// A time that was left is no longer gone on with.
    mutating func forget() { left = -1 }

    /// The source is closed: nobody is told that it is heard again.
    mutating func endSilence() { isSilent = false }

    /// The deadline that is to be set now; `nil`: there is one, or none is needed.
    mutating func nextDeadline(at now: Int64) -> Int64? {
        guard isRunning, !isSilent, deadline == .max else { return nil }
        let steps = max(0, now - heard) / storedStep + 1
        deadline = heard + min(span, steps * storedStep)
        return deadline
    }

    /// The source is heard.
    mutating func hear(at now: Int64) -> Step {
        let silent = now - heard
        heard = now
        guard isSilent else { return stored < span ? .save : .nothing }
        isSilent = false
        return .tell(SilenceFact(silent: silent, isOver: true))
    }

    /// The deadline has come.
    mutating func elapsed(at now: Int64) -> Step {
        deadline = .max
        guard isRunning, !isSilent else { return .nothing }
        let silent = now - heard
        guard silent >= span else { return silent >= storedStep ? .save : .nothing }
        isSilent = true
        return .tell(SilenceFact(silent: silent))
    }

    // MARK: The store

    /// Writes down how much is left.
    mutating func save(in stamp: inout TimerStamp, at now: Moment) {
        stored = span
        if isSilent {
            stamp.silentSince = now.realtime - (now.monotonic - heard)
            stored = -1
        } else if isRunning {
            stored = max(0, heard + span - now.monotonic)
            stamp.silenceLeft = stored
        }
    }

    /// Goes on with the time that was left; what was told is not told again.
    mutating func restore(_ stamp: TimerStamp, at now: Moment) {
        stored = stamp.silentSince == nil ? stamp.silenceLeft ?? span : -1
        if let since = stamp.silentSince {
            isSilent = true
            heard = now.monotonic - max(0, now.realtime - since)
        } else if let silenceLeft = stamp.silenceLeft {
            left = min(max(0, silenceLeft), span)
        }
    }
}
