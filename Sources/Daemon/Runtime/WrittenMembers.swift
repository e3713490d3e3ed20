import Engine
import WatchFile

/// The members of groups that a crash would lose, as the store was told them last.
struct WrittenMembers {
    private var members: [SourceID: Int] = [:]
    /// Whether there is a group at all.
    private var areOfUse: Bool
    /// They are looked at again in a moment.
    private var isPlanned = false

    init(_ configuration: Configuration) { areOfUse = Self.hasGroups(configuration) }

    mutating func apply(_ configuration: Configuration) { areOfUse = Self.hasGroups(configuration) }

    mutating func restore(_ members: [SourceID: Int]) { self.members = members }

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
    mutating func changes(to new: [SourceID: Int]) -> [(SourceID, Int)] {
        defer { members = new }
        return Set(members.keys).union(new.keys).filter { members[$0] != new[$0] }.sorted { $0.name < $1.name }
            .map { ($0, new[$0] ?? 0) }
    }

    private static func hasGroups(_ configuration: Configuration) -> Bool {
        configuration.sources.contains { if case .group = $0.trigger { true } else { false } }
    }
}
