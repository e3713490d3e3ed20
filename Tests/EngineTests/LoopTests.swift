import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// `Loop=` (Semantics.md, "Loop").
@Suite("Loop=") struct LoopTests {
    private func fixture(
        key: KeyRule = .handler, width: Int = 1, settle: SettleRule? = nil, stops: Bool = false,
        isDurable: Bool = false,
        _ edit: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(configuration(key: key, width: width, settle: settle, stops: stops, edit))
    }

    private func configuration(
        key: KeyRule = .handler, width: Int = 1, settle: SettleRule? = nil, stops: Bool = false,
        _ edit: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        .of(
            queues: [.concurrent("q", width: width)], handlers: [.exec("h", edit)],
            sources: [.path("p", to: "h", on: "q", key: key, events: .written, settle: settle, stopsLoops: stops)])
    }

    private func view(_ fixture: EngineFixture) -> FoundLoop? { fixture.engine.sourceViews.first?.loop }

    /// Each of so many runs writes that file, and takes as long.
    private func loop(_ fixture: EngineFixture, _ rounds: Int, _ path: String = "/w/out", seconds: Double = 0.2) {
        for _ in 0..<rounds {
            fixture.advance(seconds: seconds)
            fixture.path("p", .written, path)
            fixture.endFirst()
        }
    }

    /// One more round, after the first second in which nobody else wrote, and the next one like that.
    private func confirm(_ fixture: EngineFixture, _ path: String = "/w/out") {
        fixture.advance(seconds: 1)
        #expect(fixture.loops == [] && fixture.running.count == 1)
        loop(fixture, 1, path)
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
    }

    @Test func afterTenRoundsTheNextRunWaitsForASecondAndOnceMoreAndThenItIsALoop() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        #expect(fixture.story.count == 11 && fixture.running == [], "ten rounds, and the run before them")
        #expect(fixture.engine.operation(12)?.waitReason == .loop)
        #expect(
            fixture.engine.operation(12)?.waitingFor == "Loop=, 1s more: only h has written here, 10 times in a row")
        #expect(fixture.loops == [] && view(fixture) == nil)
        fixture.advance(seconds: 0.999_999)
        #expect(fixture.running == [])
        fixture.advance(seconds: 0.000_001)
        #expect(fixture.running == ["h: written:out"] && fixture.loops == [])
        loop(fixture, 1)
        #expect(
            fixture.engine.operation(13)?.waitingFor == "Loop=, 1s more: only h has written here, 11 times in a row")
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:out"])
        #expect(fixture.loops.map(\.handler) == ["h"] && fixture.loops.map(\.source) == ["path/p"])
        #expect(fixture.loops.first?.path == Array("/w/out".utf8))
        #expect(view(fixture) == fixture.loops.first)
    }

    /// The next look sees what the run has written.
    @Test func aLoopIsFoundWhereNothingIsWatchedToo() {
        let fixture = EngineFixture(
            .of(handlers: [.exec("h")], sources: [.path("p", to: "h", events: .written, polledEvery: .seconds(2))]))
        func round() {
            fixture.advance(seconds: 0.1)
            fixture.endFirst()
            fixture.advance(seconds: 1.9)
            fixture.path("p", .written, "/w/out")
        }
        fixture.path("p", .written, "/w/in")
        for _ in 0..<10 { round() }
        #expect(fixture.running.count == 1 && fixture.loops == [])
        round()
        #expect(fixture.running == [] && fixture.engine.operation(12)?.waitReason == .loop)
        fixture.advance(seconds: 5)
        #expect(fixture.running.count == 1 && fixture.loops == [], "nobody else wrote, once")
        round()
        #expect(fixture.running == [])
        // Somebody else does, which the next look sees.
        fixture.advance(seconds: 3)
        fixture.path("p", .written, "/w/other")
        #expect(fixture.running.count == 1 && fixture.loops == [])
        for _ in 0..<21 { round() }
        fixture.advance(seconds: 5)
        round()
        fixture.advance(seconds: 5)
        #expect(fixture.loops.map(\.handler) == ["h"])
    }

    @Test func itIsToldOnceAndLookedAtAgain() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        confirm(fixture)
        for _ in 0..<4 {
            loop(fixture, 10)
            #expect(fixture.engine.operationViews.first?.waitReason == .loop)
            fixture.advance(seconds: 1)
        }
        #expect(fixture.loops.count == 1)
        #expect(view(fixture) != nil)
        // The handler is mended: nothing more comes.
        fixture.endFirst()
        fixture.advance(seconds: 20)
        fixture.send(.clock)
        #expect(fixture.running == [] && view(fixture) == nil)
    }

    @Test func anEventMeanwhileIsSomebodyElses() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        fixture.advance(seconds: 0.5)
        fixture.path("p", .written, "/w/other")
        #expect(fixture.running == ["h: written:out written:other"])
        loop(fixture, 9)
        #expect(fixture.running.count == 1, "the count has begun anew")
        #expect(fixture.loops == [])
    }

    @Test func aFolderInWhichOthersWriteAllTheWhileIsHeldBackLessAndLess() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        for suspicious in [10, 20, 40] {
            loop(fixture, suspicious)
            #expect(fixture.running == ["h: written:out"], "\(suspicious) rounds are not enough")
            loop(fixture, 1)
            #expect(fixture.running == [], "held back after \(suspicious) rounds")
            fixture.advance(seconds: 0.2)
            fixture.path("p", .written, "/w/other")
            #expect(fixture.running.count == 1)
        }
        #expect(fixture.loops == [])
        // After a rest it is as at first.
        fixture.endFirst()
        fixture.advance(seconds: 61)
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        #expect(fixture.running == [])
    }

    @Test func whatIsReadALittleLateFellIntoTheRun() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        func round() {
            fixture.advance(seconds: 0.2)
            fixture.endFirst()
            fixture.advance(seconds: 0.05)
            fixture.path("p", .written, "/w/out")
        }
        for _ in 0..<11 { round() }
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        round()
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:out"] && fixture.loops.count == 1)
    }

    @Test func aWriterWhoNeverPausesIsNoLoop() {
        let fixture = fixture()
        for _ in 0..<400 {
            fixture.path("p", .written, "/w/log")
            fixture.advance(seconds: 0.25)
            if fixture.runs.count > 0, fixture.now.monotonic % 1_000_000 == 0 { fixture.endFirst() }
        }
        #expect(fixture.loops == [])
        #expect(fixture.story.count > 80)
    }

    @Test(arguments: [1, 4, 16]) func aBurstOfFilesIsNoLoop(width: Int) {
        let fixture = fixture(key: .perPath, width: width)
        for file in 0..<40 {
            fixture.path("p", .written, "/w/\(file)")
            fixture.advance(seconds: 0.01)
        }
        while let run = fixture.runs.first {
            fixture.advance(seconds: 0.1)
            fixture.end(run)
        }
        #expect(fixture.story.count == 40 && fixture.loops == [])
    }

    @Test func filesWithKeysOfTheirOwnLoopBesideEachOther() {
        let fixture = fixture(key: .perPath, width: 8)
        for file in ["a", "b", "c"] { fixture.path("p", .written, "/w/\(file)") }
        func round() {
            fixture.advance(seconds: 0.2)
            for run in fixture.starts.suffix(3) {
                for event in run.events {
                    if case .path(let fact) = event.fact { fixture.send(.event(SourceID(.path, "p"), .path(fact))) }
                }
            }
            for run in fixture.runs { fixture.end(run) }
        }
        for _ in 0..<11 { round() }
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        #expect(fixture.running.count == 3 && fixture.loops == [])
        round()
        fixture.advance(seconds: 1)
        #expect(fixture.running.count == 3)
        #expect(Set(fixture.loops.map(\.path)) == Set(["/w/a", "/w/b", "/w/c"].map { Array($0.utf8) }))
    }

    @Test func aChainOfNewFilesIsALoopToo() {
        let fixture = fixture(key: .perPath, width: 8)
        fixture.path("p", .written, "/w/x")
        for length in 1...11 { loop(fixture, 1, "/w/x" + String(repeating: ".bak", count: length)) }
        #expect(fixture.running == [])
        confirm(fixture, "/w/x" + String(repeating: ".bak", count: 12))
        #expect(fixture.loops.count == 1 && fixture.running.count == 1)
    }

    @Test func whoEndsToWriteWhenTheNextRunIsHeldBackIsNoLoop() {
        let fixture = fixture(stops: true)
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11, "/w/in")
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["h: written:in"])
        fixture.endFirst()
        fixture.advance(seconds: 3600)
        #expect(fixture.loops == [] && fixture.running == [])
        #expect(fixture.engine.sourceViews.first?.suspensions.isEmpty == true)
        fixture.path("p", .written, "/w/in")
        loop(fixture, 9, "/w/in")
        #expect(fixture.running.count == 1, "the count has begun anew")
    }

    @Test func stopSuspendsTheSource() {
        let fixture = fixture(stops: true)
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        confirm(fixture)
        #expect(fixture.loops.map(\.isStopped) == [true])
        #expect(fixture.engine.sourceViews.first?.suspensions.map(\.by) == ["Loop=stop"])
        loop(fixture, 1)
        fixture.advance(seconds: 3600)
        #expect(fixture.running == [], "what comes is kept")
        #expect(view(fixture) != nil, "as long as it is suspended")
        fixture.resume("p")
        #expect(fixture.running == ["h: written:out"])
        #expect(view(fixture) == nil)
    }

    @Test func runsByHandAreNoRounds() {
        let fixture = fixture()
        for _ in 0..<20 {
            fixture.command(.run(.init(name: "p", paths: [Array("/w/a".utf8)])))
            fixture.endFirst()
        }
        fixture.path("p", .written, "/w/a")
        #expect(fixture.running == ["h: written:a"])
    }

    @Test func aReloadBeginsAnew() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        fixture.reload(configuration { $0.timeout = .seconds(100) })
        #expect(fixture.running == ["h: written:out"])
        loop(fixture, 9)
        #expect(fixture.running.count == 1 && fixture.loops == [])
    }

    @Test func aStopCancelsWhatIsHeldBackAndACancelToo() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        fixture.cancel(12)
        fixture.advance(seconds: 5)
        #expect(fixture.loops == [] && fixture.running == [])
        fixture.path("p", .written, "/w/in")
        loop(fixture, 11)
        fixture.send(.drain)
        #expect(fixture.drained == [])
    }

    @Test func itIsFoundWhereFilesSettleToo() {
        let fixture = fixture(settle: SettleRule(quiet: .seconds(2)))
        fixture.path("p", .written, "/w/in")
        for _ in 0..<12 {
            fixture.advance(seconds: 10)
            loop(fixture, 1)
        }
        fixture.advance(seconds: 10)
        #expect(fixture.loops.count == 1 && fixture.running.count == 1)
    }

    @Test func retriesBelongToTheRun() {
        let fixture = fixture { $0.retry = .times(1, after: 1) }
        fixture.path("p", .written, "/w/in")
        for _ in 0..<12 {
            #expect(fixture.loops == [])
            fixture.advance(seconds: 1.2)
            fixture.endFirst(.exited(1))
            fixture.advance(seconds: 2)
            loop(fixture, 1)
        }
        #expect(fixture.running == [])
        fixture.advance(seconds: 1)
        #expect(fixture.loops.count == 1)
    }

    @Test func whatIsOverIsNotKeptInMind() {
        let fixture = fixture(key: .perPath)
        for file in 0..<LongPart.count(500, long: 2000) {
            fixture.path("p", .written, "/w/\(file)")
            fixture.endFirst()
            fixture.advance(seconds: 0.2)
        }
        #expect(fixture.engine.loops.states.count <= 130, "\(fixture.engine.loops.states.count)")
    }
}
