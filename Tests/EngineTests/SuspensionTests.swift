import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Suspension")
struct SuspensionTests {
    private func fixture(isQueueSuspended: Bool = false, isSourceSuspended: Bool = false) -> EngineFixture {
        EngineFixture(configuration(isQueueSuspended, isSourceSuspended))
    }

    private func configuration(_ isQueueSuspended: Bool, _ isSourceSuspended: Bool) -> Configuration {
        .of(
            queues: [.serial("q", isSuspended: isQueueSuspended)], handlers: [.exec("h")],
            sources: [
                .fifo("f", to: "h", on: "q", isSuspended: isSourceSuspended),
                .custom("x", to: "h", on: "q", coalesces: false, isSuspended: isSourceSuspended),
                .path("p", to: "h", on: "q", isSuspended: isSourceSuspended),
            ])
    }

    private func suspend(_ fixture: EngineFixture, _ name: String, forSeconds seconds: Int64? = nil) {
        let until = seconds.map { fixture.now.realtime + $0 * 1_000_000 }
        #expect(isDone(fixture, fixture.command(.suspend(name: name, by: "me", reason: "test", until: until))))
    }

    private func isDone(_ fixture: EngineFixture, _ token: Token) -> Bool {
        if case .done = fixture.reply(token) { true } else { false }
    }

    private func error(_ fixture: EngineFixture, _ token: Token) -> CommandError? {
        if case .failure(let error) = fixture.reply(token) { error } else { nil }
    }

    /// A rename that is undone, and a file that is missing for a while: pauses come back with their sections.
    @Test(arguments: [false, true]) func aSectionThatComesBackIsSuspendedAsItWas(isRestarted: Bool) {
        var fixture = fixture()
        for name in ["queue/q", "custom/x"] { suspend(fixture, name) }
        suspend(fixture, "path/p", forSeconds: 60)
        fixture.reload(.of())
        if isRestarted {
            fixture = EngineFixture(.of(), restoring: DurableTests.state(fixture.writes, ended: []))
        }
        fixture.reload(configuration(false, false))
        for name in ["queue/q", "custom/x", "path/p"] {
            #expect(fixture.engine.suspensions(of: name)?.count == 1, "\(name)")
        }
        fixture.line("f", "1")
        #expect(fixture.starts.isEmpty)
        // The time goes on meanwhile.
        fixture.advance(seconds: 61)
        #expect(fixture.engine.suspensions(of: "path/p")?.count == 0)
        fixture.command(.resume(name: "queue/q"))
        #expect(fixture.starts.count == 1)
        fixture.endAll()
    }

    @Test func aSuspendedQueueStartsNothingAndLetsRunWhatRuns() {
        let fixture = fixture()
        fixture.line("f", "1")
        fixture.line("f", "2")
        suspend(fixture, "q")
        fixture.endFirst()
        #expect(fixture.running == [])
        #expect(fixture.engine.operation(2)?.waitingFor == "queue q suspended by me")
        fixture.command(.resume(name: "q"))
        #expect(fixture.running == ["h: line:2"])
    }

    @Test func howLongItIsSuspendedIsExplained() {
        let fixture = fixture()
        suspend(fixture, "q", forSeconds: 3600)
        fixture.advance(seconds: 60)
        suspend(fixture, "q")
        let steps = fixture.engine.explain(queue: "q") ?? []
        #expect(steps.map(\.sentence) == ["suspended by me, “test”, 59min more", "suspended by me, “test”"])
    }

    @Test func suspensionsAreCounted() {
        let fixture = fixture(isQueueSuspended: true)
        suspend(fixture, "queue/q")
        fixture.line("f", "1")
        fixture.command(.resume(name: "q"))
        #expect(fixture.running == [])
        #expect(fixture.engine.queueViews.first { $0.definition.name == "q" }?.suspensions.map(\.by) == ["watch file"])
        fixture.command(.resume(name: "q"))
        #expect(fixture.running == ["h: line:1"])
        #expect(error(fixture, fixture.command(.resume(name: "q"))) == .notSuspended("q"))
        #expect(error(fixture, fixture.command(.resume(name: "f"))) == .notSuspended("f"))
    }

    @Test func aSuspensionMayEndByItself() {
        let fixture = fixture()
        suspend(fixture, "q", forSeconds: 10)
        suspend(fixture, "f", forSeconds: 20)
        fixture.emit("x", 1)
        fixture.line("f", "1")
        fixture.advance(seconds: 9.9)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.1)
        #expect(fixture.running == ["h: data:1"])
        fixture.advance(seconds: 10)
        #expect(fixture.held.isEmpty && fixture.counters(source: "descriptor/f")?[.pending] == 1)
    }

    @Test func whenItEndsIsNotMovedByTheWallClock() {
        let fixture = fixture()
        suspend(fixture, "q", forSeconds: 10)
        fixture.emit("x", 1)
        fixture.stepWallClock(seconds: 3600)
        #expect(fixture.running == [])
        fixture.advance(seconds: 10)
        #expect(fixture.running == ["h: data:1"])
    }

    @Test func anEndInThePastOrBeyondAllTimeIsNoTrap() {
        let fixture = fixture()
        for until in [Int64.min, 0, Int64.max] {
            fixture.command(.suspend(name: "q", by: "me", reason: nil, until: until))
        }
        #expect(fixture.engine.queueViews.first { $0.definition.name == "q" }?.suspensions.map(\.until) == [Int64.max])
        suspend(fixture, "x", forSeconds: 5)
        fixture.command(.resume(name: "x"))
        suspend(fixture, "x")
        fixture.advance(seconds: 60)
        #expect(fixture.engine.sourceViews.first { $0.id.name == "x" }?.suspensions.count == 1)
    }

    @Test func aSuspendedSourceKeepsWhatArrives() {
        let fixture = fixture(isSourceSuspended: true)
        #expect(fixture.held == [SourceID(.descriptor, "f")])
        fixture.path("p", .written, "/w/a")
        fixture.path("p", .deleted, "/w/a")
        fixture.emit("x", 5)
        #expect(fixture.counters(source: "path/p")?[.held] == 2)
        fixture.command(.resume(name: "p"))
        fixture.command(.resume(name: "x"))
        fixture.command(.resume(name: "f"))
        #expect(fixture.held.isEmpty)
        fixture.endAll()
        #expect(fixture.story == ["h: deleted:ax2", "h: data:5"])
    }

    @Test func whatAHandlerEmitsIntoASuspendedSourceIsKeptToo() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("h"), .emit("again", into: "x")],
                sources: [.custom("x", to: "h", isSuspended: true), .custom("go", to: "again")]))
        fixture.emit("go")
        #expect(fixture.counters(source: "custom/x")?[.held] == 1)
        fixture.command(.resume(name: "x"))
        #expect(fixture.running == ["h: data:1"])
    }

    @Test func aGlobalQueueCanBeSuspendedAlsoByItsOtherName() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h")], sources: [.custom("x", to: "h", on: "user-initiated")]))
        suspend(fixture, "high")
        fixture.emit("x")
        #expect(fixture.running == [])
        fixture.command(.resume(name: "queue/user-initiated"))
        #expect(fixture.running == ["h: data:1"])
    }

    @Test func aReloadChangesTheFilesSuspensionOnlyIfTheKeyChanged() {
        let fixture = fixture(isQueueSuspended: true, isSourceSuspended: true)
        for name in ["q", "f", "x", "p"] { fixture.command(.resume(name: name)) }
        var configuration = configuration(true, true)
        configuration.sources[0].summary = "changed"
        configuration.sources[1].trigger = .custom(CustomTrigger(merge: .or))
        fixture.reload(configuration)
        #expect(fixture.engine.sourceViews.allSatisfy { $0.suspensions.isEmpty })
        suspend(fixture, "x")
        for index in configuration.sources.indices { configuration.sources[index].isSuspended = false }
        fixture.reload(configuration)
        for index in configuration.sources.indices { configuration.sources[index].isSuspended = true }
        configuration.sources[2].trigger = .path(PathTrigger(paths: [[47]]))
        fixture.reload(configuration)
        #expect(
            fixture.engine.sourceViews.map { $0.suspensions.map(\.by) } == [
                ["watch file"], ["watch file", "me"], ["watch file"],
            ])
        for index in configuration.sources.indices { configuration.sources[index].isSuspended = false }
        configuration.sources[2].trigger = .path(PathTrigger(paths: [[47, 47]]))
        fixture.reload(configuration)
        #expect(fixture.engine.sourceViews.map { $0.suspensions.map(\.by) } == [[], ["me"], []])
        #expect(fixture.held.isEmpty)
    }

    /// Nothing waits there: the queue is gone, and its name is suspended when it comes back.
    @Test func anEmptyQueueRemovedWhileSuspendedCanBeResumed() {
        let (with, without) = (
            Configuration.of(queues: [.serial("q")], handlers: [.exec("h")], sources: [.custom("c", to: "h")]),
            Configuration.of(handlers: [.exec("h")], sources: [.custom("c", to: "h")])
        )
        let fixture = EngineFixture(with)
        func isSuspended() -> Bool? {
            fixture.engine.queueViews.first { $0.definition.name == "q" }.map { !$0.suspensions.isEmpty }
        }
        for isResumed in [false, true] {
            fixture.suspend("q")
            #expect(
                fixture.engine.plan(without).warnings
                    == ["queue/q is suspended, also when it comes back, until resume"])
            fixture.reload(without)
            #expect(isSuspended() == nil)
            if isResumed { #expect(fixture.error(fixture.resume("queue/q")) == nil) }
            fixture.reload(with)
            #expect(isSuspended() == !isResumed)
            if !isResumed { fixture.resume("q") }
        }
    }

    @Test func aQueueRemovedWhileSuspendedWaitsForResume() {
        let fixture = fixture()
        suspend(fixture, "q")
        fixture.emit("x", 1)
        fixture.reload(.of())
        #expect(fixture.engine.queueViews.first { $0.definition.name == "q" }?.isRemoved == true)
        #expect(fixture.running == [])
        fixture.command(.resume(name: "q"))
        #expect(fixture.running == ["h: data:1"])
        fixture.endAll()
        #expect(!fixture.engine.queueViews.contains { $0.definition.name == "q" })
    }

    @Test func whatASourceHeldThatWasRemovedWhileSuspendedWaitsForItsResume() {
        let fixture = fixture()
        suspend(fixture, "x")
        suspend(fixture, "f")
        fixture.emit("x", 1)
        let warnings = [
            "descriptor/f is suspended, and what nobody has read of it is lost",
            "custom/x is suspended and holds 1 event until it is resumed",
        ]
        #expect(fixture.engine.plan(.of()).warnings == warnings)
        fixture.reload(.of())
        #expect(fixture.engine.sourceViews.map(\.id.name) == ["x"], "f held nothing")
        #expect(fixture.engine.sourceViews.allSatisfy { $0.isRemoved && $0.isListed })
        #expect(error(fixture, fixture.emit("x", 2)) == .noSuchName("x", nearest: nil))
        #expect(fixture.running == [])
        fixture.command(.resume(name: "x"))
        #expect(fixture.running == ["h: data:1"])
        fixture.endAll()
        #expect(fixture.engine.sourceViews.isEmpty && fixture.engine.handlerViews.isEmpty)
        #expect(!fixture.engine.queueViews.contains { $0.definition.name == "q" })
    }

    @Test func aSourceThatComesBackIsStillSuspendedAndHoldsWhatItHeld() {
        let fixture = fixture()
        suspend(fixture, "x")
        fixture.emit("x", 1)
        fixture.reload(.of())
        fixture.reload(configuration(false, false))
        fixture.emit("x", 2)
        #expect(fixture.running == [])
        #expect(fixture.engine.sourceViews.first { $0.id.name == "x" }?.suspensions.map(\.by) == ["me"])
        fixture.command(.resume(name: "x"))
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:2"])
    }

    @Test func whatASuspendedSourceHoldsTakesItsNewRoutes() {
        let fixture = fixture()
        suspend(fixture, "x")
        fixture.emit("x", 1)
        fixture.reload(
            .of(queues: [.serial("r")], handlers: [.exec("i")], sources: [.custom("x", to: "i", on: "r")]))
        #expect(fixture.running == [])
        #expect(fixture.engine.handlerViews.map(\.definition.name) == ["i"], "nothing waits for the old one")
        fixture.command(.resume(name: "x"))
        #expect(fixture.running == ["i: data:1"])
    }

    @Test func onlySourcesAndQueuesCanBeSuspended() {
        let fixture = fixture()
        #expect(
            error(fixture, fixture.command(.suspend(name: "h", by: "me", reason: nil, until: nil)))
                == .noSuchName("h", nearest: nil))
        #expect(
            error(fixture, fixture.command(.suspend(name: "maim", by: "me", reason: nil, until: nil)))
                == .noSuchName("maim", nearest: "main"))
    }
}
