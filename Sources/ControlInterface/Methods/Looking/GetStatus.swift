package import Varlink

package enum GetStatus: ControlMethod {
    package typealias Parameters = NoParameters

    package struct Reply: Codable, Equatable, Sendable {
        package enum State: String, Codable, CaseIterable, Sendable {
            case starting, running, reloading, draining
        }

        enum CodingKeys: String, CodingKey {
            case version, host, pid, started, state, files, sections, problems, pauses, stopped, totals, processes, next
            case running, waiting, held, recent, semaphores, groups, store, containment
            case uptimeUsec = "uptime_usec"
            case isAfterUncleanEnd = "after_unclean_end"
            case maxProcesses = "max_processes"
            case operationsPending = "operations_pending"
            case operationsRunning = "operations_running"
            case operationsKept = "operations_kept"
            case memoryBytes = "memory_bytes"
            case pendingBytes = "pending_bytes"
            case maxPendingBytes = "max_pending_bytes"
        }

        package var version: String
        package var host: String
        package var pid: Int
        package var started: String
        package var uptimeUsec: Int
        /// The watchd before did not stop: it was killed, it crashed, or power was lost.
        package var isAfterUncleanEnd: Bool
        package var state: State
        /// The watch files that were read.
        package var files: [String]
        package var sections: Int
        package var problems: [Problem]
        package var pauses: [Pause]
        /// Supervised processes that a client has stopped, at most `Manager.maximumShownInStatus`.
        package var stopped: [Stopped]
        package var totals: Counters
        package var processes: Int
        package var maxProcesses: Int
        package var operationsPending: Int
        package var operationsRunning: Int
        /// At a stop, those that are left to the next start; `nil`: none.
        package var operationsKept: Int?
        package var memoryBytes: Int
        /// Of what is pending, and how many there may be.
        package var pendingBytes: Int
        package var maxPendingBytes: Int
        /// The soonest first.
        package var next: [Elapse]
        /// These four: at most `Manager.maximumShownInStatus` each; `recent` the newest first.
        package var running: [OperationSummary]
        package var waiting: [OperationSummary]
        package var held: [HeldEvents]
        package var recent: [OperationSummary]
        /// These two: those that are in use, at most `Manager.maximumShownInStatus` each.
        package var semaphores: [ListSemaphores.Semaphore]
        package var groups: [GroupState]
        /// How processes are held together: `cgroups below …`, or `process groups: …` with why there are none.
        package var containment: String
        /// `nil`: nothing outlives the daemon.
        package var store: Store?

        /// Members that are not named here are empty or 0 at first.
        package init(version: String, host: String, pid: Int, started: String, uptimeUsec: Int, state: State) {
            self.version = version
            self.host = host
            self.pid = pid
            self.started = started
            self.uptimeUsec = uptimeUsec
            self.state = state
            isAfterUncleanEnd = false
            files = []
            sections = 0
            problems = []
            pauses = []
            stopped = []
            totals = Counters()
            processes = 0
            maxProcesses = 0
            operationsPending = 0
            operationsRunning = 0
            memoryBytes = 0
            pendingBytes = 0
            maxPendingBytes = 0
            containment = ""
            next = []
            running = []
            waiting = []
            held = []
            recent = []
            semaphores = []
            groups = []
        }
    }

    /// The store that keeps operations beyond the end of the daemon.
    package struct Store: Codable, Equatable, Sendable {
        package enum State: String, Codable, CaseIterable, Sendable {
            case working, failing
        }

        package var state: State
        /// Its folder.
        package var path: String?
        /// Why it takes nothing, and since when.
        package var reason: String?
        package var since: String?
        /// Bytes of the history, once they are counted, and how many there may be.
        package var historyBytes: Int?
        package var maxHistoryBytes: Int

        enum CodingKeys: String, CodingKey {
            case state, path, reason, since
            case historyBytes = "history_bytes"
            case maxHistoryBytes = "max_history_bytes"
        }

        /// Members that are not named here are `nil` or 0 at first.
        package init(state: State) {
            self.state = state
            maxHistoryBytes = 0
        }
    }

    /// Something that does not work, and what is done about it.
    package struct Problem: Codable, Equatable, Sendable {
        /// `path/media`, `queue/images`, `handler/backup`, or `watchd` itself.
        package var object: String
        package var since: String
        package var problem: String
        /// The action that watchd takes.
        package var action: String
        /// The remedy that a person has.
        package var help: String?
        /// When watchd tries again.
        package var nextTry: String?
        /// Of several alike that the object has. Not sent: the sentence says it.
        package var part: Int?

        enum CodingKeys: String, CodingKey {
            case object, since, problem, action, help
            case nextTry = "next_try"
        }

        package init(object: String, since: String, problem: String, action: String, help: String? = nil) {
            self.object = object
            self.since = since
            self.problem = problem
            self.action = action
            self.help = help
        }
    }

    /// A source or queue that is suspended.
    package struct Pause: Codable, Equatable, Sendable {
        package var object: String
        /// The newest of its suspensions.
        package var suspension: Suspension
        /// Events and operations that wait for its end.
        package var kept: Int

        package init(object: String, suspension: Suspension, kept: Int) {
            self.object = object
            self.suspension = suspension
            self.kept = kept
        }
    }

    /// A supervised process that a client has stopped.
    package struct Stopped: Codable, Equatable, Sendable {
        /// `process/web`.
        package var object: String
        package var by: String
        package var since: String

        package init(object: String, by: String, since: String) {
            self.object = object
            self.by = by
            self.since = since
        }
    }

    /// When a timer fires next.
    package struct Elapse: Codable, Equatable, Sendable {
        package var source: String
        package var time: String
        package var handlers: [String]

        package init(source: String, time: String, handlers: [String]) {
            self.source = source
            self.time = time
            self.handlers = handlers
        }
    }
}
