import Engine
import WatchFile

extension ByteWriter {
    /// Everything but its events.
    mutating func put(_ operation: StoredOperation) {
        put(
            flags(
                operation.merge != nil, operation.notBefore != nil, operation.isExecuting, operation.isRedelivered,
                operation.isCancelled, operation.isClosed, operation.isByHand, operation.isRerun,
                operation.hasConsumed, operation.isDurable, operation.stride != nil, operation.left != nil,
                operation.isOwn, operation.settleLeft != nil, operation.isLateTold, operation.isSlowTold,
                operation.runs.contains { !$0.acquired.isEmpty }, operation.priority != nil,
                !operation.partsDone.isEmpty, operation.wasStopped))
        put(operation.id)
        put(operation.handler)
        put(operation.queue)
        put(operation.origin)
        put(UInt64(operation.keys.count))
        for key in operation.keys { put(key) }
        if let merge = operation.merge { put(byte: merge.stateNumber) }
        put(operation.depth)
        put(operation.submitted)
        put(operation.place)
        if let notBefore = operation.notBefore { put(notBefore) }
        put(operation.attempt)
        put(operation.countedAttempts)
        put(operation.temporaryAttempts)
        putLists(operation)
        if let stride = operation.stride { put(stride) }
        if let left = operation.left { put(left) }
        if let left = operation.settleLeft { put(left) }
        putAcquired(operation)
        if let priority = operation.priority { put(byte: priority.stateNumber) }
        putParts(operation.partsDone)
    }

    private mutating func putParts(_ parts: PartSet) {
        guard !parts.isEmpty else { return }
        put(UInt64(parts.ranges.count))
        for range in parts.ranges {
            put(range.lowerBound)
            put(range.count)
        }
    }

    private mutating func putAcquired(_ operation: StoredOperation) {
        guard operation.runs.contains(where: { !$0.acquired.isEmpty }) else { return }
        for run in operation.runs {
            put(UInt64(run.acquired.count))
            for acquired in run.acquired {
                put(acquired.semaphore)
                put(UInt64(acquired.members.count))
                for member in acquired.members { put(member) }
            }
        }
    }

    private mutating func putLists(_ operation: StoredOperation) {
        put(UInt64(operation.dependencies.count))
        for dependency in operation.dependencies {
            put(dependency.operation)
            put(byte: dependency.isRequired ? 1 : 0)
        }
        put(UInt64(operation.runs.count))
        for run in operation.runs {
            put(run.part)
            put(run.pid)
            put(run.started)
        }
    }

    mutating func put(_ suspension: Suspension) {
        put(flags(suspension.reason != nil, suspension.until != nil))
        put(suspension.by)
        if let reason = suspension.reason { put(reason) }
        put(suspension.since)
        if let until = suspension.until { put(until) }
    }

    mutating func put(_ stamp: TimerStamp) {
        let times = [stamp.lastElapse, stamp.after, stamp.seen, stamp.silenceLeft, stamp.silentSince]
        let delayed = [stamp.delayedCalendar, stamp.delayedSlot]
        put(
            flags(
                times[0] != nil, times[1] != nil, times[2] != nil, times[3] != nil, times[4] != nil, stamp.isLast,
                delayed[0] != nil, delayed[1] != nil, stamp.isCatchingUp))
        for time in times { if let time { put(time) } }
        for elapse in delayed {
            guard let elapse else { continue }
            put(elapse.scheduled)
            put(elapse.due)
        }
    }
}

extension ByteReader {
    private static let small = 0...Int(Int32.max)

    mutating func operation() throws(DamagedBytes) -> StoredOperation {
        let bits = try flags(0xFFFFF)
        let (id, handler, queue, origin) = (try unsigned(), try text(), try text(), try origin())
        var operation = StoredOperation(id: id, handler: handler, queue: queue, origin: origin, submitted: 0)
        operation.keys = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.content() }
        if bits & 1 != 0 { operation.merge = try number() }
        operation.depth = try int(0...Int(Int16.max))
        operation.submitted = try signed()
        operation.place = try unsigned()
        operation.notBefore = try signed(if: bits & 2 != 0)
        operation.attempt = try int(1...Int(Int32.max))
        operation.countedAttempts = try int(Self.small)
        operation.temporaryAttempts = try int(Self.small)
        operation.dependencies = try list(ofAtLeast: 2) { reader throws(DamagedBytes) in try reader.dependency() }
        operation.runs = try list(ofAtLeast: 3) { reader throws(DamagedBytes) in try reader.run() }
        if bits & 0x400 != 0 { operation.stride = try int(1...Int(Int32.max)) }
        operation.left = try signed(if: bits & 0x800 != 0)
        operation.settleLeft = try signed(if: bits & 0x2000 != 0)
        operation.take(bits)
        if bits & 0x10000 != 0 { try readAcquired(&operation) }
        if bits & 0x20000 != 0 { operation.priority = try number() }
        if bits & 0x40000 != 0 { operation.partsDone = try parts() }
        return operation
    }

    /// Ascending, none beside another one.
    private mutating func parts() throws(DamagedBytes) -> PartSet {
        let ranges = try list(ofAtLeast: 2) { reader throws(DamagedBytes) in
            let (first, count) = (try reader.int(Self.small), try reader.int(1...Int(Int32.max)))
            return first..<first + count
        }
        var parts = PartSet()
        for range in ranges { parts.insert(range) }
        guard !ranges.isEmpty, parts.ranges == ranges else { throw DamagedBytes() }
        return parts
    }

    private mutating func readAcquired(_ operation: inout StoredOperation) throws(DamagedBytes) {
        for index in operation.runs.indices {
            operation.runs[index].acquired = try list(ofAtLeast: 2) { reader throws(DamagedBytes) in
                try reader.acquired()
            }
        }
        // An operation without members is written without this part.
        guard operation.runs.contains(where: { !$0.acquired.isEmpty }) else { throw DamagedBytes() }
    }

    private mutating func acquired() throws(DamagedBytes) -> AcquiredMembers {
        let name = try text()
        let members = try list(ofAtLeast: 1) { reader throws(DamagedBytes) in try reader.text() }
        let acquired = AcquiredMembers(semaphore: name, members: members)
        guard acquired.members == members else { throw DamagedBytes() }
        return acquired
    }

    private mutating func dependency() throws(DamagedBytes) -> StoredDependency {
        StoredDependency(operation: try unsigned(), isRequired: try flags(1) != 0)
    }

    private mutating func run() throws(DamagedBytes) -> StoredRun {
        StoredRun(part: try int(Self.small), pid: try int32(), started: try signed())
    }

    mutating func suspension() throws(DamagedBytes) -> Suspension {
        let bits = try flags(3)
        return Suspension(
            by: try text(), reason: try text(if: bits & 1 != 0), since: try signed(),
            until: try signed(if: bits & 2 != 0))
    }

    mutating func timerStamp() throws(DamagedBytes) -> TimerStamp {
        let bits = try flags(0x1FF)
        var stamp = TimerStamp(lastElapse: try signed(if: bits & 1 != 0), after: try signed(if: bits & 2 != 0))
        stamp.seen = try signed(if: bits & 4 != 0)
        stamp.silenceLeft = try signed(if: bits & 8 != 0)
        stamp.silentSince = try signed(if: bits & 0x10 != 0)
        stamp.isLast = bits & 0x20 != 0
        if bits & 0x40 != 0 { stamp.delayedCalendar = try delayedElapse() }
        if bits & 0x80 != 0 { stamp.delayedSlot = try delayedElapse() }
        stamp.isCatchingUp = bits & 0x100 != 0
        return stamp
    }

    private mutating func delayedElapse() throws(DamagedBytes) -> DelayedElapse {
        DelayedElapse(scheduled: try signed(), due: try signed())
    }
}

extension StoredOperation {
    /// In the order in which they are written.
    fileprivate mutating func take(_ bits: UInt64) {
        isExecuting = bits & 0x4 != 0
        isRedelivered = bits & 0x8 != 0
        isCancelled = bits & 0x10 != 0
        isClosed = bits & 0x20 != 0
        isByHand = bits & 0x40 != 0
        isRerun = bits & 0x80 != 0
        hasConsumed = bits & 0x100 != 0
        isDurable = bits & 0x200 != 0
        isOwn = bits & 0x1000 != 0
        isLateTold = bits & 0x4000 != 0
        isSlowTold = bits & 0x8000 != 0
        wasStopped = bits & 0x80000 != 0
    }
}
