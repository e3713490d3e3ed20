import ControlInterface
import Engine
import EventSources
import Schedule
import WatchFile

/// `Explain` of a source: the past of its operations, how it stands, then what its handlers do now.
extension Runtime {
    func explain(source view: SourceView) -> [Explanation] {
        let handlers = view.definition.routes.flatMap { engine.explain(handler: $0.handler) ?? [] }
        let missed = stands[view.id].missed.map {
            Explanation(time: $0.time, code: .missed, sentence: $0.sentence, section: view.id.description)
        }
        let own = handlers.filter { !isOfAnother($0, than: .source(view.id)) }
        let ended = ([missed].compactMap(\.self) + own.filter { $0.time != nil })
            .sorted { ($0.time ?? 0) < ($1.time ?? 0) }
        let now = own.filter { $0.time == nil && $0.code != .idle && $0 != view.rateWait?.explanation }
        return ended + suspended(view.id) + [standing(view)] + now
    }

    /// It is about an operation whose events come from elsewhere: sources may share a handler.
    private func isOfAnother(_ step: Explanation, than origin: Origin) -> Bool {
        guard let id = step.operation, let operation = engine.operation(id) ?? recent.view(id) else { return false }
        return operation.origin != origin
    }

    func standing(_ view: SourceView) -> Explanation {
        if let wait = view.rateWait, view.condition == .armed { return wait.explanation }
        let section = view.id.description
        let last = view.lastEvent.map { ", its last event came" + ago($0) } ?? ""
        switch view.condition {
        case .armed where view.isHeld && view.suspensions.isEmpty:
            let sentence = heldText(view).map { "held back: \($0)" } ?? "held back"
            return Explanation(code: .held, sentence: sentence, section: section)
        case .armed where !view.suspensions.isEmpty && view.id.kind == .timer:
            let sentence = "suspended: what elapses until it is resumed is not kept"
            return Explanation(code: .held, sentence: sentence + last, section: section)
        case .armed where !view.suspensions.isEmpty:
            let kept = view.counters[.held]
            let sentence =
                kept == 0
                ? "keeps what comes until it is resumed" : "keeps \(counted(kept, "event")) until it is resumed"
            return Explanation(code: .held, sentence: sentence + last, section: section)
        case .armed:
            let limit =
                (connectionLimit(view.id)?.sentence ?? stands[view.id].comparison?.text
                ?? stands[view.id].limit?.value.text)
                .map { "; \($0)" } ?? ""
            let silence = silenceText(view).map { "; \($0)" } ?? ""
            return Explanation(code: .armed, sentence: "armed\(next(view))\(last)\(silence)\(limit)", section: section)
        case .failed(let reason, let retryAt):
            let now = Moment.current.realtime
            let next = retryAt.map { ", tried again in \(RetryText.delay(until: $0, now: now))" } ?? ""
            return Explanation(code: .unarmed, sentence: "\(reason)\(next)", section: section)
        case .waiting(let reason): return Explanation(code: .unarmed, sentence: reason, section: section)
        case .opening: return Explanation(code: .unarmed, sentence: "it is being armed", section: section)
        case .closed: return Explanation(code: .unarmed, sentence: "it will not fire any more", section: section)
        }
    }

    /// Why it is held back; `nil`: it is not, or somebody has suspended it.
    func heldText(_ view: SourceView) -> String? {
        guard view.isHeld, view.suspensions.isEmpty else { return nil }
        let why =
            view.isHeldByStore
            ? "the store cannot be written"
            : view.rateWait?.sentence ?? view.heldBy.map { "\($0) is used up" } ?? "a queue of it is full"
        return [why, refusedText(view)].compactMap { $0 }.joined(separator: "; ")
    }

    /// The events that it could not keep while it was held back or suspended.
    func refusedText(_ view: SourceView) -> String? {
        guard view.refusedWhileHeld > 0 else { return nil }
        return "\(view.refusedWhileHeld) more than it can keep \(view.refusedWhileHeld == 1 ? "was" : "were") dropped"
    }

    /// How long there has been no event, where that matters.
    func silenceText(_ view: SourceView) -> String? {
        guard let silence = view.silence else { return nil }
        let (quiet, span) = (Self.seconds(silence.quiet), TimeSpan(microseconds: UInt64(silence.span)))
        let isOfProcess = if case .process(let trigger) = view.definition.trigger { !trigger.isMatch } else { false }
        let what = isOfProcess ? "a process" : "an event"
        return silence.isTold
            ? "silent for \(quiet), more than SilenceSec=\(span.brief)"
            : "\(quiet) of SilenceSec=\(span.brief) without \(what)"
    }

    private static func seconds(_ time: Int64) -> TimeSpan {
        TimeSpan(microseconds: UInt64(max(0, time) / 1_000_000 * 1_000_000))
    }

    private func next(_ view: SourceView) -> String {
        if let next = view.nextElapse { return ", fires next" + ahead(next) }
        guard case .timer = view.definition.trigger, view.suspensions.isEmpty else { return "" }
        return neverElapses(view)
            ? ", but never elapses again" : ", elapses again AfterSec= after its operations have ended"
    }

    /// An armed timer whose elapses are all past, or that has none.
    func neverElapses(_ view: SourceView) -> Bool {
        guard case .timer(let timer) = view.definition.trigger, view.condition == .armed else { return false }
        return view.suspensions.isEmpty && view.nextElapse == nil && timer.after == nil
    }

    private func ahead(_ time: Int64) -> String {
        " in \(SpanText.remaining(time - Moment.current.realtime))"
    }

    private func ago(_ time: Int64) -> String {
        let passed = Moment.current.realtime - time
        return passed < 1_000_000 ? " just now" : " \(Self.seconds(passed)) ago"
    }
}
