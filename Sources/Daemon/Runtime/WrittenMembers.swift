import Engine
import WatchFile

/// The part of groups that a crash would lose, as the store was told it last.
struct WrittenMembers {
    private var members: [SourceID: Int] = [:]
    private var tallies: [SourceID: GroupFact] = [:]
    /// Whether there is a group at all.
    private var areOfUse: Bool
    /// They are looked at again in a moment.
    private var isPlanned = false

    init(_ configuration: Configuration) { areOfUse = Self.hasGroups(configuration) }

    mutating func apply(_ configuration: Configuration) { areOfUse = Self.hasGroups(configuration) }

    mutating func restore(_ state: StoredState) { (members, tallies) = (state.groups, state.tallies) }

    /// Whether a look at them is due, after which the next one is made by plan.
    mutating func plan(after actions: [Action]) -> Bool {
        guard areOfUse, !isPlanned else { return false }
        isPlanned = actions.contains { action in
            switch action {
            case .report(.operation), .report(.ended): true
            default: false
            }
        }
        return isPlanned
    }

    mutating func planIsOver() { isPlanned = false }

    /// Only what is not as it was written last.
    mutating func writes(_ members: [SourceID: Int], _ tallies: [SourceID: GroupFact]) -> [StoreWrite] {
        defer { (self.members, self.tallies) = (members, tallies) }
        return Self.changed(from: self.members, to: members).map { .members($0, members[$0] ?? 0) }
            + Self.changed(from: self.tallies, to: tallies).map { .tally($0, tallies[$0] ?? GroupFact()) }
    }

    private static func changed<Value: Equatable>(
        from old: [SourceID: Value], to new: [SourceID: Value]
    ) -> [SourceID] {
        Set(old.keys).union(new.keys).filter { old[$0] != new[$0] }.sorted { $0.name < $1.name }
    }

    private static func hasGroups(_ configuration: Configuration) -> Bool {
        configuration.sources.contains { if case .group = $0.trigger { true } else { false } }
    }
}
