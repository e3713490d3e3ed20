import Schedule

/// The latest decisions, for `Explain`. A ring of fixed size; sentences are made when somebody asks.
struct Trail: Sendable {
    struct Step: Sendable {
        /// Wall clock, microseconds.
        var time: Int64
        var code: ReasonCode
        /// Indices of the registries; what is released there is forgotten here.
        var handler: Int
        var queue: Int
        /// 0: the delivery never became part of one.
        var operation: UInt64
        /// The other operation that decided, 0 if there is none.
        var other: UInt64
        /// The event, 0 if it is about none.
        var event: UInt64
        var detail: Detail
    }

    /// Why, where the code alone does not tell.
    enum Detail: Sendable {
        case none
        /// It had started before, and nobody knows whether it was done.
        case again
        /// A stop had ended its run before.
        case afterStop
        /// A worker had had it, and ended, or watchd did.
        case handedAgain
        /// For so many microseconds.
        case waited(Operation.Wait, Int64)
        case result(Result)
        /// The other operation has its events.
        case superseded
        case text(String)
    }

    /// Steps kept, over all operations.
    static let limit = 4096

    private var steps: [Step] = []
    private var next = 0

    mutating func note(_ step: Step) {
        if steps.count < Self.limit {
            steps.append(step)
        } else {
            steps[next] = step
            next = (next + 1) % Self.limit
        }
    }

    /// Oldest first.
    func steps(where isWanted: (Step) -> Bool) -> [Step] {
        (Array(steps[next...]) + Array(steps[..<next])).filter(isWanted)
    }

    /// The newest step of this kind was not so.
    mutating func takeBack(where isMeant: (Step) -> Bool) {
        var all = steps(where: { _ in true })
        guard let last = all.lastIndex(where: isMeant) else { return }
        all.remove(at: last)
        (steps, next) = (all, 0)
    }

    /// A slot of a registry is about to be used anew.
    mutating func forget(where isGone: (Step) -> Bool) {
        steps = steps(where: { !isGone($0) })
        next = 0
    }
}

extension Engine {
    /// Notes what was decided about an operation that has not ended.
    mutating func note(
        _ code: ReasonCode, _ ref: OperationRef, other: UInt64 = 0, event: UInt64 = 0, detail: Trail.Detail = .none
    ) {
        trail.note(
            Trail.Step(
                time: now.realtime, code: code, handler: operations[ref].handler,
                queue: commands.isEmpty ? operations[ref].queue : shownQueue(operations[ref]),
                operation: ref.id, other: other, event: event, detail: detail))
    }
}
