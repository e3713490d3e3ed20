import ControlInterface

extension Verb {
    static let explain = Verb(
        name: "explain", operands: "NAME|ID", operandCount: 1...1,
        summary: "say why an operation, source, queue, handler, group or semaphore stands where it stands"
    ) { (invocation, session) throws(Failure) in
        let target = invocation.operands[0]
        let parameters = Int(target).map { Explain.Parameters(id: $0) } ?? Explain.Parameters(name: target)
        try session.show(Explain.self, parameters) { ExplainScreen(explanation: $0, screen: session.screen).lines }
        return .done
    }
}
