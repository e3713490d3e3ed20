import Schedule
import WatchFile

/// Timers: when they elapse, and what becomes of elapses that were missed.
extension Engine {
    func timerRule(_ source: Int) -> TimerRule? {
        guard sources[source].isTimer, case .timer(let trigger) = sources[source].definition?.value.trigger else {
            return nil
        }
        let number =
            trigger.hasFixedRandomDelay
            ? RandomNumbers.hash(host + [0] + Array(sources[source].origin.description.utf8)) : 0
        return TimerRule(trigger: trigger, zones: zones, fixedNumber: number)
    }

    /// - Parameter isNew: else a reload has changed it.
    mutating func openTimer(_ source: Int, isNew: Bool) {
        guard let rule = timerRule(source), case .source(let id) = sources[source].origin else { return }
        // Nothing runs only because a file was edited.
        if !isNew, let onBoot = TimerRule.microseconds(rule.trigger.onBoot), onBoot < now.boottime { noteBooted(id) }
        sources[source].timer.open(
            rule, startedAt: started.boottime, hasBooted: booted.contains(id), now: now, random: &random)
        sources[source].condition = .armed
        // Operations of before a reload are waited for.
        if sources[source].counters.outstanding > 0 { sources[source].timer.stopDelay() }
        addTimerDeadlines(source, rule, after: TimerState())
        if hasStarted, rule.trigger.catchUp != .none { saveStamp(source) }
    }

    /// Adds what has changed since `old`.
    private mutating func addTimerDeadlines(_ source: Int, _ rule: TimerRule, after old: TimerState) {
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
        let elapses = sources[source].timer.elapse(rule, now: now, lapse: lapse, random: &random)
        let isDelayStored = sources[source].timer.passStored(rule, now: now)
        addTimerDeadlines(source, rule, after: old)
        guard let elapses else {
            if isDelayStored { saveStamp(source) }
            return
        }
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
            sources[source].timer.after == TimerState.never, phase == .running || phase == .reloading,
            let rule = timerRule(source), sources[source].timer.restart(rule, now: now, random: &random)
        else { return }
        addTimerDeadline(source, .monotonic, at: sources[source].timer.deadline(.monotonic), rule)
        if sources[source].timer.isStampDue(rule, now: now) { saveStamp(source) }
    }

    // MARK: Missed

    /// `tooOld`: how many more there were, longer ago than `CatchUpMaxSec=`. What is not caught up is counted and told.
    private mutating func catchUp(
        _ missed: [MissedElapses], tooOld: Int, _ rule: TimerRule, _ source: Int, _ reason: String
    ) {
        guard !sources[source].isSuspended, case .source(let id) = sources[source].origin else { return }
        let elapses = TimerRule.joined(missed, limit: TimerRule.mostCaughtUp)
        let policy = rule.trigger.catchUp
        let taken = policy == .none ? 0 : policy == .one ? elapses.count : elapses.instants.count
        let lost = elapses.count + tooOld - taken
        if lost > 0 {
            sources[source].counters.gap += lost
            let bound = policy == .none ? "" : ", CatchUpMaxSec=\(rule.trigger.catchUpLimit)"
            actions.append(.report(.missed(id, count: lost, "\(reason) (CatchUp=\(policy.rawValue)\(bound))")))
        }
        guard let newest = elapses.instants.last else { return }
        switch policy {
        case .none: break
        case .one: accept(.timer(scheduled: newest), count: elapses.count, from: source)
        case .all: for instant in elapses.instants { accept(.timer(scheduled: instant), from: source) }
        }
    }

    /// What was missed while watchd was not there. `since`: what was due before that is done with.
    mutating func catchUp(_ source: Int, since: Int64) {
        guard let rule = timerRule(source), !sources[source].isSuspended else { return }
        // The start of watchd, on the wall clock as it is now.
        let end = started.boottime + lapse.toWall
        let oldest = min(since, end)
        let base = max(oldest, end - rule.catchUpLimit)
        let toWall = lapse.toWall
        let tooOld =
            rule.newestElapses(after: oldest, through: base, limit: 1).count
            + rule.newestSlots(after: oldest - toWall, through: base - toWall, limit: 1).count
        // One at the very start is not missed: it fires.
        var missed = [rule.newestElapses(after: base, through: end - 1, limit: TimerRule.mostCaughtUp)]
        missed.append(
            rule.newestSlots(after: base - toWall, through: end - toWall, limit: TimerRule.mostCaughtUp)
                .moved(by: toWall))
        // What elapses more often is not stored where nothing is caught up: nobody knows when it fired last.
        let count = missed.reduce(tooOld) { $0 + $1.count }
        if rule.trigger.catchUp == .none, Int64(count) > (end - oldest) / TimerState.stampPeriod + 1 { return }
        catchUp(missed, tooOld: tooOld, rule, source, "watchd was not running")
    }

    // MARK: Clocks and zones

    /// The machine slept, or somebody has set the wall clock.
    mutating func clocksChanged() {
        guard lapse.isSet || lapse.isSetFirst else { return }
        let isSetFirst = lapse.isSetFirst
        forEachCalendar { timer, rule, now, random in
            if isSetFirst {
                timer.beginCalendar(rule, now: now, random: &random)
            } else {
                timer.recompute(rule, now: now, random: &random)
            }
        }
        if isSetFirst {
            for (id, since) in unsetStamps.sorted(by: { $0.key.description < $1.key.description }) {
                if let source = sources.index(of: .source(id)) { catchUp(source, since: since) }
            }
            unsetStamps = [:]
        }
        windowsMayHaveMoved()
    }

    /// The local zone is another one, or its rules are.
    mutating func zonesChanged(_ zones: ZoneTable) {
        guard self.zones != zones else { return }
        self.zones = zones
        forEachCalendar { timer, rule, now, random in timer.recompute(rule, now: now, random: &random) }
        windowsMayHaveMoved()
    }

    private mutating func forEachCalendar(
        _ change: (inout TimerState, TimerRule, Moment, inout RandomNumbers) -> Void
    ) {
        for source in sources.indices where sources[source].isTimer && !sources[source].isRemoved {
            guard let rule = timerRule(source), rule.trigger.hasCalendar, sources[source].condition == .armed else {
                continue
            }
            let old = sources[source].timer
            change(&sources[source].timer, rule, now, &random)
            addTimerDeadlines(source, rule, after: old)
        }
    }

    // MARK: The store

    /// Where the clocks of a source stand.
    ///
    /// - Parameter isTold: handlers are told that it is silent, or heard again.
    mutating func saveStamp(_ source: Int, isTold: Bool = false) {
        guard case .source(let id) = sources[source].origin else { return }
        sources[source].timer.stamped = now.realtime
        let timer = sources[source].timer
        var silence = sources[source].silence
        silence.stored = silence.span
        var stamp = TimerStamp(lastElapse: sources[source].isTimer ? sources[source].lastEvent : nil)
        stamp.isTold = isTold
        if timer.after != TimerState.never { stamp.after = max(0, timer.after - now.monotonic) }
        if sources[source].isTimer, timer.seen != .min { stamp.seen = timer.seen }
        if silence.isSilent {
            stamp.silentSince = now.realtime - (now.monotonic - silence.heard)
            silence.stored = -1
        } else if silence.isRunning {
            silence.stored = max(0, silence.heard + silence.span - now.monotonic)
            stamp.silenceLeft = silence.stored
        }
        sources[source].silence.stored = silence.stored
        actions.append(.store(.timer(id, stamp)))
    }

    /// What the store is only told now and then, it has to know at a stop.
    mutating func saveStamps() {
        for source in sources.indices where !sources[source].isRemoved {
            if sources[source].silence.isRunning {
                saveStamp(source)
            } else if let rule = timerRule(source), rule.trigger.catchUp != .none || rule.trigger.after != nil {
                saveStamp(source)
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
        if let time = stamp.lastElapse {
            sources[source].lastEvent = time
            sources[source].timer.resume(rule, fired: time, now: now, random: &random)
        }
        if let left = stamp.after { sources[source].timer.resume(rule, left: left, now: now) }
        addTimerDeadlines(source, rule, after: old)
    }

    /// `OnBootSec=` of these has elapsed before this watchd began.
    mutating func restore(booted ids: Set<SourceID>) {
        for id in ids {
            booted.insert(id)
            if let source = sources.index(of: .source(id)) { sources[source].timer.hasBooted() }
        }
    }

    /// Once in each boot, and the next watchd has to know.
    private mutating func noteBooted(_ id: SourceID) {
        if booted.insert(id).inserted { actions.append(.store(.booted(id))) }
    }

    /// A fixed delay begins when all that was restored of its operations has ended.
    mutating func stopRestoredDelays() {
        for source in sources.indices where sources[source].isTimer && sources[source].counters.outstanding > 0 {
            sources[source].timer.stopDelay()
        }
    }

    /// Once everything else has been restored.
    mutating func catchUp(_ state: StoredState) {
        for (id, stamp) in state.timers.sorted(by: { $0.key.description < $1.key.description }) {
            guard let source = sources.index(of: .source(id)), !sources[source].isRemoved, sources[source].isTimer
            else { continue }
            // A suspension that has ended meanwhile: what came before its end was not missed.
            let until = state.suspensions[id.description]?.compactMap(\.until).filter { $0 <= now.realtime }.max()
            let times = [stamp.seen, stamp.lastElapse, until].compactMap { $0 }.filter { $0 >= ClockWatch.earliest }
            guard let since = times.max() else { continue }
            if now.realtime >= ClockWatch.earliest {
                catchUp(source, since: since)
            } else {
                unsetStamps[id] = since
            }
        }
    }
}
