import Varlink

/// Which failed operations are meant: exactly one of the two.
package struct FailedTarget: CallParameters, Equatable {
    package enum CodingKeys: CodingKey, CaseIterable {
        case id, name
    }

    package var id: Int?
    /// A handler: all of its failed operations that were neither tried again nor forgotten.
    package var name: String?

    package init(id: Int) { self.id = id }

    package init(name: String) { self.name = name }

    package init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        id = try members.decodeIfPresent(Int.self, forKey: .id)
        name = try members.decodeIfPresent(String.self, forKey: .name)
        guard (id == nil) != (name == nil) else {
            throw DecodingError.dataCorruptedError(
                forKey: id == nil ? .id : .name, in: members, debugDescription: "exactly one of id and name")
        }
    }
}
