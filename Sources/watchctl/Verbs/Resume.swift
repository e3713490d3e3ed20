import ControlInterface

extension Verb {
    static let resume = Verb(
        name: "resume", operands: "NAME", operandCount: 1...1, names: .suspended, summary: "take back one suspend"
    ) { (invocation, session) throws(Failure) in
        try session.show(Resume.self, .init(name: invocation.operands[0])) { reply in
            switch reply.suspended {
            case 0: [Styled("\(reply.name) goes on")]
            case 1: [Styled("\(reply.name) is still suspended once")]
            default: [Styled("\(reply.name) is still suspended \(reply.suspended) times")]
            }
        }
        return .done
    }
}
