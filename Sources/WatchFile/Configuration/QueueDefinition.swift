package import Schedule

/// `[Queue NAME]`.
package struct QueueDefinition: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        /// One at a time, in strict order.
        case serial
        /// Started in order, up to `width` at once (at least 1).
        case concurrent(width: Int)
    }

    /// The rule for a full backlog.
    package enum Overflow: String, CaseIterable, Sendable {
        case block
        case dropOldest = "drop-oldest"
        case dropNewest = "drop-newest"
    }

    /// Queues that what is submitted goes through at most, the first one too.
    package static let longestChain = 1000

    package var name: String
    package var kind: Kind
    /// `QoS=`: its own; a target with a lower one lowers it.
    package var qos: QoS
    /// `Target=`: the queue through which it runs, an alias already resolved. There are no cycles.
    package var target: String?
    /// `Backlog=`: entries pending, at least 1.
    package var backlog: Int
    /// `BacklogBytes=`: bytes of them, at least 1.
    package var backlogBytes: Int
    package var overflow: Overflow
    /// `Suspended=`: start suspended.
    package var isSuspended: Bool
    /// `Durable=`: operations survive crash and reboot.
    package var isDurable: Bool
    /// `RateLimit=`: runs started per span.
    package var rateLimit: RateLimit?
    /// `Environment=`: inherited by every handler that runs here or on a queue that targets this one.
    package var environment: [EnvironmentVariable]
    /// `Finalizer=`: the handler that runs when the queue is removed or at stop, after its last operation.
    package var finalizer: String?
    /// `Submit=`: who may put commands on it, besides those who may do everything; `nil`: nobody.
    package var submitters: Submitters?

    package enum Submitters: Equatable, Sendable {
        case users
        /// A name or a number.
        case group(String)
    }

    package init(
        name: String, kind: Kind = .serial, qos: QoS = .default, target: String? = nil, backlog: Int = 10_000,
        backlogBytes: Int = 64 << 20, overflow: Overflow = .block, isSuspended: Bool = false, isDurable: Bool = false,
        rateLimit: RateLimit? = nil,
        environment: [EnvironmentVariable] = [], finalizer: String? = nil, submitters: Submitters? = nil
    ) {
        self.name = name
        self.kind = kind
        self.qos = qos
        self.target = target
        self.backlog = backlog
        self.backlogBytes = backlogBytes
        self.overflow = overflow
        self.isSuspended = isSuspended
        self.isDurable = isDurable
        self.rateLimit = rateLimit
        self.environment = environment
        self.finalizer = finalizer
        self.submitters = submitters
    }

    /// The queues that always exist: `main`, which is serial, and the global concurrent ones.
    package static let builtInNames = [
        "main", "user-interactive", "user-initiated", "default", "utility", "background",
    ]

    /// Other names of built-in queues.
    package static let aliases = ["high": "user-initiated", "low": "utility"]
}

/// `QoS=`: Dispatch's classes, the most urgent first.
package enum QoS: String, CaseIterable, Comparable, Sendable {
    case userInteractive = "user-interactive"
    case userInitiated = "user-initiated"
    case `default`
    case utility
    case background

    /// 0 is the most urgent.
    package var rank: Int {
        switch self {
        case .userInteractive: 0
        case .userInitiated: 1
        case .default: 2
        case .utility: 3
        case .background: 4
        }
    }

    /// The less urgent is the lesser.
    package static func < (left: QoS, right: QoS) -> Bool { left.rank > right.rank }
}

/// `RateLimit=COUNT/SPAN`: no more than `count` (at least 1) in any span of that length (at least 1 ms).
package struct RateLimit: Equatable, Sendable {
    package var count: Int
    package var span: TimeSpan

    package init(count: Int, span: TimeSpan) {
        self.count = count
        self.span = span
    }
}

/// `[Semaphore NAME]`: a counted resource.
package struct SemaphoreDefinition: Equatable, Sendable {
    package var name: String
    /// `Value=`: what there is at the start, at least 0. With members it is their number.
    package var value: Int
    /// `Members=`: the names of its units, each of which is held by one run at most. Empty: they are only counted.
    package var members: [String] = []

    package init(name: String, value: Int) {
        self.name = name
        self.value = value
    }

    package init(name: String, members: [String]) {
        self.init(name: name, value: members.count)
        self.members = members
    }

    /// The environment variable that tells a run the members it holds: `WATCHD_ACQUIRED_GPU`.
    package static func variable(_ name: String) -> String {
        variablePrefix
            + String(
                decoding: name.uppercased().utf8.map { byte in
                    let isWord =
                        UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    return isWord ? byte : UInt8(ascii: "_")
                }, as: UTF8.self)
    }

    package static let variablePrefix = "WATCHD_ACQUIRED_"
}
