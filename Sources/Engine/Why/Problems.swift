import Schedule
import WatchFile

/// `OnProblem=`, `OnSolved=` of `[Watchd]`: handlers are told what gets into the list of problems and what leaves it.
extension Engine {
    /// Somebody wants to be told.
    var tellsProblems: Bool {
        !(settings.onProblem.isEmpty && settings.onSolved.isEmpty) && !life.isStopping
    }

    /// The list as it is now.
    mutating func problemsAre(_ problems: [Problem]) {
        guard tellsProblems else { return }
        problemWatch.see(problems.filter { !isOfTellers($0) })
        tellProblems()
    }

    mutating func tellProblems() {
        guard tellsProblems else { return }
        for change in problemWatch.changes(at: now.monotonic) {
            switch change {
            case .began(let problem): tell(problem, isSolved: false, settings.onProblem)
            case .solved(let problem): tell(problem, isSolved: true, settings.onSolved)
            }
        }
        if let deadline = problemWatch.deadline { deadlines.add(.problems, .monotonic, at: deadline) }
    }

    /// A reload may have taken away those who are told.
    mutating func applyProblems(_ configuration: Configuration) {
        problemTellers = configuration.problemTellers
        if !tellsProblems { problemWatch = ProblemWatch() }
    }

    /// A problem of a handler that is told of problems, or of one that follows from it, starts none of them: it could
    /// go on without end.
    private func isOfTellers(_ problem: Problem) -> Bool {
        let parts = problem.object.split(separator: "/", maxSplits: 1).map(String.init)
        if parts.count == 2, parts[0] == "handler" { return problemTellers.contains(parts[1]) }
        if parts.count == 2, parts[0] == "queue", let queue = queues.index(of: parts[1]) {
            return isFullOfTellers(queue)
        }
        // `run backup 12`.
        let words = problem.object.split(separator: " ").map(String.init)
        return words.count > 2 && words[0] == "run" && problemTellers.contains(words[1])
    }

    /// Nothing waits there but what problems have started.
    private func isFullOfTellers(_ queue: Int) -> Bool {
        let own = operations.refs.filter { operations[$0].queue == queue }
        return !own.isEmpty && own.allSatisfy { problemTellers.contains(handlers[operations[$0].handler].name) }
    }

    /// As with completions: what watchd makes itself is never held back.
    private mutating func tell(_ problem: Problem, isSolved: Bool, _ names: [String]) {
        let targets = names.compactMap { target(handler: $0) }
        guard !targets.isEmpty else { return }
        let origin = Origin.problem(object: problem.object)
        let source = internalSource(origin)
        let event = makeEvent(.problem(ProblemFact(problem, isSolved: isSolved)))
        sources[source].lastEvent = event.time
        actions.append(.report(.event(event, origin, handlers: handlerNames(targets))))
        admitAll(event, source: source, withRequired(targets), depth: 1)
        releaseSourceIfUnused(source)
    }
}
