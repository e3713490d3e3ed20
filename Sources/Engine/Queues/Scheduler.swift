import WatchFile

/// The operations that have not ended, and the lines in which they wait: by key, queue, target, barrier, process slot
/// and semaphore. Decides which starts when.
///
/// Each queue names one operation that it wants to start: its *candidate*. With it the queue stands in one line: before
/// a target without free width, before the process slots, or, if it needs neither, on the agenda. Nothing
/// ever scans: freeing a resource wakes the first contender in its line. A contender is re-checked when its turn comes,
/// so a line may contain stale entries.
struct Scheduler: Sendable {
    /// The outcome of one piece of work.
    enum Step: Sendable {
        /// There was nothing to do.
        case nothing
        case done
        case start(OperationRef)
    }

    /// The needs of a handler's runs.
    struct Needs: Sendable {
        var semaphores: [SemaphoreDemand] = []
        var isProcess = false
        /// `Overlap=restart`.
        var isRestart = false
        /// `Stride=`.
        var isSplit = false
        /// `Stream=`: its workers.
        var crew: Int?
    }

    /// Conditions that hold for all queues.
    struct Surroundings: Sendable {
        var phase = Engine.Phase.running
        /// Durable queues start nothing while the store fails.
        var isStoreWorking = true
        /// Monotonic microsecond.
        var now: Int64
    }

    var operations = OperationTable()
    var keys = KeyTable()
    var semaphores = Registry<SemaphoreState>()
    /// The workers of `Stream=` handlers.
    var crews = CrewTable()
    var lastRoom = 0
    var surroundings: Surroundings
    /// The process slots, and the queues that want to start a command.
    var slots: SlotLines
    private(set) var lanes: [Lane] = []
    /// By handler.
    private(set) var needs: [Needs] = []
    /// The queues that want to start what needs no process.
    var agenda = Heap<SlotLines.Contender>()
    var work = WorkList()
    /// Operations that wait for semaphores.
    var parked = 0
    /// There may be enough of a semaphore for somebody who waits.
    var areSemaphoresMoved = false
    /// Somebody may have to end for a newer operation now.
    var areRestartsMoved = false
    /// Operations that wait for their keys and may end who has them (`Overlap=restart`).
    var restarting: [OperationRef] = []
    /// Queues whose `RateLimit=` lets nothing start before a monotonic microsecond, as far as nobody was told.
    private(set) var rateWaits: [(queue: Int, until: Int64)] = []

    init(maxProcesses: Int, at now: Int64) {
        slots = SlotLines(maxProcesses: maxProcesses)
        surroundings = Surroundings(now: now)
    }

    subscript(queue: Int) -> Lane {
        @inline(__always) _read { yield lanes[queue] }
        @inline(__always) _modify { yield &lanes[queue] }
    }

    // MARK: Queues and handlers

    /// A queue has come to be; its place among the others follows with `formLines`.
    mutating func add(queue: Int, _ definition: QueueDefinition, isSuspended: Bool) {
        while lanes.count <= queue { lanes.append(Lane()) }
        lanes[queue] = Lane()
        lanes[queue].isInUse = true
        define(queue: queue, definition, isSuspended: isSuspended)
    }

    mutating func define(queue: Int, _ definition: QueueDefinition, isSuspended: Bool) {
        lanes[queue].rules = Lane.Rules(definition)
        lanes[queue].rate.limit = definition.rateLimit
        lanes[queue].isSuspended = isSuspended
    }

    /// A queue that was removed and is empty.
    mutating func remove(queue: Int) {
        for target in lanes[queue].chain where target != queue { lanes[target].through.removeAll { $0 == queue } }
        lanes[queue] = Lane()
    }

    mutating func define(handler: Int, _ needs: Needs) {
        while self.needs.count <= handler { self.needs.append(Needs()) }
        self.needs[handler] = needs
    }

    /// A handler that was removed and has no operation left.
    mutating func remove(handler: Int) {
        let demands = needs[handler].semaphores
        needs[handler] = Needs()
        for demand in demands { releaseSemaphoreIfUnused(demand.semaphore) }
    }

    /// A queue is suspended, or no longer: it may start something, and whatever runs through it; who waits for a
    /// semaphore steps in or out of its line.
    mutating func setSuspended(queue: Int, _ isSuspended: Bool) {
        lanes[queue].isSuspended = isSuspended
        if lanes[queue].parked.through > 0 { areSemaphoresMoved = true }
        areRestartsMoved = true
        guard !isSuspended else { return }
        for other in lanes[queue].through { touch(queue: other) }
    }

    // MARK: Work

    mutating func touch(queue: Int) { work.touch(queue, &lanes[queue].mark) }

    /// A target may have width again. `isFed`: its oldest contenders have been woken already.
    mutating func noteWide(_ target: Int, isFed: Bool = false) {
        guard lanes[target].contenders.count > 0 else { return }
        work.widen(target, &lanes[target].mark, isFed: isFed)
    }

    /// The first piece of work: starts come before all else, so that they make room before anybody asks for it.
    mutating func next() -> Step {
        if let queue = work.nextDirty() {
            lanes[queue].mark.isDirty = false
            pump(queue)
        } else if let target = work.nextWide() {
            wakeContenders(of: target)
        } else if areSemaphoresMoved {
            // Before anybody is fed: who can take what was given is older than some who stand in line for the rest.
            wakeParked()
        } else if let contender = nextContender() {
            return feed(contender)
        } else if let target = work.nextStillWide() {
            wakeContenders(of: target)
        } else {
            return .nothing
        }
        return .done
    }

    mutating func noteRateWait(_ queue: Int, until time: Int64) { rateWaits.append((queue, time)) }

    /// The queues whose rates have to be looked at later.
    mutating func takeRateWaits() -> [(queue: Int, until: Int64)] {
        defer { rateWaits = [] }
        return rateWaits
    }
}
