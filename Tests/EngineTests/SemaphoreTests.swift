import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Semaphores")
struct SemaphoreTests {
    /// Handlers named after what they take (`s`, `t`, `st`, `sss`), each with a FIFO of its name on queue `q`, and with
    /// one of its name and `2` on queue `p`; `free` takes nothing.
    private func fixture(
        s: Int = 1, t: Int = 1, queues: [QueueDefinition] = [.concurrent("q", width: 8), .concurrent("p", width: 8)],
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture { EngineFixture(configuration(s: s, t: t, queues: queues, change)) }

    private func configuration(
        s: Int, t: Int = 1, queues: [QueueDefinition] = [.concurrent("q", width: 8), .concurrent("p", width: 8)],
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        let names = ["s", "t", "st", "ss", "sss", "free"]
        let handlers = names.map { name in
            HandlerDefinition.exec(name) {
                guard name != "free" else { return }
                for letter in Set(name) { $0.constraints.acquire(String(letter), name.count { $0 == letter }) }
                change(&$0)
            }
        }
        return .of(
            queues: queues, semaphores: [.of("s", s), .of("t", t)],
            handlers: handlers + [.exec("write") { $0.constraints.isBarrier = true }],
            sources: (names + ["write"]).flatMap {
                [.fifo($0, to: $0, on: "q"), .fifo($0 + "2", to: $0, on: "p")]
            })
    }

    private func lines(_ fixture: EngineFixture, _ lines: (String, String)...) {
        for (source, text) in lines { fixture.line(source, text) }
    }

    private func running(_ fixture: EngineFixture) -> [String] {
        fixture.running.map { String($0.split(separator: ":").last ?? "") }
    }

    private func available(_ fixture: EngineFixture, _ name: String = "s") -> Int? {
        fixture.semaphore(name)?.available
    }

    // MARK: Members

    /// `one` takes one of `gpu`, `two` takes two of it.
    private func lending(_ members: [String]) -> Configuration {
        .of(
            queues: [.concurrent("q", width: 8)], semaphores: [SemaphoreDefinition(name: "gpu", members: members)],
            handlers: [
                .exec("one") { $0.constraints.acquire("gpu", 1) }, .exec("two") { $0.constraints.acquire("gpu", 2) },
            ], sources: ["one", "two"].map { .fifo($0, to: $0, on: "q") })
    }

    private func acquired(_ fixture: EngineFixture) -> [String] { fixture.starts.map { $0.acquired.first?.text ?? "" } }

    @Test func aRunIsLentMembersThatNobodyElseHolds() {
        let fixture = EngineFixture(lending(["10", "9", "b", "a"]))
        lines(fixture, ("two", "1"), ("one", "2"), ("two", "3"), ("one", "4"))
        #expect(acquired(fixture) == ["9 10", "b"], "nobody passes the older one")
        #expect(available(fixture, "gpu") == 1)
        #expect(fixture.semaphore("gpu")?.holders.map(\.members) == [["9", "10"], ["b"]])
        #expect(fixture.engine.operation(1)?.acquired == [AcquiredMembers(semaphore: "gpu", members: ["9", "10"])])
        fixture.end(fixture.runs[1])
        #expect(acquired(fixture) == ["9 10", "b", "a b"])
        fixture.endFirst()
        #expect(acquired(fixture).last == "10")
        fixture.endAll()
        #expect(available(fixture, "gpu") == 4 && fixture.semaphore("gpu")?.holders.isEmpty == true)
    }

    @Test func aMemberThatGoesAwayStaysHeldAndIsNotGivenOutAgain() {
        let fixture = EngineFixture(lending(["0", "1"]))
        lines(fixture, ("one", "1"), ("one", "2"))
        #expect(acquired(fixture) == ["0", "1"])
        fixture.reload(lending(["1", "2"]))
        #expect(available(fixture, "gpu") == 1)
        lines(fixture, ("one", "3"), ("one", "4"))
        #expect(acquired(fixture) == ["0", "1", "2"])
        fixture.endFirst()
        #expect(acquired(fixture).count == 3 && available(fixture, "gpu") == 0, "0 is no member any more")
        fixture.endFirst()
        #expect(acquired(fixture) == ["0", "1", "2", "1"])
        fixture.endAll()
        #expect(available(fixture, "gpu") == 2)
    }

    @Test func unitsMayGetNamesAndLoseThem() {
        var plain = lending([])
        plain.semaphores = [.of("gpu", 2)]
        let fixture = EngineFixture(plain)
        lines(fixture, ("one", "1"))
        fixture.reload(lending(["a", "b"]))
        #expect(available(fixture, "gpu") == 1, "what has no name counts for one of them")
        lines(fixture, ("one", "2"), ("one", "3"))
        #expect(acquired(fixture) == ["", "a"])
        fixture.endFirst()
        #expect(acquired(fixture) == ["", "a", "b"] && available(fixture, "gpu") == 0)
        fixture.reload(plain)
        #expect(available(fixture, "gpu") == 0)
        fixture.endAll()
        #expect(available(fixture, "gpu") == 2)
    }

    @Test func whoIsAdoptedKeepsItsMembers() {
        let fixture = EngineFixture(lending(["0", "1", "2"]))
        lines(fixture, ("one", "1"), ("two", "2"))
        fixture.endFirst()
        fixture.send(.runStarted(fixture.runs[0], pid: 77))
        fixture.send(.runIsLong(fixture.runs[0]))
        var state = DurableTests.state(fixture.writes, ended: fixture.ended, runsGoOn: true)
        #expect(state.operations.flatMap(\.runs).map(\.acquired) == [[.init(semaphore: "gpu", members: ["1", "2"])]])
        state.operations[0].isExecuting = true
        let again = EngineFixture(lending(["2", "0", "3"]), restoring: state)
        #expect(again.adopted.count == 1 && available(again, "gpu") == 2)
        #expect(again.semaphore("gpu")?.holders.map(\.members) == [["1", "2"]])
        lines(again, ("two", "3"))
        #expect(acquired(again) == ["0 3"])
        again.end(RunID(operation: state.operations[0].id, attempt: 1))
        #expect(available(again, "gpu") == 1)
    }

    @Test func nobodyGivesAMemberByHand() {
        let fixture = EngineFixture(lending(["0"]))
        let error = fixture.error(fixture.command(.signal(semaphore: "gpu", count: 1)))
        #expect(
            error == .notSupported("giving units by hand of semaphore gpu, whose Members= are lent to runs"))
        #expect(available(fixture, "gpu") == 1)
    }

    // MARK: Acquire

    @Test func noMoreHoldASemaphoreThanItsValueOverAllQueues() {
        let fixture = fixture(s: 2)
        lines(fixture, ("s", "1"), ("s2", "2"), ("s", "3"), ("s2", "4"), ("free", "5"))
        #expect(running(fixture) == ["1", "2", "5"])
        #expect(available(fixture) == 0 && fixture.semaphore("s")?.waiting == 2)
        #expect(fixture.engine.operation(3)?.waitReason == .semaphore)
        fixture.endFirst()
        #expect(running(fixture) == ["2", "5", "3"])
        fixture.endAll()
        #expect(available(fixture) == 2 && fixture.semaphore("s")?.waiting == 0 && fixture.ended.count == 5)
    }

    @Test func itIsGivenBackHoweverTheRunEnds() {
        let fixture = fixture { $0.timeout = .seconds(10) }
        lines(fixture, ("s", "1"), ("s", "2"), ("s", "3"), ("s", "4"), ("s", "5"), ("s", "6"))
        fixture.endFirst()
        fixture.endFirst(.exited(1))
        fixture.endFirst(nil)
        fixture.fail(toStart: fixture.runs[0], reason: "no such file")
        #expect(available(fixture) == 0)
        fixture.cancel(5)
        #expect(available(fixture) == 0, "it still runs")
        fixture.endFirst(.signaled(15))
        fixture.advance(seconds: 10)
        fixture.endFirst(.signaled(15))
        #expect(fixture.results.suffix(2) == ["s cancelled", "s failed"] && available(fixture) == 1)
    }

    @Test func whoWaitsHoldsNothing() {
        let fixture = fixture()
        lines(fixture, ("t", "1"), ("st", "2"))
        #expect(running(fixture) == ["1"] && available(fixture) == 1)
        fixture.cancel(2)
        lines(fixture, ("s", "3"))
        #expect(running(fixture) == ["1", "3"])
    }

    @Test func nobodyPassesAnOlderOneThatWaitsForTheSameSemaphore() {
        let fixture = fixture()
        lines(fixture, ("t", "1"), ("st", "2"), ("s", "3"), ("s2", "4"))
        // 2 lacks only t, and stands before 3 and 4 in the line of s.
        #expect(running(fixture) == ["1"])
        fixture.endFirst()
        #expect(running(fixture) == ["2"])
        fixture.endFirst()
        #expect(running(fixture) == ["3"])
    }

    @Test func aLargeRequestIsNotStarvedBySmallOnes() {
        let fixture = fixture(s: 3)
        lines(fixture, ("s", "1"), ("s", "2"), ("sss", "3"))
        for index in 4...9 { fixture.line("s", "\(index)") }
        #expect(running(fixture) == ["1", "2"] && available(fixture) == 1)
        fixture.endFirst()
        #expect(running(fixture) == ["2"])
        fixture.endFirst()
        #expect(running(fixture) == ["3"])
        fixture.endFirst()
        #expect(running(fixture) == ["4", "5", "6"])
    }

    @Test func crossedRequestsDoNotDeadlock() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)], semaphores: [.of("a", 1), .of("b", 1), .of("c", 1)],
                handlers: ["ab", "bc", "ca"].map { name in
                    .exec(name) { for letter in name { $0.constraints.acquire(String(letter)) } }
                }, sources: ["ab", "bc", "ca"].map { .fifo($0, to: $0, on: "q") }))
        for round in 0..<5 { for name in ["ab", "bc", "ca"] { fixture.line(name, "\(round)") } }
        fixture.endAll()
        #expect(fixture.ended.count == 15 && fixture.engine.operationViews.isEmpty)
        #expect(fixture.engine.semaphoreViews.allSatisfy { $0.available == 1 && $0.waiting == 0 })
    }

    @Test func onAConcurrentQueueWhoWaitsIsPassedAndOnASerialOneNever() {
        let fixture = fixture(s: 0, queues: [.concurrent("q", width: 1), .serial("p")])
        lines(fixture, ("s", "1"), ("free", "2"), ("s2", "3"), ("free2", "4"))
        #expect(running(fixture) == ["2"])
        #expect(fixture.engine.operation(3)?.waitReason == .semaphore)
    }

    @Test func whoLacksSomethingElseStandsInNoLine() {
        let fixture = fixture(queues: [.concurrent("q", width: 8), .serial("p")])
        fixture.suspend("p")
        lines(fixture, ("t", "0"), ("st2", "1"), ("s", "2"))
        // Suspended: 1 is in no line and 2 passes it.
        #expect(running(fixture) == ["0", "2"] && fixture.semaphore("s")?.waiting == 0)
        lines(fixture, ("s", "3"))
        fixture.resume("p")
        // It has kept its age: it stands before 3.
        #expect(fixture.semaphore("s")?.waiting == 2)
        fixture.end("s")
        #expect(running(fixture) == ["0"])
        fixture.suspend("p")
        #expect(running(fixture) == ["0", "3"], "it stepped out")
        fixture.resume("p")
        fixture.endAll()
        #expect(fixture.story.last == "st: line:1")
    }

    @Test func whoIsBehindABarrierStandsInNoLine() {
        let fixture = fixture(s: 1)
        lines(fixture, ("free", "1"), ("write", "2"), ("s", "3"), ("s2", "4"))
        #expect(running(fixture) == ["1", "4"] && fixture.semaphore("s")?.waiting == 0)
        fixture.end("free")
        fixture.end("write")
        #expect(fixture.semaphore("s")?.waiting == 1)
        fixture.end("s")
        #expect(running(fixture) == ["3"])
    }

    @Test func whoLacksWidthStandsInNoLine() {
        let fixture = fixture(queues: [.concurrent("q", width: 1), .concurrent("p", width: 1)])
        lines(fixture, ("free", "1"), ("s", "2"), ("s2", "3"))
        #expect(running(fixture) == ["1", "3"] && fixture.semaphore("s")?.waiting == 0)
    }

    @Test func whoBacksOffHoldsNoSemaphore() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        lines(fixture, ("s", "1"), ("s", "2"))
        fixture.endFirst(.exited(1))
        #expect(running(fixture) == ["2"])
        fixture.advance(seconds: 12)
        #expect(running(fixture) == ["2"])
        fixture.endFirst()
        #expect(running(fixture) == ["1"] && available(fixture) == 0)
    }

    @Test func whoBacksOffIsPassedByOthersAndStandsInNoLine() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        lines(fixture, ("t", "0"), ("st2", "1"))
        fixture.end("t", .exited(1))
        #expect(running(fixture) == ["1"])
        fixture.end("st", .exited(1))
        #expect(available(fixture) == 1 && available(fixture, "t") == 1)
        lines(fixture, ("s", "2"), ("s", "3"))
        #expect(running(fixture) == ["2"])
    }

    // MARK: Release, Consume, signal

    private func producerAndConsumer(value: Int = 0, _ change: (inout HandlerDefinition) -> Void = { _ in })
        -> EngineFixture
    {
        EngineFixture(
            .of(
                queues: [.concurrent("q", width: 8)], semaphores: [.of("items", value)],
                handlers: [
                    .exec("produce") {
                        $0.constraints.release("items", 2)
                        change(&$0)
                    },
                    .exec("consume") {
                        $0.constraints.consume("items")
                        change(&$0)
                    },
                ], sources: [.fifo("p", to: "produce", on: "q"), .fifo("c", to: "consume", on: "q")]))
    }

    @Test func aSuccessGivesAndWhatIsConsumedIsGone() {
        let fixture = producerAndConsumer()
        lines(fixture, ("c", "1"), ("c", "2"), ("c", "3"), ("p", "4"), ("p", "5"))
        #expect(running(fixture) == ["4", "5"])
        fixture.endFirst()
        #expect(running(fixture) == ["5", "1", "2"])
        fixture.end("consume")
        fixture.end("consume", .exited(1))
        #expect(running(fixture) == ["5"] && available(fixture, "items") == 0)
        fixture.endFirst()
        #expect(running(fixture) == ["3"] && available(fixture, "items") == 1)
        fixture.endAll()
        #expect(available(fixture, "items") == 1)
    }

    @Test func whatFailedOrWasCancelledGivesNothing() {
        let fixture = producerAndConsumer()
        lines(fixture, ("p", "1"), ("p", "2"))
        fixture.cancel(2)
        fixture.endFirst(.exited(1))
        fixture.endFirst()
        #expect(available(fixture, "items") == 0)
    }

    @Test func onlyTheLastAttemptGivesAndOnlyTheFirstConsumes() {
        let fixture = producerAndConsumer(value: 1) { $0.retry = .times(2, after: 1) }
        lines(fixture, ("c", "1"), ("p", "2"))
        #expect(available(fixture, "items") == 0)
        fixture.end("consume", .exited(1))
        fixture.end("produce", .exited(1))
        #expect(available(fixture, "items") == 0)
        fixture.advance(seconds: 2)
        #expect(running(fixture) == ["1", "2"], "what was consumed at the first start is not needed again")
        fixture.end("produce")
        fixture.end("consume")
        #expect(available(fixture, "items") == 2)
    }

    @Test func aSignalByHandGivesAndTellsWhatIsFree() {
        let fixture = producerAndConsumer()
        lines(fixture, ("c", "1"), ("c", "2"))
        guard case .signaled(let free) = fixture.reply(fixture.command(.signal(semaphore: "items", count: 5))) else {
            Issue.record("not signalled")
            return
        }
        #expect(free == 3)
        #expect(running(fixture) == ["1", "2"] && available(fixture, "items") == 3)
    }

    @Test func aSignalThatMakesNoSenseIsRefused() {
        let fixture = producerAndConsumer(value: 1)
        for count in [0, -1, Int.min, Int.max] {
            #expect(fixture.error(fixture.command(.signal(semaphore: "items", count: count))) == .badCount(count))
        }
        #expect(
            fixture.error(fixture.command(.signal(semaphore: "item", count: 1)))
                == .noSuchName("item", nearest: "items"))
        #expect(available(fixture, "items") == 1)
    }

    // MARK: Reload

    @Test func aReloadThatLowersTheValueGrantsNothingUntilEnoughIsBack() {
        let fixture = fixture(s: 3)
        for index in 1...5 { fixture.line("s", "\(index)") }
        fixture.reload(configuration(s: 1))
        #expect(available(fixture) == -2 && running(fixture).count == 3)
        fixture.endFirst()
        fixture.endFirst()
        #expect(running(fixture) == ["3"] && available(fixture) == 0)
        fixture.endFirst()
        #expect(running(fixture) == ["4"])
    }

    @Test func aReloadThatRaisesTheValueLetsWhoWaitsGo() {
        let fixture = fixture(s: 1)
        for index in 1...3 { fixture.line("s", "\(index)") }
        fixture.reload(configuration(s: 2))
        #expect(running(fixture) == ["1", "2"] && available(fixture) == 0)
    }

    @Test func whatAReloadNoLongerAsksForIsNotWaitedForAndWhatIsHeldGoesBack() {
        let fixture = fixture(s: 1)
        for index in 1...3 { fixture.line("s", "\(index)") }
        var changed = configuration(s: 1)
        for index in changed.handlers.indices { changed.handlers[index].constraints.acquires = [] }
        fixture.reload(changed)
        #expect(running(fixture) == ["1", "2", "3"])
        fixture.endAll()
        #expect(available(fixture) == 1)
    }

    @Test func aSemaphoreThatIsRemovedIsGoneWhenItsLastHolderIs() {
        let fixture = fixture(s: 1)
        fixture.line("s", "1")
        fixture.reload(.of(queues: [.concurrent("q", width: 1)], handlers: [.exec("free")]))
        #expect(fixture.semaphore("s")?.isRemoved ?? true)
        fixture.endAll()
        #expect(fixture.engine.semaphoreViews.isEmpty)
        fixture.reload(configuration(s: 1))
        #expect(available(fixture) == 1)
    }

    // MARK: StartTimeoutSec

    @Test func whoHasNotStartedInTimeHasFailed() {
        let fixture = fixture {
            $0.constraints.startTimeout = .seconds(10)
            $0.completions.failure = ["free"]
            $0.retry = .times(3)
        }
        lines(fixture, ("s", "1"), ("s", "2"), ("s", "3"))
        fixture.advance(seconds: 9.9)
        #expect(fixture.ended.isEmpty)
        fixture.advance(seconds: 0.1)
        #expect(fixture.results == ["s failed", "s failed"])
        #expect(fixture.ended.first?.reason?.contains("waited too long for") == true)
        fixture.endAll()
        #expect(fixture.story.first == "s: line:1" && fixture.story.dropFirst().allSatisfy { $0.hasPrefix("free: ") })
        #expect(fixture.starts.flatMap(\.events).map(\.shown).suffix(2) == ["failure(2)", "failure(3)"])
        #expect(available(fixture) == 1 && fixture.semaphore("s")?.waiting == 0)
    }

    @Test func theTimeToStartBeginsWhenTheDelayIsOverAndCountsForTheFirstStartOnly() {
        let fixture = fixture {
            $0.constraints.startTimeout = .seconds(10)
            $0.constraints.delay = .seconds(20)
            $0.retry = .times(1, after: 60)
        }
        fixture.suspend("q")
        lines(fixture, ("s", "1"), ("s2", "2"))
        fixture.advance(seconds: 29)
        #expect(running(fixture) == ["2"] && fixture.ended.isEmpty)
        fixture.advance(seconds: 1)
        #expect(fixture.results == ["s failed"])
        fixture.end("s", .exited(1))
        fixture.advance(seconds: 70)
        #expect(running(fixture) == ["2"])
    }

    @Test func whoMayNotStartForTheRateOfItsQueueStandsInNoLine() {
        var slow = QueueDefinition.concurrent("slow", width: 4)
        slow.rateLimit = RateLimit(count: 1, span: .seconds(10))
        let fixture = EngineFixture(
            .of(
                queues: [slow, .concurrent("q", width: 4)], semaphores: [.of("s", 2)],
                handlers: [
                    .exec("much") { $0.constraints.acquire("s", 2) },
                    .exec("little") { $0.constraints.acquire("s", 1) },
                    .exec("first"),
                ],
                sources: [
                    .fifo("much", to: "much", on: "slow"), .fifo("little", to: "little", on: "q"),
                    .fifo("first", to: "first", on: "slow"),
                ]))
        fixture.line("little", "1")
        fixture.line("much", "2")
        fixture.line("little", "3")
        #expect(fixture.running == ["little: line:1"], "the older one needs nothing but the semaphore")
        fixture.line("first", "4")
        #expect(
            fixture.running == ["little: line:1", "first: line:4", "little: line:3"], "now it needs more than that")
        fixture.line("little", "5")
        fixture.advance(seconds: 10)
        fixture.end(RunID(operation: 1, attempt: 1))
        #expect(!fixture.running.contains("little: line:5"), "it stands before it again")
        fixture.endAll()
        #expect(fixture.story.suffix(2) == ["much: line:2", "little: line:5"])
    }

    @Test func unitsThatComeBackAtTheRateOfItsQueueStartAnOperationWhenTheRateLets() {
        var slow = QueueDefinition.concurrent("slow", width: 4)
        slow.rateLimit = RateLimit(count: 1, span: .seconds(10))
        let fixture = EngineFixture(
            .of(
                queues: [slow, .concurrent("q", width: 4)], semaphores: [.of("s", 1)],
                handlers: [.exec("needy") { $0.constraints.acquire("s", 1) }, .exec("first")],
                sources: [
                    .fifo("holder", to: "needy", on: "q"), .fifo("needy", to: "needy", on: "slow"),
                    .fifo("first", to: "first", on: "slow"),
                ]))
        for source in ["holder", "needy", "first"] { fixture.line(source, "1") }
        #expect(fixture.running == ["needy: line:1", "first: line:1"])
        fixture.advance(seconds: 4)
        fixture.endAll()
        #expect(fixture.running.isEmpty)
        fixture.advance(seconds: 5)
        #expect(fixture.running.isEmpty)
        fixture.advance(seconds: 1)
        #expect(fixture.running == ["needy: line:1"])
    }

    @Test func whoLacksASlotBesidesKeepsNobodyOfItsQueueWhoNeedsNone() {
        var note = HandlerDefinition.log("note", [.literal(Array("noted".utf8))])
        note.constraints.acquire("t", 1)
        let fixture = EngineFixture(
            .of(
                settings: DaemonSettings(maxProcesses: 1), queues: [.concurrent("q", width: 4), .serial("other")],
                semaphores: [.of("s", 0), .of("t", 0)],
                handlers: [
                    .exec("both") {
                        $0.constraints.acquire("s", 1)
                        $0.constraints.acquire("t", 1)
                    }, .exec("busy"), note,
                ],
                sources: [
                    .fifo("both", to: "both", on: "q"), .fifo("busy", to: "busy", on: "other"),
                    .fifo("note", to: "note", on: "q"),
                ]))
        for source in ["both", "busy", "note"] { fixture.line(source, "1") }
        #expect(fixture.running == ["busy: line:1"] && fixture.logs.isEmpty)
        fixture.command(.signal(semaphore: "t", count: 1))
        #expect(fixture.logs == ["noted"], "the older one cannot start anyway")
        fixture.command(.signal(semaphore: "s", count: 1))
        fixture.endFirst()
        #expect(fixture.running == ["both: line:1"])
    }
}
