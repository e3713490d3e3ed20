package import Varlink

package enum Follow: ControlMethod {
    package static var style: Interface.MethodStyle { .stream }

    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case since
            case sinceTime = "since_time"
        }

        /// First what happened after this sequence number; `nil`: first how every operation that has not ended stands.
        package var since: Int?

        /// First what happened from this time on, as far as it is kept; not together with `since`.
        package var sinceTime: String?

        package init(since: Int? = nil, sinceTime: String? = nil) { (self.since, self.sinceTime) = (since, sinceTime) }
    }

    /// One of `event`, `operation` and `gap`.
    package struct Reply: Codable, Equatable, Sendable {
        /// Of `initial` ones: the number of the record before.
        package var sequence: Int
        package var time: String
        /// As a handler is told it.
        package var event: JSONValue?
        /// The handlers it goes to.
        package var handlers: [String]?
        /// An operation whose state has changed, as it is now.
        package var operation: OperationSummary?
        /// `true`: the operation has not changed, it stood so when `Follow` began.
        package var initial: Bool?
        package var gap: Gap?

        package init(sequence: Int, time: String, event: JSONValue, handlers: [String]) {
            self.sequence = sequence
            self.time = time
            self.event = event
            self.handlers = handlers
        }

        package init(sequence: Int, time: String, operation: OperationSummary, initial: Bool? = nil) {
            self.sequence = sequence
            self.time = time
            self.operation = operation
            self.initial = initial
        }

        package init(sequence: Int, time: String, gap: Gap) {
            self.sequence = sequence
            self.time = time
            self.gap = gap
        }
    }

    /// Records that were asked for and are no longer kept, by their sequence numbers; only as the first reply. `last`
    /// below `first`: watchd, and its numbers, began anew after the record before `first`; what comes next is all that
    /// is kept.
    package struct Gap: Codable, Equatable, Sendable {
        package var first: Int
        package var last: Int

        package init(first: Int, last: Int) {
            self.first = first
            self.last = last
        }
    }
}
