import Varlink

package enum Drain: ControlMethod {
    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case queue, reason
            case timeoutUsec = "timeout_usec"
        }

        /// `nil`: all queues.
        package var queue: String?
        package var reason: String?
        /// How long at most; then all of them go on. `nil`: for ever.
        package var timeoutUsec: Int?

        package init(queue: String? = nil, reason: String? = nil, timeoutUsec: Int? = nil) {
            self.queue = queue
            self.reason = reason
            self.timeoutUsec = timeoutUsec
        }
    }

    package struct Reply: Codable, Equatable, Sendable {
        /// The queues that are suspended now, sorted; what runs through them is, too.
        package var queues: [String]
        /// Operations that wait in those that were suspended before; `nil`: none.
        package var waiting: Int?

        package init(queues: [String], waiting: Int? = nil) {
            self.queues = queues
            self.waiting = waiting
        }
    }
}
