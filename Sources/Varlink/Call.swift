/// One call as a client sent it.
package struct Call: Sendable {
    /// Counts the calls of a connection from 1; replies name it.
    package let number: Int
    /// With its interface, such as `org.varlink.service.GetInfo`.
    package let method: String
    /// No reply is sent, not even an error.
    package let isOneway: Bool
    /// The client accepts several replies.
    package let wantsMore: Bool
    let wantsUpgrade: Bool
    private let message: [UInt8]

    /// `method` up to its last dot; all of it where there is none.
    package var interface: String {
        method.lastIndex(of: ".").map { String(method[..<$0]) } ?? method
    }

    /// `method` after its last dot.
    package var name: String {
        method.lastIndex(of: ".").map { String(method[method.index(after: $0)...]) } ?? ""
    }

    /// - Throws: `org.varlink.service.InvalidParameter`, naming the parameter that is unknown, missing or of the wrong
    ///   type, or that could not be kept as it is written (`JSONFault`). No parameters, `null` and `{}` are the same.
    package func parameters<Parameters: CallParameters>(
        as type: Parameters.Type = Parameters.self
    ) throws(ErrorReply) -> Parameters {
        if let fault = JSONFault.first(in: message) {
            let path = fault.path.drop { $0 == Envelope.CodingKeys.parameters.stringValue }
            throw .invalidParameter(path.first ?? "parameters")
        }
        do {
            return try JSON.decode(ParametersOfMessage<Parameters>.self, from: message).parameters
        } catch let error as DecodingError {
            let path = error.path.drop { $0.stringValue == Envelope.CodingKeys.parameters.stringValue }
            throw .invalidParameter(path.first?.stringValue ?? parameterAtFault(type) ?? "parameters")
        } catch {
            throw .invalidParameter("parameters")
        }
    }

    /// `JSONDecoder` does not say which number it is that does not fit its type: the one without which the error is
    /// gone.
    private func parameterAtFault<Parameters: CallParameters>(_ type: Parameters.Type) -> String? {
        guard let message = try? JSON.decode([String: JSONValue].self, from: message),
            let parameters = message[Envelope.CodingKeys.parameters.stringValue]?.members
        else { return nil }
        return parameters.keys.sorted().first { name in
            do {
                let others = try JSON.encode(parameters.filter { $0.key != name })
                _ = try JSON.decode(type, from: others)
                return true
            } catch let error as DecodingError {
                return !error.path.isEmpty
            } catch {
                return false
            }
        }
    }
}

extension Call {
    /// A message that is no call.
    struct Malformed: Error {
        var reason: String
        /// The call's member at fault; `nil`: not even an object.
        var member: String?
    }

    init(number: Int, message: [UInt8]) throws(Malformed) {
        do {
            let envelope = try JSON.decode(Envelope.self, from: message)
            self.number = number
            method = envelope.method
            isOneway = envelope.isOneway
            wantsMore = envelope.wantsMore && !envelope.isOneway
            wantsUpgrade = envelope.wantsUpgrade
            self.message = message
        } catch let error as DecodingError where !error.path.isEmpty {
            let member = error.path[0].stringValue
            throw Malformed(reason: "a call whose “\(member)” is missing or of the wrong type", member: member)
        } catch {
            throw Malformed(reason: "a message that is not a JSON object")
        }
    }

    /// A call without what its parameters say. Members that the protocol does not know are ignored, as in other
    /// services.
    private struct Envelope: Decodable {
        enum CodingKeys: String, CodingKey {
            case method, parameters, oneway, more, upgrade
        }

        let method: String
        let isOneway: Bool
        let wantsMore: Bool
        let wantsUpgrade: Bool

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            method = try members.decode(String.self, forKey: .method)
            isOneway = try members.decodeIfPresent(Bool.self, forKey: .oneway) ?? false
            wantsMore = try members.decodeIfPresent(Bool.self, forKey: .more) ?? false
            wantsUpgrade = try members.decodeIfPresent(Bool.self, forKey: .upgrade) ?? false
            if members.contains(.parameters), try !members.decodeNil(forKey: .parameters) {
                _ = try members.nestedContainer(keyedBy: AnyKey.self, forKey: .parameters)
            }
        }
    }

    /// The same message once more, for its parameters alone.
    private struct ParametersOfMessage<Parameters: CallParameters>: Decodable {
        let parameters: Parameters

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Envelope.CodingKeys.self)
            if members.contains(.parameters), try !members.decodeNil(forKey: .parameters) {
                let nested = try members.superDecoder(forKey: .parameters)
                try nested.refuseUnknownMembers(besides: Parameters.CodingKeys.self)
                parameters = try Parameters(from: nested)
            } else {
                parameters = try JSON.decode(Parameters.self, from: Array("{}".utf8))
            }
        }
    }
}
