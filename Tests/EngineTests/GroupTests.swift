import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Groups")
struct GroupTests {
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(configuration(change))
    }

    private func configuration(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> Configuration {
        .of(
            queues: [.concurrent("q", width: 2), .serial("p")],
            handlers: [.exec("a", change), .exec("b", change), .exec("other"), .exec("told")],
            sources: [
                .fifo("a", to: "a", on: "q"), .fifo("b", to: "b", on: "p"), .fifo("other", to: "other", on: "q"),
                .group("g", of: "a", "b", to: "told", key: .none, coalesces: false),
            ])
    }

    private func told(_ fixture: EngineFixture) -> [String] {
        fixture.story.filter { $0.hasPrefix("told") }
    }

    private func enter(_ fixture: EngineFixture) -> UInt64? {
        guard case .ticket(let ticket) = fixture.reply(fixture.command(.enterGroup(name: "g"))) else { return nil }
        return ticket
    }

    @Test func aGroupFiresWhenTheLastOperationOfItsMembersHasEnded() {
        let fixture = fixture()
        for text in ["1", "2", "3"] { fixture.line("a", text) }
        fixture.line("b", "4")
        #expect(fixture.group("g")?.outstanding == 4)
        for _ in 0..<3 { fixture.endFirst() }
        #expect(told(fixture) == [] && fixture.group("g")?.outstanding == 1)
        fixture.endFirst()
        #expect(told(fixture) == ["told: group:4/0/0"])
    }

    @Test func itTellsHowManyRanFailedAndWereCancelledSinceItFiredLast() {
        let fixture = fixture()
        for text in ["1", "2", "3", "4", "5"] { fixture.line("a", text) }
        fixture.cancel(5)
        fixture.cancel(1)
        fixture.endFirst(.signaled(15))
        fixture.endFirst(.exited(1))
        fixture.endAll()
        #expect(told(fixture) == ["told: group:3/1/2"])
        fixture.line("b", "6")
        fixture.end("b")
        #expect(told(fixture) == ["told: group:3/1/2", "told: group:1/0/0"])
    }

    @Test func whenAllWereCancelledItFiresAllTheSame() {
        let fixture = fixture()
        fixture.suspend("p")
        for text in ["1", "2"] { fixture.line("b", text) }
        fixture.command(.cancelQueue(name: "p"))
        #expect(told(fixture) == ["told: group:0/0/2"])
    }

    @Test func whatBacksOffHasNotEnded() {
        let fixture = fixture { $0.retry = .times(1, after: 10) }
        fixture.line("a", "1")
        fixture.endFirst(.exited(1))
        #expect(told(fixture) == [] && fixture.group("g")?.outstanding == 1)
        fixture.advance(seconds: 12)
        fixture.endFirst(.exited(1))
        #expect(told(fixture) == ["told: group:1/1/0"])
    }

    @Test func whatIsNotYetSubmittedKeepsItFromBeingEmpty() {
        let fixture = fixture { $0.constraints.delay = .seconds(10) }
        fixture.line("a", "1")
        fixture.advance(seconds: 5)
        fixture.line("b", "2")
        fixture.advance(seconds: 5)
        fixture.endFirst()
        #expect(told(fixture) == [] && fixture.group("g")?.outstanding == 1)
        fixture.advance(seconds: 5)
        fixture.endFirst()
        #expect(told(fixture) == ["told: group:2/0/0"])
    }

    @Test func othersAreNoConcernOfIt() {
        let fixture = fixture()
        fixture.line("other", "1")
        fixture.endAll()
        #expect(told(fixture) == [] && fixture.group("g")?.outstanding == 0)
    }

    @Test func itFiresAtEachChangeToEmpty() {
        let fixture = fixture()
        for text in ["1", "2", "3"] {
            fixture.line("a", text)
            fixture.end("a")
        }
        #expect(told(fixture).count == 3)
    }

    @Test func aSupersededMemberIsFollowedByItsSuccessor() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("a", overlap: .restart), .exec("told")],
                sources: [.fifo("a", to: "a", key: .handler), .group("g", of: "a", to: "told")]))
        fixture.line("a", "1")
        fixture.line("a", "2")
        fixture.end("a", .signaled(15))
        #expect(told(fixture) == [])
        fixture.end("a")
        #expect(told(fixture) == ["told: group:1/0/0"])
    }

    @Test func aMemberThatAnotherMemberStartsIsWaitedFor() {
        let fixture = EngineFixture(
            .of(
                handlers: [.exec("a") { $0.completions.success = ["b"] }, .exec("b"), .exec("told")],
                sources: [.fifo("a", to: "a"), .group("g", of: "a", "b", to: "told", key: .none)]))
        fixture.line("a", "1")
        fixture.end("a")
        #expect(fixture.running.filter { $0.hasPrefix("b") }.count == 1)
        fixture.endAll()
        #expect(told(fixture).last?.hasSuffix("/0/0") == true)
        let ran = fixture.events.reduce(0) { sum, entry in
            if case .group(let fact) = entry.event.fact { sum + fact.ran } else { sum }
        }
        #expect(ran == 2)
    }

    // MARK: Enter and leave

    @Test func whoHasEnteredKeepsItFromBeingEmpty() throws {
        let fixture = fixture()
        let first = try #require(enter(fixture))
        let second = try #require(enter(fixture))
        #expect(first != second && fixture.group("g")?.entered == 2)
        fixture.line("a", "1")
        fixture.endFirst()
        fixture.command(.leaveGroup(name: "g", ticket: first))
        #expect(told(fixture) == [])
        fixture.command(.leaveGroup(name: "group/g", ticket: second))
        #expect(told(fixture) == ["told: group:1/0/0"] && fixture.group("g")?.entered == 0)
    }

    @Test func enterAndLeaveAloneAreAChangeToEmpty() throws {
        let fixture = fixture()
        let ticket = try #require(enter(fixture))
        fixture.command(.leaveGroup(name: "g", ticket: ticket))
        #expect(told(fixture) == ["told: group:0/0/0"])
    }

    @Test func nobodyLeavesTwiceOrWithAnothersTicket() throws {
        let fixture = fixture()
        let ticket = try #require(enter(fixture))
        #expect(
            fixture.error(fixture.command(.leaveGroup(name: "g", ticket: ticket + 1)))
                == .noSuchTicket(group: "g", ticket: ticket + 1, isEarlier: true))
        fixture.command(.leaveGroup(name: "g", ticket: ticket))
        #expect(
            fixture.error(fixture.command(.leaveGroup(name: "g", ticket: ticket)))
                == .noSuchTicket(group: "g", ticket: ticket))
        #expect(told(fixture).count == 1)
        #expect(fixture.error(fixture.command(.enterGroup(name: "nobody"))) == .noSuchName("nobody", nearest: nil))
    }

    /// It could be somebody else's by now.
    @Test func aTicketOfAnEarlierWatchdIsNobodysAndToldApart() throws {
        let before = fixture()
        let ticket = try #require(enter(before))
        before.advance(seconds: 1)
        let fixture = EngineFixture(configuration(), at: before.now)
        let another = try #require(enter(fixture))
        #expect(another > ticket)
        #expect(
            fixture.error(fixture.command(.leaveGroup(name: "g", ticket: ticket)))
                == .noSuchTicket(group: "g", ticket: ticket, isEarlier: true))
        #expect(
            fixture.error(fixture.command(.leaveGroup(name: "g", ticket: another + 1)))
                == .noSuchTicket(group: "g", ticket: another + 1, isEarlier: true))
        #expect(fixture.group("g")?.entered == 1)
    }

    @Test func aSuspendedGroupKeepsWhatItHasToTell() {
        let fixture = fixture()
        fixture.suspend("group/g")
        fixture.line("a", "1")
        fixture.endAll()
        #expect(told(fixture) == [])
        fixture.resume("group/g")
        #expect(told(fixture) == ["told: group:1/0/0"])
    }

    @Test func aReloadCountsTheMembersAnew() {
        let fixture = fixture()
        fixture.line("other", "1")
        fixture.line("a", "2")
        var changed = configuration()
        let index = changed.sources.firstIndex { $0.id.name == "g" } ?? 0
        changed.sources[index].trigger = .group(GroupTrigger(members: ["other"]))
        fixture.reload(changed)
        #expect(fixture.group("g")?.outstanding == 1)
        fixture.end("a")
        #expect(told(fixture) == [])
        fixture.end("other")
        #expect(told(fixture).count == 1)
    }

    /// A client that waits for the group would else go on before the ends that it waits for.
    @Test(arguments: [["other"], nil])
    func aReloadThatTakesRunningOperationsOutOfAGroupEndsNothing(members: [String]?) {
        let fixture = fixture()
        fixture.line("a", "1")
        let wait = fixture.command(.wait(.named("g"), after: nil, caller: nil))
        var changed = configuration()
        let index = changed.sources.firstIndex { $0.id.name == "g" } ?? 0
        if let members {
            changed.sources[index].trigger = .group(GroupTrigger(members: members))
        } else {
            changed.sources.remove(at: index)
        }
        fixture.reload(changed)
        let reason = "a reload has taken 1 operation out of group/g before its end: watchctl operations"
        #expect(fixture.error(wait) == .refused(reason))
        #expect(told(fixture) == [])
        fixture.endAll()
        #expect(told(fixture) == [])
    }

    @Test func aReloadThatTakesSomeOfTheOperationsRefusesWaitersToo() {
        let fixture = fixture()
        fixture.line("a", "1")
        fixture.line("b", "2")
        let wait = fixture.command(.wait(.named("g"), after: nil, caller: nil))
        var changed = configuration()
        let index = changed.sources.firstIndex { $0.id.name == "g" } ?? 0
        changed.sources[index].trigger = .group(GroupTrigger(members: ["b"]))
        fixture.reload(changed)
        #expect(fixture.error(wait) != nil)
        #expect(fixture.group("g")?.outstanding == 1)
        fixture.end("b")
        #expect(told(fixture).count == 1)
    }

    // MARK: After a crash

    private static let group = SourceID(.group, "g")

    private func facts(_ fixture: EngineFixture) -> [GroupFact] {
        fixture.events.compactMap { if case .group(let fact) = $0.event.fact { fact } else { nil } }
    }

    @Test func whatWasNotFoundAgainAfterACrashIsToldAsLost() {
        let fixture = fixture()
        for text in ["1", "2", "3"] { fixture.line("a", text) }
        fixture.line("b", "4")
        fixture.line("other", "5")
        #expect(fixture.engine.membersAtRisk == [Self.group: 4])
        var state = StoredState()
        state.groups = fixture.engine.membersAtRisk
        let again = EngineFixture(configuration(), restoring: state)
        #expect(facts(again) == [GroupFact(lost: 4)])
        #expect(again.starts.map(\.definition.value.name) == ["told"])
        #expect(again.engine.membersAtRisk.isEmpty)
    }

    @Test func whatIsAdoptedIsNotLostAndWhatIsLostIsToldWithIt() {
        var state = StoredState()
        state.groups = [Self.group: 3, SourceID(.group, "gone"): 2]
        var operation = StoredOperation(
            id: 7, handler: "a", queue: "q", origin: .source(SourceID(.descriptor, "a")), submitted: 1)
        (operation.isDurable, operation.isExecuting, operation.isClosed) = (false, true, true)
        operation.runs = [StoredRun(part: 0, pid: 70, started: 1)]
        operation.events = [Event(id: 1, time: 1, fact: .line(LineFact([1])))]
        state.operations = [operation]
        let again = EngineFixture(configuration(), restoring: state)
        #expect(facts(again).isEmpty && again.group("g")?.outstanding == 1)
        #expect(again.group("g")?.lost == 2, "to be asked for before it is told")
        #expect(again.engine.membersAtRisk == [Self.group: 3], "a second crash forgets nothing")
        again.end(RunID(operation: 7, attempt: 1, part: 0))
        #expect(facts(again) == [GroupFact(ran: 1, lost: 2)] && again.group("g")?.lost == 0)
        #expect(again.engine.membersAtRisk.isEmpty)
    }

    private func tallies(_ fixture: EngineFixture) -> [GroupFact] {
        fixture.writes.compactMap { if case .tally(_, let tally) = $0 { tally } else { nil } }
    }

    @Test(arguments: [true, false]) func whatHasEndedBeforeARestartCounts(isStopped: Bool) {
        var configuration = configuration()
        configuration.queues = configuration.queues.map { queue in queue.with { $0.isDurable = true } }
        let fixture = EngineFixture(configuration)
        fixture.line("b", "1")
        fixture.end("b", .exited(3))
        fixture.line("a", "2")
        fixture.line("b", "3")
        fixture.line("b", "4")
        fixture.line("b", "5")
        #expect(told(fixture).count == 1, "the first alone")
        fixture.end("b", .exited(4))
        let failure = GroupFact.Failure(handler: "b", operation: 4, reason: "exit 4")
        #expect(tallies(fixture).last == GroupFact(ran: 1, failed: 1, failures: [failure]))
        if isStopped {
            fixture.send(.drain)
            fixture.end("a")
            fixture.end("b")
        }
        var state = StoredState()
        state.tallies = [Self.group: tallies(fixture).last ?? GroupFact()]
        let again = EngineFixture(configuration, restoring: state)
        #expect(facts(again) == [GroupFact(ran: isStopped ? 3 : 1, failed: 1, failures: [failure])])
        #expect(tallies(again) == [GroupFact()], "it is told once")
    }

    @Test func aTicketOfAProcessOutlivesARestartAndOneOfAConnectionDoesNot() {
        let fixture = EngineFixture(configuration())
        let holder = CommandFact.Holder(process: 4711, started: 17)
        let tickets = [holder, nil].map { holder in
            let token = fixture.command(.enterGroup(name: "g", for: holder))
            return if case .ticket(let ticket) = fixture.reply(token) { ticket } else { 0 as UInt64 }
        }
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        #expect(state.tickets == [Self.group: [GroupTicket(number: tickets[0], holder: holder)]])
        let again = EngineFixture(configuration(), restoring: state)
        #expect(again.group("g")?.entered == 1)
        #expect(facts(again).isEmpty, "somebody is in it")
        again.command(.leaveGroup(name: "g", ticket: tickets[0]))
        #expect(facts(again) == [GroupFact()])
        let last = DurableTests.state(fixture.writes + again.writes, ended: [])
        #expect(last.tickets == [Self.group: []])
    }

    @Test func ticketsOfAGroupThatIsGoneAreForgotten() {
        var state = StoredState()
        let gone = SourceID(.group, "gone")
        state.tickets = [gone: [GroupTicket(number: 5, holder: CommandFact.Holder(process: 4711, started: 17))]]
        let fixture = EngineFixture(configuration(), restoring: state)
        #expect(DurableTests.state(fixture.writes, ended: []).tickets == [gone: []])
    }

    @Test func whatWasLostBeforeIsNotCountedTwice() {
        var state = StoredState()
        state.groups = [Self.group: 5]
        state.tallies = [Self.group: GroupFact(ran: 2, lost: 3)]
        let again = EngineFixture(configuration(), restoring: state)
        #expect(facts(again) == [GroupFact(ran: 2, lost: 5)])
    }

    @Test func whichOfItsOperationsFailedAndWhyIsTold() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")],
                handlers: [
                    .exec("h", queue: "q"), .exec("i", queue: "q") { $0.constraints.startTimeout = .seconds(5) },
                    .exec("told"),
                ],
                sources: [
                    .fifo("f", to: "h", on: "q"), .fifo("e", to: "i", on: "q"), .group("g", of: "h", "i", to: "told"),
                ]))
        for _ in 0..<2 { fixture.line("f", "x") }
        fixture.line("e", "x")
        fixture.end("h", .exited(3))
        fixture.advance(seconds: 6)
        fixture.end("h")
        let failures = facts(fixture).first?.failures ?? []
        #expect(failures.map(\.handler) == ["h", "i"] && failures.map(\.operation) == [1, 3])
        #expect(failures.first?.reason == "exit 3")
        #expect(failures.last?.reason.hasPrefix("waited too long for its start: StartTimeoutSec=5s") == true)
        fixture.line("f", "x")
        fixture.end("h")
        #expect(facts(fixture).last?.failures == [], "they are told once")
    }

    @Test func ofManyFailuresTheFirstAreNamed() {
        let fixture = EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q"), .exec("told")],
                sources: [.fifo("f", to: "h", on: "q"), .group("g", of: "h", to: "told")]))
        for _ in 0..<120 { fixture.line("f", "x") }
        for _ in 0..<120 { fixture.end("h", .exited(1)) }
        #expect(facts(fixture).map(\.failed) == [120])
        #expect(facts(fixture).first?.failures.map(\.operation) == Array(1...100))
    }
}
