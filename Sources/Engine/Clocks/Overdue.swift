package import Schedule
import WatchFile

/// Operations that start late or run for long: `LateSec=`, `SlowSec=`. Only those of handlers with one of the two are
/// kept here; and those that have no process yet.
struct Overdue: Sendable {
    struct Entry: Equatable, Sendable {
        /// Monotonic microseconds from which it is late, or slow; `nil`: it cannot be by now.
        var lateAt: Int64?
        var slowAt: Int64?
        /// Since when it is, on the wall clock.
        var since: Int64?
        /// The handlers of `OnLate=`, `OnSlow=` have been started.
        var isLateTold = false
        var isSlowTold = false
    }

    private(set) var entries: [UInt64: Entry] = [:]
    /// Operations with a run whose start is tried again and again.
    var delayed: Set<UInt64> = []

    subscript(id: UInt64) -> Entry? {
        get { entries.isEmpty ? nil : entries[id] }
        set { entries[id] = newValue }
    }

    mutating func forget(_ id: UInt64) {
        if !entries.isEmpty { entries[id] = nil }
        if !delayed.isEmpty { delayed.remove(id) }
    }

    /// An attempt has begun.
    mutating func begins(_ id: UInt64) {
        guard !entries.isEmpty, var entry = entries[id] else { return }
        (entry.lateAt, entry.since) = (nil, nil)
        entries[id] = entry
    }

    /// An attempt has ended, and another one comes.
    mutating func ends(_ id: UInt64) {
        guard !entries.isEmpty, var entry = entries[id] else { return }
        (entry.slowAt, entry.since) = (nil, nil)
        entries[id] = entry
    }
}

/// An operation that is late, or slow.
package struct OverdueView: Sendable {
    package var operation: UInt64
    package var handler: String
    /// It runs for too long; else it has not started.
    package var isSlow: Bool
    /// Wall clock, microseconds.
    package var since: Int64
    /// `LateSec=`, `SlowSec=`.
    package var span: TimeSpan
    /// The sentence of what it waits for.
    package var waitingFor: String?
    /// Others of its handler that are the same; it is the oldest.
    package var others = 0
}

extension Engine {
    // MARK: Late

    /// When an operation is made, and anew after a reload.
    mutating func expectStart(_ ref: OperationRef) {
        let definition = handlers[operations[ref].handler].definition.value
        let span = definition.patience.late.microseconds
        guard span < UInt64(Int64.max / 4) else { return overdue.begins(ref.id) }
        var due = operations[ref].times.submitted
        if case .timer(let scheduled) = operations[ref].entries.events.first?.fact { due = min(due, scheduled) }
        let delay = min(Int64(clamping: definition.constraints.delay.microseconds), .max / 4)
        let waited = min(max(0, now.realtime - due), .max / 8)
        var entry = overdue[ref.id] ?? Overdue.Entry()
        let time = now.monotonic - waited + delay + Int64(span)
        guard entry.lateAt != time else { return }
        (entry.lateAt, entry.since) = (time, nil)
        overdue[ref.id] = entry
        deadlines.add(.late(ref), .monotonic, at: time)
    }

    mutating func becameLate(_ ref: OperationRef) {
        guard isLateDeadline(ref), let time = overdue[ref.id]?.lateAt, time <= now.monotonic else { return }
        let since = now.realtime - (now.monotonic - time)
        overdue[ref.id]?.since = since
        let definition = handlers[operations[ref].handler].definition.value
        let cause = waitSentence(ref).map { ": waits for \($0)" } ?? ""
        tell(
            ref, .late, "not started \(definition.patience.late) after its event\(cause)", definition.completions.late,
            isTold: \.isLateTold)
    }

    func isLateDeadline(_ ref: OperationRef) -> Bool {
        operations.isWaiting(ref) && overdue[ref.id].map { $0.lateAt != nil && $0.since == nil } ?? false
    }

    // MARK: Slow

    /// When an attempt begins. `ran`: microseconds that it has run already.
    mutating func expectEnd(
        _ ref: OperationRef, _ definition: HandlerDefinition, ran: Int64 = 0, patience: Int64 = 0
    ) {
        let span = definition.patience.slow.microseconds
        guard span < UInt64(Int64.max / 4), overdue[ref.id]?.slowAt == nil else { return }
        var entry = overdue[ref.id] ?? Overdue.Entry()
        let time = max(now.monotonic - min(ran, .max / 8) + Int64(span), now.monotonic + patience)
        entry.slowAt = time
        overdue[ref.id] = entry
        deadlines.add(.slow(ref), .monotonic, at: time)
    }

    mutating func becameSlow(_ ref: OperationRef) {
        guard isSlowDeadline(ref), let time = overdue[ref.id]?.slowAt, time <= now.monotonic,
            let definition = operations[ref].runs.first?.definition.value
        else { return }
        let since = now.realtime - (now.monotonic - time)
        overdue[ref.id]?.since = since
        tell(
            ref, .slow, "still running after \(definition.patience.slow)", definition.completions.slow,
            isTold: \.isSlowTold)
    }

    func isSlowDeadline(_ ref: OperationRef) -> Bool {
        operations.isAlive(ref) && operations[ref].progress.isRunning
            && overdue[ref.id].map { $0.slowAt != nil && $0.since == nil } ?? false
    }

    // MARK: Telling

    /// Once for an operation.
    private mutating func tell(
        _ ref: OperationRef, _ outcome: CompletionFact.Outcome, _ reason: String, _ names: [String],
        isTold: WritableKeyPath<Overdue.Entry, Bool>
    ) {
        guard var entry = overdue[ref.id], !entry[keyPath: isTold] else { return }
        entry[keyPath: isTold] = true
        overdue[ref.id] = entry
        save(ref)
        note(outcome == .late ? .late : .slow, ref, detail: .text(reason))
        let operation = operations[ref]
        var view = view(ref)
        view.reason = reason
        actions.append(.report(.overdue(view)))
        startCompletions(names, outcome, operation, view)
    }

    /// Those that are late or slow now, the oldest of each handler, at most `limit`.
    package func overdueViews(_ limit: Int) -> [OverdueView] {
        var found: [OverdueView] = []
        var places: [String: Int] = [:]
        for (id, entry) in overdue.entries.sorted(by: { $0.key < $1.key }) {
            guard let since = entry.since, let ref = operations.ref(id: id) else { continue }
            let isSlow = operations[ref].progress.isRunning
            let name = handlers[operations[ref].handler].name
            if let place = places["\(name) \(isSlow)"] {
                found[place].others += 1
            } else if found.count < limit {
                let own = handlers[operations[ref].handler].definition.value
                let definition = operations[ref].runs.first?.definition.value ?? own
                places["\(name) \(isSlow)"] = found.count
                found.append(
                    OverdueView(
                        operation: id, handler: name, isSlow: isSlow, since: since,
                        span: isSlow ? definition.patience.slow : definition.patience.late,
                        waitingFor: isSlow ? nil : waitSentence(ref)))
            }
        }
        return found
    }
}
