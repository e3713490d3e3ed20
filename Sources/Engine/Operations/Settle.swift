import Schedule
import WatchFile

/// `SettleSec=`, `MaxSettleSec=`: an operation of a path source is submitted when its key has been quiet for a while.
///
/// While it settles, every event of its key joins it and begins the span anew. Once it has its place in line it takes
/// in no more (`Admission`): a later event makes an operation that settles for itself, behind it.
extension Engine {
    /// As good as never: far more than the longest span of a watch file.
    private static let never: Int64 = 1 << 56

    /// A new operation has its first event. One by hand, and one that takes in nothing, waits for nothing.
    mutating func beginSettling(_ ref: OperationRef) {
        guard !operations[ref].descent.isByHand, !operations[ref].isClosed,
            let rule = sources[operations[ref].source].settle
        else { return }
        operations[ref].times.latest = now.monotonic + Self.span(rule.longest)
        extend(ref, rule)
    }

    /// An event has joined it.
    mutating func settleAnew(_ ref: OperationRef) {
        guard operations[ref].times.latest != 0, operations[ref].turn.station == .unsubmitted,
            let rule = sources[operations[ref].source].settle
        else { return }
        let isDue = operations[ref].times.wakeUp <= now.monotonic
        extend(ref, rule)
        // Otherwise a deadline stands already, and is moved when it has come.
        let time = operations[ref].times.wakeUp
        if isDue, time > now.monotonic { deadlines.add(.submission(ref), .monotonic, at: time) }
    }

    private mutating func extend(_ ref: OperationRef, _ rule: SettleRule) {
        let end = min(now.monotonic + Self.span(rule.quiet), operations[ref].times.latest)
        operations[ref].times.wakeUp = max(operations[ref].times.wakeUp, end)
    }

    static func span(_ span: TimeSpan) -> Int64 { min(Int64(clamping: span.microseconds), never) }

    // MARK: Across a restart

    /// Microseconds left until it is submitted though events come; `nil`: it does not settle.
    func settleLeft(_ operation: Operation) -> Int64? {
        guard operation.times.latest != 0, operation.turn.station == .unsubmitted else { return nil }
        return max(0, operation.times.latest - now.monotonic)
    }

    /// Monotonic microsecond at which a restored operation is submitted though events come.
    func latestSubmission(_ left: Int64?, source: Int) -> Int64 {
        guard let left, let rule = sources[source].settle else { return 0 }
        return now.monotonic + min(max(0, left), Self.span(rule.longest))
    }

    // MARK: Why it waits

    /// `nil`: it waits for its delay, or for nothing of the kind.
    func settleSentence(_ ref: OperationRef) -> String? {
        let (times, constraints) = (
            operations[ref].times, handlers[operations[ref].handler].definition.value.constraints
        )
        let delay = Int64(clamping: min(constraints.delay.microseconds, UInt64(Self.never)))
        guard times.latest != 0, times.wakeUp > now.monotonic, times.wakeUp <= times.latest,
            delay == 0 || times.made + delay < times.wakeUp
        else { return nil }
        let left = "\(SpanText.remaining(times.wakeUp - now.monotonic)) more"
        if times.wakeUp == times.latest { return "MaxSettleSec=, \(left)" }
        let isBounded = times.latest - now.monotonic < Self.never / 2
        return "SettleSec=, \(left)"
            + (isBounded ? ", at most \(SpanText.remaining(times.latest - now.monotonic))" : "")
    }
}
