import Schedule
import WatchFile

/// `Run` and `Emit` at a time: an operation of the handler of commands waits for it, and then the call is made as if a
/// client made it at that moment: names, `Overlap=` and `Once=` are those of then.
///
/// The operation is stored, and has done its work when what it starts is accepted. Like an event of watchd itself, that
/// is accepted above the bounds of its queue.
extension Engine {
    /// A call that could not be made now is refused when it is planned.
    func check(_ call: CommandFact.Call) throws(CommandError) {
        switch call {
        case .run(let name, let paths, let lines, let data):
            try checkNames(of: Command.RunCommand(name: name, paths: paths, lines: lines, data: data))
        case .emit(let name, _): _ = try resolveCustom(name)
        }
    }

    /// The queue of an operation; of a call that waits for its time, the queue of what it will start.
    func shownQueue(_ operation: Operation) -> Int { shownQueue(operation.entries.newest, on: operation.queue) }

    /// Its name, likewise of an operation that is in no table.
    func shownQueue(_ stored: StoredOperation) -> String {
        guard let own = queues.index(of: stored.queue) else { return stored.queue }
        return queues[shownQueue(stored.events.last, on: own)].definition.name
    }

    private func shownQueue(_ newest: Event?, on own: Int) -> Int {
        guard queues[own].definition.name == Self.clientQueue, case .command(let fact) = newest?.fact,
            let call = fact.call
        else { return own }
        let named: Named? =
            switch call {
            case .run(let name, _, _, _): try? resolve(name, among: { if case .queue = $0 { false } else { true } })
            case .emit(let name, _): try? resolveCustom(name)
            }
        switch named {
        case .handler(let handler): return target(handler: handlers[handler].name)?.queue ?? own
        case .source(let source): return sources[source].targets.first?.queue ?? own
        case .queue, .semaphore, nil: return own
        }
    }

    /// Its time has come.
    mutating func makeCall(_ ref: OperationRef, part: Int) {
        guard case .command(let fact) = operations[ref].entries.newest?.fact, let call = fact.call else {
            return attemptEnded(ref, part: part, Verdict(result: .failed, reason: "there is nothing to start"))
        }
        let depth = Int(operations[ref].descent.depth)
        let trace = trace(of: operations[ref], part: part)
        do throws(CommandError) {
            let verdict =
                switch call {
                case .run(let name, let paths, let lines, let data):
                    Self.verdict(
                        name,
                        try start(
                            Command.RunCommand(name: name, paths: paths, lines: lines, data: data, trace: trace),
                            depth: depth))
                case .emit(let name, let fact): try fire(name, fact, trace, depth: depth)
                }
            attemptEnded(ref, part: part, verdict)
        } catch {
            attemptEnded(ref, part: part, Verdict(result: .failed, reason: Self.sentence(error)))
        }
    }

    private mutating func fire(
        _ name: String, _ fact: CustomFact, _ trace: TraceContext, depth: Int
    ) throws(CommandError) -> Verdict {
        guard case .source(let source) = try resolveCustom(name) else { throw .notCustom(name) }
        guard !isNoEvent(Event(id: 0, time: 0, fact: .custom(fact)), source) else {
            return Verdict(result: .done, output: Array("no event: data 0 is none\n".utf8))
        }
        let id = nextEventID
        accept(.custom(fact), from: source, depth: depth + 1, trace: trace)
        return Verdict(result: .done, output: Array("\(name): event \(id)\n".utf8))
    }

    /// The end of a run, told as `watchctl run` tells it.
    private static func verdict(_ name: String, _ admissions: [Admission]) -> Verdict {
        var (ids, refusal): ([UInt64], String) = ([], "no handler is there for it")
        for admission in admissions {
            switch admission {
            case .operation(let id): if !ids.contains(id) { ids.append(id) }
            case .ended(let result, let reason, _): refusal = "\(result.rawValue), \(reason)"
            }
        }
        guard !ids.isEmpty else { return Verdict(result: .failed, reason: "nothing was started: \(refusal)") }
        let numbers = ids.map(String.init).joined(separator: ", ")
        let text = "\(name): \(ids.count == 1 ? "operation" : "operations") \(numbers)\n"
        return Verdict(result: .done, output: Array(text.utf8))
    }

    /// Why a call that was possible when it was planned is not possible any more.
    private static func sentence(_ error: CommandError) -> String {
        switch error {
        case .noSuchName(let name, let nearest):
            "nothing of the name \(name) is there any more" + (nearest.map { ", but \($0) is" } ?? "")
        case .ambiguousName(let name, let candidates):
            "\(name) may mean each of \(candidates.joined(separator: ", "))"
        case .notCustom(let name): "\(name) is no [Custom] source any more"
        case .takesNoPaths(let name): "\(name) takes no paths any more"
        case .needsDescriptor(let handler): "\(handler) reads a descriptor that only its source hands over"
        case .draining: "watchd is stopping"
        case .refused(let reason), .storeFailing(let reason): reason
        default: "it cannot be started any more: \(error)"
        }
    }
}
