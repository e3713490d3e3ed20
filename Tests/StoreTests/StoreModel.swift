import SeedKit
import Store

/// What a store has to hold, as a plain value.
struct StoreModel: Equatable {
    struct Held: Equatable {
        var source: String
        var events: [[UInt8]]
    }

    var operations: [UInt64: OperationRow] = [:]
    var held: [Held] = []
    var marks: [String: [UInt8]] = [:]
    var history: [UInt64: HistoryRow] = [:]
    var attempts: [UInt64: [AttemptRow]] = [:]

    mutating func apply(_ changes: [StoreChange]) { for change in changes { apply(change) } }

    private mutating func apply(_ change: StoreChange) {
        switch change {
        case .put(let row): operations[row.id] = row
        case .update(let id, let state): operations[id]?.state = state
        case .append(let id, let events): operations[id]?.appended.append(events)
        case .remove(let id): operations[id] = nil
        case .hold(let source, let events, let replacing): hold(source, events, replacing)
        case .record(let row):
            history[row.id] = row
            if let output = row.output { history[row.id]?.output = Array(output.suffix(HistoryRow.outputLimit)) }
        case .attempt(let row):
            attempts[row.operation, default: []].removeAll { $0.attempt == row.attempt }
            attempts[row.operation, default: []].append(row)
            attempts[row.operation]?.sort { $0.attempt < $1.attempt }
        case .settle(let id, let successor): settle(id, successor)
        case .unsettle(let id):
            guard history[id]?.result == "failed", history[id]?.isSettled == true else { break }
            history[id]?.isSettled = false
            history[id]?.successor = nil
        case .mark(let name, let value): marks[name] = value
        case .snapshot: break
        }
    }

    private mutating func hold(_ source: String, _ events: [UInt8], _ replacing: Bool) {
        if replacing || events.isEmpty { held.removeAll { $0.source == source } }
        if events.isEmpty { return }
        if let index = held.firstIndex(where: { $0.source == source }) {
            held[index].events.append(events)
        } else {
            held.append(Held(source: source, events: [events]))
        }
    }

    private mutating func settle(_ id: UInt64, _ successor: UInt64?) {
        guard history[id]?.result == "failed" else { return }
        history[id]?.isSettled = true
        if let successor { history[id]?.successor = successor }
    }

    /// Newest first.
    var newest: [HistoryRow] {
        history.values.sorted { ($0.ended, $0.id) > ($1.ended, $1.id) }
    }

    /// The answer to a query, by looking at everything.
    func page(_ query: HistoryQuery) -> [HistoryRow] {
        let rows = newest.filter { row in
            if let handler = query.handler, row.handler != handler { return false }
            if let source = query.source, row.source != source { return false }
            if let results = query.results, !results.contains(row.result) { return false }
            if query.isUnsettled, row.result != "failed" || row.isSettled { return false }
            if let since = query.since, row.ended < since { return false }
            if let until = query.until, row.ended >= until { return false }
            guard let after = query.after else { return true }
            return (row.ended, row.id) < (after.ended, after.id)
        }
        return rows.prefix(query.limit).map { row in
            var row = row
            (row.events, row.output) = (nil, nil)
            return row
        }
    }

    /// What has to be left by `trim`, by looking at everything.
    func kept(_ limits: HistoryLimits, now: Int64) -> Set<UInt64> {
        let rows = newest
        var kept = Set(rows.prefix(limits.records).filter { $0.ended >= now - limits.age }.map(\.id))
        kept.formUnion(rows.filter { $0.result == "failed" && !$0.isSettled }.prefix(limits.records).map(\.id))
        for own in Dictionary(grouping: rows, by: \.handler).values {
            kept.formUnion(own.prefix(10).map(\.id))
            if let failed = own.first(where: { $0.result == "failed" }) { kept.insert(failed.id) }
        }
        return kept
    }
}

extension StoreModel {
    /// What a store says that it holds, without the history.
    init(_ contents: StoreContents) {
        for row in contents.operations { operations[row.id] = row }
        held = contents.held.map { Held(source: $0.source, events: $0.events) }
        marks = contents.marks
    }

    /// Without the history.
    var contents: StoreModel {
        var contents = self
        (contents.history, contents.attempts) = ([:], [:])
        return contents
    }
}

/// Random changes, some of them of what is there and some of what is not.
struct RandomChanges {
    var random: SeededGenerator
    private var lastID: UInt64 = 0
    private var clock: Int64 = 1_000_000
    private static let results = ["done", "failed", "failed", "cancelled", "skipped", "dropped"]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func commit(upTo limit: Int) -> [StoreChange] {
        (0..<(1 + random.upTo(limit - 1))).map { _ in change() }
    }

    private mutating func change() -> StoreChange {
        switch random.upTo(16) {
        case 0...3:
            lastID += 1
            return .put(operation(lastID))
        case 4: return .put(operation(someID()))
        case 5: return .update(id: someID(), state: bytes(40))
        case 6, 7: return .append(id: someID(), events: bytes(300))
        case 8, 9: return .remove(id: someID())
        case 10: return .hold(source: "signal/\(random.upTo(3))", events: bytes(200), replacing: random.chance(30))
        case 11, 12: return .record(record())
        case 13: return .attempt(attempt())
        case 14: return .settle(id: someID(), by: random.chance(50) ? lastID + 1 : nil)
        case 15: return .unsettle(id: someID())
        default: return .mark(name: "mark/\(random.upTo(5))", value: random.chance(70) ? bytes(30) : nil)
        }
    }

    private mutating func someID() -> UInt64 { UInt64(random.upTo(Int(lastID) + 1)) }

    /// Sometimes empty, sometimes longer than a page of the file.
    private mutating func bytes(_ usual: Int) -> [UInt8] {
        let count = random.chance(5) ? 9000 : random.upTo(usual)
        let word = random.next()
        return (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64($0 % 57)) }
    }

    private mutating func operation(_ id: UInt64) -> OperationRow {
        OperationRow(
            id: id, handler: "h\(random.upTo(3))", queue: random.chance(10) ? "" : "q", source: "path/ü",
            state: bytes(60), events: bytes(200))
    }

    mutating func record() -> HistoryRow {
        // Often the same instant, sometimes an earlier one, as when the clock is set.
        clock += Int64(random.pick([0, 0, 1, 50, -30]))
        let result = random.pick(Self.results)
        lastID += random.chance(50) ? 1 : 0
        var row = HistoryRow(
            id: random.chance(80) ? lastID : someID(), handler: "h\(random.upTo(3))", queue: "q",
            source: "path/\(random.upTo(2))", result: result, reason: random.chance(20) ? "why" : nil,
            exitStatus: random.chance(50) ? Int32(random.upTo(255)) : nil, signal: random.chance(10) ? 9 : nil,
            submitted: clock - 10, started: random.chance(80) ? clock - 5 : nil, ended: clock,
            attempt: 1 + random.upTo(2), entries: random.upTo(9), deliveries: 1, isRedelivered: random.chance(10),
            successor: random.chance(10) ? lastID : nil, isSettled: result == "failed" && random.chance(30),
            cause: random.chance(50) ? "\"a\" was written" : "", events: random.chance(80) ? bytes(200) : nil,
            output: random.chance(30) ? bytes(500) : nil)
        row.usage = usage()
        return row
    }

    private mutating func usage() -> UsageRow? {
        guard random.chance(50) else { return nil }
        return UsageRow(
            isOfProcess: random.chance(50), memory: random.chance(50) ? Int64(random.upTo(1 << 30)) : nil,
            processor: Int64(random.upTo(1 << 20)), read: random.chance(50) ? .max : nil,
            written: random.chance(50) ? 0 : nil)
    }

    private mutating func attempt() -> AttemptRow {
        var row = AttemptRow(
            operation: someID(), attempt: 1 + random.upTo(3), reason: random.chance(50) ? "why" : nil,
            exitStatus: 1, signal: nil, started: random.chance(50) ? clock : nil, ended: clock + 1,
            output: random.chance(30) ? bytes(500) : nil)
        row.usage = usage()
        return row
    }
}
