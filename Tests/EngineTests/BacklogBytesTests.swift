import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("A backlog full of bytes")
struct BacklogBytesTests {
    private static let line = String(repeating: "x", count: 1000 - Event.cost)

    /// A serial queue that runs one operation, so that everything else waits; a line takes up 1000 bytes.
    private func fixture(
        bytes: Int = 8000, _ overflow: QueueDefinition.Overflow = .block, maxMemory: Int = 256 << 20,
        isDurable: Bool = false
    ) -> EngineFixture {
        let fixture = EngineFixture(configuration(bytes: bytes, overflow, maxMemory: maxMemory, isDurable: isDurable))
        fixture.emit("busy")
        return fixture
    }

    private func configuration(
        bytes: Int, _ overflow: QueueDefinition.Overflow = .block, maxMemory: Int = 256 << 20, isDurable: Bool = false
    ) -> Configuration {
        .of(
            settings: DaemonSettings(maxMemory: maxMemory),
            queues: [
                QueueDefinition(name: "q", backlogBytes: bytes, overflow: overflow, isDurable: isDurable),
                .serial("other"),
            ],
            handlers: [.exec("h"), .exec("busy")],
            sources: [
                .fifo("f", to: "h", on: "q"), .custom("busy", to: "busy", on: "q"), .fifo("g", to: "h", on: "other"),
                .custom("x", to: "h", on: "q", merge: .replace, key: .none, coalesces: false),
                .custom("y", to: "busy", on: "other", isSuspended: true),
            ])
    }

    private func send(_ fixture: EngineFixture, _ count: Int, to source: String = "f") {
        for _ in 0..<count { fixture.line(source, Self.line) }
    }

    private func isTaken(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .events(let ids) = fixture.reply(token) { ids.count == 1 } else { false }
    }

    /// However many sources are suspended, what they hold together is bounded; and what they let go makes room.
    @Test func allSourcesTogetherHoldNoMoreThanMaxMemory() {
        let names = (0..<6).map { "s\($0)" }
        let maxMemory = 300_000
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxMemory: maxMemory), queues: [.concurrent("q", width: 1000)],
                handlers: [.exec("h")],
                sources: names.map { .custom($0, to: "h", on: "q", key: .none, coalesces: false, isSuspended: true) }))
        let payload = "{\"a\":\"\(String(repeating: "x", count: 20_000))\"}"
        var waiting: [Token] = []
        for _ in 0..<10 {
            for name in names {
                let token = fixture.emit(name, nil, payload: payload)
                if !isTaken(fixture, token) { waiting.append(token) }
            }
        }
        let held = fixture.engine.door.heldLoad
        let views = fixture.engine.sourceViews.map { $0.counters[.held] }
        #expect(held.entries == views.reduce(0, +))
        #expect(held.bytes > maxMemory - 30_000 && held.bytes <= maxMemory + names.count * Engine.heldAtLeast)
        #expect(!waiting.isEmpty)
        for name in names { fixture.resume("custom/\(name)") }
        fixture.endAll()
        #expect(fixture.engine.door.heldLoad == Load())
        #expect(waiting.allSatisfy { isTaken(fixture, $0) }, "whoever waited for room has it")
        fixture.endAll()
        #expect(fixture.engine.totals[.done] == 60)
    }

    @Test func aSourceIsHeldBackUntilTheBytesAreBelowSevenEighths() {
        let fixture = fixture()
        let id = SourceID(.descriptor, "f")
        send(fixture, 8)
        #expect(fixture.held.isEmpty && fixture.queue("q")?.bytes == 8000)
        send(fixture, 1)
        #expect(fixture.held == [id])
        #expect(fixture.engine.sourceViews.first { $0.id == id }?.heldBy == "BacklogBytes=8000 of queue q")
        #expect(fixture.queue("q")?.fullness == .bytes)
        fixture.endFirst()
        #expect(fixture.held == [id] && fixture.engine.loadPending == Load(entries: 7, bytes: 7000))
        fixture.endFirst()
        #expect(fixture.held.isEmpty && fixture.engine.loadPending.bytes == 7000)
        fixture.endAll()
        #expect(fixture.counters(source: "descriptor/f")?[.done] == 9)
        #expect(fixture.engine.loadPending == Load())
    }

    @Test func allQueuesTogetherHaveABoundToo() {
        let fixture = fixture(maxMemory: 4000)
        send(fixture, 4)
        send(fixture, 2, to: "g")
        let id = SourceID(.descriptor, "g")
        #expect(fixture.held == [id])
        #expect(fixture.engine.sourceViews.first { $0.id == id }?.heldBy == "MaxMemory=4000")
        fixture.endAll()
        #expect(fixture.held.isEmpty)
        #expect(fixture.counters(source: "descriptor/g")?[.done] == 2)
    }

    /// It would wait for ever otherwise.
    @Test func whatIsLargerThanTheBoundGetsThrough() {
        let fixture = fixture(bytes: 1, maxMemory: 1)
        send(fixture, 3)
        #expect(fixture.counters(source: "descriptor/f")?[.held] == 2)
        fixture.endAll()
        #expect(fixture.counters(source: "descriptor/f")?[.done] == 3)
    }

    @Test func alsoBesideWhatStaysForever() {
        let fixture = fixture(maxMemory: 8000)
        fixture.suspend("queue/other")
        send(fixture, 1, to: "g")
        fixture.line("f", String(repeating: "x", count: 100_000))
        #expect(fixture.held.isEmpty)
        send(fixture, 1)
        #expect(fixture.held == [SourceID(.descriptor, "f")])
        fixture.endFirst()
        #expect(fixture.held.isEmpty)
    }

    @Test func theOldestGoUntilThereIsRoom() {
        let fixture = fixture(bytes: 8000, .dropOldest)
        send(fixture, 8)
        fixture.line("f", String(repeating: "y", count: 1000 - Event.cost))
        #expect(fixture.counters(source: "descriptor/f")?[.dropped] == 1)
        #expect(fixture.queue("q")?.bytes == 8000 && fixture.held.isEmpty)
    }

    @Test func theNewestGoesWhereNobodyIsHeldBack() {
        let fixture = fixture(bytes: 8000, .dropNewest)
        send(fixture, 10)
        #expect(fixture.counters(source: "descriptor/f")?[.dropped] == 2)
        #expect(
            fixture.refused.map(\.reason) == Array(repeating: "Overflow=drop-newest: 7.8K wait on queue q", count: 2))
    }

    @Test func aCallerOfEmitWaitsForBytes() {
        let fixture = fixture()
        let payload = "\"" + String(repeating: "p", count: 3998 - Event.cost) + "\""
        #expect(isTaken(fixture, fixture.emit("x", nil, payload: payload)))
        #expect(isTaken(fixture, fixture.emit("x", nil, payload: payload)))
        let waiting = fixture.emit("x", nil, payload: payload)
        #expect(!isTaken(fixture, waiting))
        fixture.endFirst()
        #expect(isTaken(fixture, waiting))
        let dropping = self.fixture(bytes: 8000, .dropNewest)
        for _ in 0..<2 { dropping.emit("x", nil, payload: payload) }
        let refused = dropping.error(dropping.emit("x", nil, payload: payload))
        #expect(refused == .queueFull(queue: "q", backlog: 10_000, bytes: 8000))
    }

    @Test func whatASuspendedSourceKeepsIsBounded() {
        let fixture = EngineFixture(
            .of(
                queues: [QueueDefinition(name: "q", backlogBytes: 8000)], handlers: [.exec("h")],
                sources: [.custom("x", to: "h", on: "q", merge: .replace, coalesces: false, isSuspended: true)]))
        let payload = "\"" + String(repeating: "p", count: 998 - Event.cost) + "\""
        let tokens = (0..<9).map { _ in fixture.emit("x", nil, payload: payload) }
        #expect(tokens.map { isTaken(fixture, $0) } == Array(repeating: true, count: 8) + [false])
    }

    @Test func aReloadChangesTheBounds() {
        let fixture = fixture(maxMemory: 16_000)
        send(fixture, 9)
        #expect(fixture.held.count == 1)
        fixture.reload(configuration(bytes: 100_000, maxMemory: 16_000))
        #expect(fixture.held.isEmpty)
        send(fixture, 7)
        #expect(fixture.held.isEmpty)
        send(fixture, 1)
        #expect(fixture.held.count == 1)
        fixture.reload(configuration(bytes: 100_000))
        #expect(fixture.held.isEmpty)
    }

    @Test func whatIsTakenUpFromTheStoreCounts() {
        let before = fixture(isDurable: true)
        send(before, 5)
        let state = DurableTests.state(before.writes, ended: before.ended)
        let after = EngineFixture(configuration(bytes: 6000, isDurable: true), restoring: state)
        // What ran before runs again.
        #expect(after.engine.loadPending == Load(entries: 5, bytes: 5000))
        send(after, 2)
        #expect(after.held == [SourceID(.descriptor, "f")] && after.queue("q")?.bytes == 6000)
        after.endAll()
        #expect(after.engine.loadPending == Load())
    }

    @Test func whatAnEntryListSaysOfItsBytesIsTrue() {
        for seed in Seeds.range(50) {
            var random = SeededGenerator(seed: seed)
            var list = EntryList()
            for id in 1...100 {
                let names = ["a", "bb", "ccc", String(repeating: "d", count: 100)]
                let (path, old) = (Array(random.pick(names).utf8), Array(random.pick(names).utf8))
                let change = random.pick(PathChange.allCases)
                let fact = PathFact(change, path: path, oldPath: change == .renamed && old != path ? old : nil)
                switch random.upTo(5) {
                case 0: _ = list.removeOldest()
                case 1: _ = list.removeNextInTurn()
                default:
                    let isRename = change == .renamed
                    if isRename && fact.oldPath == nil { continue }
                    _ = list.add(Event(id: UInt64(id), time: 0, fact: .path(fact)), merge: .add)
                }
                let sum = list.events.reduce(Load()) { $0 + $1.load }
                #expect(list.load == sum, "seed \(seed), \(id)")
            }
        }
    }
}
