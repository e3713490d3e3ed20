package import JSON
import Varlink

package enum Emit: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case name, data, payload, wait, at, traceparent
            case inUsec = "in_usec"
        }

        /// A `[Custom]` source.
        package var name: String
        /// `nil` without a payload: 1.
        package var data: Int?
        /// An object.
        package var payload: JSONValue?
        /// The reply comes when all that it starts has ended.
        package var wait: Bool?
        /// At most one of `at` and `inUsec`, and no `wait` with it: it is fired then.
        package var at: String?
        package var inUsec: Int?
        /// The span of the caller (W3C Trace Context).
        package var traceparent: String?

        package init(
            name: String, data: Int? = nil, payload: JSONValue? = nil, wait: Bool? = nil, at: String? = nil,
            inUsec: Int? = nil
        ) {
            (self.at, self.inUsec) = (at, inUsec)
            self.name = name
            self.data = data
            self.payload = payload
            self.wait = wait
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            name = try members.decode(String.self, forKey: .name)
            data = try members.decodeIfPresent(Int.self, forKey: .data)
            payload = try members.decodeIfPresent([String: JSONValue].self, forKey: .payload).map(JSONValue.object)
            wait = try members.decodeIfPresent(Bool.self, forKey: .wait)
            at = try members.decodeIfPresent(String.self, forKey: .at)
            inUsec = try members.decodeIfPresent(Int.self, forKey: .inUsec)
            traceparent = try members.decodeIfPresent(String.self, forKey: .traceparent)
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case event, operation, result, reason, unsaved, unfinished
            case exitStatus = "exit_status"
        }

        package var event: Int
        /// These four: with `wait`. `nil`: nothing was started. With a time: the operation that waits for it.
        package var operation: Int?
        package var result: OperationSummary.Result?
        package var exitStatus: Int?
        package var reason: String?
        /// With `wait`: why the store does not know its end, and a crash of watchd would make it run again.
        package var unsaved: String?
        /// With `wait`, where watchd stops before all has ended: the operations that have not, and the worst of those that
        /// have; none: the event has not come to its handlers.
        package var unfinished: [Int]?

        package init(
            event: Int, operation: Int? = nil, result: OperationSummary.Result? = nil, exitStatus: Int? = nil,
            reason: String? = nil, unsaved: String? = nil
        ) {
            self.event = event
            self.operation = operation
            self.result = result
            self.exitStatus = exitStatus
            self.reason = reason
            self.unsaved = unsaved
        }
    }
}
