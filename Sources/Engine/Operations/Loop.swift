import Schedule
import WatchFile

/// `Loop=`: a handler that writes what its source watches, and so starts itself again and again (Semantics.md, "Loop").
///
/// A *round* is an operation all of whose events fell into the run before it: that of the same handler by the same
/// source or, where files have keys of their own, of the same key. After ten rounds the next operation is held back
/// until a second after that run. An event that comes meanwhile is somebody else's, and the count begins anew; else it
/// is a loop. Each time that the suspicion was wrong it takes twice as many rounds to wake it again, until the handler has
/// rested for a minute: a folder in which others write all the while is not held back every ten runs.
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
        /// Operations that are held back.
        var held: [OperationRef] = []
        /// Until this monotonic microsecond, once nothing runs.
        var until: Int64?

        /// Nothing has to be kept in mind of it.
        func isOver(at now: Int64) -> Bool {
            running == 0 && rounds == 0 && held.isEmpty && now > lastEnd + LoopWatch.lateness
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
    private func loopKeys(_ ref: OperationRef) -> [LoopWatch.Key] {
        let operation = operations[ref]
        guard sources[operation.source].watchesPaths, !operation.descent.isByHand else { return [] }
        let whole = LoopWatch.Key(source: operation.source, handler: operation.handler)
        guard case .template = sources[operation.source].key else { return [whole] }
        return [whole]
            + operation.keys.map {
                LoopWatch.Key(source: whole.source, handler: whole.handler, name: keys[$0].name.bytes)
            }
    }

    // MARK: Events

    /// An event has made an operation, or joined it.
    mutating func watchForLoop(_ ref: OperationRef, isNew: Bool) {
        guard sources[operations[ref].source].watchesPaths, !loops.states.isEmpty else { return }
        let isLevel = operations[ref].entries.newest?.isLevel ?? false
        for key in loopKeys(ref) {
            guard let state = loops.states[key] else { continue }
            let isLate = state.running == 0 && now.monotonic <= state.lastEnd + LoopWatch.lateness
            if isLevel || (state.running != 1 && !isLate) {
                beginLoopAnew(key)
            } else if isNew, state.rounds >= state.suspicious, loops.heldBy[ref.id] == nil {
                hold(ref, for: key)
            }
        }
    }

    /// Somebody else writes too.
    private mutating func beginLoopAnew(_ key: LoopWatch.Key) {
        if let state = loops.states[key], !state.held.isEmpty {
            loops.states[key]?.suspicious = min(2 * state.suspicious, LoopWatch.mostRounds)
        }
        loops.states[key]?.hasOthers = true
        loops.states[key]?.rounds = 0
        loops.found[key] = nil
        release(key)
    }

    // MARK: Runs

    /// - Parameter isFirst: of its attempts.
    mutating func loopRunStarted(_ ref: OperationRef, isFirst: Bool) {
        guard sources[operations[ref].source].watchesPaths else { return }
        for key in loopKeys(ref) {
            var state = loops.states[key] ?? LoopWatch.State()
            if isFirst {
                let isRound =
                    state.lastStart != 0 && operations[ref].times.made >= state.lastStart && !state.hasOthers
                state.rounds = isRound ? state.rounds + 1 : 0
                if now.monotonic - state.lastEnd > LoopWatch.rest { state.suspicious = LoopWatch.rounds }
                (state.hasOthers, state.lastStart) = (false, now.monotonic)
                if !isRound { loops.found[key] = nil }
            }
            state.running += 1
            state.until = nil
            loops.states[key] = state
            if state.rounds == 0 { release(key) }
        }
        loops.trim(at: now.monotonic)
    }

    /// An attempt has ended.
    mutating func loopRunEnded(_ ref: OperationRef) {
        guard !loops.states.isEmpty else { return }
        for key in loopKeys(ref) {
            guard var state = loops.states[key] else { continue }
            state.running = max(0, state.running - 1)
            if state.running == 0 { state.lastEnd = now.monotonic }
            loops.states[key] = state
            if state.running == 0 { waitForOthers(key) }
        }
    }

    // MARK: Holding back

    private mutating func hold(_ ref: OperationRef, for key: LoopWatch.Key) {
        loops.heldBy[ref.id] = key
        loops.states[key]?.held.append(ref)
        if loops.states[key]?.running == 0 { waitForOthers(key) }
    }

    private mutating func waitForOthers(_ key: LoopWatch.Key) {
        let held = loops.states[key]?.held ?? []
        guard let first = held.first(where: { operations.isAlive($0) }) else { return }
        let time = now.monotonic + LoopWatch.patience
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
        loops.states[key]?.rounds = 0
        let isKnown = loops.found[key] != nil
        let path = operations.isAlive(ref) ? operations[ref].entries.newest?.loopPath : nil
        let stops = sources[key.source].stopsLoops
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
            state.until.map { "\(SpanText.remaining($0 - now.monotonic)) more" } ?? "the end of \(name) and 1s more"
        return "Loop=, \(wait): only \(name) has written here, \(state.suspicious) times in a row"
    }

    /// A loop is seen as long as it goes on, or is stopped.
    func loop(of source: Int) -> FoundLoop? {
        guard !loops.found.isEmpty else { return nil }
        return loops.found.filter { key, _ in
            guard key.source == source, let state = loops.states[key] else { return false }
            return state.running > 0 || sources[source].isSuspended
                || now.monotonic - state.lastEnd < 10 * LoopWatch.patience
        }.values.min { ($0.since, $0.handler) < ($1.since, $1.handler) }
    }
}

extension Event {
    /// A condition fires again and again as long as it holds: that is no loop.
    fileprivate var isLevel: Bool { if case .path(let fact) = fact { fact.handover != nil } else { false } }

    fileprivate var loopPath: [UInt8]? { if case .path(let fact) = fact { fact.path } else { nil } }
}
