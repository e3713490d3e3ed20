import ControlInterface

extension Verb {
    static let cancel = Verb(
        name: "cancel", operands: "ID|QUEUE…", operandCount: 1...Int.max, ids: .pending, changes: true, destroys: true,
        summary: "cancel operations, or all of a queue; what runs is terminated"
    ) { (invocation, session) throws(Failure) in
        try invocation.forEachOperand(.queues, session) { target throws(Failure) in
            let parameters = Int(target).map { Cancel.Parameters(id: $0) } ?? Cancel.Parameters(queue: target)
            try session.show(Cancel.self, parameters) {
                let unsaved = Phrases.unsaved($0.unsaved, crash: "it may come back")
                return [Styled(Phrases.count($0.cancelled, "operation") + " cancelled" + unsaved)]
            }
        }
        return .done
    }
}
