import Varlink

package enum Cancel: ControlMethod {
    /// Exactly one of the two.
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case id, queue
        }

        package var id: Int?
        package var queue: String?

        package init(id: Int) { self.id = id }

        package init(queue: String) { self.queue = queue }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            id = try members.decodeIfPresent(Int.self, forKey: .id)
            queue = try members.decodeIfPresent(String.self, forKey: .queue)
            guard (id == nil) != (queue == nil) else {
                throw DecodingError.dataCorruptedError(
                    forKey: id == nil ? .id : .queue, in: members, debugDescription: "exactly one of id and queue")
            }
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        package var cancelled: Int
        /// Why the store does not know it yet; `nil`: it does.
        package var unsaved: String?

        package init(cancelled: Int, unsaved: String? = nil) {
            self.cancelled = cancelled
            self.unsaved = unsaved
        }
    }
}
