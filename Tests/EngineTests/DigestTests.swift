import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("DigestSec=") struct DigestTests {
    private func configuration(_ seconds: UInt64 = 100, mailQueue: QueueDefinition = .serial("m")) -> Configuration {
        var mail = HandlerDefinition(name: "tell", action: .mail(to: ["root"]), queue: mailQueue.name)
        mail.constraints.digest = .seconds(seconds)
        return .of(
            queues: [.serial("q"), mailQueue],
            handlers: [
                .exec("a", queue: "q") { $0.completions.finished = ["tell"] },
                .exec("b", queue: "q") { $0.completions.failure = ["tell"] }, mail,
            ],
            sources: [
                .custom("a", to: "a", on: "q"), .custom("b", to: "b", on: "q"), .custom("c", to: "tell", on: "m"),
            ])
    }

    private func mails(_ fixture: EngineFixture) -> [StartRequest] {
        fixture.starts.filter { $0.definition.value.name == "tell" }
    }

    private func fail(_ fixture: EngineFixture, _ name: String, output: String = "") {
        fixture.emit(name)
        fixture.end(name, .exited(1), output: output)
    }

    @Test func aDigestThatFillsItsQueueGoesOutBeforeOthersWaitForIt() {
        var mail = HandlerDefinition(name: "tell", action: .mail(to: ["root"]), queue: "m")
        mail.constraints.digest = .seconds(100)
        let fixture = EngineFixture(
            .of(
                queues: [.serial("m", backlog: 5)], handlers: [.exec("h"), mail],
                sources: [.fifo("l", to: "tell", on: "m"), .fifo("o", to: "h", on: "m")]))
        for number in 1...5 { fixture.line("l", "\(number)") }
        #expect(mails(fixture).isEmpty)
        fixture.line("o", "other")
        fixture.advance(seconds: 0.001)
        #expect(mails(fixture).map(\.events.count) == [5])
        fixture.endAll()
        #expect(fixture.story.last == "h: line:other")
    }

    @Test func allOfASpanIsOneMailFromWhateverSource() throws {
        let fixture = EngineFixture(configuration())
        fail(fixture, "a")
        fixture.advance(seconds: 50)
        fail(fixture, "b", output: String(repeating: "x", count: 10_000) + "end")
        fixture.emit("c", 7)
        fixture.emit("c", 8)
        fixture.advance(seconds: 49)
        #expect(mails(fixture).isEmpty)
        let waiting = try #require(fixture.engine.operationViews.first)
        #expect(waiting.waitingFor?.hasPrefix("DigestSec=, ") == true, "\(waiting.waitingFor ?? "")")
        #expect(fixture.engine.operationViews.count == 1 && waiting.isDurable)
        fixture.advance(seconds: 2)
        let mail = try #require(mails(fixture).first)
        #expect(mail.origin == .digest(handler: "tell") && mails(fixture).count == 1)
        #expect(
            mail.events.map { $0.origin?.description ?? "" } == [
                "completion/a", "completion/b", "custom/c", "custom/c",
            ])
        guard case .completion(let fact) = mail.events[1].fact else { return #expect(Bool(false)) }
        #expect(fact.output.count == 2048 && fact.output.suffix(3).elementsEqual("end".utf8))
        // The next span begins with what comes then.
        fail(fixture, "a")
        fixture.endAll()
        fixture.advance(seconds: 99)
        #expect(mails(fixture).count == 1)
        fixture.advance(seconds: 2)
        #expect(mails(fixture).count == 2)
        fixture.endAll()
    }

    @Test func aRunByHandIsAMailAtOnce() {
        let fixture = EngineFixture(configuration())
        fixture.command(.run(.init(name: "tell")))
        #expect(mails(fixture).count == 1)
    }

    @Test(arguments: [0, 40]) func itIsKeptOverARestartWithWhatIsLeftOfItsSpan(down: Int64) throws {
        let fixture = EngineFixture(configuration())
        fail(fixture, "a")
        fixture.emit("c")
        fixture.advance(seconds: 60)
        fixture.emit("c")
        var now = fixture.now
        for path in [\Moment.realtime, \.boottime, \.monotonic] { now[keyPath: path] += down * 1_000_000 }
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        let next = EngineFixture(configuration(), at: now, restoring: state)
        fail(next, "b")
        #expect(mails(next).isEmpty)
        // As of any delay, a crash forgets a part of what has passed.
        next.advance(seconds: 101)
        let mail = try #require(mails(next).first)
        #expect(mail.events.map { $0.origin?.name ?? "" } == ["a", "c", "c", "b"])
        #expect(mails(next).count == 1)
        next.endAll()
    }

    @Test func aSpanThatIsShorterNowCounts() throws {
        let fixture = EngineFixture(configuration())
        fail(fixture, "a")
        var shorter = configuration()
        let index = try #require(shorter.handlers.firstIndex { $0.name == "tell" })
        shorter.handlers[index].constraints.digest = .seconds(5)
        let state = DurableTests.state(fixture.writes, ended: fixture.ended)
        let next = EngineFixture(shorter, at: fixture.now, restoring: state)
        next.advance(seconds: 6)
        #expect(mails(next).count == 1)
        next.endAll()
    }

    /// The disk may be what it tells of.
    @Test func itGoesOutWhileTheStoreFailsUnlessItsQueueIsDurable() {
        for isDurable in [false, true] {
            var queue = QueueDefinition.serial("m")
            queue.isDurable = isDurable
            let fixture = EngineFixture(configuration(mailQueue: queue))
            fixture.send(.store(.failing("no space left")))
            fail(fixture, "a")
            fixture.advance(seconds: 101)
            #expect(mails(fixture).count == (isDurable ? 0 : 1))
            fixture.send(.store(.working))
            #expect(mails(fixture).count == 1)
            fixture.endAll()
        }
    }

    @Test func aFailedMailIsTriedAgainByHandAtOnce() throws {
        let fixture = EngineFixture(configuration())
        fail(fixture, "a")
        fixture.advance(seconds: 101)
        fixture.end("tell", .exited(1))
        let failed = try #require(fixture.ended.last { $0.handler == "tell" })
        var stored = StoredOperation(
            id: failed.id, handler: "tell", queue: "m", origin: failed.origin, submitted: failed.submitted)
        stored.events = failed.events
        fixture.command(.retry([stored]))
        #expect(mails(fixture).count == 2 && mails(fixture)[1].events == mails(fixture)[0].events)
    }
}
