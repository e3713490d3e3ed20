import ControlInterface
import JSON
import Varlink

extension Verb {
    static let failed = Verb(
        name: "failed", operands: "[NAME]", operandCount: 0...1, names: .runnable,
        summary: "list the failures that were neither tried again nor forgotten, and what to type",
        notes: ["They are kept as long as the history is (KeepHistory=, KeepHistorySec=)."]
    ) { (invocation, session) throws(Failure) in
        try session.showList(ListHistory.self, atMost: FailedScreen.limit) { next, left in
            ListHistory.Parameters(
                name: invocation.operands.first, unsettled: true, limit: min(left, Manager.maximumPage),
                after: next?.string)
        } _: {
            FailedScreen(history: $0, screen: session.screen).lines
        }
        return .done
    }
}
