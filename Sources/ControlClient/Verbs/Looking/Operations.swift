import ControlInterface
import JSON
import Varlink

extension Verb {
    static let operations = Verb(
        name: "operations", options: [.queue, .handler, .state],
        summary: "list operations: those that have not ended, or those in one state"
    ) { (invocation, session) throws(Failure) in
        let state = try wantedState(invocation)
        try session.showList(ListOperations.self) { next, _ in
            ListOperations.Parameters(
                queue: invocation.options[.queue], handler: invocation.options[.handler], state: state,
                after: next?.int.map { Int($0) })
        } _: {
            Lists(screen: session.screen).operations($0.operations, $0.held, areEnded: state?.isEnded == true)
        }
        return .done
    }

    private static func wantedState(_ invocation: Invocation) throws(Failure) -> OperationSummary.State? {
        guard let text = invocation.options[.state] else { return nil }
        guard let state = OperationText.state(named: text) else {
            let states = OperationText.stateNames.joined(separator: ", ")
            throw .usage("there is no state “\(text)”", help: "one of \(states)")
        }
        return state
    }
}
