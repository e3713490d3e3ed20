import Schedule
import SeedKit
import Testing
import WatchFile

@testable import Engine

/// Several callers hold together what each of them waits for.
@Suite("Deadlocks of several callers")
struct SharedDeadlockTests {
    private func chain(_ fixture: EngineFixture, _ token: Token) -> [String]? {
        if case .wouldDeadlock(let chain) = fixture.error(token) { chain } else { nil }
    }

    /// Two callers of `h`, each of which runs another one and waits for it.
    private func tryBoth(_ fixture: EngineFixture) -> (first: Token, second: Token) {
        for text in ["1", "2"] { fixture.line("f", text) }
        #expect(fixture.running.count == 2)
        return (fixture.run("i", waits: true, caller: 1), fixture.run("j", waits: true, caller: 2))
    }

    private func expectTheSecondIsRefused(_ fixture: EngineFixture, _ word: String) {
        let (first, second) = tryBoth(fixture)
        #expect(fixture.reply(first) == nil)
        let chain = chain(fixture, second) ?? []
        // The run that was refused, both callers, and the run that the first one waits for.
        #expect(chain.first?.contains("\(word)") == true, "\(chain)")
        #expect(chain.first?.hasSuffix("operations 1, 2") == true, "\(chain)")
        #expect(chain.contains("operation 1 waits for operation 3"), "\(chain)")
        #expect(chain.contains { $0.hasPrefix("operation 3 ") && $0.hasSuffix("operations 1, 2") }, "\(chain)")
        #expect(chain.last == "operation 2 is the one that waits")
        fixture.end(RunID(operation: 2, attempt: 1))
        fixture.endAllButFirst()
        guard case .ran = fixture.reply(first) else {
            Issue.record("the first one is not answered")
            return
        }
    }

    private func fixture(
        _ queues: [QueueDefinition], settings: DaemonSettings = DaemonSettings(), semaphores: Int = 0,
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> EngineFixture {
        EngineFixture(
            .of(
                settings: settings, queues: queues, semaphores: [.of("s", semaphores)],
                handlers: [
                    .exec("h", queue: "q", change), .exec("i", queue: "p", change), .exec("j", queue: "p", change),
                ],
                sources: [.fifo("f", to: "h", on: "q"), .fifo("g", to: "i", on: "p")]))
    }

    @Test func theWidthOfAQueue() {
        let fixture = fixture([.concurrent("q", width: 2), .concurrent("p", width: 2).targeting("q")])
        expectTheSecondIsRefused(fixture, "finds all of queue q")
    }

    @Test func theWidthOfATarget() {
        let fixture = fixture([
            .concurrent("t", width: 2), .concurrent("q", width: 8).targeting("t"),
            .concurrent("p", width: 8).targeting("t"),
        ])
        expectTheSecondIsRefused(fixture, "finds all of queue t")
    }

    @Test func aSemaphore() {
        let fixture = fixture([.concurrent("q", width: 8), .concurrent("p", width: 8)], semaphores: 2) {
            $0.constraints.acquire("s")
        }
        expectTheSecondIsRefused(fixture, "needs semaphore s, held by")
    }

    @Test func theProcessSlots() {
        // One of the three is kept for user-interactive.
        let fixture = fixture(
            [.concurrent("q", width: 8), .concurrent("p", width: 8)], settings: DaemonSettings(maxProcesses: 3))
        expectTheSecondIsRefused(fixture, "finds all of MaxProcesses=3")
    }

    @Test func aThirdWhoWaitsForNothingMakesRoom() {
        let fixture = fixture([.concurrent("q", width: 3), .concurrent("p", width: 3).targeting("q")])
        fixture.line("f", "0")
        for text in ["1", "2"] { fixture.line("f", text) }
        let tokens = [1, 2].map { fixture.run("i", waits: true, caller: $0) }
        #expect(tokens.allSatisfy { fixture.reply($0) == nil })
        #expect(chain(fixture, fixture.run("i", waits: true, caller: 3)) != nil)
        fixture.end(RunID(operation: 3, attempt: 1))
        fixture.end("i")
        fixture.end("i")
        #expect(tokens.allSatisfy { fixture.reply($0) != nil })
    }

    @Test func whoWaitsWithATimeOutCanEnd() {
        let fixture = fixture([.concurrent("q", width: 2), .concurrent("p", width: 2).targeting("q")])
        for text in ["1", "2"] { fixture.line("f", text) }
        fixture.line("g", "3")
        fixture.wait(.operation(3), seconds: 10, caller: 1)
        #expect(fixture.error(fixture.run("i", waits: true, caller: 2)) == nil)
    }

    @Test func manyThatWaitAreLookedAtInNoTime() {
        let fixture = EngineFixture(
            .of(
                queues: [
                    .concurrent("q", width: 2, backlog: 100_000), .serial("p", backlog: 100_000),
                    .concurrent("r", width: 2),
                ],
                handlers: [.exec("h", queue: "q"), .exec("i", queue: "p"), .exec("j", queue: "r")],
                sources: [.fifo("f", to: "h", on: "q"), .fifo("g", to: "i", on: "p")]), isChecked: false)
        for number in 0..<LongPart.count(2_000, long: 10_000) {
            for source in ["f", "g"] { fixture.line(source, "\(number)") }
        }
        let time = processorSeconds { #expect(fixture.error(fixture.run("j", waits: true, caller: 1)) == nil) }
        #expect(time < Double(LongPart.count(1, long: 5)), "\(time) s")
    }

    // MARK: The oracle

    /// A call is refused exactly if nobody could lead all to an end after it.
    @Test func aCallIsRefusedExactlyIfNoOrderOfEndsLetsEverybodyEnd() {
        var (refused, accepted) = (0, 0)
        for seed in Seeds.range(30, long: 300) {
            var program = WaitingProgram(seed: seed)
            if let difference = program.play(steps: 14) {
                Issue.record("\(difference)\n\(program.script.joined(separator: "\n"))\nWATCHD_SEEDS=\(seed)...\(seed)")
                return
            }
            refused += program.refused
            accepted += program.accepted
        }
        #expect(refused > 0 && accepted > 0, "\(refused) refused, \(accepted) accepted")
    }
}

extension EngineFixture {
    /// Ends whatever runs but the oldest, until nothing else does.
    fileprivate func endAllButFirst() { while runs.count > 1 { end(runs[1]) } }
}
