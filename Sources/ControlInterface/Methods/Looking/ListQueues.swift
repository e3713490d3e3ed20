import Varlink

package enum ListQueues: ControlMethod {
    package typealias Parameters = NamedListParameters

    package struct Reply: Codable, Equatable, Sendable {
        /// In the order of their names.
        package var queues: [Queue]
        package var next: String?

        package init(queues: [Queue], next: String? = nil) {
            self.queues = queues
            self.next = next
        }
    }

    package struct Queue: Codable, Equatable, Sendable {
        package enum Kind: String, Codable, CaseIterable, Sendable {
            case serial, concurrent
        }

        enum CodingKeys: String, CodingKey {
            case name, type, width, qos, target, backlog, overflow, suspended, entries, bytes, full, operations,
                running,
                over, counters, oldest, file, line
            case suspendedBy = "suspended_by"
            case backlogBytes = "backlog_bytes"
        }

        package var name: String
        package var type: Kind
        package var width: Int
        /// `user-interactive` … `background`: `QoS=` as its targets leave it.
        package var qos: String
        /// The queue through which it runs.
        package var target: String?
        /// Entries that may be pending.
        package var backlog: Int
        /// Bytes of them.
        package var backlogBytes: Int
        /// As in the watch file: `block`, `drop-oldest`, `drop-newest`.
        package var overflow: String
        package var suspended: Int
        package var suspendedBy: [Suspension]
        /// Entries, their bytes, and operations pending.
        package var entries: Int
        package var bytes: Int
        package var operations: Int
        package var running: Int
        /// Entries above the backlog now, made by watchd itself.
        package var over: Int
        /// `BacklogBytes=64M`: the bound that is used up, or that holds sources back.
        package var full: String?
        package var counters: Counters
        /// When its oldest pending operation was submitted.
        package var oldest: String?
        /// Where its section stands; only for who may change things.
        package var file: String?
        package var line: Int?

        /// Members that are not named here are `nil`, empty or 0 at first.
        package init(
            name: String, type: Kind, width: Int, qos: String = "default", backlog: Int,
            backlogBytes: Int = 64 << 20, overflow: String, counters: Counters
        ) {
            self.name = name
            self.type = type
            self.width = width
            self.qos = qos
            self.backlog = backlog
            self.backlogBytes = backlogBytes
            self.overflow = overflow
            self.counters = counters
            suspended = 0
            suspendedBy = []
            entries = 0
            bytes = 0
            operations = 0
            running = 0
            over = 0
        }
    }
}
