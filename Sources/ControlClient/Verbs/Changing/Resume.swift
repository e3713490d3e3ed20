import ControlInterface

extension Verb {
    static let resume = Verb(
        name: "resume", operands: "NAME…", operandCount: 1...Int.max, names: .suspended,
        changes: true, summary: "take back one suspend of each"
    ) { (invocation, session) throws(Failure) in
        try invocation.forEachOperand(.pausable, session) { name throws(Failure) in
            try session.show(Resume.self, .init(name: name)) { reply in
                let state =
                    switch reply.suspended {
                    case 0: "goes on"
                    case 1: "is still suspended once"
                    default: "is still suspended \(reply.suspended) times"
                    }
                let unsaved = Phrases.unsaved(reply.unsaved, crash: "it is suspended as before")
                return [Styled("\(reply.name) \(state)\(unsaved)")]
            }
        }
        return .done
    }
}
