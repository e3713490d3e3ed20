import Engine
import EventSources
import WatchFile

/// Changes of groups that a crash would lose are written now and then: at most once a second, with whatever else there
/// is.
extension Runtime {
    /// Microseconds.
    private static let pause = 1_000_000

    func membersMayHaveChanged(by actions: [Action]) {
        guard hasGroups, !areMembersPlanned else { return }
        let isChange = actions.contains { action in
            switch action {
            case .report(.operation), .report(.ended): true
            default: false
            }
        }
        guard isChange else { return }
        writeMembers()
        areMembersPlanned = true
        core.after(Self.pause) { [bound] in
            bound.value.areMembersPlanned = false
            bound.value.writeMembers()
        }
    }

    /// Only what is not as it was written last.
    func writeMembers() {
        let members = engine.membersAtRisk
        let groups = Set(members.keys).union(membersWritten.keys)
        let changed = groups.filter { members[$0] != membersWritten[$0] }.sorted { $0.name < $1.name }
        membersWritten = members
        persistence?.write(changed.map { .members($0, members[$0] ?? 0) })
    }

    static func hasGroups(_ configuration: Configuration) -> Bool {
        configuration.sources.contains { if case .group = $0.trigger { true } else { false } }
    }
}
