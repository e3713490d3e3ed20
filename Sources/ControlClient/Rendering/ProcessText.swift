import ControlInterface
import Schedule

/// Supervised processes, for people.
enum ProcessText {
    /// `running for 2min (pid 4711), holds 2 lines: operations 17, 18`.
    static func worker(_ worker: SupervisedProcess, _ screen: Screen) -> String {
        if worker.state == .down, !worker.wanted { return "idle: started with the next line" }
        guard let lines = worker.lines, lines > 0, let operations = worker.operations else {
            return standing(worker, screen)
        }
        let list = operations.map(String.init).joined(separator: ", ") + (lines > operations.count ? ", …" : "")
        let held = "holds \(Phrases.count(lines, "line")): operation\(lines == 1 ? "" : "s") \(list)"
        return "\(held); \(standing(worker, screen))"
    }

    /// `running for 2min (pid 4711), 3 restarts`.
    static func standing(_ process: SupervisedProcess, _ screen: Screen) -> String {
        let restarts =
            process.restarts == 0 ? "" : ", \(process.restarts) restart\(process.restarts == 1 ? "" : "s")"
        let age = span(since: process.since, screen)
        let end = process.lastEnd.map { "; before: \($0)" } ?? ""
        let pid = process.pid.map { " (pid \($0))" } ?? ""
        return switch process.state {
        case .up: "running\(age)\(pid)\(restarts)\(end)"
        case .starting: "starting"
        case .stopping: "stopping\(age)\(pid)" + (process.wanted ? "; restarts when it has exited" : "")
        case .backingOff: "restarts \(screen.ahead(process.nextStart))\(restarts)\(end)"
        case .down: (process.wanted ? "down" : "stopped") + "\(age)\(end)"
        }
    }

    /// ` for 2min`; nothing within the first second.
    private static func span(since time: String, _ screen: Screen) -> String {
        guard let instant = screen.instant(time), screen.now.microseconds - instant.microseconds >= 1_000_000 else {
            return ""
        }
        return " for \(screen.age(time))"
    }
}
