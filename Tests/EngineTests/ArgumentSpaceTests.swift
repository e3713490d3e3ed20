import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("%@ beyond what a command takes") struct ArgumentSpaceTests {
    @Test func thePartsAreAsLargeAsFits() {
        #expect(ArgumentSpace.stride(Array(repeating: 10, count: 10), 100) == nil)
        #expect(ArgumentSpace.stride(Array(repeating: 10, count: 10), 99) == 5)
        #expect(ArgumentSpace.stride(Array(repeating: 10, count: 10), 35) == 3)
        #expect(ArgumentSpace.stride([1, 1, 1, 1, 100, 1], 100) == 1, "a large one is alone")
        #expect(ArgumentSpace.stride([500, 500], 100) == 1, "what never fits fails alone")
        #expect(ArgumentSpace.stride([500], 100) == nil)
        #expect(ArgumentSpace.stride([], 100) == nil)
    }

    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)],
                handlers: [
                    .exec("h") {
                        $0.action = .exec([
                            CommandWords(words: [.template(Template(literal: "/bin/true")), .everything])
                        ])
                        change(&$0)
                    }
                ], sources: [.fifo("f", to: "h", on: "q", key: .handler, coalesces: true)]))
        fixture.suspend("q")
        // 300 lines of 10 000 bytes, of which a command takes 104.
        for number in 0..<300 { fixture.line("f", "\(number)" + String(repeating: "x", count: 9990)) }
        return fixture
    }

    private func parts(_ fixture: EngineFixture) -> Int? {
        fixture.resume("q")
        return fixture.engine.operation(1)?.parts
    }

    @Test func anOperationThatIsTooLargeRunsInPartsWithOneResult() {
        let fixture = fixture()
        #expect(parts(fixture) == 3)
        #expect(fixture.runs == (0..<3).map { RunID(operation: 1, attempt: 1, part: $0) })
        for _ in 0..<3 { fixture.endFirst() }
        #expect(fixture.results == ["h done"] && fixture.counters(handler: "h")?[.done] == 300)
    }

    @Test func strideIsKeptWhereItIsSmaller() { #expect(parts(fixture { $0.stride = 50 }) == 6) }

    @Test func aListThatStandsTwiceTakesTwiceTheSpace() {
        let words: [CommandWords.Word] = [.template(Template(literal: "/bin/true")), .everything, .everything]
        #expect(parts(fixture { $0.action = .exec([CommandWords(words: words)]) }) == 6)
    }

    @Test func aSmallStackTakesLess() {
        #expect(parts(fixture { $0.contract.limits = [ResourceLimit(.stack, soft: 1 << 20, hard: 1 << 20)] }) == 25)
    }

    @Test func withoutTheListNothingIsSplit() {
        #expect(
            parts(fixture { $0.action = .exec([CommandWords(words: [.template(Template(literal: "/bin/true"))])]) })
                == 1)
    }
}
