import Engine
import EventSources
import WatchFile

/// How each source stands, as the rim has told it, and since when: wall-clock microseconds.
struct SourceStands {
    struct Stand {
        fileprivate(set) var condition: (value: SourceCondition, since: Int64)?
        /// Since when it has lost something before it could be accepted.
        fileprivate(set) var gap: Int64?
        /// Why it is armed and sees less than it is asked to.
        fileprivate(set) var limit: (value: SourceLimit, since: Int64)?
        /// The sentence of a path source that compares.
        fileprivate(set) var comparison: (text: String, since: Int64)?
        /// The last time that elapses of a timer were missed and not caught up.
        fileprivate(set) var missed: (sentence: String, time: Int64)?
    }

    private var stands: [SourceID: Stand] = [:]

    subscript(id: SourceID) -> Stand { stands[id] ?? Stand() }

    /// The sources that have lost something, by name.
    var gaps: [(id: SourceID, since: Int64)] {
        stands.compactMap { id, stand in stand.gap.map { (id, $0) } }.sorted { $0.id.description < $1.id.description }
    }

    var hasFailures: Bool {
        stands.values.contains { if case .failed? = $0.condition?.value { true } else { false } }
    }

    /// False: it is no news.
    mutating func take(_ condition: SourceCondition, of id: SourceID, at now: Int64) -> Bool {
        if self[id].condition?.value.isSame(as: condition) ?? false { return false }
        stands[id, default: Stand()].condition = (condition, now)
        return true
    }

    /// Processes too short to be looked at are everywhere: they are counted, and said once in the log.
    mutating func lost(_ id: SourceID, at now: Int64) {
        if id.kind != .process, self[id].gap == nil { stands[id, default: Stand()].gap = now }
    }

    mutating func missed(_ sentence: String, of id: SourceID, at now: Int64) {
        stands[id, default: Stand()].missed = (sentence, now)
    }

    mutating func take(_ limit: SourceLimit?, of id: SourceID, at now: Int64) {
        stands[id, default: Stand()].limit = limit.map { ($0, self[id].limit?.since ?? now) }
    }

    mutating func take(comparison text: String?, of id: SourceID, at now: Int64) {
        stands[id, default: Stand()].comparison = text.map { ($0, self[id].comparison?.since ?? now) }
    }

    mutating func forget(_ id: SourceID) { stands[id] = nil }
}
