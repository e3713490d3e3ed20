import Schedule

/// `LateSec=`, `SlowSec=` and those that they start.
extension Checker {
    mutating func checkPatience(of draft: HandlerDraft) {
        for (key, span) in [("OnLate", "LateSec"), ("OnSlow", "SlowSec")] {
            guard let entry = draft.entries.entry(key), !entry.isDefault, !draft.entries.has(span) else { continue }
            problems.error("\(key)= needs \(span)=", at: entry.keyText)
        }
        checkIsReached("LateSec", before: "StartTimeoutSec", draft)
        checkIsReached("SlowSec", before: "TimeoutSec", draft)
    }

    private mutating func checkIsReached(_ key: String, before limit: String, _ draft: HandlerDraft) {
        guard let entry = draft.entries.entry(key), let span = entry.value?.span, span != .infinity,
            let end = draft.entries[limit]?.span, end != .infinity, end <= span
        else { return }
        // The handler's own entry is the one that has to be changed.
        let place = entry.isDefault ? draft.entries.entry(limit) ?? entry : entry
        problems.error("\(key)=\(span.brief) is never reached: \(limit)=\(end.brief) comes first", at: place.text)
    }
}
