import JSON

/// One reply that is not an error.
package struct Reply: Sendable {
    /// More replies to the same call follow.
    package let continues: Bool
    /// As they came.
    private let given: JSONValue

    /// - Throws: `ClientError.unexpectedReply` if they are not of that type. No parameters are `{}`.
    package func parameters<Parameters: Decodable>(
        as type: Parameters.Type = Parameters.self
    ) throws(ClientError) -> Parameters {
        do {
            return try JSON.decode(from: given)
        } catch let error as DecodingError {
            let path = (["parameters"] + error.path.map(\.stringValue)).joined(separator: ".")
            throw .unexpectedReply("“\(path)” is missing or of the wrong type")
        } catch {
            throw .unexpectedReply("\(error)")
        }
    }
}

extension Reply {
    /// - Throws: `ClientError.remote` for an error, `.unexpectedReply` for what is no reply.
    init(message: [UInt8]) throws(ClientError) {
        guard let text = try? JSONText(message), text.fault == nil, let members = text.value.members,
            let continues = Self.value(Bool?.self, members["continues"] ?? .null),
            let error = Self.value(String?.self, members["error"] ?? .null)
        else {
            throw .unexpectedReply("a reply that is not a JSON object of the protocol")
        }
        let parameters = members["parameters"].flatMap { $0 == .null ? nil : $0 } ?? .object([:])
        if let error { throw .remote(ErrorReply(error, parameters.members ?? [:])) }
        self.continues = continues ?? false
        given = parameters
    }

    private static func value<Value: Decodable>(_ type: Value.Type, _ value: JSONValue) -> Value? {
        try? JSON.decode(type, from: value)
    }
}
