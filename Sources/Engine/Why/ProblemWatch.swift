/// Which problems the handlers of `OnProblem=` and `OnSolved=` have been told of, and which they are told of next.
///
/// An object, and each of its workers, has as many problems as there are sentences about it. One whose sentence merely
/// changes stays the same problem: neither handler is told anew. Handlers are told at most `limit` times within `span`; after that they are
/// told what still holds by then, so a problem that has come and gone meanwhile is never told.
struct ProblemWatch: Sendable {
    static let limit = 20
    /// Microseconds.
    static let span: Int64 = 60_000_000

    enum Change: Equatable, Sendable {
        case began(Problem)
        case solved(Problem)
    }

    private(set) var told: [Problem] = []
    private var current: [Problem] = []
    /// When handlers were told: monotonic microseconds, the oldest first.
    private var times: [Int64] = []
    /// When those may be told whom the limit keeps waiting.
    private(set) var deadline: Int64?

    mutating func see(_ problems: [Problem]) { current = problems }

    /// The changes to tell now: solved problems first.
    mutating func changes(at now: Int64) -> [Change] {
        times.removeAll { $0 <= now - Self.span }
        deadline = nil
        let (kept, began, solved) = comparison
        let changes = solved.map(Change.solved) + began.map(Change.began)
        let due = Array(changes.prefix(Self.limit - times.count))
        times += due.map { _ in now }
        if due.count < changes.count { deadline = times.first.map { $0 + Self.span } }
        told =
            kept + solved.dropFirst(due.count)
            + due.compactMap { if case .began(let problem) = $0 { problem } else { nil } }
        return due
    }

    private struct Subject: Hashable {
        let object: String
        let part: Int?

        init(_ problem: Problem) { (object, part) = (problem.object, problem.part) }
    }

    private var comparison: (kept: [Problem], began: [Problem], solved: [Problem]) {
        var (kept, began, solved): ([Problem], [Problem], [Problem]) = ([], [], [])
        let before = Dictionary(grouping: told, by: Subject.init)
        let after = Dictionary(grouping: current, by: Subject.init)
        var seen: Set<Subject> = []
        for subject in (told + current).map(Subject.init) where seen.insert(subject).inserted {
            var new = after[subject] ?? []
            var others: [Problem] = []
            for problem in before[subject] ?? [] {
                if let index = new.firstIndex(where: { $0.sentence == problem.sentence }) {
                    kept.append(new.remove(at: index))
                } else {
                    others.append(problem)
                }
            }
            kept += new.prefix(others.count)
            began += new.dropFirst(others.count)
            solved += others.dropFirst(new.count)
        }
        return (kept, began, solved)
    }
}
