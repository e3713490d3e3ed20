package import ControlInterface
package import JSON
package import Varlink

/// One call and its reply.
package struct Sample: Sendable {
    package let method: any ControlMethod.Type
    package let parameters: JSONValue
    package let reply: JSONValue
    /// What is not the same after it has been written and read.
    package let losses: [String]
    private let isAskedFor: @Sendable (Call) throws -> Bool

    init<Method: ControlMethod>(_ method: Method.Type, _ parameters: Method.Parameters, _ reply: Method.Reply) {
        self.method = method
        self.parameters = Self.json(parameters)
        self.reply = Self.json(reply)
        losses = Self.losses(parameters) + Self.losses(reply)
        isAskedFor = { try $0.parameters(as: Method.Parameters.self) == parameters }
    }

    /// What a daemon with only this to say answers.
    package func answer(_ call: Call) -> SampleServer.Answer {
        do {
            guard try isAskedFor(call) else { return .error(.invalidParameter("not those of the sample")) }
            return .reply(reply)
        } catch {
            return .error(error as? ErrorReply ?? .invalidParameter("\(error)"))
        }
    }

    /// `null` where it fails.
    package static func json(_ value: some Encodable) -> JSONValue {
        (try? JSON.decode(from: JSON.encode(value))) ?? .null
    }

    private static func losses<Value: Codable & Equatable>(_ value: Value) -> [String] {
        let read = try? JSON.decode(Value.self, from: JSON.encode(value))
        return read == value ? [] : ["\(value) becomes \(String(describing: read))"]
    }
}
