package import WatchFile

/// A number of entries, and the bytes that they take up.
package struct Load: Equatable, Sendable {
    package enum Measure: Sendable {
        case entries, bytes
    }

    package var entries = 0
    package var bytes = 0

    package init(entries: Int = 0, bytes: Int = 0) {
        self.entries = entries
        self.bytes = bytes
    }

    /// The measure that `more` beside this would exceed. More than an eighth of the bytes that there may be counts as
    /// an eighth: so there is room for whatever it is below 7/8, and nothing waits for ever because it is large. `nil`:
    /// there is room.
    func excess(adding more: Load, within bound: Load) -> Measure? {
        if entries + more.entries > bound.entries { return .entries }
        return bytes > 0 && bytes + Swift.min(more.bytes, bound.bytes / 8) > bound.bytes ? .bytes : nil
    }

    func hasRoom(for more: Load, within bound: Load) -> Bool { excess(adding: more, within: bound) == nil }

    /// Sources that were held back may go on: at less than 7/8 of both.
    func isRoomy(within bound: Load) -> Bool { entries * 8 < bound.entries * 7 && bytes * 8 < bound.bytes * 7 }

    /// The measure that is nearer to its bound.
    func greater(of bound: Load) -> Measure {
        Double(bytes) * Double(bound.entries) > Double(entries) * Double(bound.bytes) ? .bytes : .entries
    }

    /// Why something is held back: `nil` where nothing is used up and nobody waits.
    func fullness(within bound: Load, isWaitedFor: Bool) -> Measure? {
        if entries >= bound.entries { return .entries }
        if bytes >= bound.bytes { return .bytes }
        return isWaitedFor ? greater(of: bound) : nil
    }

    static func min(_ left: Load, _ right: Load) -> Load {
        Load(entries: Swift.min(left.entries, right.entries), bytes: Swift.min(left.bytes, right.bytes))
    }

    static func max(_ left: Load, _ right: Load) -> Load {
        Load(entries: Swift.max(left.entries, right.entries), bytes: Swift.max(left.bytes, right.bytes))
    }

    static func + (left: Load, right: Load) -> Load {
        Load(entries: left.entries + right.entries, bytes: left.bytes + right.bytes)
    }

    static func - (left: Load, right: Load) -> Load {
        Load(entries: left.entries - right.entries, bytes: left.bytes - right.bytes)
    }

    static prefix func - (load: Load) -> Load { Load() - load }
    static func += (left: inout Load, right: Load) { left = left + right }
    static func -= (left: inout Load, right: Load) { left = left - right }
}

extension QueueDefinition {
    /// `Backlog=`, `BacklogBytes=`.
    package var bound: Load { Load(entries: backlog, bytes: backlogBytes) }

    /// `Backlog=100`, `BacklogBytes=64M`.
    package func limit(_ measure: Load.Measure) -> String {
        switch measure {
        case .entries: "Backlog=\(backlog)"
        case .bytes: "BacklogBytes=\(ByteCount.exact(backlogBytes))"
        }
    }
}

extension DaemonSettings {
    /// `MaxOperations=`, `MaxMemory=`.
    package var bound: Load { Load(entries: maxOperations, bytes: maxMemory) }

    /// `MaxOperations=100000`, `MaxMemory=256M`.
    package func limit(_ measure: Load.Measure) -> String {
        switch measure {
        case .entries: "MaxOperations=\(maxOperations)"
        case .bytes: "MaxMemory=\(ByteCount.exact(maxMemory))"
        }
    }
}

extension Event {
    /// Bytes of an entry beside what it carries: its operation, and its places in tables and lines.
    package static let cost = 512

    /// Of one entry, as the bounds count it.
    package var load: Load { Load(entries: 1, bytes: Self.cost + fact.bytes) }
}

extension Fact {
    /// That it carries beside what every fact has.
    fileprivate var bytes: Int {
        switch self {
        case .timer, .finalizer, .silence: 0
        case .group(let group):
            group.failures.reduce(0) { $0 + $1.handler.utf8.count + $1.reason.utf8.count + 64 }
        case .signal(let signal): signal.senderExecutable?.count ?? 0
        // Its root is its source's.
        case .path(let path): path.path.count + (path.oldPath?.count ?? 0)
        case .line(let line):
            line.bytes.count + (line.peer?.utf8.count ?? 0) + line.captures.reduce(0) { $0 + $1.count + 32 }
        case .process(let process): process.executable?.count ?? 0
        case .unit(let unit): unit.unit.utf8.count + (unit.result?.utf8.count ?? 0)
        case .custom(let custom): custom.payload?.count ?? 0
        case .command(let command): command.size
        case .problem(let problem): problem.size
        case .completion(let completion):
            completion.output.count + (completion.reason?.utf8.count ?? 0) + completion.cause.fact.bytes
        }
    }
}
