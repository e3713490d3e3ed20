import Engine
import Schedule

/// The same program in the engine, in virtual time: an operation that it starts is a block that has started.
struct EngineSide {
    /// Something wrong on purpose: a test that sees none of these sees nothing.
    enum Fault: String, CaseIterable {
        case serialQueueIsWide, barrierIsNone, targetIsNone, suspensionIsLost, resumptionIsLost
        case semaphoreIsNotGivenBack, semaphoreIsFree, groupForgetsAMember, operationIsLost
    }

    private var engine: Engine
    private let fault: Fault?
    private let names: [DispatchProgram.Submission: String]
    private let queueNames: [String]
    private var runs: [Int: RunID] = [:]
    private var tickets: [[UInt64]]
    private var lastToken: UInt64 = 0
    private(set) var progress = Progress()
    /// What the engine refused: a program has no such step.
    private(set) var refusal: String?

    private static let now = Moment(realtime: 1_800_000_000_000_000, boottime: 1_000_000_000, monotonic: 900_000_000)

    init(_ program: DispatchProgram, fault: Fault? = nil) {
        self.fault = fault
        queueNames = program.queues.map(\.name)
        names = program.names
        tickets = (0..<program.groups).map { _ in [] }
        engine = Engine(program.configuration(fault), at: Self.now)
        take(engine.start())
    }

    // MARK: Steps

    mutating func submit(_ id: Int, _ submission: DispatchProgram.Submission) {
        guard let name = names[submission] else { return }
        if fault == .operationIsLost, id == 3 { return }
        send(.emit([Command.Emission(name: name, fact: CustomFact(data: Int64(id + 1)))]))
    }

    mutating func end(_ id: Int) {
        guard let run = runs.removeValue(forKey: id) else { return }
        progress.ended.insert(id)
        handle(.runEnded(run, .exited(0)))
    }

    mutating func suspend(_ queue: Int) {
        if fault == .suspensionIsLost { return }
        send(.suspend(name: "queue/" + queueNames[queue], by: "oracle", reason: nil, until: nil))
    }

    mutating func resume(_ queue: Int) {
        if fault == .suspensionIsLost || fault == .resumptionIsLost { return }
        send(.resume(name: "queue/" + queueNames[queue]))
    }

    mutating func signal(_ semaphore: Int) { send(.signal(semaphore: "s\(semaphore)", count: 1)) }
    mutating func enter(_ group: Int) { send(.enterGroup(name: "g\(group)")) }

    mutating func leave(_ group: Int) {
        guard let ticket = tickets[group].popLast() else { return }
        send(.leaveGroup(name: "g\(group)", ticket: ticket))
    }

    // MARK: Inputs and actions

    private mutating func send(_ command: ClientCommand) {
        lastToken += 1
        handle(.command(command, Token(lastToken)))
        if case .enterGroup(let name, _) = command, let group = Int(name.dropFirst()), let ticket = lastTicket {
            tickets[group].append(ticket)
        }
    }

    private var lastTicket: UInt64?

    private mutating func handle(_ input: Input) { take(engine.handle(input, at: Self.now)) }

    private mutating func take(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .start(let request):
                guard case .custom(let fact) = request.events.first?.fact, let data = fact.data else { continue }
                runs[Int(data) - 1] = request.run
                progress.started.insert(Int(data) - 1)
            case .log(let handler, _, _):
                if let group = Int(handler.dropFirst("told".count)) { progress.notices[group, default: 0] += 1 }
            case .reply(_, .ticket(let ticket)): lastTicket = ticket
            case .reply(_, .failure(let error)): refusal = refusal ?? "\(error)"
            default: continue
            }
        }
    }
}
