package import JSON
package import Varlink

package enum Follow: ControlMethod {
    package static var style: Interface.MethodStyle { .stream }

    package struct Parameters: CallParameters, Equatable {
        package enum CodingKeys: String, CodingKey, CaseIterable {
            case since, name, output
            case sinceTime = "since_time"
        }

        /// First what happened after this sequence number; `nil`: first how every operation that has not ended stands.
        package var since: Int?

        /// First what happened from this time on, as far as it is kept; not together with `since`.
        package var sinceTime: String?

        /// Only what concerns this handler, source or queue; a bare name means all that have it.
        package var name: String?

        /// Lines that runs and processes write are told, too.
        package var output: Bool?

        package init(since: Int? = nil, sinceTime: String? = nil, name: String? = nil, output: Bool? = nil) {
            (self.since, self.sinceTime) = (since, sinceTime)
            (self.name, self.output) = (name, output)
        }
    }

    /// One of `event`, `operation`, `output` and `gap`.
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
        package var output: OutputLines?
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

        package init(sequence: Int, time: String, output: OutputLines) {
            self.sequence = sequence
            self.time = time
            self.output = output
        }

        package init(sequence: Int, time: String, gap: Gap) {
            self.sequence = sequence
            self.time = time
            self.gap = gap
        }
    }

    /// Lines that a run or a supervised process has written.
    package struct OutputLines: Codable, Equatable, Sendable {
        /// `handler/backup`, `process/web`.
        package var object: String
        /// Of a handler's run.
        package var operation: Int?
        /// Of a process, from 1.
        package var copy: Int?
        /// Without their ends; what is not UTF-8 is replaced.
        package var lines: [String]

        package init(object: String, operation: Int? = nil, copy: Int? = nil, lines: [String]) {
            self.object = object
            self.operation = operation
            self.copy = copy
            self.lines = lines
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
