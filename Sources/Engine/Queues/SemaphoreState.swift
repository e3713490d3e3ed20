import WatchFile

/// The share of a semaphore that a handler takes.
struct SemaphoreDemand: Equatable, Sendable {
    var semaphore: Int
    /// `Acquire=`: given back when the run ends.
    var acquire = 0
    /// `Consume=`: taken once, by the operation's first run.
    var consume = 0

    func need(_ operation: Operation) -> Int { acquire + (operation.progress.hasConsumed ? 0 : consume) }
}

/// The share of a semaphore that a run holds.
struct SemaphoreShare: Equatable, Sendable {
    var semaphore: Int
    var count: Int
    /// Its names, where units have some: sorted.
    var members: [String] = []
}

/// The members of a semaphore that a run holds: sorted.
package struct AcquiredMembers: Equatable, Sendable {
    package var semaphore: String
    package var members: [String]

    package init(semaphore: String, members: [String]) {
        self.semaphore = semaphore
        self.members = members.sorted(by: Self.isBefore)
    }

    /// `0 2`.
    package var text: String { members.joined(separator: " ") }

    /// Numbers by what they say, others by their bytes.
    private static func isBefore(_ left: String, _ right: String) -> Bool {
        if let left = UInt64(left), let right = UInt64(right) { return left < right }
        return left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}

/// A counted resource, and the operations that wait for it.
///
/// Only an operation that lacked nothing but semaphores stands here; who holds nothing yet cannot keep another one from
/// ending, so no combination can deadlock. The line is kept by queue: a queue that may start nothing now (suspended,
/// full, behind a barrier) steps out as a whole, and its operations keep their age. Where there is no process slot,
/// those step out that need one, and those of its queue behind them. So each priority has two lines: of operations that
/// need a process, and of those that do not.
struct SemaphoreState: Named {
    /// Operations that may start now, or may not, together.
    struct Place: Hashable {
        var queue: Int
        var needsProcess: Bool
        /// Of priority.
        var level: UInt8
    }

    var definition: SemaphoreDefinition
    var name: String { definition.name }
    var isRemoved = false
    /// It is the room of a handler's workers, and no section's.
    var isRoom = false
    /// Negative after a reload that lowered `Value=`: nothing is given until enough is back.
    var available: Int
    /// The units of it that runs hold.
    var held = 0
    /// The free units and those that runs hold.
    var units: Int { available + held }
    /// Of the held ones, those that have names, by how many runs hold each: one, unless what was found running says otherwise.
    private var taken: [String: Int] = [:]
    var lines: [Place: TicketLine] = [:]
    var waiting = 0

    init(_ definition: SemaphoreDefinition) {
        self.definition = definition
        available = definition.value
    }

    /// The first free ones become a run's. `known`: those that it has already, whatever the watch file says by now.
    mutating func take(_ count: Int, known: [String]? = nil) -> [String] {
        held += count
        let members = known ?? Array(definition.members.filter { taken[$0] == nil }.prefix(count))
        for member in members { taken[member, default: 0] += 1 }
        countMembers()
        return members
    }

    mutating func giveBack(_ count: Int, _ members: [String]) {
        held -= count
        available += count
        for member in members {
            let left = (taken[member] ?? 1) - 1
            taken[member] = left > 0 ? left : nil
        }
        countMembers()
    }

    /// Runs keep the members they hold, even one that the new definition no longer has; such a member is not given
    /// again.
    mutating func redefine(_ new: SemaphoreDefinition) {
        let old = definition
        definition = new
        available = old.members.isEmpty ? available + new.value - old.value : new.value - held
        countMembers()
    }

    /// Where units have names, so many can be given as have one that nobody holds; a run that has none of its names
    /// counts for one of them.
    private mutating func countMembers() {
        guard !definition.members.isEmpty else { return }
        let unnamed = held - taken.values.reduce(0, +)
        available = definition.members.count { taken[$0] == nil } - max(0, unnamed)
    }
}
