import Schedule
import WatchFile

/// `Loop=`: a handler that writes what its source watches, and so starts itself again and again (Semantics.md, "Loop").
///
/// A *round* is an operation all of whose events fell into the run before it: that of the same handler by the same
/// source or, where files have keys of their own, of the same key. After ten rounds the next operation is held back
/// until a second after that run. An event that comes meanwhile is somebody else's, and the count begins anew; else it
/// is a loop. Each time that the suspicion was wrong it takes twice as many rounds to wake it again, until the handler has
/// rested for a minute: a folder in which others write all the while is not held back every ten runs. It takes a second
/// quiet pause, after one more round, to find a loop: after the first one, others may just have ended to write.
struct LoopWatch: Sendable {
    struct Key: Hashable, Sendable {
        var source: Int
        var handler: Int
        /// `nil`: of whatever key.
        var name: [UInt8]?
    }

    struct State: Sendable {
        /// Monotonic microsecond at which its last run started.
        var lastStart: Int64 = 0
        /// The same of its last end, once nothing runs.
        var lastEnd: Int64 = 0
        var running = 0
        /// An event has come since the last start that did not fall into a run, or not into a single one.
        var hasOthers = false
        var rounds = 0
        /// Rounds in a row that are suspicious.
        var suspicious = LoopWatch.rounds
        /// Nobody else wrote while the last operation was held back.
        var wasQuiet = false
        /// Operations that are held back.
        var held: [OperationRef] = []
        /// Until this monotonic microsecond, once nothing runs.
        var until: Int64?
        /// How much later than its change an event may come, in microseconds.
        var lateness = LoopWatch.lateness

        /// An event has come. True: somebody else writes too, and the count begins anew.
        ///
        /// - Parameter isLevel: of a condition that fires as long as it holds.
        mutating func heard(isLevel: Bool, at now: Int64) -> Bool {
            let isLate = running == 0 && now <= lastEnd + lateness
            guard isLevel || (running != 1 && !isLate) else { return false }
            if !held.isEmpty { suspicious = min(2 * suspicious, LoopWatch.mostRounds) }
            (hasOthers, rounds, wasQuiet) = (true, 0, false)
            return true
        }

        /// A run has started. True: it is a round.
        ///
        /// - Parameters:
        ///   - made: when its operation was, a monotonic microsecond.
        ///   - isFirst: of its attempts; others are no round, and end none.
        mutating func started(made: Int64, isFirst: Bool, at now: Int64) -> Bool {
            running += 1
            until = nil
            guard isFirst else { return true }
            let isRound = lastStart != 0 && made >= lastStart && !hasOthers
            rounds = isRound ? rounds + 1 : 0
            if !isRound { wasQuiet = false }
            if now - lastEnd > LoopWatch.rest { suspicious = LoopWatch.rounds }
            (hasOthers, lastStart) = (false, now)
            return isRound
        }

        /// A run has ended. True: none is left.
        mutating func ended(at now: Int64) -> Bool {
            running = max(0, running - 1)
            if running == 0 { lastEnd = now }
            return running == 0
        }

        var isSuspicious: Bool { rounds >= suspicious }

        /// Nothing has to be kept in mind of it.
        func isOver(at now: Int64) -> Bool {
            running == 0 && rounds == 0 && held.isEmpty && now > lastEnd + lateness
        }
    }

    /// Rounds in a row that are suspicious at first, and after however many wrong suspicions.
    static let rounds = 10
    static let mostRounds = 10_240
    /// After a pause as long, ten are suspicious again.
    static let rest: Int64 = 60_000_000
    /// How long the next run is held back.
    static let patience: Int64 = 1_000_000
    /// A change written at the end of a run may be read as much later.
    static let lateness: Int64 = 100_000
    /// Below this many states none is looked for that is over.
    private static let smallestLimit = 64

    var states: [Key: State] = [:]
    /// Operations that are held back.
    var heldBy: [UInt64: Key] = [:]
    var found: [Key: FoundLoop] = [:]
    private var limit = Self.smallestLimit

    /// Costs O(1) for each state added, since the next time is at twice the number left.
    mutating func trim(at now: Int64) {
        guard states.count > limit else { return }
        states = states.filter { !$1.isOver(at: now) || found[$0] != nil }
        limit = max(2 * states.count, Self.smallestLimit)
    }
}

/// A loop that was found.
package struct FoundLoop: Equatable, Sendable {
    /// The full name of the source, and the bare one of the handler.
    package var source: String
    package var handler: String
    /// A file that was changed in each round, the last one.
    package var path: [UInt8]
    /// When it was found: wall clock, microseconds.
    package var since: Int64
    /// `Loop=stop`.
    package var isStopped: Bool
}

extension Engine {
    /// Calls `body` with each key under which an operation is looked at.
    private mutating func forEachLoopKey(_ ref: OperationRef, _ body: (inout Engine, LoopWatch.Key) -> Void) {
        let (source, handler) = (operations[ref].source, operations[ref].handler)
        guard sources[source].traits.contains(.paths), !operations[ref].descent.isByHand else { return }
        let keys = operations[ref].keys
        body(&self, LoopWatch.Key(source: source, handler: handler))
        guard sources[source].traits.contains(.ownKeys) else { return }
        for key in keys {
            body(&self, LoopWatch.Key(source: source, handler: handler, name: self.keys[key].name.bytes))
        }
    }

    // MARK: Events

    /// An event has made an operation, or joined it.
    mutating func watchForLoop(_ ref: OperationRef, isNew: Bool) {
        guard sources[operations[ref].source].traits.contains(.paths), !loops.states.isEmpty else { return }
        let isLevel = operations[ref].entries.newest?.isLevel ?? false
        forEachLoopKey(ref) { engine, key in
            guard let index = engine.loops.states.index(forKey: key) else { return }
            let hasOthers = engine.loops.states.values[index].heard(isLevel: isLevel, at: engine.now.monotonic)
            if hasOthers {
                if !engine.loops.found.isEmpty { engine.loops.found[key] = nil }
                if !engine.loops.states.values[index].held.isEmpty { engine.release(key) }
            } else if isNew, engine.loops.states.values[index].isSuspicious, engine.loops.heldBy[ref.id] == nil {
                engine.hold(ref, for: key)
            }
        }
    }

    // MARK: Runs

    /// - Parameter isFirst: of its attempts.
    mutating func loopRunStarted(_ ref: OperationRef, isFirst: Bool) {
        guard sources[operations[ref].source].traits.contains(.paths) else { return }
        let made = operations[ref].times.made
        let new = LoopWatch.State(lateness: lateness(of: operations[ref].source))
        forEachLoopKey(ref) { engine, key in
            let (isRound, mayGo) = Self.started(
                &engine.loops.states[key, default: new], made, isFirst, engine.now.monotonic)
            if !isRound, !engine.loops.found.isEmpty { engine.loops.found[key] = nil }
            if mayGo { engine.release(key) }
        }
        loops.trim(at: now.monotonic)
    }

    /// One look into the dictionary for all. `mayGo`: there are operations held back, and no reason for it any more.
    private static func started(
        _ state: inout LoopWatch.State, _ made: Int64, _ isFirst: Bool, _ now: Int64
    ) -> (isRound: Bool, mayGo: Bool) {
        let isRound = state.started(made: made, isFirst: isFirst, at: now)
        return (isRound, state.rounds == 0 && !state.held.isEmpty)
    }

    /// An attempt has ended.
    mutating func loopRunEnded(_ ref: OperationRef) {
        guard !loops.states.isEmpty else { return }
        forEachLoopKey(ref) { engine, key in
            guard let index = engine.loops.states.index(forKey: key) else { return }
            let isLast = engine.loops.states.values[index].ended(at: engine.now.monotonic)
            if isLast, !engine.loops.states.values[index].held.isEmpty { engine.waitForOthers(key) }
        }
    }

    // MARK: Holding back

    /// With `Poll=yes` a change is seen by the next look, and one of a new file by a second one.
    private func lateness(of source: Int) -> Int64 {
        guard sources[source].traits.contains(.polls),
            case .path(let trigger)? = sources[source].definition?.value.trigger
        else { return LoopWatch.lateness }
        return LoopWatch.lateness + 2 * Int64(clamping: min(trigger.polling.interval.microseconds, 1 << 50))
    }

    private func patience(of source: Int) -> Int64 { max(LoopWatch.patience, lateness(of: source)) }

    private mutating func hold(_ ref: OperationRef, for key: LoopWatch.Key) {
        loops.heldBy[ref.id] = key
        loops.states[key]?.held.append(ref)
        if loops.states[key]?.running == 0 { waitForOthers(key) }
    }

    private mutating func waitForOthers(_ key: LoopWatch.Key) {
        let held = loops.states[key]?.held ?? []
        guard let first = held.first(where: { operations.isAlive($0) }) else { return }
        let time = now.monotonic + patience(of: key.source)
        loops.states[key]?.until = time
        deadlines.add(.loop(first), .monotonic, at: time)
    }

    private mutating func release(_ key: LoopWatch.Key) {
        guard let held = loops.states[key]?.held, !held.isEmpty else { return }
        loops.states[key]?.held = []
        loops.states[key]?.until = nil
        for ref in held { loops.heldBy[ref.id] = nil }
        for ref in held { submitIfFree(ref) }
    }

    func isLoopDeadline(_ ref: OperationRef, _ time: Int64) -> Bool {
        guard let key = loops.heldBy[ref.id] else { return false }
        return loops.states[key]?.until == time
    }

    /// Nobody else has written.
    mutating func loopFound(_ ref: OperationRef) {
        guard let key = loops.heldBy[ref.id], let until = loops.states[key]?.until, until <= now.monotonic else {
            return
        }
        let isKnown = loops.found[key] != nil
        guard isKnown || loops.states[key]?.wasQuiet == true else {
            loops.states[key]?.wasQuiet = true
            return release(key)
        }
        loops.states[key]?.rounds = 0
        loops.states[key]?.wasQuiet = false
        let path = operations.isAlive(ref) ? operations[ref].entries.newest?.loopPath : nil
        let stops = sources[key.source].traits.contains(.stopsLoops)
        let loop = FoundLoop(
            source: sources[key.source].origin.description, handler: handlers[key.handler].name, path: path ?? [],
            since: loops.found[key]?.since ?? now.realtime, isStopped: stops)
        loops.found[key] = loop
        if !isKnown { actions.append(.report(.loop(loop))) }
        if stops, !sources[key.source].suspensions.contains(where: { $0.by == "Loop=stop" }) {
            let reason = "\(loop.handler) writes what starts it"
            suspend(source: key.source, Suspension(by: "Loop=stop", reason: reason, since: now.realtime))
        }
        release(key)
    }

    /// Handlers and files may be others now.
    mutating func forgetLoops() {
        guard !loops.states.isEmpty else { return }
        let held = loops.heldBy.keys.sorted()
        loops = LoopWatch()
        for ref in held.compactMap({ operations.ref(id: $0) }) { submitIfFree(ref) }
    }

    /// It has ended, or is left to the next start.
    mutating func loopHoldsNoMore(_ ref: OperationRef) {
        guard !loops.heldBy.isEmpty, let key = loops.heldBy.removeValue(forKey: ref.id) else { return }
        loops.states[key]?.held.removeAll { $0 == ref }
        if loops.states[key]?.running == 0 { waitForOthers(key) }
    }

    // MARK: Views of it

    /// `nil`: it is not held back.
    func loopSentence(_ ref: OperationRef) -> String? {
        guard let key = loops.heldBy[ref.id], let state = loops.states[key] else { return nil }
        let name = handlers[key.handler].name
        let wait =
            state.until.map { "\(SpanText.remaining($0 - now.monotonic)) more" }
            ?? "the end of \(name) and \(SpanText.remaining(patience(of: key.source))) more"
        return "Loop=, \(wait): only \(name) has written here, \(state.rounds) times in a row"
    }

    /// A loop is seen as long as it goes on, or is stopped.
    func loop(of source: Int) -> FoundLoop? {
        guard !loops.found.isEmpty else { return nil }
        return loops.found.filter { key, _ in
            guard key.source == source, let state = loops.states[key] else { return false }
            return state.running > 0 || sources[source].isSuspended
                || now.monotonic - state.lastEnd < 10 * patience(of: source)
        }.values.min { ($0.since, $0.handler) < ($1.since, $1.handler) }
    }
}

extension Event {
    /// A condition fires again and again as long as it holds: that is no loop.
    fileprivate var isLevel: Bool { if case .path(let fact) = fact { fact.handover != nil } else { false } }

    fileprivate var loopPath: [UInt8]? { if case .path(let fact) = fact { fact.path } else { nil } }
}
