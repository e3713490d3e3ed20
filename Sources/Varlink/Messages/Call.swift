package import JSON

/// One call as a client sent it.
package struct Call: Sendable {
    /// Of a whole message.
    package static let limits = JSONText.Limits.foreign

    /// Counts the calls of a connection from 1; replies name it.
    package let number: Int
    /// With its interface, such as `org.varlink.service.GetInfo`.
    package let method: String
    /// No reply is sent, not even an error.
    package let isOneway: Bool
    /// The client accepts several replies.
    package let wantsMore: Bool
    let wantsUpgrade: Bool
    /// An object.
    private let members: JSONValue
    /// The first thing in the whole message that could not be kept as it is written.
    private let fault: JSONFault?

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
        if let fault {
            let isInside = fault.path.first == Member.parameters.rawValue
            throw .invalidParameter(fault.path.dropFirst(isInside ? 1 : 0).first ?? Member.parameters.rawValue)
        }
        do {
            return try JSON.decode(Strict<Parameters>.self, from: members).parameters
        } catch {
            let path = (error as? DecodingError)?.path
            throw .invalidParameter(path?.first?.stringValue ?? Member.parameters.rawValue)
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

    /// Those that the protocol knows. Others are ignored, as in other services.
    private enum Member: String {
        case method, parameters, oneway, more, upgrade
    }

    init(number: Int, message: [UInt8]) throws(Malformed) {
        let text: JSONText
        do throws(JSONSyntaxError) {
            text = try JSONText(message, limits: Self.limits)
        } catch {
            throw Malformed(reason: "a message that is \(error.reason)")
        }
        guard let members = text.value.members else { throw Malformed(reason: "a message that is no JSON object") }
        guard let method = members[Member.method.rawValue]?.string else { throw Self.malformed(.method) }
        self.number = number
        self.method = method
        isOneway = try Self.flag(.oneway, members)
        wantsMore = try Self.flag(.more, members) && !isOneway
        wantsUpgrade = try Self.flag(.upgrade, members)
        switch members[Member.parameters.rawValue] {
        case nil, .null: self.members = .object([:])
        case .object(let members): self.members = .object(members)
        default: throw Self.malformed(.parameters)
        }
        fault = text.fault
    }

    private static func flag(_ member: Member, _ members: [String: JSONValue]) throws(Malformed) -> Bool {
        switch members[member.rawValue] {
        case nil, .null: return false
        case .bool(let isSet): return isSet
        default: throw malformed(member)
        }
    }

    private static func malformed(_ member: Member) -> Malformed {
        Malformed(
            reason: "a call whose “\(member.rawValue)” is missing or of the wrong type", member: member.rawValue)
    }

    /// Parameters without a member that the method does not know.
    private struct Strict<Parameters: CallParameters>: Decodable {
        let parameters: Parameters

        init(from decoder: any Decoder) throws {
            try decoder.refuseUnknownMembers(besides: Parameters.CodingKeys.self)
            parameters = try Parameters(from: decoder)
        }
    }
}
