package import Varlink

package enum Emit: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case name, data, payload
        }

        /// A `[Custom]` source.
        package var name: String
        /// `nil` without a payload: 1.
        package var data: Int?
        /// An object.
        package var payload: JSONValue?

        package init(name: String, data: Int? = nil, payload: JSONValue? = nil) {
            self.name = name
            self.data = data
            self.payload = payload
        }

        package init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            name = try members.decode(String.self, forKey: .name)
            data = try members.decodeIfPresent(Int.self, forKey: .data)
            payload = try members.decodeIfPresent([String: JSONValue].self, forKey: .payload).map(JSONValue.object)
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        package var event: Int

        package init(event: Int) { self.event = event }
    }
}
