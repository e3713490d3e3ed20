import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Traces") struct TraceTests {
    private static let client = TraceContext(high: 0x4bf9_2f35_77b3_4da6, low: 0xa3ce_929d_0e0e_4736, span: 0x00f0_67aa)
    private static let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01"

    @Test func aHeaderIsReadAndWritten() {
        #expect(TraceContext(Self.header.utf8) == Self.client)
        #expect(Self.client.header == Self.header)
        let unsampled = TraceContext("00-00000000000000000000000000000001-0000000000000001-00".utf8)
        #expect(unsampled == TraceContext(high: 0, low: 1, span: 1, isSampled: false))
        // Only the first flag means something here, and a later version may say more.
        #expect(TraceContext("00-00000000000000000000000000000001-0000000000000001-fe".utf8)?.isSampled == false)
        #expect(TraceContext((Self.header.replacing("00-4b", with: "cc-4b") + "-more").utf8) == Self.client)
    }

    @Test(arguments: [
        "", "00", "-", "---", "00---", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-0000000000f067aa-01",
        "00-00000000000000000000000000000000-0000000000f067aa-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-1",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01-",
        "00-4bf92f3577b34da6a3ce929d0e0e473g-0000000000f067aa-01",
        " 00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01\n",
        "cc-4bf92f3577b34da6a3ce929d0e0e4736-0000000000f067aa-01" + String(repeating: "-x", count: 500),
    ])
    func anythingElseIsNone(_ text: String) { #expect(TraceContext(text.utf8) == nil) }

    @Test func numbersAreOfTheMachineAndDiffer() {
        let (one, other) = (TraceNumbers(host: [1]), TraceNumbers(host: [2]))
        #expect(one.trace(ofEvent: 1) == TraceNumbers(host: [1]).trace(ofEvent: 1))
        #expect(one.trace(ofEvent: 1).traceID != other.trace(ofEvent: 1).traceID)
        let runs = (1...1000).flatMap { operation in
            (1...3).flatMap { attempt in
                (0...2).map { RunID(operation: UInt64(operation), attempt: attempt, part: $0) }
            }
        }
        #expect(Set(runs.map(one.span)).count == runs.count)
        #expect(Set((0...10_000).map { one.trace(ofEvent: $0).traceID }).count == 10_001)
    }

    private func emit(_ fixture: EngineFixture, _ name: String, _ trace: TraceContext?) {
        fixture.command(.emit([.init(name: name, fact: CustomFact(data: 1), trace: trace)]))
    }

    @Test func theTraceOfTheClientGoesOnOverEmitAndCompletions() throws {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")],
                handlers: [
                    .exec("first", queue: "q") { $0.completions.success = ["second"] },
                    .emit("second", into: "y"), .exec("third"),
                ],
                sources: [.custom("x", to: "first", on: "q"), .custom("y", to: "third")]))
        emit(fixture, "x", Self.client)
        fixture.endFirst()
        #expect(fixture.starts.map(\.definition.value.name) == ["first", "third"])
        let traces = try fixture.starts.map { try #require($0.trace) }
        #expect(traces.allSatisfy { $0.traceID == Self.client.traceID && $0.isSampled })
        #expect(Set(traces.map(\.span) + [Self.client.span]).count == 3)
        // What lies between them is a span, too: that of the Emit=.
        let third = try #require(fixture.engine.operation(fixture.starts[1].run.operation))
        let between = RunID(operation: fixture.starts[0].run.operation + 1, attempt: 1)
        #expect(third.trace?.span == fixture.engine.traces.span(of: between))
        fixture.endAll()
        let first = try #require(fixture.ended.first)
        #expect(first.trace == Self.client)
    }

    @Test func withoutAClientTheFirstEventBeginsOne() throws {
        let fixture = EngineFixture(
            .of(queues: [.serial("q")], handlers: [.exec("h", queue: "q")], sources: [.custom("x", to: "h", on: "q")]))
        emit(fixture, "x", nil)
        for trace in [nil, Self.client, nil] { emit(fixture, "x", trace) }
        fixture.endFirst()
        // The second one to the fourth are one operation, of one entry.
        let traces = try fixture.starts.map { try #require($0.trace) }
        #expect(traces.map(\.traceID) == [1, 2].map { fixture.engine.traces.trace(ofEvent: $0).traceID })
        let view = try #require(fixture.engine.operation(2))
        #expect(view.events.count == 1 && view.events[0].id == 4)
        // Whoever keeps its events knows it by them.
        #expect(fixture.engine.traces.trace(of: view.events)?.traceID == traces[1].traceID)
        #expect(view.trace?.span == 0)
    }

    @Test func aRetryIsAnotherSpanOfTheSameTraceAndARetryByHandToo() throws {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q") { $0.retry.limit = 1 }],
                sources: [.custom("x", to: "h", on: "q")]))
        emit(fixture, "x", Self.client)
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 10)
        fixture.endFirst(.exited(1))
        let failed = try #require(fixture.ended.first)
        var stored = StoredOperation(
            id: failed.id, handler: "h", queue: "q", origin: failed.origin, submitted: failed.submitted)
        stored.events = failed.events
        fixture.command(.retry([stored]))
        let traces = try fixture.starts.map { try #require($0.trace) }
        #expect(traces.count == 3 && Set(traces.map(\.traceID)) == [Self.client.traceID])
        #expect(Set(traces.map(\.span)).count == 3)
    }

    @Test func aDurableOperationKeepsItOverACrash() throws {
        var queue = QueueDefinition.serial("q")
        queue.isDurable = true
        let configuration = Configuration.of(
            queues: [queue], handlers: [.exec("h", queue: "q")],
            sources: [.custom("x", to: "h", on: "q")])
        let fixture = EngineFixture(configuration)
        for trace in [nil, Self.client, nil] { emit(fixture, "x", trace) }
        var state = StoredState()
        for case .insert(let operation) in fixture.writes {
            state.operations.removeAll { $0.id == operation.id }
            state.operations.append(operation)
        }
        for case .update(let operation) in fixture.writes {
            guard let index = state.operations.firstIndex(where: { $0.id == operation.id }) else { continue }
            state.operations[index].appended += operation.appended
        }
        let next = EngineFixture(configuration, restoring: state)
        let before = try fixture.engine.operationViews.map { try #require($0.trace) }
        #expect(next.engine.operationViews.map(\.trace) == before && before.count == 2)
        #expect(before[1] == Self.client)
    }
}
