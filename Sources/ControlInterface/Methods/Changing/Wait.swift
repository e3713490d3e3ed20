package import Varlink

package enum Wait: ControlMethod {
    package static var style: Interface.MethodStyle { .stream }

    /// Exactly one of `id` and `name`.
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case id, name
            case timeoutUsec = "timeout_usec"
        }

        /// An operation: until it has ended.
        package var id: Int?
        /// A queue or group: until nothing waits or runs there.
        package var name: String?
        /// How long at most, at least 0; `nil`: for ever.
        package var timeoutUsec: Int?

        package init(id: Int, timeoutUsec: Int? = nil) {
            self.id = id
            self.timeoutUsec = timeoutUsec
        }

        package init(name: String, timeoutUsec: Int? = nil) {
            self.name = name
            self.timeoutUsec = timeoutUsec
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decodeIfPresent(Int.self, forKey: .id)
            name = try members.decodeIfPresent(String.self, forKey: .name)
            timeoutUsec = try members.decodeIfPresent(Int.self, forKey: .timeoutUsec)
            guard (id == nil) != (name == nil) else {
                throw DecodingError.dataCorruptedError(
                    forKey: id == nil ? .id : .name, in: members, debugDescription: "exactly one of id and name")
            }
            guard timeoutUsec ?? 0 >= 0 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .timeoutUsec, in: members, debugDescription: "a span is not negative")
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// Of an `id`: its end.
        package var operation: OperationSummary?

        package init(operation: OperationSummary? = nil) { self.operation = operation }
    }
}
