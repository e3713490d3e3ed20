import Engine
import SeedKit
import Testing
import WatchFile

@testable import Daemon

@Suite("State coding") struct StateCodingTests {
    @Test(arguments: Seeds.range(300)) func whatIsWrittenIsReadAgain(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let events = random.list(6) { $0.event() }
        #expect(StateCoding.events(StateCoding.encode(events)) == events, "seed \(seed)")
        var operation = random.operation()
        #expect(StateCoding.operation(StateCoding.encode(operation)) == operation, "seed \(seed)")
        let suspensions = random.list(4) { $0.suspension() }
        #expect(StateCoding.suspensions(StateCoding.encode(suspensions)) == suspensions, "seed \(seed)")
        let stamp = random.stamp()
        #expect(StateCoding.timer(StateCoding.encode(stamp)) == stamp, "seed \(seed)")
        let state = random.pathState()
        #expect(StateCoding.pathState(StateCoding.encode(state)) == state, "seed \(seed)")
        let root = random.snapshotRoot()
        #expect(StateCoding.snapshotRoot(StateCoding.encode(root)) == root, "seed \(seed)")
        // Its events are written by themselves.
        operation.events = events
        operation.appended = events
        #expect(StateCoding.operation(StateCoding.encode(operation))?.events == [], "seed \(seed)")
    }

    @Test func theEndsOfEachRangeAreKept() {
        let events = [
            Event(id: .max, time: .min, count: 1, fact: .timer(scheduled: .max)),
            Event(id: 0, time: .max, count: StateCoding.largestCount, fact: .timer(scheduled: .min)),
            Event(
                id: 1, time: 0,
                fact: .signal(SignalFact(number: .max, senderPID: .min, senderUID: .max, value: .min))),
            Event(id: 2, time: -1, fact: .custom(CustomFact(data: .min, payload: []))),
            Event(id: 3, time: 63, fact: .path(PathFact(.renamed, path: [0, 255], oldPath: []))),
        ]
        #expect(StateCoding.events(StateCoding.encode(events)) == events)
    }

    /// Nothing that was cut may pass for something else.
    @Test(arguments: Seeds.range(20)) func whatIsCutOrTooLongIsRefused(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for sample in Sample.all(&random) {
            for length in 0..<sample.bytes.count {
                #expect(!sample.reads(Array(sample.bytes.prefix(length))), "seed \(seed), first \(length) bytes")
            }
            for byte in [UInt8(0), 1, 0x80, 0xFF] {
                #expect(!sample.reads(sample.bytes + [byte]), "seed \(seed), \(byte) behind it")
            }
        }
    }

    /// What is read from damaged bytes is a value like others: it can be written, and is then read as itself.
    @Test(arguments: Seeds.range(2, long: 10)) func oneWrongByteNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for sample in Sample.all(&random) {
            for index in sample.bytes.indices {
                for byte in 0...UInt8.max where byte != sample.bytes[index] {
                    var damaged = sample.bytes
                    damaged[index] = byte
                    guard sample.reads(damaged) else { continue }
                    #expect(sample.isOneSpelling(damaged), "seed \(seed), byte \(index) = \(byte)")
                }
            }
        }
    }

    @Test(arguments: Seeds.range(500)) func anyBytesNeverCrash(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var bytes = (0..<random.upTo(200)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        if !bytes.isEmpty { bytes[0] = 1 }
        for sample in Sample.all(&random) where sample.reads(bytes) {
            #expect(sample.isOneSpelling(bytes), "seed \(seed)")
        }
    }

    /// A count that the bytes cannot hold must not be believed, not even for a moment.
    @Test func aCountIsNoReasonToTakeMemory() {
        let huge: [UInt8] = [1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        var random = SeededGenerator(seed: 1)
        for sample in Sample.all(&random) { #expect(!sample.reads(huge)) }
        // One event with a payload of 2^62 bytes.
        let payload: [UInt8] = [1, 1, 1, 0, 2, 6, 2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]
        #expect(StateCoding.events(payload) == nil)
        // A number of eleven bytes, and one that is longer than it has to be.
        #expect(StateCoding.timer([1, 1] + [UInt8](repeating: 0x80, count: 10) + [1]) == nil)
        #expect(StateCoding.timer([1, 1, 0x82, 0]) == nil)
        #expect(StateCoding.timer([1, 1, 2]) == TimerStamp(lastElapse: 1))
    }

    @Test func completionsAreNestedOnlySoDeep() {
        var event = Event(id: 1, time: 1, fact: .timer(scheduled: 0))
        for depth in 1...StateCoding.deepest + 1 {
            event = Event(id: 1, time: 1, fact: .completion(Sample.completion(event)))
            let isRead = StateCoding.events(StateCoding.encode([event])) == [event]
            #expect(isRead == (depth <= StateCoding.deepest), "depth \(depth)")
        }
        // Deeper than any stack: the numbers of a completion event up to its cause, again and again.
        let level: [UInt8] = [1, 2, 2, 8, 1, 7, 1, 0, 0, 4, 0]
        let timer: [UInt8] = [1, 2, 2, 1, 0]
        #expect(StateCoding.events([1, 1] + level + level + timer) != nil)
        #expect(StateCoding.events([1, 1] + Array(repeatElement(level, count: 100_000).joined()) + timer) == nil)
    }

    @Test func anotherVersionIsNotRead() {
        for version in UInt8.min...UInt8.max where version != StateCoding.version {
            #expect(StateCoding.timer([version, 0]) == nil)
            #expect(StateCoding.events([version, 0]) == nil)
        }
        #expect(StateCoding.timer([StateCoding.version, 0]) == TimerStamp())
    }

    @Test func valuesThatCannotBeAreRefused() {
        let event = Event(id: 1, time: 1, count: 1, fact: .group(GroupFact()))
        for count in [0, -1, StateCoding.largestCount + 1] {
            var wrong = event
            wrong.count = count
            #expect(StateCoding.events(StateCoding.encode([wrong])) == nil, "count \(count)")
            wrong = Event(id: 1, time: 1, fact: .group(GroupFact(ran: count - 1)))
            let isRead = StateCoding.events(StateCoding.encode([wrong])) != nil
            #expect(isRead == (count > 0), "ran \(count - 1)")
        }
        var operation = StoredOperation(
            id: 1, handler: "h", queue: "q", origin: .run(handler: "h"), submitted: 1)
        for depth in [-1, Int(Int16.max) + 1] {
            operation.depth = depth
            #expect(StateCoding.operation(StateCoding.encode(operation)) == nil)
        }
        operation.depth = 0
        operation.attempt = 0
        #expect(StateCoding.operation(StateCoding.encode(operation)) == nil)
        // A name that is no UTF-8.
        #expect(StateCoding.suspensions([1, 1, 0, 1, UInt8(ascii: "a"), 0]) != nil)
        #expect(StateCoding.suspensions([1, 1, 0, 1, 0xFF, 0]) == nil)
    }
}
