import ControlInterface

extension Verb {
    static let resume = Verb(
        name: "resume", operands: "NAME…", operandCount: 1...Int.max, names: .suspended,
        changes: true, summary: "take back one suspend of each"
    ) { (invocation, session) throws(Failure) in
        try invocation.forEachOperand(.pausable, session) { name throws(Failure) in
            try session.show(Resume.self, .init(name: name)) { reply in
                switch reply.suspended {
                case 0: [Styled("\(reply.name) goes on")]
                case 1: [Styled("\(reply.name) is still suspended once")]
                default: [Styled("\(reply.name) is still suspended \(reply.suspended) times")]
                }
            }
        }
        return .done
    }
}
