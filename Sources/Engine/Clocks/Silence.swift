import Schedule
import WatchFile

/// `SilenceSec=`: who is told that a source has had no event for so long, and that it has one again.
///
/// A process that is watched or supervised is heard as long as it runs: its clock only goes while none does.
///
/// The store is told of each quarter of the span that was silent, and of the first event after that: so a crash forgets
/// a quarter at most, and a source that is heard all the time is written down once. Handlers of silence start once the
/// store knows of it, so that a crash tells nobody twice.
extension Engine {
    /// The definition of a source is new: its clock goes on with the new span, or begins if it is armed.
    mutating func applySilence(_ source: Int) {
        let span = TimerRule.microseconds(sources[source].definition?.value.silence?.span) ?? 0
        guard span != sources[source].silence.span else { return }
        sources[source].silence.define(span: span)
        setSilenceDeadline(source)
        startSilence(source)
    }

    /// Where the source stands has changed, and with it perhaps whether its process runs.
    mutating func silenceMayChange(_ source: Int) {
        guard sources[source].silence.span > 0 else { return }
        guard isRunning(source) == true else { return startSilence(source) }
        stopSilence(source)
        sources[source].silence.forget()
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
        sources[source].silence.start(at: now.monotonic)
        setSilenceDeadline(source)
    }

    /// A source that is not armed yet counts as silent, and so does one that cannot be watched.
    private func isListening(_ source: Int) -> Bool {
        if isRunning(source) == true { return false }
        return switch sources[source].condition {
        case .armed, .waiting, .failed: true
        case .opening, .closed: false
        }
    }

    mutating func stopSilence(_ source: Int) {
        guard sources[source].silence.span > 0 else { return }
        sources[source].silence.stop()
    }

    private mutating func setSilenceDeadline(_ source: Int) {
        guard let time = sources[source].silence.nextDeadline(at: now.monotonic) else { return }
        deadlines.add(.silence(source), .monotonic, at: time)
    }

    /// It has had an event.
    mutating func noteHeard(_ source: Int, depth: Int) {
        guard sources[source].silence.span > 0, isRunning(source) == nil else { return }
        hear(source, depth: depth)
    }

    private mutating func hear(_ source: Int, depth: Int) {
        follow(sources[source].silence.hear(at: now.monotonic), source, depth: depth + 1)
    }

    mutating func silenceDeadline(_ source: Int) {
        guard sources.isInUse(source), sources[source].silence.deadline <= now.monotonic else { return }
        follow(sources[source].silence.elapsed(at: now.monotonic), source, depth: 1)
    }

    private mutating func follow(_ step: SilenceClock.Step, _ source: Int, depth: Int) {
        setSilenceDeadline(source)
        switch step {
        case .nothing: break
        case .save: saveStamp(source)
        case .tell(let fact):
            saveStamp(source, isTold: true)
            tellOfSilence(source, fact, depth: depth)
        }
    }

    /// As with completions: what watchd makes itself is never held back.
    private mutating func tellOfSilence(_ source: Int, _ fact: SilenceFact, depth: Int) {
        guard case .source(let id) = sources[source].origin, let rule = sources[source].definition?.value.silence else {
            return
        }
        let targets = (fact.isOver ? rule.onSound : rule.onSilence).compactMap { target(handler: $0) }.filter {
            !life.isStopping || queues[$0.queue].definition.isDurable
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
        guard sources[source].silence.span > 0 else { return }
        sources[source].silence.restore(stamp, at: now)
        // It may have begun already.
        stopSilence(source)
        silenceMayChange(source)
    }
}
