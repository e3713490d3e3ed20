import ControlInterface

extension Verb {
    static let show = Verb(
        name: "show", operands: "ID", operandCount: 1...1,
        summary: "show one operation: its events, runs and the end of its output"
    ) { (invocation, session) throws(Failure) in
        guard let id = Int(invocation.operands[0]) else {
            throw .usage(
                "an operation is named by its number, not “\(invocation.operands[0])”",
                help: "watchctl operations shows the numbers")
        }
        try session.show(GetOperation.self, .init(id: id)) {
            OperationScreen(operation: $0.operation, screen: session.screen).lines
        }
        return .done
    }
}
