import ControlInterface
import WatchFile

extension Verb {
    static let priority = Verb(
        name: "priority", operands: "ID LEVEL", operandCount: 2...2, ids: .pending, changes: true,
        summary: "put an operation that waits on a concurrent queue before or behind others",
        notes: ["LEVEL is \(levels); it holds until the operation has ended, or watchd stops."]
    ) { (invocation, session) throws(Failure) in
        let (text, level) = (invocation.operands[0], invocation.operands[1])
        guard let id = Int(text) else { throw .usage("“\(text)” is not the number of an operation") }
        try checkPriority(level)
        try session.show(SetPriority.self, .init(id: id, priority: level)) { reply in
            let unsaved = Phrases.unsaved(reply.unsaved, crash: "it has its former one")
            return [Styled("operation \(id) has priority \(level)\(unsaved)")]
        }
        return .done
    }

    static func checkPriority(_ level: String) throws(Failure) {
        guard OperationPriority(rawValue: level) == nil else { return }
        throw .usage("there is no priority “\(level)”", help: "there are \(levels)")
    }

    private static let levels = OperationPriority.allCases.map(\.rawValue).joined(separator: ", ")
}
