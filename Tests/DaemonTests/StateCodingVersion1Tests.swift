import Engine
import Testing
import WatchFile

@testable import Daemon

/// What watchd wrote with version 1, made by hand from the description of the bytes. It has to be read for ever.
@Suite("State coding, version 1") struct StateCodingVersion1Tests {
    private static let time: Int64 = 1_795_000_000_000_000

    private func bytes(_ lines: [String]) -> [UInt8] {
        let digits = Array(lines.joined().utf8)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }

    @Test func eventsOfEveryKind() {
        let recorded = bytes([
            "01090180c0f995e0a2b006020180c0f995e0a2b0060282c0f995e0a2b006ca01020114ce49feffffff0f090384c0f995",
            "e0a2b0069203030706062f7372762f62042f737276062f7372762fff0486c0f995e0a2b006da0404030468616c66092f",
            "72756e2f706565720588c0f995e0a2b006a2060501c6010212b817068ac0f995e0a2b006ea070500c80100078cc0f995",
            "e0a2b006b209060301077b2261223a317d088ec0f995e0a2b006fa0a070602000990c0f995e0a2b006c20c0802ac0202",
            "019601046f6f707301030775706c6f6164730880c0f995e0a2b00602030002022f7800",
        ])
        #expect(StateCoding.events(recorded) == Self.events)
        #expect(StateCoding.encode(Self.events) == recorded)
    }

    private static let facts: [Fact] = [
        .timer(scheduled: time),
        .signal(SignalFact(number: 10, senderPID: 4711, senderUID: .max - 1, value: -5)),
        .path(
            PathFact(
                .renamed, path: Array("/srv/b".utf8), oldPath: Array("/srv/".utf8) + [0xFF], root: Array("/srv".utf8),
                isRecovered: true, hasReplaced: true)),
        .line(LineFact(Array("half".utf8), isIncomplete: true, peer: "/run/peer")),
        .process(ProcessFact(pid: 99, exit: .signaled(9), runTime: 1500)),
        .process(ProcessFact(pid: 100, exit: nil)),
        .custom(CustomFact(data: -1, payload: Array("{\"a\":1}".utf8))),
        .group(GroupFact(ran: 3, failed: 1, cancelled: 0)),
        .completion(
            CompletionFact(
                outcome: .failure, operation: 300, result: .failed, exit: .exited(75), output: Array("oops".utf8),
                cause: Event(id: 8, time: time, fact: .path(PathFact(.written, path: Array("/x".utf8)))),
                causeOrigin: .source(SourceID(.path, "uploads")))),
    ]

    private static let events = facts.enumerated().map { index, fact in
        Event(id: UInt64(index) + 1, time: time + Int64(index), count: 1 + index * 100, fact: fact)
    }

    @Test func anOperationWithEverything() {
        var operation = StoredOperation(
            id: 4711, handler: "thumbnail", queue: "images", origin: .source(SourceID(.path, "uploads")),
            submitted: Self.time)
        operation.keys = [Array("/srv/a".utf8), [0xFF]]
        operation.merge = .replace
        (operation.depth, operation.place, operation.notBefore) = (1, 4000, Self.time + 5)
        (operation.attempt, operation.countedAttempts, operation.temporaryAttempts) = (2, 1, 1)
        operation.dependencies = [
            StoredDependency(operation: 4700, isRequired: true), StoredDependency(operation: 4701, isRequired: false),
        ]
        (operation.isExecuting, operation.isRedelivered, operation.isCancelled) = (true, true, true)
        (operation.isClosed, operation.isByHand, operation.isRerun) = (true, false, true)
        (operation.hasConsumed, operation.isDurable) = (true, true)
        operation.runs = [StoredRun(part: 0, pid: 31337, started: Self.time - 7)]
        let recorded = bytes([
            "01bf07e724097468756d626e61696c06696d6167657301030775706c6f61647302062f7372762f6101ff030280c0f995",
            "e0a2b006a01f8ac0f995e0a2b00604020202dc2401dd24000100d2e903f2bff995e0a2b006",
        ])
        #expect(StateCoding.operation(recorded) == operation)
        #expect(StateCoding.encode(operation) == recorded)
    }

    @Test func anOperationWithNothing() {
        let operation = StoredOperation(
            id: 1, handler: "h", queue: "main", origin: .finalizer(queue: "q"), submitted: 0)
        let recorded = bytes(["018004010168046d61696e040171000000000200000000"])
        #expect(StateCoding.operation(recorded) == operation)
        #expect(StateCoding.encode(operation) == recorded)
    }

    @Test func whatIsLeftOfADelay() {
        var operation = StoredOperation(
            id: 1, handler: "h", queue: "main", origin: .finalizer(queue: "q"), submitted: 0)
        operation.left = 5
        let recorded = bytes(["018014010168046d61696e0401710000000002000000000a"])
        #expect(StateCoding.operation(recorded) == operation)
        #expect(StateCoding.encode(operation) == recorded)
    }

    @Test func whatIsLeftOfTheQuietOfAKey() {
        var operation = StoredOperation(
            id: 1, handler: "h", queue: "main", origin: .finalizer(queue: "q"), submitted: 0)
        (operation.left, operation.settleLeft) = (5, 7)
        let recorded = bytes(["018054010168046d61696e0401710000000002000000000a0e"])
        #expect(StateCoding.operation(recorded) == operation)
        #expect(StateCoding.encode(operation) == recorded)
    }

    @Test func suspensions() {
        let suspensions = [
            Suspension(by: "anna", reason: "maintenance", since: Self.time, until: Self.time + 60),
            Suspension(by: "file", since: -1),
        ]
        let recorded = bytes([
            "01020304616e6e610b6d61696e74656e616e636580c0f995e0a2b006f8c0f995e0a2b00600046669",
            "6c6501",
        ])
        #expect(StateCoding.suspensions(recorded) == suspensions)
        #expect(StateCoding.encode(suspensions) == recorded)
    }

    @Test func aTimer() {
        let stamp = TimerStamp(lastElapse: Self.time, after: Self.time + 1)
        let recorded = bytes(["010380c0f995e0a2b00682c0f995e0a2b006"])
        #expect(StateCoding.timer(recorded) == stamp)
        #expect(StateCoding.encode(stamp) == recorded)
    }
}
