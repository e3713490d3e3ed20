import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("A full backlog")
struct OverflowTests {
    /// A serial queue that runs one operation, so that everything else waits.
    private func fixture(
        _ source: SourceDefinition, backlog: Int, _ overflow: QueueDefinition.Overflow = .block,
        settings: DaemonSettings = DaemonSettings(), isChecked: Bool = true
    ) -> EngineFixture {
        let fixture = EngineFixture(
            .of(
                settings: settings,
                queues: [.serial("q", backlog: backlog, overflow: overflow), .serial("other")],
                handlers: [.exec("h"), .exec("busy")],
                sources: [source, .custom("busy", to: "busy", on: "q"), .fifo("elsewhere", to: "busy", on: "other")]),
            isChecked: isChecked)
        fixture.emit("busy")
        return fixture
    }

    // MARK: block

    @Test func aDescriptorIsNotReadUntilTheBacklogIsBelowSevenEighths() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"), backlog: 8)
        let id = SourceID(.descriptor, "f")
        for index in 1...8 { fixture.line("f", "\(index)") }
        #expect(fixture.held.isEmpty)
        fixture.line("f", "9")
        #expect(fixture.held == [id])
        #expect(fixture.counters(source: "descriptor/f")?[.held] == 1)
        fixture.endFirst()
        #expect(fixture.held == [id] && fixture.engine.entriesPending == 7)
        fixture.endFirst()
        #expect(fixture.held.isEmpty && fixture.engine.entriesPending == 7)
        fixture.endAll()
        #expect(fixture.story.dropFirst() == (1...9).map { "h: line:\($0)" }[...])
    }

    @Test func whatWasReadBeforeTheHoldIsKeptAsWell() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"), backlog: 1, isChecked: false)
        let count = LongPart.count(1000, long: 5000)
        for index in 1...count { fixture.line("f", "\(index)") }
        #expect(fixture.counters(source: "descriptor/f")?[.held] == count - 1)
        fixture.endAll()
        #expect(fixture.counters(source: "descriptor/f")?[.done] == count)
        #expect(fixture.counters(source: "descriptor/f")?[.dropped] == 0)
    }

    @Test func changesOfPathsFoldAndBeyondTheBacklogTheRimKeepsThem() {
        let fixture = fixture(.path("p", to: "h", on: "q", key: .perPath), backlog: 2)
        for name in ["a", "b"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.path("p", .written, "/w/c")
        #expect(fixture.held.isEmpty)
        fixture.path("p", .deleted, "/w/c")
        fixture.path("p", .written, "/w/d")
        #expect(fixture.held == [SourceID(.path, "p")])
        #expect(fixture.counters(source: "path/p")?[.held] == 3)
        fixture.endAll()
        #expect(fixture.held.isEmpty)
        #expect(fixture.story.dropFirst() == ["h: written:a", "h: written:b", "h: deleted:cx2", "h: written:d"])
    }

    @Test func changesThatComeToNothingWhileHeldLetTheSourceGo() {
        let fixture = fixture(.path("p", to: "h", on: "q", key: .perPath), backlog: 1)
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .created, "/w/b")
        #expect(fixture.held == [SourceID(.path, "p")])
        fixture.path("p", .deleted, "/w/b")
        #expect(fixture.held.isEmpty)
        #expect(fixture.counters(source: "path/p")?[.annulled] == 2)
    }

    @Test func whatMergesIntoAnEntryNeedsNoRoom() {
        let fixture = fixture(.path("p", to: "h", on: "q"), backlog: 1)
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .written, "/w/a")
        #expect(fixture.counters(source: "path/p")?[.pending] == 2)
        fixture.path("p", .written, "/w/b")
        #expect(fixture.counters(source: "path/p")?[.held] == 1)
    }

    @Test func signalsFoldByNumberAndSender() {
        let fixture = fixture(.signal("s", to: "h", on: "q", coalesces: false), backlog: 1)
        fixture.signal("s", 10)
        for _ in 0..<3 { fixture.signal("s", 10, from: 7) }
        fixture.signal("s", 10, from: 8)
        fixture.signal("s", 12, from: 7)
        fixture.endAll()
        #expect(
            fixture.story.dropFirst() == [
                "h: signal:10/1", "h: signal:10/7x3", "h: signal:10/8", "h: signal:12/7",
            ])
    }

    @Test func realTimeSignalsAreKeptWithTheirValuesUpToABound() {
        let fixture = fixture(.signal("s", to: "h", on: "q", coalesces: false), backlog: 1, isChecked: false)
        fixture.signal("s", 40, value: 0)
        for value in 1...Int32(4097) { fixture.signal("s", 40, value: value) }
        #expect(fixture.counters(source: "signal/s")?[.held] == 4096)
        #expect(fixture.counters(source: "signal/s")?[.dropped] == 1)
        var refused: Int? { fixture.engine.sourceViews.first { $0.id.name == "s" }?.refusedWhileHeld }
        #expect(refused == 1)
        fixture.endAll()
        #expect(refused == 0, "it holds nothing any more")
        #expect(fixture.counters(source: "signal/s")?[.done] == 4097)
    }

    @Test func theEndOfAProcessIsKept() {
        let fixture = fixture(.process("d", to: "h", on: "q"), backlog: 1)
        for pid in 1...20 { fixture.exit("d", pid: Int32(pid)) }
        #expect(fixture.counters(source: "process/d")?[.held] == 19)
        fixture.endAll()
        #expect(fixture.counters(source: "process/d")?[.done] == 20)
    }

    @Test func onlyTheSourceOfTheFullQueueIsHeldBack() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"), backlog: 1)
        for text in ["1", "2"] { fixture.line("f", text) }
        fixture.line("elsewhere", "3")
        #expect(fixture.running == ["busy: data:1", "busy: line:3"])
    }

    @Test func aSourceIsHeldBackForAllItsHandlers() {
        let source = SourceDefinition(
            id: SourceID(.descriptor, "f"),
            routes: [Route(handler: "free", queue: "other"), Route(handler: "h", queue: "q")], key: .none,
            coalesces: false,
            trigger: .descriptor(DescriptorTrigger(listener: .fifo([47]), framing: .line)))
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1), .concurrent("other", width: 9)],
                handlers: [.exec("h"), .exec("free")], sources: [source]))
        for text in ["1", "2", "3"] { fixture.line("f", text) }
        #expect(fixture.running == ["free: line:1", "h: line:1", "free: line:2"])
        #expect(fixture.counters(handler: "free")?[.held] == 1)
        fixture.end(fixture.runs[1])
        #expect(fixture.running.last == "free: line:3")
    }

    @Test func sourcesThatAreHeldBackGoOnInTheOrderTheyCame() {
        let names = ["c", "a", "b"]
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1)], handlers: [.exec("h")],
                sources: names.map { .fifo($0, to: "h", on: "q") }))
        for text in ["1", "2"] { fixture.line("c", text) }
        for name in ["b", "c", "a"] { fixture.line(name, name) }
        fixture.endAll()
        #expect(fixture.story.suffix(3) == ["h: line:b", "h: line:c", "h: line:a"])
    }

    @Test func nobodyPassesASourceThatIsHeldBack() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 8)], handlers: [.exec("h")],
                sources: [.fifo("f", to: "h", on: "q"), .fifo("g", to: "h", on: "q")]))
        for index in 0...9 { fixture.line("f", "\(index)") }
        fixture.endFirst()
        #expect(fixture.engine.entriesPending == 7)
        // There is room for one, but somebody waits for it.
        fixture.line("g", "late")
        #expect(fixture.held.contains(SourceID(.descriptor, "g")))
        fixture.endAll()
        #expect(fixture.story.last == "h: line:late")
    }

    @Test func theBoundOfAllEntriesHoldsBackToo() {
        let fixture = fixture(
            .fifo("f", to: "h", on: "q"), backlog: 100, settings: DaemonSettings(maxOperations: 2))
        for text in ["1", "2", "3"] { fixture.line("f", text) }
        #expect(fixture.held == [SourceID(.descriptor, "f")])
        fixture.reload(
            .of(
                settings: DaemonSettings(maxOperations: 50), queues: [.serial("q", backlog: 100)],
                handlers: [.exec("h"), .exec("busy")],
                sources: [.fifo("f", to: "h", on: "q"), .custom("busy", to: "busy", on: "q")]))
        #expect(fixture.held.isEmpty)
        fixture.endAll()
        #expect(fixture.counters(source: "descriptor/f")?[.done] == 3)
    }

    @Test func whatWatchdMakesItselfIsNeverHeldBack() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 1)],
                handlers: [
                    .exec("h"), .emit("again", into: "x", queue: "main"),
                    .exec("busy") { $0.completions.finished = ["h"] },
                ],
                sources: [
                    .custom("x", to: "h", on: "q", coalesces: false), .custom("go", to: "again", on: "main"),
                    .custom("b", to: "busy", on: "q"),
                ]))
        fixture.emit("x")
        fixture.emit("x")
        for _ in 0..<3 { fixture.emit("go") }
        #expect(fixture.counters(queue: "q")?[.pending] == 4)
        #expect(fixture.counters(source: "custom/x")?[.held] == 0)
    }

    // MARK: drop-oldest, drop-newest

    @Test func theOldestEntryGivesWay() {
        let fixture = fixture(.fifo("f", to: "h", on: "q"), backlog: 2, .dropOldest)
        for index in 1...4 { fixture.line("f", "\(index)") }
        #expect(fixture.results == ["h dropped", "h dropped"])
        fixture.endAll()
        #expect(fixture.story.dropFirst() == ["h: line:3", "h: line:4"])
        #expect(fixture.counters(queue: "q")?[.dropped] == 2)
    }

    @Test func theOldestEntryOfAnOperationGivesWay() {
        let fixture = fixture(.path("p", to: "h", on: "q"), backlog: 2, .dropOldest)
        for name in ["a", "b", "a", "c"] { fixture.path("p", .written, "/w/\(name)") }
        fixture.endAll()
        #expect(fixture.story.dropFirst() == ["h: written:ax2 written:c"])
        #expect(fixture.counters(source: "path/p")?[.dropped] == 1)
    }

    @Test func theNewestIsRefused() {
        let fixture = fixture(.signal("s", to: "h", on: "q", coalesces: false), backlog: 2, .dropNewest)
        for pid in 1...4 { fixture.signal("s", 10, from: Int32(pid)) }
        fixture.endAll()
        #expect(fixture.story.dropFirst() == ["h: signal:10/1", "h: signal:10/2"])
        #expect(fixture.counters(source: "signal/s")?[.dropped] == 2)
    }

    @Test(arguments: [QueueDefinition.Overflow.dropOldest, .dropNewest])
    func everyKindOfSourceDropsAndCounts(overflow: QueueDefinition.Overflow) {
        let sources: [SourceDefinition] = [
            .fifo("f", to: "h", on: "q"), .path("p", to: "h", on: "q", key: .perPath),
            .signal("s", to: "h", on: "q", coalesces: false),
            .process("d", to: "h", on: "q"), .timer("t", to: "h", on: "q", every: .seconds(1), key: .none),
            .custom("x", to: "h", on: "q", coalesces: false),
        ]
        for source in sources {
            let fixture = fixture(source, backlog: 1, overflow)
            for index in 1...3 {
                fixture.line("f", "\(index)")
                fixture.path("p", .written, "/w/\(index)")
                fixture.signal("s", 10, from: Int32(index))
                fixture.exit("d", pid: Int32(index))
                fixture.emit("x", Int64(index))
                fixture.advance(seconds: 1)
            }
            let counters = fixture.counters(source: source.id.description)
            #expect(counters?.accepted == 3 && counters?[.dropped] == 2 && counters?[.pending] == 1, "\(source.id)")
            #expect(fixture.held.isEmpty)
        }
    }

    @Test func withoutRoomInAllADropOldestQueueDropsItsOwnOldestElseTheNewest() {
        let settings = DaemonSettings(maxOperations: 2)
        let fixture = fixture(.fifo("f", to: "h", on: "q"), backlog: 100, .dropOldest, settings: settings)
        for text in ["1", "2", "3"] { fixture.line("elsewhere", text) }
        fixture.line("f", "a")
        #expect(fixture.counters(source: "descriptor/f")?[.dropped] == 1)
        fixture.endFirst()
        fixture.end(fixture.runs[0])
        fixture.end(fixture.runs[0])
        fixture.line("elsewhere", "4")
        fixture.line("f", "b")
        fixture.line("f", "c")
        #expect(fixture.running.contains("h: line:b"))
        #expect(fixture.counters(source: "descriptor/f")?[.pending] == 1)
    }
}
