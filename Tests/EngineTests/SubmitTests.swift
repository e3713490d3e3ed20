import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("Commands of clients") struct SubmitTests {
    private static let configuration = Configuration.of(
        queues: [
            .serial("ser"), .concurrent("con", width: 4), QueueDefinition(name: "kept", isDurable: true),
            .serial("small", backlog: 1), .serial("new", backlog: 1, overflow: .dropNewest),
        ], handlers: [.exec("h", queue: "ser")], sources: [.custom("c", to: "h", on: "ser")])

    private func fact(_ words: String..., change: (inout CommandFact) -> Void = { _ in }) -> CommandFact {
        var fact = CommandFact(
            words.map { Array($0.utf8) }, user: .credentials(UserCredentials(user: 7, group: 8, groups: [9])))
        change(&fact)
        return fact
    }

    @discardableResult
    private func submit(
        _ fixture: EngineFixture, _ queue: String, _ fact: CommandFact, after: [UInt64] = [], delay: Int64? = nil,
        waits: Bool = false, caller: UInt64? = nil
    ) -> Token {
        fixture.command(
            .submit(.init(queue: queue, fact, after: after, delay: delay, waits: waits, caller: caller)))
    }

    private func id(_ fixture: EngineFixture, _ token: Token) -> UInt64? {
        if case .operations(let ids) = fixture.reply(token) { ids.first } else { nil }
    }

    // MARK: What runs

    @Test func itRunsAsItSaysOnTheQueueThatIsNamed() throws {
        let fixture = EngineFixture(Self.configuration)
        let token = submit(
            fixture, "con",
            fact("ls", "%p", "a b") {
                $0.environment = [EnvironmentVariable(name: "A", value: [1])]
                ($0.folder, $0.mask, $0.timeout) = (Array("/srv".utf8), 0o077, .seconds(9))
            })
        #expect(id(fixture, token) == 1)
        let start = try #require(fixture.starts.first)
        let definition = start.definition.value
        #expect(start.queue == "con" && definition.name == "@command")
        guard case .exec(let commands) = definition.action else { throw TestFailure() }
        let words = commands[0].words.map { word -> [UInt8] in
            if case .template(let template) = word { template.expanded { _ in [UInt8(ascii: "!")] } } else { [] }
        }
        #expect(words == ["ls", "%p", "a b"].map { Array($0.utf8) }, "a percent sign is itself")
        #expect(definition.contract.credentials == UserCredentials(user: 7, group: 8, groups: [9]))
        #expect(definition.contract.mask == 0o077 && definition.workingDirectory == Array("/srv".utf8))
        #expect(definition.environment.map(\.name) == ["A"] && definition.timeout == .seconds(9))
        #expect(definition.standardInput == .null)
        fixture.endFirst(output: "x")
        #expect(fixture.results == ["@command done"])
        #expect(fixture.counters(queue: "con")?[.done] == 1 && fixture.counters(handler: "@command")?[.done] == 1)
    }

    @Test func eachHasItsOwnRulesThoughTheyShareAHandler() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("again") { $0.retries = 1 })
        submit(fixture, "con", fact("once"))
        fixture.endFirst(.exited(1))
        fixture.endFirst(.exited(1))
        #expect(fixture.results == ["@command failed"] && fixture.retried.map(\.id) == [1])
        fixture.advance(seconds: 2)
        #expect(fixture.story == ["@command: again", "@command: once", "@command: again"])
        fixture.endFirst()
        #expect(fixture.results == ["@command failed", "@command done"])
    }

    @Test func aTimeOutIsItsOwn() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("short") { $0.timeout = .seconds(1) })
        submit(fixture, "con", fact("long"))
        for run in fixture.runs { fixture.spawn(run) }
        fixture.advance(seconds: 5)
        #expect(fixture.signals.count == 1)
        fixture.endFirst(.signaled(15))
        #expect(fixture.ended.first?.reason == "timed out after 1s")
        #expect(fixture.running == ["@command: long"])
    }

    @Test func theyExcludeEachOtherByKeyAlone() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a") { $0.key = [1] })
        submit(fixture, "con", fact("b") { $0.key = [1] })
        submit(fixture, "con", fact("c") { $0.key = [2] })
        submit(fixture, "con", fact("d"))
        submit(fixture, "con", fact("e"))
        #expect(fixture.running == ["@command: a", "@command: c", "@command: d", "@command: e"])
        fixture.endFirst()
        #expect(fixture.running.last == "@command: b")
    }

    @Test func oneIsNeverMergedWithAnother() {
        let fixture = EngineFixture(Self.configuration)
        fixture.suspend("ser")
        for _ in 0..<3 { submit(fixture, "ser", fact("a") { $0.key = [1] }) }
        fixture.emit("c")
        fixture.resume("ser")
        #expect(fixture.operations("@command").map(\.entries) == [1, 1, 1])
        fixture.endAll()
        #expect(fixture.results == ["@command done", "@command done", "@command done", "h done"])
    }

    @Test func aBarrierAndAPriorityAreItsOwn() {
        let fixture = EngineFixture(Self.configuration)
        fixture.suspend("con")
        submit(fixture, "con", fact("low") { $0.priority = .veryLow })
        submit(fixture, "con", fact("high") { $0.priority = .high })
        submit(fixture, "con", fact("alone") { $0.isBarrier = true })
        submit(fixture, "con", fact("last") { $0.priority = .veryHigh })
        fixture.resume("con")
        #expect(fixture.story == ["@command: high", "@command: low"])
        fixture.endAll()
        #expect(fixture.story.suffix(2) == ["@command: alone", "@command: last"])
    }

    // MARK: What is refused

    @Test func aQueueThatIsNotThereIsNamedWithItsLike() {
        let fixture = EngineFixture(Self.configuration)
        #expect(fixture.error(submit(fixture, "sre", fact("a"))) == .noSuchName("sre", nearest: "ser"))
        #expect(fixture.error(submit(fixture, "handler/h", fact("a"))) == .noSuchName("handler/h", nearest: nil))
        #expect(fixture.engine.operationViews.isEmpty)
    }

    @Test func whatMeansNothingOnAQueueIsRefused() {
        let fixture = EngineFixture(Self.configuration)
        for (queue, fact) in [
            ("default", fact("a") { $0.isBarrier = true }), ("ser", fact("a") { $0.priority = .high }),
        ] {
            guard case .refused? = fixture.error(submit(fixture, queue, fact)) else {
                Issue.record("\(queue) takes it")
                continue
            }
        }
        submit(fixture, "ser", fact("a") { $0.isBarrier = true })
        #expect(fixture.story == ["@command: a"], "everything is alone on a serial queue")
    }

    @Test func aFullQueueTakesNothing() {
        let fixture = EngineFixture(Self.configuration)
        for queue in ["small", "new"] { for _ in 0..<2 { submit(fixture, queue, fact("a")) } }
        #expect(fixture.error(submit(fixture, "small", fact("b"))) == .queueFull(queue: "small", backlog: 1))
        guard case .refused(.dropped, _)? = fixture.reply(submit(fixture, "new", fact("b"))) else {
            Issue.record("new takes it")
            return
        }
        #expect(fixture.counters(queue: "new")?[.dropped] == 1)
    }

    @Test func runByNameMeansNoneOfThem() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a"))
        #expect(fixture.error(fixture.run("@command")) == .noSuchName("@command", nearest: nil))
    }

    // MARK: When

    @Test func itWaitsForOperationsHoweverTheyEnd() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a"))
        submit(fixture, "con", fact("b"))
        let token = submit(fixture, "con", fact("c"), after: [1, 2])
        #expect(id(fixture, token) == 3)
        #expect(fixture.engine.operation(3)?.dependencies == [1, 2])
        fixture.endFirst(.exited(1))
        #expect(fixture.running == ["@command: b"])
        fixture.cancel(2)
        fixture.endFirst(.signaled(15))
        #expect(fixture.running == ["@command: c"])
        submit(fixture, "con", fact("d"), after: [1])
        #expect(fixture.running.last == "@command: d", "what has ended is waited for no more")
        #expect(fixture.error(submit(fixture, "con", fact("e"), after: [99])) == .noSuchOperation(99))
    }

    /// A chain is as long as a queue may be, and each stack has an end.
    @Test func theEndOfALongChainIsTheEndOfAllItsOperations() {
        let fixture = EngineFixture(Self.configuration, isChecked: false)
        submit(fixture, "con", fact("first"))
        for id in 1..<9000 as Range<UInt64> {
            var command = Engine.Command.SubmitCommand(queue: "con", fact("next"), after: [id])
            command.isRequired = true
            fixture.command(.submit(command))
        }
        fixture.endFirst(.exited(1))
        #expect(fixture.ended.map(\.id) == Array(1...9000))
        #expect(fixture.ended.last?.reason == "--requires: operation 8999 cancelled")
    }

    /// Each waits for both of the layer before: 2³⁰ ways lead to the last ones.
    @Test func everyOperationIsClosedOnceHoweverManyWaysLeadToIt() {
        let fixture = EngineFixture(Self.configuration, isChecked: false)
        fixture.suspend("queue/con")
        for _ in 0..<2 { submit(fixture, "con", fact("first")) }
        for layer in 1..<30 as Range<UInt64> {
            for _ in 0..<2 { submit(fixture, "con", fact("next"), after: [2 * layer - 1, 2 * layer]) }
        }
        fixture.resume("queue/con")
        fixture.endAll()
        #expect(fixture.ended.count == 60)
    }

    @Test func theOptionIsWhatItWaitsBy() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a"))
        submit(fixture, "con", fact("b"), after: [1])
        var command = Engine.Command.SubmitCommand(queue: "con", fact("c"), after: [1])
        command.isRequired = true
        fixture.command(.submit(command))
        let found = [2, 3].map { fixture.engine.operation($0)?.waitingFor }
        #expect(found == ["operation 1 (--after)", "operation 1 (--requires)"])
    }

    @Test func itWaitsForItsTimeOnTheWallClock() {
        let fixture = EngineFixture(Self.configuration)
        let due = fixture.now.realtime + 3_600_000_000
        submit(fixture, "con", fact("at") { $0.notBefore = due })
        submit(fixture, "con", fact("in"), delay: 7_200_000_000)
        #expect(fixture.engine.operation(1)?.waitingFor == "its time, 1h more")
        fixture.advance(seconds: 3599)
        #expect(fixture.story.isEmpty)
        fixture.advance(seconds: 1)
        #expect(fixture.story == ["@command: at"])
        fixture.machineSleeps(seconds: 3600)
        #expect(fixture.story == ["@command: at", "@command: in"])
    }

    @Test(arguments: [-7200, 3600] as [Int64]) func theClockMayBeSet(seconds: Int64) {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("at") { $0.notBefore = fixture.now.realtime + 3_600_000_000 })
        fixture.stepWallClock(seconds: seconds)
        #expect(fixture.story.isEmpty == (seconds < 0))
        fixture.advance(seconds: 7200)
        #expect(fixture.story.isEmpty == (seconds < 0))
        fixture.advance(seconds: 3601)
        #expect(fixture.story == ["@command: at"])
    }

    @Test func whatIsLongAgoRunsAtOnce() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("at") { $0.notBefore = 1 })
        #expect(fixture.story == ["@command: at"])
    }

    // MARK: What it requires

    @Test(arguments: [0, 1] as [Int32]) func itRunsOnlyIfWhatItRequiresHasSucceeded(status: Int32) {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a"))
        var command = Engine.Command.SubmitCommand(queue: "ser", fact("b"), after: [1])
        command.isRequired = true
        fixture.command(.submit(command))
        fixture.endFirst(.exited(status))
        #expect(fixture.story.last == (status == 0 ? "@command: b" : "@command: a"))
        if status == 0 { return }
        #expect(fixture.results == ["@command failed", "@command cancelled"])
        #expect(fixture.ended.last?.reason == "--requires: operation 1 failed")
    }

    @Test func theEndOfWhatIsNoMoreIsAskedFor() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a"))
        fixture.endFirst(.exited(1))
        var command = Engine.Command.SubmitCommand(queue: "con", fact("b"), after: [1])
        command.isRequired = true
        #expect(fixture.error(fixture.command(.submit(command))) == .endUnknown(1))
        command.ends = [1: .failed]
        guard case .refused(.skipped, let reason)? = fixture.reply(fixture.command(.submit(command))) else {
            Issue.record("it is taken in")
            return
        }
        #expect(reason == "--requires: operation 1 failed" && fixture.story == ["@command: a"])
        command.ends = [1: .done]
        #expect(id(fixture, fixture.command(.submit(command))) != nil)
        #expect(fixture.story == ["@command: a", "@command: b"])
        command.after = [99]
        #expect(fixture.error(fixture.command(.submit(command))) == .noSuchOperation(99))
    }

    @Test func whatItRequiresIsKeptOverARestart() {
        let fixture = EngineFixture(Self.configuration)
        fixture.suspend("kept")
        submit(fixture, "kept", fact("a"))
        var command = Engine.Command.SubmitCommand(queue: "kept", fact("b"), after: [1])
        command.isRequired = true
        fixture.command(.submit(command))
        let again = EngineFixture(
            Self.configuration, restoring: DurableTests.state(fixture.writes, ended: fixture.ended))
        again.resume("kept")
        again.endFirst(.exited(1))
        #expect(again.results == ["@command failed", "@command cancelled"])
    }

    // MARK: Waiting

    @Test func aCallerIsToldHowItEnded() {
        let fixture = EngineFixture(Self.configuration)
        let token = submit(fixture, "con", fact("a"), waits: true)
        #expect(fixture.reply(token) == nil)
        fixture.endFirst(.exited(3))
        guard case .ran(let view)? = fixture.reply(token) else {
            Issue.record("no answer")
            return
        }
        #expect(view.exit == .exited(3) && view.result == .failed)
    }

    @Test func aCallerThatHasGoneLeavesItBehind() {
        let fixture = EngineFixture(Self.configuration)
        let token = submit(fixture, "con", fact("a"), waits: true)
        fixture.send(.abandon(token))
        fixture.endFirst()
        #expect(fixture.results == ["@command done"] && fixture.reply(token) == nil)
    }

    @Test func whoWaitsInsideTheQueueIsRefused() {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "ser", fact("outer"))
        guard case .wouldDeadlock? = fixture.error(submit(fixture, "ser", fact("inner"), waits: true, caller: 1)) else {
            Issue.record("it waits for ever")
            return
        }
        #expect(fixture.operations("@command").count == 1)
        guard
            case .wouldDeadlock? = fixture.error(
                submit(fixture, "con", fact("inner"), after: [1], waits: true, caller: 1))
        else {
            Issue.record("it waits for ever")
            return
        }
        #expect(id(fixture, submit(fixture, "ser", fact("inner"), caller: 1)) != nil)
    }

    // MARK: Restart, reload, retry

    @Test func onADurableQueueAndWithATimeItIsStoredAndComesBackAsItWas() {
        let fixture = EngineFixture(Self.configuration)
        fixture.suspend("kept")
        let kept = fact("kept", "%p") { ($0.timeout, $0.key, $0.retries) = (.seconds(5), [7], 1) }
        submit(fixture, "kept", kept)
        submit(fixture, "con", fact("later"), delay: 60_000_000)
        submit(fixture, "con", fact("lost"))
        submit(fixture, "kept", fact("behind"), after: [1])
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        #expect(state.operations.map(\.id).sorted() == [1, 2, 4])
        let again = EngineFixture(Self.configuration, restoring: state)
        again.resume("kept")
        #expect(again.story == ["@command: kept %p"])
        #expect(again.starts.first?.definition.value.timeout == .seconds(5))
        #expect(again.starts.first?.definition.value.contract.credentials?.groups == [9])
        #expect(again.engine.operation(1)?.key == [7])
        again.endFirst(.exited(1))
        again.advance(seconds: 2)
        again.endFirst()
        #expect(again.story.last == "@command: behind")
        again.advance(seconds: 62)
        #expect(again.story.last == "@command: later")
        again.endAll()
        #expect(again.results == ["@command done", "@command done", "@command done"])
    }

    @Test func whileTheStoreFailsNothingIsPromised() {
        let fixture = EngineFixture(Self.configuration)
        fixture.send(.store(.failing("disk full")))
        #expect(fixture.error(submit(fixture, "kept", fact("a"))) == .storeFailing("disk full"))
        #expect(fixture.error(submit(fixture, "con", fact("a"), delay: 1_000_000)) == .storeFailing("disk full"))
        #expect(id(fixture, submit(fixture, "con", fact("a"))) != nil)
    }

    @Test func aReloadLeavesThemAsTheyAre() {
        let fixture = EngineFixture(Self.configuration)
        fixture.suspend("con")
        submit(fixture, "con", fact("low") { ($0.priority, $0.timeout) = (.low, .seconds(3)) })
        submit(fixture, "con", fact("high") { $0.priority = .high })
        var changed = Self.configuration
        changed.handlers = []
        changed.sources = []
        fixture.reload(changed)
        fixture.resume("con")
        #expect(fixture.story == ["@command: high", "@command: low"])
        #expect(fixture.starts.last?.definition.value.timeout == .seconds(3))
        submit(fixture, "con", fact("more"))
        #expect(fixture.story.last == "@command: more")
    }

    @Test func oneWithATimeWhoseQueueIsGoneHasItsTimeStill() throws {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("later"), delay: 3_600_000_000)
        let due = try #require(fixture.engine.operation(1)?.notBefore)
        var without = Self.configuration
        without.queues.removeAll { $0.name == "con" }
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        let again = EngineFixture(without, restoring: state)
        #expect(again.engine.operation(1)?.waitReason == .orphaned && again.engine.operation(1)?.notBefore == due)
        #expect(again.engine.explain(operation: 1)?.last?.sentence.hasSuffix("; and for its time, 1h more") == true)
    }

    @Test func aFailedOneRunsAgainAsItWas() throws {
        let fixture = EngineFixture(Self.configuration)
        submit(fixture, "con", fact("a") { ($0.retries, $0.key) = (1, [3]) })
        fixture.endFirst(.exited(1))
        fixture.advance(seconds: 2)
        fixture.endFirst(.exited(1))
        let view = try #require(fixture.ended.first)
        var stored = StoredOperation(id: 1, handler: view.handler, queue: view.queue, origin: view.origin, submitted: 0)
        stored.events = view.events
        // The next watchd has seen no command yet.
        let again = EngineFixture(Self.configuration)
        again.command(.retry([stored]))
        #expect(again.story == ["@command: a"] && again.operations("@command").first?.key == [3])
        again.endFirst(.exited(1))
        again.advance(seconds: 2)
        again.endFirst()
        #expect(again.results == ["@command done"])
        stored.queue = "gone"
        #expect(
            again.error(again.command(.retry([stored])))
                == .refused("operation 1 cannot run again: queue gone is in no watch file any more"))
    }

    @Test func whatTheStoreHasDamagedCannotRunButDoesNoHarm() {
        var stored = StoredOperation(
            id: 1, handler: "@command", queue: "con", origin: .run(handler: "@command"), submitted: 0)
        stored.events = [Event(id: 1, time: 0, count: 1, fact: .custom(CustomFact(data: 1)))]
        var state = StoredState()
        state.operations = [stored]
        let fixture = EngineFixture(Self.configuration, restoring: state)
        #expect(fixture.starts.first?.definition.value.action == .exec(literally: []))
    }

    private struct TestFailure: Error {}
}
