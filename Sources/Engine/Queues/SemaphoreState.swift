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
}

/// A counted resource, and the operations that wait for it.
///
/// Only an operation that lacked nothing but semaphores stands here; who holds nothing yet cannot keep another one from
/// ending, so no combination can deadlock. The line is kept by queue: a queue that may start nothing now (suspended,
/// full, behind a barrier) steps out as a whole, and its operations keep their age. Where there is no process slot,
/// only those step out that need one, so these have a line of their own.
struct SemaphoreState: Named {
    /// Operations that may start now, or may not, together.
    struct Place: Hashable {
        var queue: Int
        var needsProcess: Bool
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
    var lines: [Place: TicketLine] = [:]
    var waiting = 0

    init(_ definition: SemaphoreDefinition) {
        self.definition = definition
        available = definition.value
    }
}
