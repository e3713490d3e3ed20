import Schedule
import WatchFile

/// Timers: when they elapse, and what becomes of elapses that were missed.
extension Engine {
    func timerRule(_ source: Int) -> TimerRule? {
        guard sources[source].isTimer, case .timer(let trigger) = sources[source].definition?.value.trigger else {
            return nil
        }
        return clocks.rule(trigger, name: sources[source].origin.description)
    }

    /// - Parameter old: where it stood, if a reload has changed it.
    mutating func openTimer(_ source: Int, after old: TimerState?) {
        guard let rule = timerRule(source), case .source(let id) = sources[source].origin else { return }
        // Nothing runs only because a file was edited.
        if let old, !old.waitsForBoot(rule), let onBoot = TimerRule.microseconds(rule.trigger.onBoot),
            onBoot < now.boottime
        {
            noteBooted(id)
        }
        clocks.open(&sources[source].timer, rule, id)
        if let old { clocks.keep(&sources[source].timer, rule, of: old) }
        sources[source].condition = .armed
        // Operations of before a reload are waited for.
        if sources[source].counters.outstanding > 0 { sources[source].timer.stopDelay() }
        addTimerDeadlines(source, rule, after: TimerState())
        if life.hasStarted, rule.isStored { saveStamp(source) }
    }

    /// Adds what has changed since `old`.
    mutating func addTimerDeadlines(_ source: Int, _ rule: TimerRule, after old: TimerState) {
        let timer = sources[source].timer
        for clock in Clock.allCases {
            let due = timer.deadline(clock)
            guard due != TimerState.never, due != old.deadline(clock) else { continue }
            addTimerDeadline(source, clock, at: due, rule)
        }
    }

    private mutating func addTimerDeadline(_ source: Int, _ clock: Clock, at due: Int64, _ rule: TimerRule) {
        let accuracy = rule.accuracy
        if accuracy <= 1000 {
            deadlines.add(.timer(source: source), clock, at: due)
        } else {
            deadlines.add(.timer(source: source), clock, at: due, leeway: accuracy)
        }
    }

    mutating func timerElapsed(_ source: Int) {
        guard sources.isInUse(source), let rule = timerRule(source) else { return }
        let old = sources[source].timer
        if let since = sources[source].timer.takeMissed(now: now) { catchUpNow(source, rule, since: since) }
        let (elapses, isDelayStored) = clocks.elapse(&sources[source].timer, rule)
        addTimerDeadlines(source, rule, after: old)
        guard let elapses else {
            if isDelayStored { saveStamp(source) }
            return
        }
        if elapses.count > 0, !sources[source].isSuspended { sources[source].lastEvent = now.realtime }
        // With what is durable the store is told anyway; so what was accepted is never caught up.
        let isKnown = rule.trigger.catchUp != .none && isDurable(source: source)
        if isKnown || sources[source].timer.isStampDue(rule, now: now) { saveStamp(source) }
        if elapses.hasBooted, case .source(let id) = sources[source].origin { noteBooted(id) }
        if !elapses.missed.isEmpty || elapses.tooOld > 0 {
            catchUp(elapses.missed, tooOld: elapses.tooOld, rule, source, "the machine slept, or the clock was set")
        }
        if elapses.count > 0 { accept(.timer(scheduled: elapses.scheduled), count: elapses.count, from: source) }
        sourceMayHaveEnded(source)
    }

    /// `AfterSec=` begins anew when all operations of the source have ended, in whatever way.
    mutating func sourceMayHaveEnded(_ source: Int) {
        guard sources[source].isTimer, sources[source].counters.outstanding == 0,
            sources[source].timer.after == TimerState.never, life.isOpen,
            let rule = timerRule(source), clocks.restart(&sources[source].timer, rule)
        else { return }
        addTimerDeadline(source, .monotonic, at: sources[source].timer.deadline(.monotonic), rule)
        if sources[source].timer.isStampDue(rule, now: now) { saveStamp(source) }
    }

    // MARK: Clocks and zones

    /// The machine slept, or somebody has set the wall clock.
    mutating func clocksChanged() {
        guard clocks.lapse.isSet || clocks.lapse.isSetFirst else { return }
        if clocks.lapse.isSetFirst {
            forEachCalendar { clocks, timer, rule in clocks.beginCalendar(&timer, rule) }
            for (id, since) in clocks.takeUnset() {
                guard let source = sources.index(of: .source(id)), let rule = timerRule(source) else { continue }
                let old = sources[source].timer
                clocks.keep(&sources[source].timer, rule, calendar: since.delayed)
                addTimerDeadlines(source, rule, after: old)
                catchUp(source, since: since)
                saveStamp(source)
            }
        } else {
            forEachCalendar { clocks, timer, rule in clocks.recompute(&timer, rule) }
        }
        windowsMayHaveMoved()
    }

    /// The local zone is another one, or its rules are.
    mutating func zonesChanged(_ zones: ZoneTable) {
        guard clocks.change(zones) else { return }
        forEachCalendar { clocks, timer, rule in clocks.recompute(&timer, rule) }
        windowsMayHaveMoved()
    }

    private mutating func forEachCalendar(_ change: (inout Clocks, inout TimerState, TimerRule) -> Void) {
        for source in sources.indices where sources[source].isTimer && !sources[source].isRemoved {
            guard let rule = timerRule(source), rule.trigger.hasCalendar, sources[source].condition == .armed else {
                continue
            }
            let old = sources[source].timer
            change(&clocks, &sources[source].timer, rule)
            addTimerDeadlines(source, rule, after: old)
        }
    }

    // MARK: The store

    /// Where the clocks of a source stand.
    ///
    /// - Parameters:
    ///   - isTold: handlers are told that it is silent, or heard again.
    ///   - isLast: it is a stop, and nothing elapses any more.
    mutating func saveStamp(_ source: Int, isTold: Bool = false, isLast: Bool = false) {
        guard case .source(let id) = sources[source].origin else { return }
        sources[source].timer.stamped = now.realtime
        let timer = sources[source].timer
        var stamp = TimerStamp(lastElapse: sources[source].isTimer ? sources[source].lastEvent : nil)
        (stamp.isTold, stamp.isLast) = (isTold, isLast)
        if timer.after != TimerState.never { stamp.after = max(0, timer.after - now.monotonic) }
        if sources[source].isTimer {
            if timer.seen != .min { stamp.seen = timer.seen }
            stamp.delayedCalendar = timer.delayedCalendar
            // Missed elapses that are still to be caught up are to be found again.
            let unset = clocks.unset.isEmpty ? nil : clocks.unset[id]
            if let since = unset ?? timer.missedSince {
                (stamp.seen, stamp.isCatchingUp) = (min(since.calendar, since.slot), unset == nil)
            }
            if let unset { stamp.delayedCalendar = unset.delayed }
            stamp.delayedSlot = timer.delayedSlot?.moved(by: clocks.lapse.toWall)
        }
        if sources[source].silence.span > 0 { sources[source].silence.save(in: &stamp, at: now) }
        actions.append(.store(.timer(id, stamp)))
    }

    /// The stamps of timers that lose something by a restart, and of silences. `isLast`: at a stop the store is told
    /// those of all timers, also those that it is otherwise told only now and then or not at all: what is missed from
    /// now on is counted.
    mutating func saveStamps(isLast: Bool = false) {
        for source in sources.indices where !sources[source].isRemoved {
            if sources[source].silence.isRunning {
                saveStamp(source, isLast: isLast)
            } else if let rule = timerRule(source),
                isLast || rule.isStored || rule.trigger.after != nil
            {
                saveStamp(source, isLast: isLast)
            }
        }
    }

    /// To be called before anything is opened again; what was missed is told by `catchUp(_:since:)` later.
    mutating func restore(_ stamps: [SourceID: TimerStamp]) {
        for source in sources.indices where !sources[source].isRemoved {
            guard case .source(let id) = sources[source].origin, let stamp = stamps[id] else { continue }
            restore(stamp, source)
        }
    }

    private mutating func restore(_ stamp: TimerStamp, _ source: Int) {
        restoreSilence(stamp, source)
        guard let rule = timerRule(source) else { return }
        let old = sources[source].timer
        if let time = stamp.lastElapse { sources[source].lastEvent = time }
        clocks.resume(&sources[source].timer, rule, stamp)
        if stamp.isLast { sources[source].timer.stamped = TimerState.atStop }
        addTimerDeadlines(source, rule, after: old)
    }

    /// `OnBootSec=` of these has elapsed before this watchd began.
    mutating func restore(booted ids: Set<SourceID>) {
        for id in ids {
            _ = clocks.noteBooted(id)
            if let source = sources.index(of: .source(id)) { sources[source].timer.hasBooted() }
        }
    }

    /// Once in each boot, and the next watchd has to know.
    private mutating func noteBooted(_ id: SourceID) {
        if clocks.noteBooted(id) { actions.append(.store(.booted(id))) }
    }
}
