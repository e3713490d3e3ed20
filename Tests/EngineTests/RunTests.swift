import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

@Suite("Runs and their ends")
struct RunTests {
    private func fixture(_ change: (inout HandlerDefinition) -> Void = { _ in }) -> EngineFixture {
        EngineFixture(
            .of(
                queues: [.serial("q")], handlers: [.exec("h", queue: "q", change), .exec("after"), .exec("last")],
                sources: [.custom("x", to: "h", on: "q", coalesces: false)]))
    }

    // MARK: Results

    @Test func anExitStatusDecides() {
        let fixture = fixture { $0.successExitStatus = ExitStatusSet(codes: [3], signals: [15]) }
        for exit in [Exit.exited(0), .exited(3), .signaled(15), .exited(1), .signaled(9)] {
            fixture.emit("x")
            fixture.endFirst(exit)
        }
        #expect(fixture.results == ["h done", "h done", "h done", "h failed", "h failed"])
        #expect(fixture.ended.map(\.exit) == [.exited(0), .exited(3), .signaled(15), .exited(1), .signaled(9)])
        #expect(fixture.engine.handlerViews.first { $0.definition.name == "h" }?.lastResult == .failed)
    }

    @Test func aRunThatCannotStartHasFailedWithAReason() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        fixture.fail(toStart: fixture.runs[0], reason: "/bin/true: no such file")
        #expect(fixture.ended.first?.reason == "/bin/true: no such file" && fixture.results == ["h failed"])
        #expect(fixture.running.count == 1)
    }

    @Test func anUnknownEndIsAFailure() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.endFirst(nil)
        #expect(fixture.ended.first?.reason == "its end is unknown")
    }

    @Test func aViewTellsWhereAnOperationStands() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        #expect(fixture.engine.operation(1)?.pid == nil)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.engine.operation(1)?.pid == 1001)
        #expect(fixture.engine.handlerViews.first?.runningPIDs == [1001])
        #expect(fixture.engine.operation(2)?.state == .pending)
        #expect(fixture.engine.operation(2)?.waitingFor == "operation 1 (same key)")
        fixture.advance(seconds: 2)
        fixture.endFirst(output: "hello")
        #expect(fixture.ended[0].output == Array("hello".utf8))
        #expect(fixture.ended[0].ended.map { $0 - fixture.ended[0].submitted } == 2_000_000)
        #expect(fixture.engine.operation(1) == nil)
    }

    @Test func whatTheRimSaysOfUnknownRunsIsIgnored() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.emit("x")
        fixture.send(.runEnded(RunID(operation: 2, attempt: 1), .exited(0)))
        fixture.send(.runStarted(RunID(operation: 99, attempt: 1), pid: 5))
        fixture.send(.event(SourceID(.path, "nobody"), .path(PathFact(.written, path: [47]))))
        #expect(fixture.running.count == 1 && fixture.ended.isEmpty)
    }

    // MARK: By hand

    @Test func anEventByHandStaysSoWhereSeveralMerge() {
        let fixture = EngineFixture(.of(handlers: [.exec("h")], sources: [.path("p", to: "h")]))
        fixture.command(.run(.init(name: "p", paths: [Array("/a".utf8), Array("/a".utf8)])))
        #expect(fixture.starts.flatMap(\.events).map(\.count) == [2])
        #expect(fixture.starts.flatMap(\.events).allSatisfy(\.isByHand) && fixture.events.allSatisfy(\.0.isByHand))
        fixture.endAll()
        fixture.path("p", .written, "/a")
        #expect(fixture.starts.last?.events.contains(where: \.isByHand) == false)
    }

    // MARK: Time-out

    @Test func aTimeOutAsksFirstAndThenKills() {
        let fixture = fixture {
            $0.timeout = .seconds(10)
            $0.timeoutStop = .seconds(5)
            $0.killSignal = 2
        }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 9.9)
        #expect(fixture.signals == [])
        fixture.advance(seconds: 0.1)
        #expect(fixture.signals == ["1 SIGINT tree"])
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGINT tree", "1 SIGKILL tree"])
        fixture.advance(seconds: 100)
        #expect(fixture.signals.count == 2)
        fixture.endFirst(.signaled(9))
        #expect(fixture.results == ["h failed"])
        #expect(fixture.ended.first?.reason == "timed out after 10s, killed")
    }

    @Test func aRunStillOnItsWayIsSignalledOnce() {
        let fixture = fixture {
            $0.timeout = .seconds(1)
            $0.timeoutStop = .seconds(5)
            $0.killMode = .process
        }
        fixture.emit("x")
        fixture.advance(seconds: 2)
        // The rim keeps it in mind until there is a process.
        #expect(fixture.signals == ["1 SIGTERM process"])
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM process"])
        fixture.endFirst()
        fixture.emit("x")
        fixture.advance(seconds: 60)
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM process", "2 SIGTERM process", "2 SIGKILL process"])
        #expect(fixture.results == ["h failed"])
    }

    /// A job that was done before its cancel could reach it counts as done.
    @Test func jobsOfUnitsThatWereDoneBesideTheTimeOutAreDone() {
        let fixture = fixture {
            $0.action = .unit(UnitAction(units: [Template(literal: "a.service")]))
            $0.timeout = .seconds(1)
        }
        for exit in [Exit.exited(0), nil] {
            fixture.emit("x")
            fixture.spawn(fixture.runs[0])
            fixture.advance(seconds: 1)
            fixture.endFirst(exit)
        }
        #expect(fixture.results == ["h done", "h failed"])
        #expect(fixture.ended.last?.reason == "timed out after 1s")
    }

    @Test func killModeNoneOnlyTellsTheRimThatItIsOver() {
        let fixture = fixture {
            $0.timeout = .seconds(1)
            $0.killMode = .none
        }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.advance(seconds: 60)
        #expect(fixture.signals == ["1 SIGTERM none", "1 SIGKILL none"] && fixture.running.count == 1)
        fixture.endFirst()
        #expect(fixture.results == ["h failed"])
        #expect(fixture.ended.first?.reason == "timed out after 1s, left to end by itself (KillMode=none)")
    }

    @Test func whatIsInTimeIsNeverSignalled() {
        let fixture = fixture { $0.timeout = .seconds(10) }
        for _ in 0..<3 {
            fixture.emit("x")
            fixture.advance(seconds: 9)
            fixture.endFirst()
        }
        fixture.advance(seconds: 100)
        #expect(fixture.signals == [] && fixture.results == ["h done", "h done", "h done"])
    }

    @Test func deadlinesOfWhatHasEndedAreForgottenAndOthersKept() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 2)], handlers: [.exec("h") { $0.timeout = .seconds(86_400) }],
                sources: [.custom("x", to: "h", on: "q", key: .none)]))
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        for _ in 0..<LongPart.count(400, long: 1000) {
            fixture.emit("x")
            fixture.end(fixture.runs[1])
        }
        #expect(fixture.engine.deadlines.count(.monotonic) <= 257)
        fixture.advance(seconds: 86_400)
        #expect(fixture.signals == ["1 SIGTERM tree"])
    }

    // MARK: Cancel

    @Test func whatWaitsNeverStarts() {
        let fixture = fixture()
        for data in 1...3 { fixture.emit("x", Int64(data)) }
        guard case .cancelled(1) = fixture.reply(fixture.command(.cancel(operation: 2))) else {
            Issue.record("not cancelled")
            return
        }
        fixture.endAll()
        #expect(fixture.story == ["h: data:1", "h: data:3"])
        #expect(fixture.results == ["h cancelled", "h done", "h done"])
        #expect(fixture.ended.first?.state == .cancelled)
    }

    @Test func whatRunsIsTerminatedAndKilledIfItMust() {
        let fixture = fixture { $0.timeoutStop = .seconds(5) }
        fixture.emit("x")
        fixture.spawn(fixture.runs[0])
        fixture.command(.cancel(operation: 1))
        fixture.command(.cancel(operation: 1))
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.advance(seconds: 5)
        #expect(fixture.signals == ["1 SIGTERM tree", "1 SIGKILL tree"])
        fixture.endFirst(.signaled(9))
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aRunStillOnItsWayIsCancelled() {
        let fixture = fixture()
        fixture.emit("x")
        fixture.command(.cancel(operation: 1))
        fixture.spawn(fixture.runs[0])
        #expect(fixture.signals == ["1 SIGTERM tree"])
        fixture.endFirst()
        #expect(fixture.results == ["h cancelled"])
    }

    @Test func aWholeQueueCanBeCancelled() {
        let fixture = fixture { $0.completions.finished = ["after"] }
        for data in 1...3 { fixture.emit("x", Int64(data)) }
        fixture.spawn(fixture.runs[0])
        guard case .cancelled(3) = fixture.reply(fixture.command(.cancelQueue(name: "q"))) else {
            Issue.record("not cancelled")
            return
        }
        fixture.endAll()
        #expect(fixture.results.filter { $0 == "h cancelled" }.count == 3)
        #expect(fixture.story.filter { $0.hasPrefix("h") } == ["h: data:1"])
    }

    @Test func whatIsNotThereCannotBeCancelled() {
        let fixture = fixture()
        for (command, error) in [
            (Engine.Command.cancel(operation: 7), CommandError.noSuchOperation(7)),
            (.cancelQueue(name: "x"), .noSuchName("x", nearest: "q")),
            (.cancelQueue(name: "mian"), .noSuchName("mian", nearest: "main")),
        ] {
            guard case .failure(let found) = fixture.reply(fixture.command(command)) else {
                Issue.record("\(command) was done")
                continue
            }
            if case .noSuchName(let name, let nearest) = found, name == "x" {
                #expect(nearest == nil)
            } else {
                #expect(found == error)
            }
        }
    }
}
