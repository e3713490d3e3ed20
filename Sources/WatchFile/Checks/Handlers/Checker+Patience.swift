import Schedule

/// `LateSec=`, `SlowSec=` and those that they start.
extension Checker {
    mutating func checkPatience(of draft: HandlerDraft) {
        for (key, span) in [("OnLate", "LateSec"), ("OnSlow", "SlowSec")] {
            guard let entry = draft.entries.entry(key), !entry.isDefault, !draft.entries.has(span) else { continue }
            problems.error("\(key)= needs \(span)=", at: entry.keyText)
        }
        // A default of all handlers is not judged: it is for those that may take so long.
        if let (late, end) = reached("LateSec", after: "StartTimeoutSec", draft) {
            problems.error("LateSec=\(late.span) is never reached: StartTimeoutSec=\(end) comes first", at: late.text)
        }
        if let (slow, end) = reached("SlowSec", after: "TimeoutSec", draft) {
            problems.warning(
                "SlowSec=\(slow.span) is reached only by what TimeoutSec=\(end) does not end at once", at: slow.text)
        }
    }

    private func reached(
        _ key: String, after limit: String, _ draft: HandlerDraft
    ) -> (late: (span: String, text: SourceText), end: String)? {
        guard let entry = draft.entries.entry(key), !entry.isDefault, let span = entry.value?.span, span != .infinity,
            let end = draft.entries[limit]?.span, end != .infinity, end <= span
        else { return nil }
        return ((span.brief, entry.text), end.brief)
    }
}
