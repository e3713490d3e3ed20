import Varlink

package enum ListSources: ControlMethod {
    package typealias Parameters = NamedListParameters

    package struct Reply: Codable, Equatable, Sendable {
        /// In the order of their names.
        package var sources: [Source]
        package var next: String?

        package init(sources: [Source], next: String? = nil) {
            self.sources = sources
            self.next = next
        }
    }

    package struct Source: Codable, Equatable, Sendable {
        package enum State: String, Codable, CaseIterable, Sendable {
            /// `waiting`: for what it watches to exist. `held`: its queue's backlog is full. `closed`: it will not fire
            /// any more.
            case armed, waiting, failed, suspended, held, closed
        }

        enum CodingKeys: String, CodingKey {
            case name, kind, description, state, reason, suspended, required, handlers, counters, watches, descriptors
            case detail, group, processes, pids, file, line
            case suspendedBy = "suspended_by"
            case lastEvent = "last_event"
            case nextElapse = "next_elapse"
            case neverElapses = "never_elapses"
            case nextTry = "next_try"
        }

        /// `path/uploads`.
        package var name: String
        package var kind: String
        package var description: String?
        package var state: State
        package var reason: String?
        package var suspended: Int
        package var suspendedBy: [Suspension]
        package var required: Bool
        package var handlers: [String]
        package var counters: Counters
        package var lastEvent: String?
        package var nextElapse: String?
        /// Of an armed timer: no elapse is to come.
        package var neverElapses: Bool?
        /// When watchd tries to arm it again.
        package var nextTry: String?
        /// inotify watches it uses, each once; one that sources share is counted for each of them.
        package var watches: Int
        /// Descriptors that it keeps open; those that sources share are not counted.
        package var descriptors: Int?
        /// The watched object: `/srv/uploads`, `every 5s`.
        package var detail: String?
        /// Of a `[Group]`.
        package var group: GroupState?
        /// Of a `[Process]` with `Command=`.
        package var processes: [SupervisedProcess]?
        /// Of a `[Process]` with `PIDFile=`: the processes whose end it waits for; only for who may change things.
        package var pids: [Int]?
        /// Where its section stands; only for who may change things.
        package var file: String?
        package var line: Int?

        /// Members that are not named here are `nil`, empty or 0 at first.
        package init(name: String, kind: String, state: State, required: Bool, handlers: [String], counters: Counters) {
            self.name = name
            self.kind = kind
            self.state = state
            self.required = required
            self.handlers = handlers
            self.counters = counters
            suspended = 0
            suspendedBy = []
            watches = 0
        }
    }
}
