/// One step of why something waits, or did or did not run: `watchctl explain`.
package struct Explanation: Equatable, Sendable {
    /// Wall clock, microseconds; `nil`: it holds now.
    package var time: Int64?
    package var code: ReasonCode
    /// The reason as a sentence, without the time and without a full stop.
    package var sentence: String
    /// The operation it is about, and the other one that decided.
    package var operation: UInt64?
    package var other: UInt64?
    /// The full name of the section that decided (`queue/images`, `handler/tell`, `path/uploads`).
    package var section: String?

    package init(
        time: Int64? = nil, code: ReasonCode, sentence: String, operation: UInt64? = nil, other: UInt64? = nil,
        section: String? = nil
    ) {
        self.time = time
        self.code = code
        self.sentence = sentence
        self.operation = operation
        self.other = other
        self.section = section
    }
}

/// Why something waits, or what became of it; the raw value is what clients see.
package enum ReasonCode: String, CaseIterable, Sendable {
    // Reasons why an operation waits.
    case delay
    /// `SettleSec=`.
    case settle
    /// `Join=all`.
    case join
    /// `Loop=`.
    case loop
    case dependency
    case key
    case order
    case barrier
    case width
    case targetWidth = "target-width"
    case suspended
    case semaphore
    /// A worker of its handler.
    case worker
    case processSlot = "process-slot"
    case rateLimit = "rate-limit"
    case backingOff = "backing-off"
    /// `HoldDuring=`.
    case window
    /// `HoldUntil=`.
    case condition
    case reload
    case turn
    /// The store takes nothing at the moment.
    case store
    /// Its handler or queue does not exist any more.
    case orphaned
    /// For the next start: watchd is stopping.
    case start
    // Steps in the course of an operation.
    case submitted
    case joined
    case started
    /// `LateSec=`, `SlowSec=`.
    case late
    case slow
    case ended
    case retried
    case superseded
    case cancelled
    case skipped
    case dropped
    case annulled
    /// Elapses of a timer, which are not caught up.
    case missed
    // How a queue, semaphore or handler stands.
    case idle
    case running
    case full
    /// Operations that are not named.
    case more
    // Outcomes of a path, and how sources see it.
    case told
    case seen
    case unseen
    case excluded
    case pruned
    /// `IgnoreFile=`.
    case ignored
    case notRecursive = "not-recursive"
    /// Somebody still writes it.
    case open
    // How a source stands.
    case armed
    case unarmed
    case held
}

extension ReasonCode {
    /// The name of a result in a trail.
    init(_ result: Result) {
        switch result {
        case .done, .failed, .stopped: self = .ended
        case .cancelled: self = .cancelled
        case .skipped: self = .skipped
        case .dropped: self = .dropped
        case .annulled: self = .annulled
        case .superseded: self = .superseded
        }
    }
}
