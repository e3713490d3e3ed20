import Engine
import Schedule
import WatchFile

/// An operation program in the engine, in virtual time.
struct OperationEngineSide {
    /// Something wrong on purpose.
    enum Fault: String, CaseIterable {
        case widthIsOneMore, priorityIsInverted, priorityIsNone, dependencyIsNone, cancelIsLost, suspensionIsLost
    }

    private var engine: Engine
    private let fault: Fault?
    /// Operations by the handler's name.
    private var ids: [String: Int] = [:]
    private var names: [Int: String] = [:]
    private var runs: [Int: RunID] = [:]
    private var lastToken: UInt64 = 0
    private(set) var progress = Progress()
    private(set) var refusal: String?

    private static let now = Moment(realtime: 1_800_000_000_000_000, boottime: 1_000_000_000, monotonic: 900_000_000)

    init(_ program: OperationProgram, fault: Fault?) {
        self.fault = fault
        engine = Engine(program.configuration(fault), at: Self.now)
        take(engine.start())
    }

    // MARK: Steps

    /// One event for the handlers of a batch.
    mutating func add(batch: Int, ids new: [Int]) {
        for (index, id) in new.enumerated() {
            let name = OperationProgram.name(batch, index)
            (ids[name], names[id]) = (id, name)
        }
        send(.emit([ClientCommand.Emission(name: "e\(batch)", fact: CustomFact(data: 1))]))
    }

    mutating func end(_ id: Int) {
        guard let run = runs.removeValue(forKey: id) else { return }
        progress.ended.insert(id)
        handle(.runEnded(run, .exited(0)))
    }

    mutating func cancel(_ id: Int) {
        guard fault != .cancelIsLost, let name = names[id],
            let operation = engine.operationViews(queue: nil, handler: name, after: 0, limit: 1).first
        else { return }
        send(.cancel(operation: operation.id))
    }

    mutating func cancelAll(_ queue: Int) { send(.cancelQueue(name: "q\(queue)")) }

    mutating func setSuspended(_ queue: Int, _ value: Bool) {
        guard fault != .suspensionIsLost else { return }
        let name = "queue/q\(queue)"
        send(value ? .suspend(name: name, by: "oracle", reason: nil, until: nil) : .resume(name: name))
    }

    var unfinished: Int { engine.operationViews.count }

    // MARK: Inputs and actions

    private mutating func send(_ command: ClientCommand) {
        lastToken += 1
        handle(.command(command, Token(lastToken)))
    }

    private mutating func handle(_ input: Input) { take(engine.handle(input, at: Self.now)) }

    private mutating func take(_ actions: [Action]) {
        for action in actions {
            switch action {
            case .start(let request):
                guard let id = ids[request.definition.value.name] else { continue }
                runs[id] = request.run
                progress.started.insert(id)
            case .reply(_, .failure(let error)): refusal = refusal ?? "\(error)"
            default: continue
            }
        }
    }
}
