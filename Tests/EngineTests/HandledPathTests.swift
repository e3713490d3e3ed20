import Testing
import WatchFile

@testable import Engine

/// When a change of a path is handled (Semantics.md, "Comparison").
@Suite("Changes that are handled") struct HandledPathTests {
    private func fixture(
        key: KeyRule = .handler, isSuspended: Bool = false, events: PathEvents = .changed,
        queue: QueueDefinition = .serial("q"), change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            Configuration.of(
                queues: [queue], handlers: [.exec("h", change)],
                sources: [.path("p", to: "h", on: "q", key: key, isSuspended: isSuspended, events: events)]))
    }

    @Test(arguments: [Exit.exited(0), .exited(1)])
    func aChangeIsHandledWhenItsRunHasEnded(exit: Exit) {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        #expect(fixture.handled == [])
        fixture.endFirst(exit)
        #expect(fixture.handled == ["a 1"] && fixture.engine.handling.isEmpty)
    }

    @Test func anAttemptThatIsFollowedByAnotherHandlesNothing() {
        let fixture = fixture { $0.retry = .times(1) }
        fixture.change("p", .written, "/w/a", 1)
        fixture.endFirst(.exited(1))
        #expect(fixture.handled == [] && fixture.told == ["a"])
        fixture.advance(seconds: 20)
        fixture.endFirst(.exited(1))
        #expect(fixture.handled == ["a 1"])
    }

    @Test func theLastOfSeveralHandlersCounts() {
        let fixture = EngineFixture(
            Configuration.of(
                queues: [.concurrent("q", width: 4)], handlers: [.exec("h"), .exec("i")],
                sources: [.path("p", to: "h", "i", on: "q")]))
        fixture.change("p", .written, "/w/a", 1)
        fixture.end("i")
        #expect(fixture.handled == [] && fixture.told == ["a"])
        fixture.end("h")
        #expect(fixture.handled == ["a 1"] && fixture.told == ["a"])
    }

    /// By its end a comparison after the next start is to know that somebody was told of the file.
    @Test func whatOneOfSeveralHandlersWasToldIsNoted() {
        func fixture() -> EngineFixture {
            let fixture = EngineFixture(
                Configuration.of(
                    queues: [.concurrent("q", width: 4), .serial("s")],
                    handlers: [.exec("h", queue: "q"), .exec("i", queue: "s")],
                    sources: [
                        SourceDefinition.path("p", to: "h").with {
                            $0.routes = [Route(handler: "h", queue: "q"), Route(handler: "i", queue: "s")]
                        }, .custom("x", to: "i", on: "s"),
                    ]))
            fixture.emit("x")
            return fixture
        }
        let both = fixture()
        both.change("p", .written, "/w/a", 1)
        both.change("p", .deleted, "/w/b", nil)
        both.end("h")
        #expect(both.handled == [] && both.told == ["a"])
        // A run that was ended has perhaps been through with it.
        let stopped = fixture()
        stopped.change("p", .written, "/w/a", 1)
        stopped.spawn(stopped.runs[0])
        stopped.spawn(stopped.runs[1])
        stopped.send(.drain)
        stopped.send(.hurry)
        #expect(stopped.told == [])
        stopped.end(stopped.runs[1], .signaled(15))
        #expect(stopped.handled == [] && stopped.told == ["a"])
        // Nobody was told.
        let cancelled = fixture()
        cancelled.change("p", .written, "/w/a", 1)
        cancelled.cancel(2)
        #expect(cancelled.handled == [] && cancelled.told == [])
    }

    /// What came while the run was under way is not.
    @Test func whatARunHasSeenIsHandledThoughTheNextOneWaits() {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .deleted, "/w/a", nil)
        fixture.change("p", .written, "/w/b", 3)
        fixture.endFirst()
        #expect(fixture.handled == ["a 1"])
        fixture.endFirst()
        #expect(fixture.handled == ["a 1", "a -", "b 3"])
    }

    /// The older of two changes of one path has to be handled before the newer one counts.
    @Test func theChangesOfAPathAreHandledInTheirOrder() {
        let fixture = EngineFixture(
            Configuration.of(
                queues: [.concurrent("q", width: 9)], handlers: [.exec("h") { $0.overlap = .parallel }],
                sources: [.path("p", to: "h", on: "q", key: .none, coalesces: false)]))
        for state in UInt64(1)...3 { fixture.change("p", .written, "/w/a", state) }
        fixture.end(fixture.runs[1])
        #expect(fixture.handled == [])
        fixture.end(fixture.runs[0])
        #expect(fixture.handled == ["a 2"])
        fixture.end(fixture.runs[0])
        #expect(fixture.handled == ["a 2", "a 3"] && fixture.engine.handling.isEmpty)
    }

    @Test func theNewestOfManyMergedChangesIsHandled() {
        let fixture = fixture(key: .perPath)
        fixture.change("p", .written, "/w/z", 1)
        for state in UInt64(1)...1000 { fixture.change("p", .written, "/w/a", state) }
        fixture.endAll()
        #expect(fixture.handled == ["z 1", "a 1000"])
    }

    @Test func whatComesToNothingIsHandled() {
        let fixture = fixture(queue: .serial("q", isSuspended: true))
        fixture.change("p", .written, "/w/tmp", 1, isNew: true)
        fixture.change("p", .deleted, "/w/tmp", nil)
        #expect(fixture.handled.last == "tmp -" && fixture.engine.handling.isEmpty)
        #expect(fixture.results == ["h annulled"])
    }

    @Test func aChangeThatNobodyAsksForIsHandledAtOnce() {
        let fixture = fixture(events: .deleted)
        fixture.change("p", .written, "/w/a", 1)
        #expect(fixture.handled == ["a 1"])
    }

    /// It changes what one that waits comes to, and is handled with it.
    @Test func aChangeThatAmendsAnotherIsHandledWithIt() {
        let fixture = fixture(events: .written)
        fixture.change("p", .written, "/w/z", 1)
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/b", 1)
        fixture.change("p", .deleted, "/w/b", nil)
        #expect(fixture.handled == [])
        fixture.endAll()
        #expect(fixture.handled.sorted() == ["a 1", "b -", "z 1"])
    }

    @Test func bothPathsOfARenameAreHandled() {
        let fixture = fixture()
        fixture.change("p", .renamed, "/w/b", 4, from: "/w/a")
        #expect(fixture.handled == [])
        fixture.endFirst()
        #expect(fixture.handled.sorted() == ["a -", "b 4"])
    }

    /// A rename makes two operations one.
    @Test func anOperationThatJoinsAnotherIsHandledWithIt() {
        let fixture = fixture(key: .perPath, queue: .serial("q", isSuspended: true))
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/b", 2)
        fixture.change("p", .renamed, "/w/b", 1, from: "/w/a")
        #expect(fixture.engine.operations.count == 1)
        #expect(fixture.handled == [])
        fixture.resume("queue/q")
        fixture.endAll()
        #expect(fixture.handled.sorted() == ["a -", "b 1"] && fixture.engine.handling.isEmpty)
    }

    @Test func anOperationThatIsSupersededIsHandledWithItsSuccessor() {
        let fixture = fixture { $0.overlap = .restart }
        fixture.change("p", .written, "/w/a", 1)
        fixture.spawn(fixture.runs[0])
        fixture.change("p", .written, "/w/b", 2)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.handled == [])
        fixture.endAll()
        #expect(fixture.handled.sorted() == ["a 1", "b 2"])
    }

    @Test func whatIsDroppedOrSkippedIsHandled() {
        let skipping = fixture { $0.overlap = .skip }
        skipping.change("p", .written, "/w/a", 1)
        skipping.change("p", .written, "/w/b", 2)
        #expect(skipping.handled == ["b 2"])
        let dropping = fixture(
            key: .perPath,
            queue: QueueDefinition(name: "q", kind: .serial, backlog: 1, overflow: .dropNewest, isSuspended: true))
        dropping.change("p", .written, "/w/a", 1)
        dropping.change("p", .written, "/w/b", 2)
        #expect(dropping.refusals == ["h dropped"] && dropping.handled == ["b 2"])
    }

    @Test func aCancelByNameHandles() {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/b", 2)
        fixture.cancel(2)
        #expect(fixture.handled == ["b 2"])
    }

    // MARK: Held back

    @Test func whatASourceHoldsIsNotHandled() {
        let fixture = fixture(isSuspended: true)
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/tmp", 2, isNew: true)
        fixture.change("p", .renamed, "/w/b", 2, from: "/w/tmp")
        #expect(fixture.handled == [])
        fixture.resume("path/p")
        #expect(fixture.handled == ["tmp -"])
        fixture.endFirst()
        #expect(fixture.handled == ["tmp -", "a 1", "b 2"] && fixture.engine.handling.isEmpty)
    }

    @Test func whatIsHeldAndComesToNothingIsHandled() {
        let fixture = fixture(isSuspended: true)
        fixture.change("p", .written, "/w/tmp", 1, isNew: true)
        fixture.change("p", .deleted, "/w/tmp", nil)
        #expect(fixture.handled.last == "tmp -" && fixture.engine.handling.isEmpty)
    }

    // MARK: Stop, and what the store keeps

    @Test func whatAStopCancelsIsNotHandled() {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/b", 2)
        fixture.send(.drain)
        #expect(fixture.results == ["h cancelled"])
        fixture.change("p", .written, "/w/c", 3)
        fixture.endFirst()
        #expect(fixture.drained == [] && fixture.handled == ["a 1"])
    }

    @Test func whatAStopEndsIsNotHandled() {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        fixture.send(.hurry)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.results == ["h stopped"] && fixture.handled == [])
    }

    @Test func whatIsSuspendedAtAStopIsNotHandled() {
        let fixture = fixture(isSuspended: true)
        fixture.change("p", .written, "/w/a", 1)
        fixture.send(.drain)
        #expect(fixture.drained == [] && fixture.handled == [])
    }

    @Test func whatADurableQueueKeepsIsHandledWithTheWriteOfIt() {
        let fixture = fixture(queue: QueueDefinition(name: "q", kind: .serial, isDurable: true))
        let before = fixture.actions.count
        fixture.change("p", .written, "/w/a", 1)
        #expect(fixture.handled == ["a 1 stored"])
        let isWritten = fixture.actions[before...].contains { if case .store(.insert) = $0 { true } else { false } }
        #expect(isWritten)
        fixture.endAll()
        #expect(fixture.handled == ["a 1 stored"])
        #expect(fixture.engine.storedPaths.isEmpty)
        fixture.change("p", .written, "/w/b", 1)
        #expect(fixture.engine.storedPaths == [SourceID(.path, "p"): [Array("/w/b".utf8)]])
    }

    /// A kill: nobody records what the runs that go on were told of.
    @Test func whatStandsThereAsRunsWereToldIsKnown() {
        let fixture = fixture()
        func started() -> [String] {
            let paths = DurableTests.state(fixture.writes, ended: fixture.ended, runsGoOn: true).startedPaths
            return (paths[SourceID(.path, "p")] ?? [:]).map {
                "\(String(decoding: $0.key, as: UTF8.self)) \($0.value.kind)"
            }
        }
        func goOn() {
            for run in fixture.runs {
                fixture.spawn(run)
                fixture.send(.runIsLong(run))
            }
        }
        fixture.change("p", .written, "/w/a", 1)
        #expect(started() == [])
        goOn()
        fixture.change("p", .deleted, "/w/b", nil)
        #expect(started() == ["/w/a file"])
        fixture.endFirst()
        goOn()
        #expect(started() == [])
        fixture.endAll()
        fixture.change("p", .renamed, "/w/d", 1, from: "/w/c")
        goOn()
        #expect(started() == ["/w/d file"])
    }

    @Test func aRunThatComesAgainAfterAStopIsKept() {
        let fixture = fixture { $0.onStop = .again }
        fixture.change("p", .written, "/w/a", 1)
        fixture.spawn(fixture.runs[0])
        fixture.send(.drain)
        fixture.send(.hurry)
        fixture.end(fixture.runs[0], .signaled(15))
        #expect(fixture.handled == ["a 1 stored"])
    }

    /// One of its handlers is durable, the other is not: it is told to both again.
    @Test func aDeliveryThatNobodyKeepsCounts() {
        let fixture = EngineFixture(
            Configuration.of(
                queues: [QueueDefinition(name: "kept", isDurable: true), .serial("plain")],
                handlers: [.exec("h", queue: "kept"), .exec("i", queue: "plain")],
                sources: [
                    SourceDefinition.path("p", to: "h").with {
                        $0.routes = [Route(handler: "h", queue: "kept"), Route(handler: "i", queue: "plain")]
                    }
                ]))
        fixture.change("p", .written, "/w/a", 1)
        #expect(fixture.told == ["a stored"])
        fixture.end("h")
        #expect(fixture.handled == [])
        fixture.end("i")
        #expect(fixture.handled == ["a 1"])
    }

    /// The source was closed and opened anew, and compares.
    @Test func whatIsBeingHandledIsNotTakenASecondTime() {
        let fixture = fixture()
        fixture.change("p", .written, "/w/a", 1)
        fixture.change("p", .written, "/w/a", 1, isRecovered: true)
        #expect(fixture.events.count == 1)
        fixture.change("p", .written, "/w/a", 2, isRecovered: true)
        #expect(fixture.events.count == 2)
        fixture.endAll()
        fixture.change("p", .written, "/w/a", 2, isRecovered: true)
        #expect(fixture.events.count == 3)
    }

    @Test func nothingIsKeptOfSourcesThatKeepNoSnapshot() {
        let fixture = fixture()
        fixture.path("p", .written, "/w/a")
        #expect(fixture.engine.handling.isEmpty)
        fixture.endAll()
        #expect(fixture.handled == [])
    }
}
