import Engine
import EventSources
import WatchFile

/// Changes of groups that a crash would lose are written now and then: at most once a second, with whatever else there
/// is.
extension Runtime {
    /// Microseconds.
    private static let pause = 1_000_000

    func membersMayHaveChanged(by actions: [Action]) {
        guard members.plan(after: actions) else { return }
        writeMembers()
        core.after(Self.pause) { [bound] in
            bound.value.members.planIsOver()
            bound.value.writeMembers()
        }
    }

    func writeMembers() {
        persistence?.write(members.writes(engine.membersAtRisk, engine.tallies))
    }
}
