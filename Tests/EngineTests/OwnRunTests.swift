import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// What `run` submits is its caller's own, as with `sync` of Dispatch.
@Suite("Run, its caller's own") struct OwnRunTests {
    private func fixture(
        _ overlap: Overlap? = nil, isDurable: Bool = false, restoring state: StoredState? = nil
    ) -> EngineFixture {
        let queue = QueueDefinition.serial("q").with { $0.isDurable = isDurable }
        return EngineFixture(
            .of(
                queues: [queue],
                handlers: [.exec("h", queue: "q", overlap: overlap), .exec("p", queue: "q", overlap: overlap)],
                sources: [.custom("c", to: "h", on: "q"), .path("f", to: "p", on: "q", key: .perPath)]),
            restoring: state)
    }

    private func run(
        _ fixture: EngineFixture, _ name: String, _ data: Int64? = nil, paths: [String] = []
    ) -> Token {
        let paths = paths.map { Array($0.utf8) }
        return fixture.command(
            .run(Engine.Command.RunCommand(name: name, paths: paths, data: data, waits: true)))
    }

    /// `events result exit` of what a caller is told.
    private func told(_ fixture: EngineFixture, _ token: Token) -> String? {
        guard case .ran(let view) = fixture.reply(token) else { return nil }
        let exit = if case .exited(let status) = view.exit { " \(status)" } else { "" }
        return "\(view.events.map(\.shown).joined(separator: " ")) \(view.result?.rawValue ?? "?")\(exit)"
    }

    @Test func twoCallersWhileItIsBusyAreEachToldOfTheirOwn() {
        let fixture = fixture()
        fixture.run("h")
        let five = run(fixture, "h", 5)
        let seven = run(fixture, "h", 7)
        fixture.end("h")
        fixture.end("h", .exited(55))
        #expect(told(fixture, five) == "data:5 failed 55" && told(fixture, seven) == nil)
        fixture.end("h", .exited(77))
        #expect(told(fixture, seven) == "data:7 failed 77")
        #expect(fixture.story == ["h: data:1", "h: data:5", "h: data:7"])
        #expect(fixture.counters(handler: "h")?.coalesced == 0)
    }

    @Test(arguments: ["custom/c", "handler/h"]) func eventsJoinTheirOwnOperationsOnly(name: String) {
        let fixture = fixture()
        fixture.suspend("q")
        fixture.emit("c", 1)
        let run = run(fixture, name, 10)
        fixture.emit("c", 2)
        let other = self.run(fixture, name, 20)
        fixture.emit("c", 4)
        fixture.resume("q")
        fixture.endAll()
        #expect(fixture.story == ["h: data:7x3", "h: data:10", "h: data:20"])
        #expect(told(fixture, run) == "data:10 done 0" && told(fixture, other) == "data:20 done 0")
    }

    @Test func pathsOfOneCallShareAnOperationAndPathsOfTwoDoNot() {
        let fixture = fixture()
        fixture.suspend("q")
        let first = run(fixture, "path/f", paths: ["/w/a", "/w/a", "/w/b"])
        let second = run(fixture, "path/f", paths: ["/w/a"])
        fixture.path("f", .renamed, "/w/b", from: "/w/a")
        fixture.resume("q")
        fixture.endAll()
        #expect(fixture.story == ["p: written:ax2", "p: written:b", "p: written:a", "p: renamed:a>b"])
        #expect(told(fixture, first) == "written:ax2 done 0" && told(fixture, second) == "written:a done 0")
    }

    @Test func withSkipTheCallerIsToldThatItWasSkipped() {
        let fixture = fixture(.skip)
        let first = run(fixture, "h", 5)
        guard case .refused(.skipped, _) = fixture.reply(run(fixture, "h", 7)) else {
            Issue.record("not refused")
            return
        }
        fixture.endAll()
        #expect(told(fixture, first) == "data:5 done 0" && fixture.story == ["h: data:5"])
    }

    /// What was ended for a newer one comes again by itself, behind it.
    @Test(arguments: [true, false], [true, false]) func withRestartNobodysDataIsAnothers(first: Bool, second: Bool) {
        let fixture = fixture(.restart)
        let runs = [(first, Int64(5)), (second, 7)].map { isRun, data in
            isRun ? run(fixture, "custom/c", data) : fixture.emit("c", data)
        }
        fixture.end("h", .signaled(15))
        fixture.endAll()
        guard first || second else {
            #expect(fixture.story == ["h: data:5", "h: data:12x2"])
            return
        }
        #expect(fixture.story == ["h: data:5", "h: data:7", "h: data:5"])
        #expect(told(fixture, runs[0]) == (first ? "data:5 done 0" : nil))
        #expect(told(fixture, runs[1]) == (second ? "data:7 done 0" : nil))
        #expect(fixture.counters(handler: "h")?[.done] == 2)
    }

    @Test func whatIsTriedAgainByHandIsNotMergedByARestartEither() {
        let fixture = fixture(.restart)
        fixture.emit("c", 5)
        fixture.endFirst(.exited(1))
        var failed = StoredOperation(
            id: 1, handler: "h", queue: "q", origin: .source(SourceID(.custom, "c")), submitted: 0)
        failed.events = fixture.starts[0].events
        fixture.command(.retry([failed]))
        fixture.emit("c", 7)
        fixture.end("h", .signaled(15))
        fixture.endAll()
        #expect(fixture.story == ["h: data:5", "h: data:5", "h: data:7", "h: data:5"])
    }

    /// `isOwn` false: a store of an older watchd does not know it.
    @Test(arguments: [true, false]) func whatWasStoredIsStillNobodyElses(isOwn: Bool) {
        let fixture = fixture(isDurable: true)
        fixture.suspend("q")
        _ = run(fixture, "custom/c", 5)
        var state = DurableTests.state(fixture.writes, ended: fixture.ended)
        #expect(state.operations.map(\.isOwn) == [true] && state.operations.map(\.isClosed) == [true])
        if !isOwn { (state.operations[0].isOwn, state.operations[0].isClosed) = (false, false) }
        let again = self.fixture(isDurable: true, restoring: state)
        again.emit("c", 7)
        again.resume("q")
        again.endAll()
        #expect(again.story == ["h: data:5", "h: data:7"])
    }

    @Test func theRoomOfAQueueIsCountedForEachRun() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q", backlog: 2)], handlers: [.exec("p", queue: "q")],
                sources: [.path("f", to: "p", on: "q")]))
        fixture.suspend("q")
        #expect(fixture.error(run(fixture, "path/f", paths: ["/w/a", "/w/a"])) == nil)
        let two = run(fixture, "path/f", paths: ["/w/a", "/w/b"])
        #expect(fixture.error(two) == .queueFull(queue: "q", backlog: 2))
        #expect(fixture.error(run(fixture, "path/f", paths: ["/w/a"])) == nil)
        #expect(fixture.engine.entriesPending == 2)
        #expect(fixture.error(run(fixture, "path/f", paths: ["/w/a"])) == .queueFull(queue: "q", backlog: 2))
    }

    /// Each caller gets exactly his own data and the exit of exactly that run, whatever else goes on.
    @Test(arguments: Overlap.allCases) func everyCallerIsToldOfHisOwn(overlap: Overlap) {
        for seed in Seeds.range(5, long: 120) {
            var random = SeededGenerator(seed: seed)
            let fixture = fixture(overlap)
            var callers: [Token: Int64] = [:]
            for step in 1...40 {
                switch random.upTo(9) {
                case ..<4: callers[run(fixture, random.pick(["handler/h", "custom/c"]), Int64(step))] = Int64(step)
                case ..<6: fixture.emit("c", 1000)
                case 6: fixture.suspend("q")
                case 7: fixture.command(.resume(name: "q"))
                default: if let run = fixture.runs.first { endWithItsData(fixture, run) }
                }
            }
            while fixture.queue("q")?.suspensions.isEmpty == false { fixture.resume("q") }
            while let run = fixture.runs.first { endWithItsData(fixture, run) }
            for (token, data) in callers.sorted(by: { $0.value < $1.value }) {
                if case .refused(.skipped, _) = fixture.reply(token), overlap == .skip { continue }
                guard told(fixture, token) != "data:\(data) failed \(data)" else { continue }
                Issue.record("\(data) is told \(told(fixture, token) ?? "nothing"); WATCHD_SEEDS=\(seed)...\(seed)")
                return
            }
        }
    }

    /// Its data is its exit status, unless it is being ended.
    private func endWithItsData(_ fixture: EngineFixture, _ run: RunID) {
        let events = fixture.starts.last { $0.run == run }?.events ?? []
        guard case .custom(let fact) = events.last?.fact, let data = fact.data else { return }
        fixture.end(run, .exited(Int32(truncatingIfNeeded: data)))
    }
}
