import Varlink

package enum ListHandlers: ControlMethod {
    package typealias Parameters = NamedListParameters

    package struct Reply: Codable, Equatable, Sendable {
        /// In the order of their names.
        package var handlers: [Handler]
        package var next: String?

        package init(handlers: [Handler], next: String? = nil) {
            self.handlers = handlers
            self.next = next
        }
    }

    package struct Handler: Codable, Equatable, Sendable {
        enum CodingKeys: String, CodingKey {
            case name, action, queue, overlap, counters, workers, file, line
            case overlapIsDefault = "overlap_is_default"
            case runningPIDs = "running_pids"
            case lastResult = "last_result"
            case lastEnded = "last_ended"
        }

        package var name: String
        /// As in the watch file: `Exec=/usr/bin/convert %p`.
        package var action: String
        package var queue: String
        /// `skip`; `skip, wait` where its sources differ.
        package var overlap: String
        /// `Overlap=` is not written; else `nil`.
        package var overlapIsDefault: Bool?
        package var counters: Counters
        package var runningPIDs: [Int]
        package var lastResult: OperationSummary.Result?
        package var lastEnded: String?
        /// With `Stream=`.
        package var workers: [SupervisedProcess]?
        /// Where its section stands; only for who may change things.
        package var file: String?
        package var line: Int?

        package init(
            name: String, action: String, queue: String, overlap: String, counters: Counters, runningPIDs: [Int] = [],
            lastResult: OperationSummary.Result? = nil, lastEnded: String? = nil
        ) {
            self.name = name
            self.action = action
            self.queue = queue
            self.overlap = overlap
            self.counters = counters
            self.runningPIDs = runningPIDs
            self.lastResult = lastResult
            self.lastEnded = lastEnded
        }
    }
}
