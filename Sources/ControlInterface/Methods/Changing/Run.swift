import Varlink

package enum Run: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, paths, lines, data, wait
        }

        /// A handler, or a source (then all its handlers).
        package var name: String
        package var paths: [String]?
        package var lines: [String]?
        package var data: Int?
        /// The reply comes when all the operations have ended.
        package var wait: Bool?

        package init(
            name: String, paths: [String]? = nil, lines: [String]? = nil, data: Int? = nil, wait: Bool? = nil
        ) {
            self.name = name
            self.paths = paths
            self.lines = lines
            self.data = data
            self.wait = wait
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case operations, result, reason
            case exitStatus = "exit_status"
        }

        package var operations: [Int]
        /// With `wait`: `done`, or how the first of them that was not done ended.
        package var result: OperationSummary.Result?
        package var exitStatus: Int?
        package var reason: String?

        package init(
            operations: [Int], result: OperationSummary.Result? = nil, exitStatus: Int? = nil, reason: String? = nil
        ) {
            self.operations = operations
            self.result = result
            self.exitStatus = exitStatus
            self.reason = reason
        }
    }
}
