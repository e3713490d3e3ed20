import ControlInterface
import Engine
import Handlers
import LinuxSystem
import Schedule
import Store
import Varlink
import WatchFile

/// `Explain`: the engine's trail, with the place in the watch file where each decision stands.
extension Runtime {
    func explain(_ parameters: Explain.Parameters, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        if let id = parameters.id { return explain(operation: id, role, done) }
        if parameters.path != nil || parameters.pathBase64 != nil {
            guard role == .administrator else { return done(.error(.permissionDenied)) }
            guard let path = parameters.pathBytes, path.first == UInt8(ascii: "/"), !path.contains(0) else {
                return done(.error(.invalidParameter(parameters.path == nil ? "path_base64" : "path")))
            }
            let normalized = Self.normalized(path)
            return explain(path: normalized) { [unowned self] steps in
                let steps = steps.map { step($0, role) }
                done(.of(Explain.Reply(object: normalized.printable, steps: steps)))
            }
        }
        do throws(ManagerError) {
            let found = try explained(parameters.name ?? "")
            earlier(found.object, than: found.steps, role) { [unowned self] earlier in
                let steps = (earlier + found.steps).map { step($0, role) }
                done(.of(Explain.Reply(object: found.object, steps: steps)))
            }
        } catch {
            done(.of(error))
        }
    }

    // MARK: Queues, handlers, groups, semaphores

    private func explained(_ name: String) throws(ManagerError) -> (object: String, steps: [Explanation]) {
        let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let (kind, bare) = parts.count == 2 ? (parts[0], parts[1]) : (nil, name)
        let queue = QueueDefinition.aliases[bare] ?? bare
        let ofQueue = kind ?? "queue" == "queue" ? engine.explain(queue: queue) : nil
        let ofHandler = kind ?? "handler" == "handler" ? engine.explain(handler: bare) : nil
        let ofGroup = kind ?? "group" == "group" ? explain(group: bare) : nil
        let ofSemaphore = kind ?? "semaphore" == "semaphore" ? explain(semaphore: bare) : nil
        let ofProcess = kind ?? "process" == "process" ? engine.explain(process: bare) : nil
        let found = [
            ("process/\(bare)", ofProcess.map { suspended(SourceID(.process, bare)) + $0 }),
            ("queue/\(queue)", ofQueue), ("handler/\(bare)", ofHandler), ("group/\(bare)", ofGroup),
            ("semaphore/\(bare)", ofSemaphore),
        ].compactMap { object, steps in steps.map { (object: object, steps: $0) } }
        let sources = engine.sourceViews(
            of: engine.sourceIDs.filter { $0.name == bare && kind ?? $0.kind.rawValue == $0.kind.rawValue }
        ).filter(\.isListed)
        if let only = found.first, found.count == 1 {
            guard kind == nil, only.object == "handler/\(bare)", sources.count == 1 else { return only }
            // Written in a source, which may be the reason.
            return (only.object, explain(source: sources[0]))
        }
        // As elsewhere: a handler gives way to what it was made for.
        let withoutHandlers = found.filter { !$0.object.hasPrefix("handler/") }
        if let only = withoutHandlers.first, withoutHandlers.count == 1 { return only }
        guard found.isEmpty else { throw .ambiguousName(name: name, candidates: found.map(\.object).sorted()) }
        if let only = sources.first, sources.count == 1 { return (only.id.description, explain(source: only)) }
        guard sources.isEmpty else {
            throw .ambiguousName(name: name, candidates: sources.map(\.id.description).sorted())
        }
        let known =
            engine.sourceViews.filter(\.isListed).map(\.id.description)
            + engine.queueViews.map { "queue/\($0.definition.name)" }
            + engine.handlerViews.map { "handler/\($0.definition.name)" }
            + engine.semaphoreViews.map { "semaphore/\($0.definition.name)" }
        let candidates = kind == nil ? known.map { String($0.drop { $0 != "/" }.dropFirst()) } : known
        throw .noSuchName(name: name, nearest: Spelling.nearest(to: name, among: candidates))
    }

    /// The members that keep a group from being empty.
    private func explain(group name: String) -> [Explanation]? {
        guard let view = engine.groupViews.first(where: { $0.id.name == name }) else { return nil }
        let section = view.id.description
        var members: [String] = []
        if case .group(let trigger) = engine.definition(of: view.id)?.trigger {
            members = trigger.members
        }
        let isEmpty = view.outstanding == 0 && view.entered == 0
        let state = Explanation(
            code: isEmpty ? .idle : .running,
            sentence: Self.standing(of: view),
            section: section)
        let inside = members.flatMap { engine.explain(handler: $0) ?? [] }.filter { $0.time == nil && $0.code != .idle }
        let entered = tickets.of(section).map { ticket, owner in
            Explanation(code: .running, sentence: "ticket \(ticket.number) of \(owner)", section: section)
        }
        return suspended(view.id) + [state] + inside + entered
    }

    func suspended(_ id: SourceID) -> [Explanation] {
        (engine.sourceViews(of: [id]).first?.suspensions ?? []).map {
            Explanation(code: .suspended, sentence: engine.sentence($0), section: id.description)
        }
    }

    private func explain(semaphore name: String) -> [Explanation]? {
        guard let view = engine.semaphoreViews.first(where: { $0.definition.name == name }) else { return nil }
        let users = engine.handlerViews.filter { view in
            let constraints = view.definition.constraints
            return (constraints.acquires + constraints.consumes).contains { $0.name == name }
        }
        let section = "semaphore/\(name)"
        let operations = users.flatMap { engine.explain(handler: $0.definition.name) ?? [] }.filter { step in
            guard step.time == nil else { return false }
            return step.code == .running || (step.code == .semaphore && step.section == section)
        }
        let isShort = view.waiting > 0 || view.available <= 0
        let line = "\(view.waiting) operation\(view.waiting == 1 ? "" : "s") in line"
        let definition = view.definition
        let whole = definition.members.isEmpty ? "Value=\(definition.value)" : "\(definition.value) Members="
        let held = view.holders.filter { !$0.members.isEmpty }.map { holder in
            "\(holder.members.joined(separator: " ")) held by operation \(holder.operation) (\(holder.handler))"
        }
        let holders = held.isEmpty ? "" : "; " + held.joined(separator: ", ")
        let state = Explanation(
            code: isShort ? .full : operations.isEmpty ? .idle : .running,
            sentence: "\(view.available) free of \(whole), \(line)\(holders)",
            section: section)
        return [state] + operations
    }

    // MARK: Operations

    private func explain(operation id: Int, _ role: Peer.Role, _ done: @escaping Request.Completion) {
        guard let number = UInt64(exactly: id) else { return done(.of(.noSuchOperation(id: id))) }
        if let view = engine.operation(number) {
            var steps = engine.explain(operation: number) ?? []
            // An earlier watchd has made it, or the trail goes no further back.
            if !Self.tell(steps, .submitted, of: number) {
                let sentence = "queued on \(view.queue), from \(view.origin)"
                let queued = Explanation(
                    time: view.submitted, code: .submitted, sentence: sentence, operation: number,
                    section: "queue/\(view.queue)")
                steps.insert(queued, at: 0)
            }
            return done(explanation(of: OperationSummary(view, role), steps, role))
        }
        ended(number) { [unowned self] result in
            switch result {
            case .success(let operation?):
                done(explanation(of: OperationSummary(operation, role), remembered(operation), role))
            case .success(nil): done(.of(missing(number)))
            case .failure(let error): done(.of(.storeFailing(reason: Self.reason(error, role))))
            }
        }
    }

    private func explanation(
        of summary: OperationSummary, _ steps: [Explanation], _ role: Peer.Role
    ) -> Request.Answer {
        .of(
            Explain.Reply(
                object: "handler/\(summary.handler)", operation: summary, steps: steps.map { step($0, role) }))
    }

    /// An operation that has ended: what the engine's trail still has of it; its own record and its failed attempts
    /// tell the rest, and how it ended.
    private func remembered(_ operation: EndedOperation) -> [Explanation] {
        let trail = engine.explain(operation: operation.id) ?? []
        // The records know more of how its attempts ended; what is about another operation stays.
        let ends = [.retried, Self.code(operation.result)]
        var steps = trail.filter { $0.operation != operation.id || !ends.contains($0.code) }
        let handler = "handler/\(operation.handler)"
        func add(_ code: ReasonCode, _ time: Int64?, _ sentence: String, other: UInt64? = nil, section: String) {
            let step = Explanation(
                time: time, code: code, sentence: sentence, operation: operation.id, other: other, section: section)
            // Behind what happened at the same time.
            let place = steps.firstIndex { ($0.time ?? .max) > (time ?? .max) } ?? steps.endIndex
            steps.insert(step, at: place)
        }
        if !Self.tell(steps, .submitted, of: operation.id) {
            let sentence = "queued on \(operation.queue), from \(operation.origin)"
            add(.submitted, operation.submitted, sentence, section: "queue/\(operation.queue)")
        }
        if let started = operation.started, !Self.tell(steps, .started, of: operation.id) {
            add(.started, started, "try \(operation.attempt) started", section: handler)
        }
        for attempt in operation.attempts {
            let end = Self.end(.failed, attempt.exit, attempt.reason)
            let isTriedAgain = attempt.number < operation.attempt - 1 || operation.started != nil
            let sentence = "try \(attempt.number): \(end)" + (isTriedAgain ? ", tried again" : "")
            add(.retried, attempt.ended, sentence, section: handler)
        }
        add(
            Self.code(operation.result), operation.ended, Self.end(operation), other: operation.successor,
            section: handler)
        return steps
    }

    private static func tell(_ steps: [Explanation], _ code: ReasonCode, of operation: UInt64) -> Bool {
        steps.contains { $0.code == code && $0.operation == operation }
    }

    static func code(_ result: EngineResult) -> ReasonCode {
        switch result {
        case .done, .failed, .stopped: .ended
        case .cancelled: .cancelled
        case .skipped: .skipped
        case .dropped: .dropped
        case .annulled: .annulled
        case .superseded: .superseded
        }
    }

    static func end(_ operation: EndedOperation) -> String {
        end(operation.result, operation.exit, operation.reason, successor: operation.successor)
    }

    private static func end(
        _ result: EngineResult, _ exit: Exit?, _ reason: String?, successor: UInt64? = nil
    ) -> String {
        let heir = successor.flatMap { id in
            reason?.hasSuffix(" operation \(id)") == true ? nil : "its events are in operation \(id)"
        }
        let exit = exit.flatMap { $0 == .exited(0) ? nil : EventText.exit($0) }
        // `superseded by operation 3`.
        let word = reason?.hasPrefix(result.rawValue) == true ? nil : result.rawValue
        return [word, exit, reason, heir].compactMap { $0 }.joined(separator: ", ")
    }

    // MARK: Steps

    /// The name, or the command line, of the client's command that a step is about.
    private func commandTitle(_ explanation: Explanation) -> String? {
        guard explanation.section == "handler/\(CommandFact.handlerName)", let id = explanation.operation else {
            return nil
        }
        let events = engine.operation(id)?.events ?? recent.all.first { $0.id == id }?.events
        guard case .command(let fact) = events?.last?.fact else { return nil }
        return fact.title
    }

    /// With the exit status and the reason of an end, as far as they are remembered.
    private func sentence(_ explanation: Explanation) -> String {
        guard explanation.code == .ended, explanation.time != nil, let view = explanation.operation.flatMap(recent.view)
        else { return explanation.sentence }
        return "operation \(view.id) of \(view.handler) ended \(Self.end(EndedOperation(view)))"
    }

    private func step(_ explanation: Explanation, _ role: Peer.Role) -> Explain.Step {
        var step = Explain.Step(
            time: explanation.time.map(wireTime), code: explanation.code.rawValue,
            sentence: role == .administrator || explanation.namesNothingElse
                ? sentence(explanation) : explanation.code.rawValue)
        if role == .administrator, explanation.code == .submitted, let title = commandTitle(explanation) {
            step.sentence += ": \(title)"
        }
        step.operation = explanation.operation.map(Int.init)
        step.other = explanation.other.map(Int.init)
        step.section = explanation.section
        if role == .administrator, let location = explanation.section.flatMap({ locations[$0] }) {
            step.file = location.file
            step.line = location.line
        }
        return step
    }
}

extension Explanation {
    /// Its sentence names only operations, handlers and queues; how a source stands, and what a condition waits for, may
    /// name what it watches, that of an end may quote what an event carried.
    fileprivate var namesNothingElse: Bool {
        time == nil && ![.unarmed, .armed, .condition].contains(code)
            || [.submitted, .joined, .started, .missed].contains(code)
    }
}
