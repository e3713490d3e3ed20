import Varlink

package enum Submit: ControlMethod {
    /// The handler of all of them, which no watch file has.
    package static let handlerName = "@command"
    /// Bytes of arguments, environment, folder, name and key together.
    package static let sizeLimit = 256 << 10
    /// Bytes of one argument, or of one variable with its name: `execve(2)` takes no longer string.
    package static let stringLimit = 128 << 10
    /// Arguments, and variables.
    package static let countLimit = 10_000
    /// Bytes of a name.
    package static let nameLimit = 200
    /// Bytes of a key.
    package static let keyLimit = 1000
    /// Operations to wait for.
    package static let afterLimit = 100
    /// Further attempts.
    package static let retryLimit = 1_000_000
    /// Microseconds from now to its time: a hundred years.
    package static let spanLimit = 100 * 31_557_600 * 1_000_000

    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case queue, command, environment, directory, umask, base64, name, key, after, requires, at, retry, barrier
            case priority, user, wait, awaited, traceparent
            case inUsec = "in_usec"
            case timeoutUsec = "timeout_usec"
        }

        package var queue: String
        /// The program first.
        package var command: [String]
        /// `NAME=VALUE` each.
        package var environment: [String]?
        /// Absolute; `nil`: `/`.
        package var directory: String?
        /// `nil`: 022.
        package var umask: Int?
        /// The words of `command`, `environment` and `directory` are Base64 of what need not be UTF-8.
        package var base64: Bool?
        package var name: String?
        package var key: String?
        package var after: [Int]?
        /// All of `after` have to succeed.
        package var requires: Bool?
        /// At most one of `at` and `inUsec`.
        package var at: String?
        package var inUsec: Int?
        package var retry: Int?
        package var timeoutUsec: Int?
        package var barrier: Bool?
        package var priority: String?
        package var user: String?
        /// The reply comes when it has ended.
        package var wait: Bool?
        /// The caller waits for it by its number: it takes the caller's QoS.
        package var awaited: Bool?
        /// The span of the caller (W3C Trace Context).
        package var traceparent: String?

        package init(queue: String, command: [String]) {
            self.queue = queue
            self.command = command
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case operation, result, reason
            case exitStatus = "exit_status"
        }

        /// `nil`: it was not taken in.
        package var operation: Int?
        /// With `wait`, or of one that was not taken in: how it ended.
        package var result: OperationSummary.Result?
        package var exitStatus: Int?
        package var reason: String?

        package init(
            operation: Int? = nil, result: OperationSummary.Result? = nil, exitStatus: Int? = nil,
            reason: String? = nil
        ) {
            self.operation = operation
            self.result = result
            self.exitStatus = exitStatus
            self.reason = reason
        }
    }
}
