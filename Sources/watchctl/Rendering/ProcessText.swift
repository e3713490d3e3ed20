import ControlInterface

/// Supervised processes, for people.
enum ProcessText {
    /// `runs, process 4711 since 2min, 3 restarts`.
    static func standing(_ process: SupervisedProcess, _ screen: Screen) -> String {
        let restarts =
            process.restarts == 0 ? "" : ", \(process.restarts) restart\(process.restarts == 1 ? "" : "s")"
        let age = screen.age(process.since)
        let end = process.lastEnd.map { "; before: \($0)" } ?? ""
        return switch process.state {
        case .up: "runs, process \(process.pid.map(String.init) ?? "?") since \(age)\(restarts)\(end)"
        case .starting: "is being started"
        case .stopping: "is stopping since \(age)"
        case .backingOff: "starts again \(screen.ahead(process.nextStart))\(restarts)\(end)"
        case .down: (process.wanted ? "is down" : "is stopped") + " since \(age)\(end)"
        }
    }
}
