/// One reply that is not an error.
package struct Reply: Sendable {
    /// More replies to the same call follow.
    package let continues: Bool
    private let message: [UInt8]

    /// - Throws: `ClientError.unexpectedReply` if they are not of that type. No parameters are `{}`.
    package func parameters<Parameters: Decodable>(
        as type: Parameters.Type = Parameters.self
    ) throws(ClientError) -> Parameters {
        do {
            return try JSON.decode(ParametersOfReply<Parameters>.self, from: message).parameters
        } catch let error as DecodingError {
            let path = error.path.map(\.stringValue).joined(separator: ".")
            throw .unexpectedReply("“\(path)” is missing or of the wrong type")
        } catch {
            throw .unexpectedReply("\(error)")
        }
    }
}

extension Reply {
    /// - Throws: `ClientError.remote` for an error, `.unexpectedReply` for what is no reply.
    init(message: [UInt8]) throws(ClientError) {
        let envelope: Envelope
        do {
            envelope = try JSON.decode(from: message)
        } catch {
            throw .unexpectedReply("a reply that is not a JSON object of the protocol")
        }
        if let error = envelope.error { throw .remote(ErrorReply(error, envelope.parameters ?? [:])) }
        continues = envelope.continues ?? false
        self.message = message
    }

    private enum CodingKeys: String, CodingKey {
        case parameters, continues, error
    }

    /// The parameters are decoded only if they belong to an error.
    private struct Envelope: Decodable {
        let continues: Bool?
        let error: String?
        let parameters: [String: JSONValue]?

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            continues = try members.decodeIfPresent(Bool.self, forKey: .continues)
            error = try members.decodeIfPresent(String.self, forKey: .error)
            parameters =
                error == nil ? nil : try members.decodeIfPresent([String: JSONValue].self, forKey: .parameters)
        }
    }

    private struct ParametersOfReply<Parameters: Decodable>: Decodable {
        let parameters: Parameters

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            parameters =
                try members.decodeIfPresent(Parameters.self, forKey: .parameters)
                ?? JSON.decode(from: Array("{}".utf8))
        }
    }
}
