import Schedule
import Testing
import WatchFile

@testable import Engine

/// A program for the engine: a configuration, and inputs that make sense whatever became of those before.
struct ScheduleScript {
    enum Step {
        case line(String, String)
        case emit(Int64)
        /// Numbers count among the runs or operations there are, and wrap around.
        case end(Int, Exit?)
        case failToStart(Int)
        case skip(Int)
        case advance(Double)
        case run(String)
        case cancel(Int)
        case cancelQueue(String)
        case suspend(String)
        case resume(String)
        case signal(String, Int)
        case enter
        case leave
        case wait(String, Int64)
        case waitForOperation(Int)
        case reload(Configuration)
        case drain
    }

    var configuration: Configuration
    var steps: [Step]

    /// Plays it and lets everything end. Returns what went wrong first.
    func play() -> String? {
        var player = Player(configuration)
        for step in steps where player.fixture.violation == nil { player.play(step) }
        if player.fixture.violation == nil { player.finish() }
        return player.fixture.violation ?? player.objection
    }

    /// Drops steps as long as it still goes wrong, at most so many tries.
    func shrunk(tries: Int = 400) -> ScheduleScript {
        var script = self
        var size = max(1, steps.count / 2)
        var left = tries
        while left > 0 {
            var index = 0
            while index < script.steps.count, left > 0 {
                var shorter = script
                shorter.steps.removeSubrange(index..<min(index + size, script.steps.count))
                left -= 1
                if shorter.play() != nil { script = shorter } else { index += size }
            }
            if size == 1 { break }
            size /= 2
        }
        return script
    }
}

/// Plays steps into a fixture.
private struct Player {
    let fixture: EngineFixture
    private var tokens: [Token] = []
    private var tickets: [UInt64] = []
    private(set) var objection: String?

    init(_ configuration: Configuration) {
        fixture = EngineFixture(configuration, isQuiet: true)
    }

    mutating func play(_ step: ScheduleScript.Step) {
        switch step {
        case .line(let source, let text):
            let id = SourceID(.descriptor, source)
            // A descriptor that is held is not read.
            if !fixture.held.contains(id), fixture.open.contains(id) { fixture.line(source, text) }
        case .emit(let data): tokens.append(fixture.emit("x", data))
        case .end(let number, let exit): if let run = pick(number) { fixture.end(run, exit) }
        case .failToStart(let number): if let run = pick(number) { fixture.fail(toStart: run, reason: "no file") }
        case .skip(let number): if let run = pick(number) { fixture.skip(run, reason: "does not hold") }
        case .advance(let seconds): fixture.advance(seconds: seconds)
        case .run(let name): tokens.append(fixture.run(name, waits: true))
        case .cancel(let number):
            if let id = operation(number) { tokens.append(fixture.command(.cancel(operation: id))) }
        case .cancelQueue(let name): tokens.append(fixture.command(.cancelQueue(name: name)))
        case .suspend(let name): fixture.suspend("queue/" + name)
        case .resume(let name): fixture.resume("queue/" + name)
        case .signal(let name, let count): tokens.append(fixture.command(.signal(semaphore: name, count: count)))
        case .enter:
            let token = fixture.command(.enterGroup(name: "g"))
            tokens.append(token)
            if case .ticket(let ticket) = fixture.reply(token) { tickets.append(ticket) }
        case .leave:
            if let ticket = tickets.popLast() {
                tokens.append(fixture.command(.leaveGroup(name: "g", ticket: ticket)))
            }
        case .wait(let name, let seconds): tokens.append(fixture.wait(.named(name), seconds: seconds))
        case .waitForOperation(let number):
            if let id = operation(number) { tokens.append(fixture.wait(.operation(id))) }
        case .reload(let configuration): tokens.append(fixture.reload(configuration))
        case .drain: fixture.send(.drain)
        }
    }

    private func pick(_ number: Int) -> RunID? {
        fixture.runs.isEmpty ? nil : fixture.runs[number % fixture.runs.count]
    }

    private func operation(_ number: Int) -> UInt64? {
        let views = fixture.engine.operationViews
        return views.isEmpty ? nil : views[number % views.count].id
    }

    /// Lifts whatever holds something up and ends every run, until nothing is left.
    mutating func finish() {
        for _ in 0..<200 where fixture.violation == nil {
            for queue in fixture.engine.queueViews {
                for _ in queue.suspensions { fixture.resume("queue/" + queue.definition.name) }
            }
            while let ticket = tickets.popLast() { fixture.command(.leaveGroup(name: "g", ticket: ticket)) }
            for semaphore in fixture.engine.semaphoreViews where semaphore.available < 3 && !semaphore.isRemoved {
                fixture.command(.signal(semaphore: semaphore.definition.name, count: 3))
            }
            var count = 0
            while let run = fixture.runs.first, fixture.violation == nil, count < 5000 {
                fixture.end(run)
                count += 1
            }
            if isOver { break }
            fixture.advance(seconds: 5)
        }
        guard fixture.violation == nil else { return }
        objection = leftovers
    }

    private var isOver: Bool {
        fixture.engine.phase == .drained
            || fixture.engine.phase == .running && fixture.engine.operationViews.isEmpty
                && fixture.engine.totals.outstanding == 0
    }

    private var leftovers: String? {
        let engine = fixture.engine
        let views = engine.operationViews
        if !isOver {
            return "at the end are left: "
                + views.map { "\($0.id) \($0.handler) (\($0.waitingFor ?? "?"))" }.joined(separator: ", ")
        }
        if engine.keys.count != 0 { return "at the end \(engine.keys.count) keys are left" }
        if !engine.splits.isEmpty || !engine.attempts.isEmpty || !engine.scheduler.restarting.isEmpty {
            return "at the end parts, attempts or restarts are left"
        }
        if engine.processesRunning != 0 || engine.entriesPending != 0 { return "at the end slots or entries are left" }
        let kept = engine.unplacedViews.count { $0.waitReason == .start && $0.queue != Engine.clientQueue }
        if engine.queueViews.reduce(0, { $0 + $1.running + $1.waiting }) != kept {
            return "at the end a queue is not empty"
        }
        for token in tokens {
            let count = (fixture.replies[token]?.count ?? 0) + (fixture.reloads[token] == nil ? 0 : 1)
            // Who waits with a time-out may still be answered.
            if count > 1 || count == 0 && fixture.engine.phase == .drained { return "a caller has \(count) answers" }
        }
        return nil
    }
}
