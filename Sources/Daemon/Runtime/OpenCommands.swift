import Engine

/// Commands that the engine has not answered yet, and who waits for the answers.
struct OpenCommands {
    typealias Reply = (EngineReply) -> Void

    private var waiting: [Token: (connection: Int?, reply: Reply)] = [:]
    /// The command that each connection waits for.
    private var tokens: [Int: Token] = [:]
    private var lastToken: UInt64 = 0

    mutating func newToken() -> Token {
        lastToken += 1
        return Token(lastToken)
    }

    /// - Parameter connection: whose client waits; it waits for one at a time.
    mutating func add(of connection: Int?, _ reply: @escaping Reply) -> Token {
        let token = newToken()
        waiting[token] = (connection, reply)
        if let connection { tokens[connection] = token }
        return token
    }

    /// `nil`: nobody waits.
    mutating func take(_ token: Token) -> Reply? {
        guard let (connection, reply) = waiting.removeValue(forKey: token) else { return nil }
        if let connection { tokens[connection] = nil }
        return reply
    }

    mutating func take(of connection: Int) -> (Token, Reply)? {
        guard let token = tokens[connection], let reply = take(token) else { return nil }
        return (token, reply)
    }
}
