import JSON
import Varlink

package enum Run: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case name, paths, lines, data, wait, awaited, changed, at, traceparent
            case inUsec = "in_usec"
            case pathsBase64 = "paths_base64"
        }

        /// A handler, or a source (then all its handlers).
        package var name: String
        package var paths: [String]?
        /// Instead of `paths`, where one is not UTF-8.
        package var pathsBase64: [String]?
        package var lines: [String]?
        package var data: Int?
        /// The reply comes when all the operations have ended.
        package var wait: Bool?
        /// The caller waits for them by their numbers: they take its QoS.
        package var awaited: Bool?
        /// Of a `[Path]`, and with nothing else: what stands there is compared with what was told, and the differences are
        /// its events.
        package var changed: Bool?
        /// At most one of `at` and `inUsec`, and no `wait` with it: it is started then.
        package var at: String?
        package var inUsec: Int?
        /// The span of the caller (W3C Trace Context).
        package var traceparent: String?

        package init(
            name: String, paths: [String]? = nil, lines: [String]? = nil, data: Int? = nil, wait: Bool? = nil,
            changed: Bool? = nil, at: String? = nil, inUsec: Int? = nil
        ) {
            (self.at, self.inUsec) = (at, inUsec)
            self.name = name
            self.paths = paths
            self.lines = lines
            self.data = data
            self.wait = wait
            self.changed = changed
        }

        package mutating func set(paths: [[UInt8]]) {
            guard !paths.isEmpty else { return }
            let texts = paths.compactMap { String(validating: $0, as: UTF8.self) }
            if texts.count == paths.count { self.paths = texts } else { pathsBase64 = paths.map(Base64.encode) }
        }

        /// Absolute. `nil`: both are given, one is no Base64, or no path.
        package var pathBytes: [[UInt8]]? {
            let texts = (paths ?? []).map { Array($0.utf8) }
            let given = pathsBase64?.compactMap(Base64.decode) ?? texts
            let count = pathsBase64?.count ?? texts.count
            guard paths == nil || pathsBase64 == nil, given.count == count else { return nil }
            return given.allSatisfy { $0.first == UInt8(ascii: "/") && !$0.contains(0) } ? given : nil
        }

        /// The member that has the paths.
        package var pathsMember: String { (pathsBase64 == nil ? CodingKeys.paths : .pathsBase64).rawValue }
    }

    package struct Reply: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case operations, result, reason, unsaved, changes
            case exitStatus = "exit_status"
        }

        package var operations: [Int]
        /// With `wait`: `done`, or how the first of them that was not done ended.
        package var result: OperationSummary.Result?
        package var exitStatus: Int?
        package var reason: String?
        /// With `wait`: why the store does not know its end, and a crash of watchd would make it run again.
        package var unsaved: String?
        /// With `changed`: so many were found.
        package var changes: Int?

        package init(
            operations: [Int], result: OperationSummary.Result? = nil, exitStatus: Int? = nil, reason: String? = nil,
            unsaved: String? = nil, changes: Int? = nil
        ) {
            self.operations = operations
            self.result = result
            self.exitStatus = exitStatus
            self.reason = reason
            self.unsaved = unsaved
            self.changes = changes
        }
    }
}
