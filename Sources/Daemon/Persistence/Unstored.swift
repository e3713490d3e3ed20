import Engine
import Store

/// The changes that a failing store had not taken when the daemon ended.
struct Unstored: Sendable {
    /// Operations that are not in the store, or not with all their events.
    private(set) var operations: [UInt64: (handler: String, source: String)] = [:]
    /// Operations that are in the store without events that they have been given since.
    private(set) var incomplete: Set<UInt64> = []
    /// Operations that have ended, and are in the store as if they had not.
    private(set) var ended: Set<UInt64> = []
    /// Likewise, of queues that are not durable: the next daemon finds no process of theirs.
    private(set) var endedOnce: Set<UInt64> = []
    /// Sources that held something back.
    private(set) var holds: Set<String> = []
    /// Objects that were suspended, or else resumed.
    private(set) var suspensions: [String: Bool] = [:]
    /// Handlers that have run once.
    private(set) var once: Set<String> = []
    /// Records of the history.
    private(set) var records = 0

    /// - Parameter writes: in their order.
    init(_ writes: [StoreWrite]) {
        let ends = writes.compactMap { if case .ended(let view) = $0, !view.isDurable { view.id } else { nil } }
        self.init(writes.flatMap(\.changes), endedOnce: Set(ends))
    }

    /// - Parameters:
    ///   - changes: in their order.
    ///   - endedOnce: operations of queues that are not durable.
    init(_ changes: [StoreChange], endedOnce: Set<UInt64>) {
        for change in changes { note(change) }
        self.endedOnce = ended.intersection(endedOnce)
        ended.subtract(endedOnce)
    }

    private mutating func note(_ change: StoreChange) {
        switch change {
        case .put(let row): operations[row.id] = (row.handler, row.source)
        case .append(let id, _): if operations[id] == nil { incomplete.insert(id) }
        case .remove(let id):
            incomplete.remove(id)
            if operations.removeValue(forKey: id) == nil { ended.insert(id) }
        case .hold(let source, let events, let replacing):
            if !events.isEmpty { holds.insert(source) } else if replacing { holds.remove(source) }
        case .mark(let name, let value): note(name, isSet: value != nil)
        case .record: records += 1
        // The next comparison tells what it missed.
        case .update, .attempt, .settle, .unsettle, .snapshot: break
        }
    }

    /// Somebody has decided so, or it would be done once more. Of the others the next daemon only has older ones.
    private mutating func note(_ mark: String, isSet: Bool) {
        guard let slash = mark.firstIndex(of: "/") else { return }
        let name = String(mark[mark.index(after: slash)...])
        switch mark[..<slash] {
        case "suspended": suspensions[name] = isSet
        case "once": if isSet { once.insert(name) } else { once.remove(name) }
        default: break
        }
    }

    /// Sentences for the log, the worst first.
    ///
    /// - Parameter comesAgain: whether the next daemon is told by this source what this one was told.
    func sentences(comesAgain: (String) -> Bool) -> [String] {
        let again = operations.filter { comesAgain($0.value.source) }
        let lost = operations.filter { !comesAgain($0.value.source) }
        let texts = [
            Self.sentence(Self.named(lost), "could not be stored and", "is lost", "are lost"),
            Self.sentence(
                incomplete.sorted().map(String.init), "could not be stored with all", "its events", "their events"),
            Self.sentence(
                Self.named(again), "could not be stored; what made", "it comes again at the next start",
                "them comes again at the next start"),
            Self.sentence(
                ended.sorted().map(String.init), "ended, which could not be stored:", "it runs again at the next start",
                "they run again at the next start"),
            Self.sentence(
                endedOnce.sorted().map(String.init), "ended, which could not be stored: the next start",
                "calls it failed, with an unknown end", "calls them failed, with an unknown end"),
            Self.holds(holds.filter { !comesAgain($0) }, "could not be stored and is lost"),
            Self.holds(holds.filter(comesAgain), "could not be stored; it comes again at the next start"),
            Self.suspensions(suspensions.filter(\.value), "suspend", "forgotten"),
            Self.suspensions(suspensions.filter { !$0.value }, "resume", "undone"),
            once.isEmpty ? nil : "Once= may run again, as that could not be stored: \(Self.list(once.sorted()))",
            records == 0
                ? nil : "\(counted(records, "record")) of the history could not be stored",
        ]
        return texts.compactMap { $0 }
    }

    private static func named(_ operations: [UInt64: (handler: String, source: String)]) -> [String] {
        operations.sorted { $0.key < $1.key }.map { "\($0.key) (\($0.value.handler))" }
    }

    private static func suspensions(_ found: [String: Bool], _ verb: String, _ outcome: String) -> String? {
        if found.isEmpty { return nil }
        return "“\(verb)” could not be stored and is \(outcome) at the next start: \(list(found.keys.sorted()))"
    }

    private static func holds(_ sources: Set<String>, _ what: String) -> String? {
        sources.isEmpty ? nil : "what is held back of \(list(sources.sorted())) \(what)"
    }

    private static func sentence(_ names: [String], _ verb: String, _ one: String, _ many: String) -> String? {
        if names.isEmpty { return nil }
        return "\(counted(names.count, "operation")) \(verb) \(names.count == 1 ? one : many): \(list(names))"
    }

    /// Names that one line of the log may have.
    private static let namesPerLine = 100

    private static func list(_ names: [String]) -> String {
        let more = names.count - namesPerLine
        return names.prefix(namesPerLine).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }
}
