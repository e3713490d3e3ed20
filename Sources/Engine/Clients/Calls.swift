/// Callers that wait for an answer: those of `Run` until all that it started has ended, those of `Wait` until an
/// operation has ended, or a queue or a group is empty.
///
/// Each input returns the answers that follow from it; the engine sends them.
struct Calls: Sendable {
    /// The thing whose end a caller waits for.
    enum Subject: Hashable, Sendable {
        case operation(UInt64)
        /// Indices of the registries.
        case queue(Int)
        case group(Int)
        /// That nothing runs on a queue, or of a source.
        case idleQueue(Int)
        case idleSource(Int)
        /// That an operation has started (or has ended), which holds units for the caller.
        case held(UInt64)
    }

    /// A caller of `Wait`.
    struct Wait: Sendable {
        var subject: Subject
        /// The subject as the caller named it.
        var name: String
        /// Monotonic microsecond.
        var deadline: Int64?
        /// The operation of whose run the client is a part.
        var caller: UInt64?
    }

    /// A caller of `Run`.
    private struct Run: Sendable {
        var remaining: Int
        var worst: OperationView?
        /// Of a caller of `Emit`.
        var event: UInt64?
        /// The operation of whose run the client is a part.
        var caller: UInt64?
    }

    typealias Answer = (token: Token, reply: Reply)

    private var runs: [Token: Run] = [:]
    private var waits: [Token: Wait] = [:]
    /// By what they wait for, in the order they came; some may have gone.
    private var waiters: [Subject: [Token]] = [:]

    var isEmpty: Bool { runs.isEmpty && waits.isEmpty }

    // MARK: Callers

    /// A `Run` is answered when all these operations have ended, by the worst of them.
    mutating func run(_ operations: [UInt64], caller: UInt64?, event: UInt64? = nil, _ token: Token) {
        runs[token] = Run(remaining: operations.count, event: event, caller: caller)
        for id in operations { waiters[.operation(id), default: []].append(token) }
    }

    mutating func wait(_ wait: Wait, _ token: Token) {
        waits[token] = wait
        waiters[wait.subject, default: []].append(token)
    }

    /// The operations that a caller of `Run` waits for.
    func operations(of token: Token) -> [UInt64] {
        waiters.filter { $0.value.contains(token) }.compactMap { subject, _ in
            if case .operation(let id) = subject { id } else { nil }
        }.sorted()
    }

    func subject(of token: Token) -> Subject? { waits[token]?.subject }

    /// The subjects that are looked at after each input.
    var idleSubjects: [Subject] {
        let found = waits.filter {
            switch $0.value.subject {
            case .idleQueue, .idleSource: true
            case .operation, .queue, .group, .held: false
            }
        }
        return found.sorted { $0.key < $1.key }.map(\.value.subject)
    }

    func deadline(of token: Token) -> Int64? { waits[token]?.deadline }

    /// A caller has gone, or has its answer.
    mutating func abandon(_ token: Token) {
        runs[token] = nil
        guard let subject = waits.removeValue(forKey: token)?.subject else { return }
        waiters[subject]?.removeAll { $0 == token }
        if waiters[subject]?.isEmpty == true { waiters[subject] = nil }
    }

    /// Callers of `Wait` for what does not come: they are answered otherwise.
    mutating func takeWaiters(for subject: Subject) -> [Token] {
        guard let tokens = waiters.removeValue(forKey: subject) else { return [] }
        for token in tokens { waits[token] = nil }
        return tokens
    }

    /// All callers, as watchd stops before the ends that they wait for.
    mutating func takeCallers() -> [Answer] {
        defer { self = Calls() }
        var unfinished: [Token: [UInt64]] = [:]
        for case (.operation(let id), let tokens) in waiters {
            for token in tokens where runs[token]?.event != nil { unfinished[token, default: []].append(id) }
        }
        let ofRuns = runs.sorted { $0.key < $1.key }.map { token, run -> Answer in
            guard let event = run.event else { return (token, .failure(.draining)) }
            let operations = (unfinished[token] ?? []) + [run.worst?.id].compactMap(\.self)
            return (token, .emitted(event, .unfinished(operations.sorted())))
        }
        return ofRuns + waits.keys.sorted().map { ($0, .failure(.draining)) }
    }

    // MARK: Ends

    func isAwaited(_ subject: Subject) -> Bool { waiters[subject] != nil }

    /// The end has come. `view`: of an operation.
    mutating func came(_ subject: Subject, _ view: OperationView? = nil) -> [Answer] {
        guard !waiters.isEmpty, let tokens = waiters.removeValue(forKey: subject) else { return [] }
        var answers: [Answer] = []
        for token in tokens {
            if waits.removeValue(forKey: token) != nil { answers.append((token, .waited(view))) }
            let event = runs[token]?.event
            if let view, let worst = ended(view, of: token) {
                answers.append((token, event.map { .emitted($0, .ended(worst)) } ?? .ran(worst)))
            }
        }
        return answers
    }

    /// An operation of a `Run` has ended. Returns the worst of all when it was the last.
    private mutating func ended(_ view: OperationView, of token: Token) -> OperationView? {
        guard var call = runs[token] else { return nil }
        call.remaining -= 1
        if (call.worst?.result?.severity ?? -1) < (view.result?.severity ?? -1) { call.worst = view }
        runs[token] = call.remaining > 0 ? call : nil
        return call.remaining == 0 ? call.worst : nil
    }

    /// Another operation takes the place of one: its end is waited for.
    mutating func handOver(from id: UInt64, to successor: UInt64) {
        guard !waiters.isEmpty, let tokens = waiters.removeValue(forKey: .operation(id)) else { return }
        waiters[.operation(successor), default: []] += tokens
    }

    // MARK: Callers inside runs

    /// Callers of `Wait` that wait without a time-out, in the order of their tokens.
    var endlessWaits: [Wait] {
        waits.sorted { $0.key < $1.key }.map(\.value).filter { $0.deadline == nil }
    }

    /// The operations of whose runs callers of `Run` are a part, if there are any.
    var isCalledFromRuns: Bool { runs.values.contains { $0.caller != nil } }

    /// The operations whose runs call, and wait for this one.
    func callers(awaiting id: UInt64) -> [UInt64] {
        (waiters[.operation(id)] ?? []).compactMap { runs[$0]?.caller }
    }
}

extension Result {
    /// How bad it is for one who waits for several.
    fileprivate var severity: Int {
        switch self {
        case .done: 0
        case .annulled: 1
        case .skipped: 2
        case .dropped: 3
        case .cancelled: 4
        case .failed, .stopped: 5
        case .superseded: 6
        }
    }
}
