/// One attempt of an operation.
package struct OperationRun: Codable, Equatable, Sendable {
    enum CodingKeys: String, CodingKey {
        case attempt, pid, started, ended, result, signal, reason, used, unit
        case exitStatus = "exit_status"
        case foundAgain = "found_again"
        case leftProcesses = "left_processes"
        case invocationID = "invocation_id"
        case spanID = "span_id"
    }

    package var attempt: Int
    package var pid: Int?
    package var started: String
    package var ended: String?
    /// `nil` while it runs.
    package var result: OperationSummary.Result?
    package var exitStatus: Int?
    package var signal: String?
    package var reason: String?
    /// Once it has ended, where it had processes.
    package var used: ResourcesUsed?
    /// A later watchd has found the run: what it had written before is in the log only.
    package var foundAgain: Bool?
    /// Processes that went on after its end, as `KillMode=` says; `nil`: none.
    package var leftProcesses: Int?
    /// The service that it is, and its invocation (`RunIn=unit`).
    package var unit: String?
    package var invocationID: String?
    /// Of W3C Trace Context: 16 hexadecimal digits.
    package var spanID: String?

    /// Members that are not named here are `nil` at first.
    package init(attempt: Int, pid: Int? = nil, started: String) {
        self.attempt = attempt
        self.pid = pid
        self.started = started
    }
}
