import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// An end that gives back a semaphore and something else in one step gives both to the oldest that lacked them.
@Suite("Overtaking")
struct OvertakingTests {
    /// `s` takes the semaphore s, `st` and `t` what their names say, `x` nothing; each has a FIFO of its name on queue
    /// `q`, and one of its name and `2` on queue `p`.
    private func fixture(
        _ queues: [QueueDefinition], s: Int = 1, settings: DaemonSettings = DaemonSettings(),
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        let handlers = ["s", "t", "st", "x"].map { name in
            HandlerDefinition.exec(name) {
                for letter in name where letter != "x" { $0.constraints.acquire(String(letter)) }
                change(&$0)
            }
        }
        return EngineFixture(
            .of(
                settings: settings, queues: queues, semaphores: [.of("s", s), .of("t", 1)], handlers: handlers,
                sources: handlers.map(\.name).flatMap {
                    [.fifo($0, to: $0, on: "q"), .fifo($0 + "2", to: $0, on: "p")]
                }))
    }

    private func lines(_ fixture: EngineFixture, _ lines: (String, String)...) {
        for (source, text) in lines { fixture.line(source, text) }
    }

    private func running(_ fixture: EngineFixture) -> [String] {
        fixture.running.map { String($0.split(separator: ":").last ?? "") }
    }

    @Test func aPlaceOfTheQueueAndASemaphoreThatComeBackAtOnceGoToTheOldest() {
        let fixture = fixture([.concurrent("q", width: 2), .serial("p")])
        lines(fixture, ("s", "1"), ("s", "2"), ("x", "3"), ("x", "4"), ("s", "5"))
        #expect(running(fixture) == ["1", "3"])
        fixture.endFirst()
        #expect(running(fixture) == ["3", "2"])
        fixture.endFirst()
        #expect(running(fixture) == ["2", "4"])
        fixture.end("s")
        #expect(running(fixture) == ["4", "5"])
    }

    @Test func aProcessSlotAndASemaphoreThatComeBackAtOnceGoToTheOldest() {
        // One of the three slots is kept for user-interactive.
        let fixture = fixture(
            [.concurrent("q", width: 8), .concurrent("p", width: 8)], settings: DaemonSettings(maxProcesses: 3))
        lines(fixture, ("s", "1"), ("s", "2"), ("x2", "3"), ("x2", "4"))
        #expect(running(fixture) == ["1", "3"])
        fixture.endFirst()
        #expect(running(fixture) == ["3", "2"])
    }

    @Test func aPlaceOfATargetAndASemaphoreThatComeBackAtOnceGoToTheOldest() {
        let fixture = fixture([
            .concurrent("q", width: 8).targeting("both"), .concurrent("p", width: 8).targeting("both"),
            .concurrent("both", width: 2),
        ])
        lines(fixture, ("s", "1"), ("s", "2"), ("x2", "3"), ("x2", "4"))
        #expect(running(fixture) == ["1", "3"])
        fixture.endFirst()
        #expect(running(fixture) == ["3", "2"])
    }

    @Test func aKeyAndAPlaceThatComeBackAtOnceGoToTheOldest() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 2)], handlers: [.exec("k"), .exec("x")],
                sources: [.fifo("k", to: "k", on: "q", key: .handler), .fifo("x", to: "x", on: "q")]))
        lines(fixture, ("k", "1"), ("x", "2"), ("k", "3"), ("x", "4"))
        fixture.endFirst()
        #expect(running(fixture) == ["2", "3"])
    }

    @Test func whatASuccessReleasesGoesToTheOldestWithThePlace() {
        let fixture = fixture([.concurrent("q", width: 2), .serial("p")], s: 0) {
            if $0.name == "x" { $0.constraints.release("s") }
        }
        lines(fixture, ("x", "1"), ("s", "2"), ("x", "3"), ("x", "4"))
        #expect(running(fixture) == ["1", "3"])
        fixture.endFirst()
        #expect(running(fixture) == ["3", "2"])
    }

    @Test func theOldestOfTwoQueuesTakesASemaphoreThatComesBackWithAnother() {
        let fixture = fixture([
            .concurrent("q", width: 8).with { $0.qos = .background },
            .concurrent("p", width: 8).with { $0.qos = .userInitiated },
        ])
        lines(fixture, ("st", "1"), ("st", "2"), ("t2", "3"))
        fixture.endFirst()
        #expect(running(fixture) == ["2"], "3 waits behind it for t, whatever its queue")
        fixture.endFirst()
        #expect(running(fixture) == ["3"])
    }

    @Test func aSemaphoreThatIsGivenWhileTheQueueIsSuspendedIsTakenInOrder() {
        let fixture = fixture([.concurrent("q", width: 1), .serial("p")], s: 0)
        lines(fixture, ("s", "1"))
        fixture.suspend("q")
        lines(fixture, ("x", "2"))
        fixture.command(.signal(semaphore: "s", count: 1))
        fixture.resume("q")
        #expect(running(fixture) == ["1"])
    }

    @Test func aHigherPriorityGoesBeforeAnOlderOneWhoseSemaphoreComesBack() {
        let fixture = fixture([.concurrent("q", width: 2), .serial("p")]) {
            if $0.name == "x" { $0.constraints.priority = .high }
        }
        lines(fixture, ("s", "1"), ("s", "2"), ("x", "3"), ("x", "4"))
        fixture.endFirst()
        #expect(running(fixture) == ["3", "4"])
        fixture.endFirst()
        #expect(running(fixture) == ["4", "2"])
    }

    @Test func manyThatWaitForASemaphoreAreNotLookedAtWhenOneIsGiven() {
        let fixture = EngineFixture(
            .of(
                queues: [.concurrent("q", width: 1)], semaphores: [.of("s", 0)],
                handlers: [.exec("s") { $0.constraints.acquire("s") }, .exec("x")],
                sources: [.fifo("s", to: "s", on: "q"), .fifo("x", to: "x", on: "q")]), isChecked: false)
        for number in 0..<LongPart.count(4_000, long: 20_000) { fixture.line("s", "\(number)") }
        fixture.line("x", "x")
        let time = processorSeconds {
            for _ in 0..<1_000 { fixture.command(.signal(semaphore: "s", count: 1)) }
            for _ in 0..<1_000 { fixture.endFirst() }
        }
        #expect(fixture.starts.count == 1_001)
        #expect(time < Double(LongPart.count(1, long: 5)), "\(time) s")
    }
}
