import Schedule
import WatchFile

/// `SilenceSec=`: who is told that a source has had no event for so long, and that it has one again.
///
/// The clock of a source has one deadline at a time. An event only notes when it came: a deadline that comes too early
/// for it is set anew then, so that hearing costs nothing.
///
/// A process that is watched or supervised is heard as long as it runs: its clock only goes while none does.
///
/// The store is told of each quarter of the span that was silent, and of the first event after that: so a crash forgets
/// a quarter at most, and a source that is heard all the time is written down once. Who is told waits until the store
/// knows it, so that a crash tells nobody twice.
extension Engine {
    /// The definition of a source is new: its clock goes on with the new span, or begins if it is armed.
    mutating func applySilence(_ source: Int) {
        let span = TimerRule.microseconds(sources[source].definition?.value.silence?.span) ?? 0
        guard span != sources[source].silence.span else { return }
        if span == 0 || sources[source].silence.span == 0 {
            sources[source].silence = SilenceClock()
            // What the store does not know begins anew.
            sources[source].silence.stored = span
        }
        sources[source].silence.span = span
        sources[source].silence.deadline = .max
        if sources[source].silence.isRunning { setSilenceDeadline(source) }
        startSilence(source)
    }

    /// Where the source stands has changed, and with it perhaps whether its process runs.
    mutating func silenceMayChange(_ source: Int) {
        guard sources[source].silence.span > 0 else { return }
        guard isRunning(source) == true else { return startSilence(source) }
        stopSilence(source)
        sources[source].silence.left = -1
        hear(source, depth: 0)
    }

    /// Whether a process of the source runs; `nil`: its events are what is heard.
    private func isRunning(_ source: Int) -> Bool? {
        guard case .process(let trigger)? = sources[source].definition?.value.trigger else { return nil }
        return switch trigger {
        case .match: nil
        case .pidFile: sources[source].condition == .armed
        case .command: supervisor[source]?.copies.contains { $0.life?.pid != nil } ?? false
        }
    }

    /// Begins anew, unless it goes on, or must not yet.
    mutating func startSilence(_ source: Int) {
        guard sources[source].silence.span > 0, !sources[source].silence.isRunning, !sources[source].isSuspended,
            !sources[source].isRemoved, isListening(source)
        else { return }
        sources[source].silence.isRunning = true
        if !sources[source].silence.isSilent {
            let left = sources[source].silence.left
            let passed = left >= 0 ? sources[source].silence.span - left : 0
            sources[source].silence.heard = now.monotonic - passed
        }
        sources[source].silence.left = -1
        setSilenceDeadline(source)
    }

    /// What is not there yet is silent, too, and so is what cannot be watched.
    private func isListening(_ source: Int) -> Bool {
        if isRunning(source) == true { return false }
        return switch sources[source].condition {
        case .armed, .waiting, .failed: true
        case .opening, .closed: false
        }
    }

    mutating func stopSilence(_ source: Int) {
        guard sources[source].silence.span > 0 else { return }
        sources[source].silence.isRunning = false
        sources[source].silence.deadline = .max
    }

    private mutating func setSilenceDeadline(_ source: Int) {
        guard !sources[source].silence.isSilent, sources[source].silence.deadline == .max else { return }
        let silence = sources[source].silence
        let steps = max(0, now.monotonic - silence.heard) / silence.storedStep + 1
        let time = silence.heard + min(silence.span, steps * silence.storedStep)
        sources[source].silence.deadline = time
        deadlines.add(.silence(source), .monotonic, at: time)
    }

    /// It has had an event.
    mutating func noteHeard(_ source: Int, depth: Int) {
        guard sources[source].silence.span > 0, isRunning(source) == nil else { return }
        hear(source, depth: depth)
    }

    private mutating func hear(_ source: Int, depth: Int) {
        let silent = now.monotonic - sources[source].silence.heard
        sources[source].silence.heard = now.monotonic
        guard sources[source].silence.isSilent else {
            if sources[source].silence.stored < sources[source].silence.span { saveStamp(source) }
            return
        }
        sources[source].silence.isSilent = false
        if sources[source].silence.isRunning { setSilenceDeadline(source) }
        saveStamp(source, isTold: true)
        tellOfSilence(source, SilenceFact(silent: silent, isOver: true), depth: depth + 1)
    }

    mutating func silenceDeadline(_ source: Int) {
        guard sources.isInUse(source), sources[source].silence.deadline <= now.monotonic else { return }
        sources[source].silence.deadline = .max
        guard sources[source].silence.isRunning, !sources[source].silence.isSilent else { return }
        let silent = now.monotonic - sources[source].silence.heard
        guard silent >= sources[source].silence.span else {
            if silent >= sources[source].silence.storedStep { saveStamp(source) }
            return setSilenceDeadline(source)
        }
        sources[source].silence.isSilent = true
        saveStamp(source, isTold: true)
        tellOfSilence(source, SilenceFact(silent: silent), depth: 1)
    }

    /// As with completions: what watchd makes itself is never held back.
    private mutating func tellOfSilence(_ source: Int, _ fact: SilenceFact, depth: Int) {
        guard case .source(let id) = sources[source].origin, let rule = sources[source].definition?.value.silence else {
            return
        }
        let isStopping = phase == .draining || phase == .drained
        let targets = (fact.isOver ? rule.onSound : rule.onSilence).compactMap { target(handler: $0) }.filter {
            !isStopping || queues[$0.queue].definition.isDurable
        }
        guard !targets.isEmpty else { return }
        let origin = Origin.silence(id)
        let teller = internalSource(origin)
        let event = makeEvent(.silence(fact))
        sources[teller].lastEvent = event.time
        actions.append(.report(.event(event, origin, handlers: handlerNames(targets))))
        admitAll(event, source: teller, withRequired(targets), depth: depth)
        releaseSourceIfUnused(teller)
    }

    // MARK: The store

    /// Goes on with the time that was left; what was told is not told again.
    mutating func restoreSilence(_ stamp: TimerStamp, _ source: Int) {
        let span = sources[source].silence.span
        guard span > 0 else { return }
        sources[source].silence.stored = stamp.silentSince == nil ? stamp.silenceLeft ?? span : -1
        if let since = stamp.silentSince {
            sources[source].silence.isSilent = true
            sources[source].silence.heard = now.monotonic - max(0, now.realtime - since)
        } else if let left = stamp.silenceLeft {
            sources[source].silence.left = min(max(0, left), span)
        }
        // It may have begun already.
        stopSilence(source)
        silenceMayChange(source)
    }
}
