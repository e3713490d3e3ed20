import Varlink

package enum ListOperations: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: CodingKey, CaseIterable {
            case queue, handler, state, limit, after
        }

        package var queue: String?
        package var handler: String?
        /// `nil`: those that have not ended. `finished` and `cancelled`: those that are still remembered.
        package var state: OperationSummary.State?
        package var limit: Int?
        /// `next` of the page before.
        package var after: Int?

        package init(
            queue: String? = nil, handler: String? = nil, state: OperationSummary.State? = nil, limit: Int? = nil,
            after: Int? = nil
        ) {
            self.queue = queue
            self.handler = handler
            self.state = state
            self.limit = limit
            self.after = after
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// In the order of their ids.
        package var operations: [OperationSummary]
        /// Of the first page: events that are to be operations, where those would be listed.
        package var held: [HeldEvents]
        package var next: Int?

        package init(operations: [OperationSummary], held: [HeldEvents] = [], next: Int? = nil) {
            self.operations = operations
            self.held = held
            self.next = next
        }
    }
}
