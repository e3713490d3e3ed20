import Schedule
import SeedKit
import WatchFile

@testable import Engine

/// A random program for one supervised command, and what must hold after each of its steps, told by a rim that knows
/// only what it was asked for.
struct SupervisionProgram {
    /// A start that the rim was asked for and that has not ended.
    private struct Process {
        var run: RunID
        var pid: Int32?
        var isSignalled = false
    }

    private static let id = SourceID(.process, "web")
    private var random: SeededGenerator
    private var engine: Engine
    private var now = EngineFixture.boot
    private var armed: [Clock: Int64] = [:]
    private var command: SupervisedCommand
    private var processes: [Process] = []
    private var stored: [Int: StoredProcess] = [:]
    private var lastOperation: UInt64 = 0
    /// When a copy ended and nobody has spoken since, and whether it has to start again.
    private var ends: [Int: Int64] = [:]
    private var endsTold = 0
    private var endsSeen = 0
    private var isDraining = false
    private(set) var violation: String?

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        let first = Self.command(&random)
        command = first
        engine = Engine(.of(sources: [Self.source(first)]), at: now)
        perform(engine.start())
    }

    private static func command(_ random: inout SeededGenerator) -> SupervisedCommand {
        let source = SourceDefinition.supervised(
            "web", workers: 1 + random.upTo(3), restart: random.pick([.no, .onFailure, .always, .always]),
            delay: .milliseconds(random.pick([1, 100, 5000])), maxDelay: .seconds(random.pick([5, 30])),
            program: random.pick(["/bin/a", "/bin/b"])
        ) { $0.timeoutStop = .seconds(random.pick([1, 10])) }
        return source.command ?? SupervisedCommand(process: HandlerDefinition(name: "web", action: .exec([])))
    }

    private static func source(_ command: SupervisedCommand) -> SourceDefinition {
        SourceDefinition(id: id, routes: [], trigger: .process(.command(command)))
    }

    mutating func play(steps: Int) {
        for _ in 0..<steps where violation == nil { step() }
        guard violation == nil else { return }
        isDraining = true
        send(.drain)
        var patience = 100
        while violation == nil, !processes.isEmpty, patience > 0 {
            patience -= 1
            if random.chance(50) { advance(1_000_000) } else { endOne() }
        }
        if !processes.isEmpty { fail("a drain left \(processes)") }
    }

    private mutating func step() {
        switch random.upTo(99) {
        case ..<25: spawnOne()
        case ..<50: endOne()
        case ..<75: advance(Int64(random.pick([1, 50_000, 100_000, 1_000_000, 11_000_000, 31_000_000])))
        case ..<88:
            ends = [:]
            send(.command(.process(random.pick(ProcessVerb.allCases), name: "web"), Token(1)))
        case ..<93:
            ends = [:]
            command = Self.command(&random)
            send(.reload(.of(sources: [Self.source(command)]), Token(2)))
        case ..<95:
            ends = [:]
            command.workers = 0
            send(.reload(.of(), Token(2)))
            command = Self.command(&random)
            send(.reload(.of(sources: [Self.source(command)]), Token(2)))
        default: crash()
        }
    }

    // MARK: The rim

    private mutating func spawnOne() {
        guard let index = processes.indices.filter({ processes[$0].pid == nil }).first else { return }
        let run = processes[index].run
        processes[index].pid = Int32(1000 + run.operation)
        send(.runStarted(run, pid: Int32(1000 + run.operation)))
    }

    private mutating func endOne() {
        guard !processes.isEmpty else { return }
        let process = processes.remove(at: random.upTo(processes.count - 1))
        guard process.pid != nil else {
            if !process.isSignalled { ends[process.run.part] = now.monotonic }
            return send(.runNotStarted(process.run, reason: "no such file"))
        }
        endsSeen += 1
        if !process.isSignalled { ends[process.run.part] = now.monotonic }
        send(.runEnded(process.run, random.pick([.exited(0), .exited(1), .signaled(9), nil])))
        if endsTold != endsSeen { fail("an end was not told: \(process)") }
    }

    private mutating func advance(_ microseconds: Int64) {
        let end = now.monotonic + microseconds
        while true {
            let due = armed.map { clock, time in max(0, time - now[clock]) }.min() ?? .max
            guard due <= end - now.monotonic else { break }
            pass(due)
            armed = armed.filter { clock, time in time > now[clock] }
            send(.clock)
        }
        pass(end - now.monotonic)
    }

    private mutating func pass(_ microseconds: Int64) {
        now.realtime += microseconds
        now.boottime += microseconds
        now.monotonic += microseconds
    }

    /// `kill -9`, and a new watchd: of the processes that were told to the store some have ended meanwhile.
    private mutating func crash() {
        var state = StoredState()
        // Those whose start was on its way were never there.
        processes.removeAll { $0.pid == nil }
        for (_, process) in stored {
            var process = process
            process.isAlive = random.chance(70)
            if !process.isAlive {
                processes.removeAll { $0.run == process.run }
                endsSeen += 1
            }
            state.processes.append(process)
        }
        (state.lastOperationID, ends, armed) = (lastOperation, [:], [:])
        for index in processes.indices { processes[index].isSignalled = false }
        engine = Engine(.of(sources: [Self.source(command)]), at: now)
        engine.restore(state)
        perform(engine.start())
        if endsTold != endsSeen { fail("an end while there was no watchd was not told") }
    }

    // MARK: What it decides

    private mutating func send(_ input: Input) { perform(engine.handle(input, at: now)) }

    private mutating func perform(_ actions: [Action]) {
        for action in actions { perform(action) }
        check()
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .start(let request): start(request)
        case .signal(let run, _, _):
            guard let index = processes.firstIndex(where: { $0.run == run }) else {
                return fail("a signal to \(run), which is not there")
            }
            processes[index].isSignalled = true
        case .arm(let clock, let time): armed[clock] = time
        case .report(.event): endsTold += 1
        case .store(.process(_, let copy, let process)): stored[copy] = process
        case .store(.reserved(_, let operation)): lastOperation = operation
        default: break
        }
    }

    private mutating func start(_ request: StartRequest) {
        let copy = request.run.part
        if isDraining { fail("a start while watchd stops") }
        if let other = processes.first(where: { $0.run.part == copy }) {
            fail("copy \(copy) starts while \(other) is there")
        }
        if let end = ends.removeValue(forKey: copy) {
            let pause = now.monotonic - end
            let (first, longest) = (
                Int64(command.restartDelay.microseconds), Int64(command.restartMaxDelay.microseconds)
            )
            if pause < first || pause > longest { fail("copy \(copy) starts after \(pause) µs") }
        }
        processes.append(Process(run: request.run))
    }

    private mutating func check() {
        let wanted = processes.filter { !$0.isSignalled }
        if wanted.count > command.workers { fail("more than \(command.workers) copies: \(processes)") }
        let views = engine.sourceViews.first { $0.id == Self.id }?.processes ?? []
        for (index, view) in views.enumerated() {
            let isThere = processes.contains { $0.run.part == index }
            let mustBeThere = [.starting, .up, .stopping].contains(view.stage)
            if isThere != mustBeThere { fail("copy \(index) is \(view.stage), and the rim has \(processes)") }
        }
    }

    private mutating func fail(_ reason: String) { violation = violation ?? reason }
}
