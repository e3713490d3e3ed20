import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("Emit= and Log=")
struct HandlerActionTests {
    @Test func logWritesALineAndIsDone() {
        let template: [Template.Part] = [
            .literal(Array("got ".utf8)), .specifier(.data), .literal(Array(" on ".utf8)), .specifier(.queue),
        ]
        let fixture = EngineFixture(
            .of(handlers: [.log("l", template)], sources: [.custom("x", to: "l", on: "utility")]))
        fixture.emit("x", 5)
        #expect(fixture.logs == ["got 5 on utility"] && fixture.results == ["l done"])
    }

    @Test func emitFiresACustomSource() {
        let data = Template(parts: [.specifier(.data), .literal([48])])
        let fixture = EngineFixture(
            .of(
                handlers: [.emit("e", into: "y", data: data), .emit("one", into: "y"), .exec("h")],
                sources: [.custom("x", to: "e"), .custom("z", to: "one"), .custom("y", to: "h", coalesces: false)]))
        fixture.emit("x", 4)
        fixture.emit("z", 9)
        fixture.endAll()
        #expect(fixture.story == ["h: data:40", "h: data:1"])
    }

    @Test func emitOfWhatIsNoNumberOrNoSourceHasFailed() {
        let fixture = EngineFixture(
            .of(
                handlers: [
                    .emit("word", into: "x", data: Template(literal: "many")), .emit("gone", into: "nobody"),
                    .emit("zero", into: "y", data: Template(literal: "0")), .exec("h"),
                ],
                sources: [.custom("x", to: "word", "gone", "zero"), .custom("y", to: "h")]))
        fixture.emit("x")
        #expect(fixture.results == ["word failed", "gone failed", "zero done"])
        #expect(fixture.ended[0].reason == "Emit=: “many” is not a whole number of 64 bits")
        #expect(fixture.ended[1].reason == "Emit=: custom/nobody does not exist any more")
        #expect(fixture.starts.isEmpty)
    }

    @Test func aLoopOfEmitsEnds() {
        let fixture = EngineFixture(.of(handlers: [.emit("e", into: "x")], sources: [.custom("x", to: "e")]))
        fixture.emit("x")
        #expect(fixture.results.count == 17 && fixture.counters(handler: "e")?[.dropped] == 1)
    }

    /// Where both branches lead into the loop, there are two to the power of its length.
    @Test(arguments: LongPart.isAsked ? [1, 2] : [1]) func aLoopOfEmitsWithManyBranchesEndsToo(loops: Int) {
        let names = (0..<2).map { "e\($0)" }
        let source = SourceDefinition(
            id: SourceID(.custom, "x"), routes: names.map { Route(handler: $0, queue: "q") }, key: .none,
            coalesces: false,
            trigger: .custom(CustomTrigger()))
        let configuration = Configuration.of(
            settings: DaemonSettings(maxOperations: 10), queues: [.concurrent("q", width: 2)],
            handlers: names.prefix(loops).map { .emit($0, into: "x") }
                + names.dropFirst(loops).map { .emit($0, into: "y") } + [.log("l", [.specifier(.data)])],
            sources: [source, .custom("y", to: "l", coalesces: false)])
        var engine = Engine(configuration, at: EngineFixture.boot)
        let emission = Engine.Command.Emission(name: "x", fact: CustomFact(data: 1))
        _ = engine.handle(.command(.emit([emission]), Token(1)), at: EngineFixture.boot)
        #expect(engine.totals.outstanding == 0 && engine.totals[.dropped] > 0)
    }
}
