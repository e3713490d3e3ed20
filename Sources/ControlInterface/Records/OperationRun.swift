/// One attempt of an operation.
package struct OperationRun: Codable, Equatable, Sendable {
    enum CodingKeys: String, CodingKey {
        case attempt, pid, started, ended, result, signal, reason, used
        case exitStatus = "exit_status"
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
    /// Of W3C Trace Context: 16 hexadecimal digits.
    package var spanID: String?

    /// Members that are not named here are `nil` at first.
    package init(attempt: Int, pid: Int? = nil, started: String) {
        self.attempt = attempt
        self.pid = pid
        self.started = started
    }
}
