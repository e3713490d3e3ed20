/// One copy of a process that watchd starts and supervises, or a worker of a handler.
package struct SupervisedProcess: Codable, Equatable, Sendable {
    package enum State: String, Codable, CaseIterable, Sendable {
        /// `backing_off`: it has ended, and is started again after a pause.
        case down, starting, up, stopping
        case backingOff = "backing_off"
    }

    enum CodingKeys: String, CodingKey {
        case copy, state, wanted, pid, since, restarts, lines, operations
        case nextStart = "next_start"
        case lastEnd = "last_end"
    }

    /// From 1.
    package var copy: Int
    package var state: State
    package var wanted: Bool
    package var pid: Int?
    /// Since when it is in this state.
    package var since: String
    package var restarts: Int
    package var nextStart: String?
    /// How it ended last: `exit 3 after 2s`.
    package var lastEnd: String?
    /// Of a worker: lines that it holds.
    package var lines: Int?
    /// Of a worker: the oldest operations whose lines it holds.
    package var operations: [Int]?

    package init(copy: Int, state: State, wanted: Bool, since: String, restarts: Int) {
        self.copy = copy
        self.state = state
        self.wanted = wanted
        self.since = since
        self.restarts = restarts
    }
}
