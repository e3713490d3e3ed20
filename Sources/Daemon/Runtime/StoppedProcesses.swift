import ControlInterface
import Engine
import LinuxSystem
import WatchFile

/// The clients that have stopped supervised processes, until they are started again.
struct StoppedProcesses {
    private var stops: [SourceID: (by: String, since: Int64)] = [:]

    mutating func note(_ verb: ProcessVerb, _ id: SourceID, by name: String, at time: Int64) {
        stops[id] = verb == .stop ? (by: name, since: time) : nil
    }

    mutating func forget(_ id: SourceID) { stops[id] = nil }

    /// `nil`: nobody has stopped it, or it is wanted again.
    func stop(of view: SourceView) -> (by: String, since: Int64)? {
        guard let stop = stops[view.id], view.processes.allSatisfy({ !$0.isWanted }) else { return nil }
        return stop
    }
}

extension Runtime {
    /// A client starts or stops the process of this name, if there is one.
    func noteSteering(_ verb: ProcessVerb, _ name: String, by user: String) {
        let id = SourceID(.process, Self.shortName(name))
        guard engine.definition(of: id)?.command != nil else { return }
        stoppedProcesses.note(verb, id, by: user, at: Linux.now(.realtime))
    }

    func stopped(_ views: [SourceView]) -> [GetStatus.Stopped] {
        views.compactMap { view in
            stoppedProcesses.stop(of: view).map {
                GetStatus.Stopped(object: view.id.description, by: $0.by, since: wireTime($0.since))
            }
        }
    }
}
