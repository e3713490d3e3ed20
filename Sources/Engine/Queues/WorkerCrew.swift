import Schedule
import WatchFile

/// The workers of a `Stream=` handler: where each stands, and how many lines it holds.
///
/// The room that they have is a semaphore of its own, which the file does not name: each line takes one unit of it, so
/// what waits for a worker waits as for a semaphore. A worker that holds lines of a queue takes one place of its width,
/// however many they are.
struct Crew: Sendable {
    struct Member: Sendable {
        var worker: Worker
        /// Lines it holds.
        var held = 0
        /// Of these, how many run through a queue.
        var places: [Int: Int] = [:]
        /// It was through with a line since its start.
        var hasServed = false
        /// Monotonic: since when it holds nothing.
        var idleSince: Int64 = 0
        /// When that is looked at, where it is (monotonic).
        var idleDeadline: Int64?
        /// Units that its lines may hold, of one that an earlier watchd has left: given back when it has ended.
        var lent: [SemaphoreShare] = []
        /// The launch of its process; `nil`: it has none.
        var launch: Launch?
    }

    /// The launch of a worker, for comparison.
    struct Launch: Equatable, Sendable {
        var fingerprint: LaunchFingerprint
        /// `Environment=` and `QoS=` of the handler's queue.
        var environment: [EnvironmentVariable]
        var qos: QoS
    }

    let handler: String
    /// The definition that workers are started with from now on.
    var definition: SharedDefinition
    var stream: StreamAction
    /// Index of its semaphore.
    let room: Int
    var members: [Member] = []
    /// The handler is gone, or does something else by now.
    var isRemoved = false

    /// Workers that are to be there, as far as the file says.
    var wanted: Int { isRemoved ? 0 : stream.workers }
    /// They are started when there is something for them.
    var isOnDemand: Bool { stream.idle != .infinity }

    /// Units of its semaphore that there are to be: the room of each worker that takes lines, and what the others hold.
    var capacity: Int {
        members.reduce(0) { $0 + ($1.worker.isOpen ? stream.prefetch : $1.held) }
    }

    var held: Int { members.reduce(0) { $0 + $1.held } }
}

/// A worker of a crew.
struct Seat: Hashable, Sendable {
    var crew: Int
    /// Index among the members.
    var copy: Int
}

/// All crews, by a number that is theirs as long as one of their processes is there.
struct CrewTable: Sendable {
    private var slots: [Crew] = []
    private var isInUse: [Bool] = []
    /// The seat of each started process, by `RunID.operation`.
    private(set) var seats: [UInt64: Seat] = [:]

    subscript(index: Int) -> Crew {
        @inline(__always) _read { yield slots[index] }
        @inline(__always) _modify { yield &slots[index] }
    }

    var indices: [Int] { slots.indices.filter { isInUse[$0] } }
    var areSomeOnDemand: Bool { slots.indices.contains { isInUse[$0] && slots[$0].isOnDemand } }

    mutating func insert(_ crew: Crew) -> Int {
        if let free = isInUse.firstIndex(of: false) {
            (slots[free], isInUse[free]) = (crew, true)
            return free
        }
        slots.append(crew)
        isInUse.append(true)
        return slots.count - 1
    }

    mutating func remove(_ index: Int) { isInUse[index] = false }

    mutating func note(_ run: RunID, _ seat: Seat?) { seats[run.operation] = seat }

    func contains(_ seat: Seat) -> Bool {
        slots.indices.contains(seat.crew) && isInUse[seat.crew]
            && slots[seat.crew].members.indices.contains(seat.copy)
    }

    /// A stop has to wait for their processes.
    var isWaitedFor: Bool { !seats.isEmpty }

    /// `RunID.operation` of all processes.
    var starts: [UInt64] { seats.keys.sorted() }

    /// The longest `TimeoutStopSec=` of those that run, in microseconds.
    var patience: UInt64 {
        Set(seats.values.map(\.crew)).map { self[$0].definition.value.timeoutStop.microseconds }.max() ?? 0
    }
}
