import Schedule
import Testing
import WatchFile

@testable import Engine

@Suite("OnProblem= and OnSolved=") struct ProblemTests {
    private func configuration(
        problem: [String] = ["told"], solved: [String] = ["told"], queues: [QueueDefinition] = [],
        _ change: (inout HandlerDefinition) -> Void = { _ in }
    ) -> Configuration {
        var settings = DaemonSettings(maxProcesses: 200)
        (settings.onProblem, settings.onSolved) = (problem, solved)
        return .of(
            settings: settings, queues: queues,
            handlers: [
                .exec("told") {
                    $0.overlap = .parallel
                    change(&$0)
                }, .exec("next"), .exec("job"),
            ],
            sources: [.custom("poke", to: "next"), .custom("job", to: "job")])
    }

    private func problem(_ object: String, _ sentence: String = "it is broken") -> Problem {
        Problem(object: object, sentence: sentence, action: "tried again", help: "look", since: "then")
    }

    private func see(_ fixture: EngineFixture, _ problems: Problem...) { fixture.send(.problems(problems)) }

    @Test func eachIsToldWhenItComesAndWhenItGoes() {
        let fixture = EngineFixture(configuration())
        see(fixture, problem("path/in"), problem("handler/job", "its last run failed"))
        see(fixture, problem("path/in"), problem("handler/job", "its last run failed"))
        see(fixture, problem("handler/job", "its last run failed"))
        see(fixture)
        #expect(
            fixture.story == [
                "told: problem:path/in", "told: problem:handler/job", "told: solved:path/in",
                "told: solved:handler/job",
            ])
        #expect(fixture.events.map(\.origin.description).first == "problem/path/in")
    }

    @Test func otherWordsAreTheSameProblem() {
        let fixture = EngineFixture(configuration())
        see(fixture, problem("queue/q", "backlog full: 12 of 10"))
        see(fixture, problem("queue/q", "backlog full: 13 of 10"))
        see(fixture, problem("queue/q", "backlog full: 13 of 10"), problem("queue/q", "it is late"))
        see(fixture, problem("queue/q", "it is late"))
        see(fixture)
        #expect(
            fixture.story == [
                "told: problem:queue/q", "told: problem:queue/q", "told: solved:queue/q", "told: solved:queue/q",
            ])
        let facts = fixture.starts.flatMap(\.events).compactMap {
            if case .problem(let fact) = $0.fact { fact.problem.sentence } else { nil }
        }
        #expect(
            facts == ["backlog full: 12 of 10", "it is late", "backlog full: 13 of 10", "it is late"])
    }

    @Test func eachWorkerHasItsOwn() {
        func worker(_ copy: Int) -> Problem {
            var problem = problem("handler/job", "worker \(copy): SIGKILL after 11s")
            problem.part = copy
            return problem
        }
        let fixture = EngineFixture(configuration())
        see(fixture, worker(1))
        see(fixture, worker(2))
        see(fixture)
        let told = fixture.starts.flatMap(\.events).compactMap { event in
            if case .problem(let fact) = event.fact {
                "\(fact.isSolved ? "-" : "+")\(fact.problem.sentence.prefix(8))"
            } else {
                nil
            }
        }
        #expect(told == ["+worker 1", "-worker 1", "+worker 2", "-worker 2"])
    }

    @Test func aProblemOfThoseWhoAreToldStartsNoneOfThem() {
        let fixture = EngineFixture(configuration { $0.completions.failure = ["next"] })
        see(fixture, problem("handler/told"), problem("handler/next"), problem("run told 12"), problem("run next 3"))
        see(fixture)
        #expect(fixture.story == [])
        see(fixture, problem("handler/told"), problem("handler/job"), problem("run job 7"))
        #expect(fixture.story == ["told: problem:handler/job", "told: problem:run job 7"])
    }

    @Test func whatFollowsByEmitOrThroughAGroupIsOneOfThem() {
        var emitting = configuration { $0.action = .emit(source: "poke", data: nil) }
        #expect(emitting.problemTellers == ["told", "next"])
        emitting = configuration()
        #expect(emitting.problemTellers == ["told"])
        emitting.sources.append(.group("all", of: "told", to: "job"))
        #expect(emitting.problemTellers == ["told", "job"])
    }

    @Test func aQueueThatTheyAloneFillIsNoProblemForThem() {
        let queue = QueueDefinition.serial("q", backlog: 1)
        let fixture = EngineFixture(configuration(queues: [queue]) { $0.queue = "q" })
        see(fixture, problem("path/a"), problem("path/b"), problem("path/c"))
        see(fixture, problem("path/a"), problem("path/b"), problem("path/c"), problem("queue/q", "backlog full"))
        fixture.endAll()
        #expect(!fixture.story.contains { $0.contains("queue/q") })
        #expect(fixture.story.count == 3)
    }

    @Test func theyAreToldSoOftenInAMinuteAndThenWhatHoldsStill() {
        let fixture = EngineFixture(configuration())
        let many = (0..<30).map { problem("path/p\($0)") }
        fixture.send(.problems(many))
        #expect(fixture.starts.count == ProblemWatch.limit)
        // One comes and goes untold.
        fixture.send(.problems(Array(many.dropLast())))
        #expect(fixture.starts.count == ProblemWatch.limit)
        fixture.advance(seconds: 59)
        #expect(fixture.starts.count == ProblemWatch.limit)
        fixture.advance(seconds: 2)
        #expect(fixture.starts.count == 29)
        #expect(!fixture.story.contains("told: problem:path/p29") && !fixture.story.contains { $0.contains("solved") })
        fixture.send(.problems([]))
        #expect(fixture.starts.count == 29 + 11)
        fixture.advance(seconds: 61)
        #expect(fixture.starts.count == 58)
    }

    @Test func aReloadKeepsWhatWasToldAndLosesNothing() {
        let fixture = EngineFixture(configuration())
        see(fixture, problem("path/a"), problem("path/b"))
        fixture.reload(configuration(solved: ["next"]))
        see(fixture, problem("path/a"), problem("path/c"))
        #expect(
            fixture.story == [
                "told: problem:path/a", "told: problem:path/b", "next: solved:path/b", "told: problem:path/c",
            ])
        // Where nobody was told, all of them are news for the first who is.
        fixture.reload(configuration(problem: [], solved: []))
        see(fixture, problem("path/a"))
        fixture.reload(configuration())
        see(fixture, problem("path/a"))
        #expect(fixture.story.suffix(2) == ["told: problem:path/c", "told: problem:path/a"])
    }

    @Test func aStopTellsNothing() {
        let fixture = EngineFixture(configuration())
        fixture.emit("job")
        fixture.send(.drain)
        see(fixture, problem("path/a"))
        #expect(!fixture.story.contains { $0.hasPrefix("told") })
    }
}
