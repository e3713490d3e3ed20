import Engine
import LinuxSystem
import Schedule
import Systemd
import WatchFile

/// The end of a run's service, as the manager tells it.
struct ServiceEnd {
    /// Asked for when the service has ended.
    static let questions: [UnitClient.Question] = [
        .loadState, .result, .processID, .exitCode, .exitStatus, .exitTime, .activeEnter, .processorTime, .peakMemory,
        .bytesRead, .bytesWritten,
    ]

    let unit: String
    let answers: UnitClient.Answers
    /// Of its job, where it was told.
    let jobResult: String?

    /// The manager's refusal, and what helps.
    static func explained(_ failure: String) -> String {
        guard failure.contains("authentication") || failure.contains("Access denied") else { return failure }
        return "\(failure) Who is not root needs a rule of polkit for org.freedesktop.systemd1.manage-units"
    }

    /// A process of it was there.
    var hadProcess: Bool { (answers.number(.processID) ?? 0) > 0 }

    /// Its first program could not be executed: the manager's own exit status (`systemd.exec(5)`) says at which step.
    /// Only with `Type=exec` it is told from an exit status of the program.
    private func failedBeforeExecution(_ definition: HandlerDefinition) -> Bool {
        definition.commandsOfUnit == 1 && (answers.number(.activeEnter) ?? 0) == 0 && hasManagersStatus
    }

    private var hasManagersStatus: Bool {
        guard case .exited(let status)? = exit else { return false }
        return (200...245).contains(status)
    }

    /// `CLD_EXITED`, `CLD_KILLED` and `CLD_DUMPED` of `waitid(2)`.
    private var exit: Exit? {
        let status = Int32(clamping: answers.number(.exitStatus) ?? 0)
        return switch answers.number(.exitCode) {
        case 1: .exited(status)
        case 2, 3: .signaled(status)
        default: nil
        }
    }

    /// What the engine is told.
    enum Verdict: Equatable {
        case notStarted(String)
        case ended(Exit?, reason: String?)
    }

    /// - Parameter startFailure: the manager's words about a process that it could not start.
    func verdict(_ definition: HandlerDefinition, startFailure: String?) -> Verdict {
        guard hadProcess else { return withoutProcess }
        if failedBeforeExecution(definition) {
            return .notStarted("\(unit): \(startFailure ?? "systemd could not start its process: \(status)")")
        }
        if let startFailure, hasManagersStatus { return .ended(nil, reason: "\(unit): \(startFailure)") }
        guard let exit else {
            return .ended(nil, reason: "\(unit) has ended, and systemd does not say how")
        }
        switch answers.text(.result) {
        case "success", "exit-code", "signal", "core-dump": return .ended(exit, reason: nil)
        case "oom-kill": return .ended(exit, reason: "\(unit) was ended for want of memory (oom-kill)")
        case "timeout":
            return .ended(exit, reason: "\(unit) ran longer than TimeoutSec=, and systemd ended it")
        case let result:
            return .ended(exit == .exited(0) ? nil : exit, reason: "\(unit) failed with the result “\(result)”")
        }
    }

    private var withoutProcess: Verdict {
        if let jobResult, !["done", "skipped"].contains(jobResult) {
            let result = answers.text(.result)
            let cause = ["", "success"].contains(result) ? jobResult : result
            return .notStarted("\(unit): systemd could not start it (\(cause))")
        }
        return .ended(nil, reason: "\(unit) is gone: systemd does not know it any more, nor how it ended")
    }

    private var status: String {
        guard case .exited(let code)? = exit else { return "" }
        return "exit status \(code)"
    }

    /// By the wall clock, microseconds.
    var time: Int64? { answers.number(.exitTime).flatMap { $0 > 0 ? Int64(exactly: $0) : nil } }

    var usage: ResourceUsage {
        var usage = ResourceUsage()
        usage.processorTime = answers.number(.processorTime).map { $0 / 1000 }
        usage.peakMemory = answers.number(.peakMemory)
        usage.bytesRead = answers.number(.bytesRead)
        usage.bytesWritten = answers.number(.bytesWritten)
        return usage
    }
}
