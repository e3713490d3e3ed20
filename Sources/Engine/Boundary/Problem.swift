import WatchFile

/// Something that does not work, as `watchctl status` lists it.
package struct Problem: Equatable, Sendable {
    /// `path/media`, `queue/images`, `handler/backup`, or `watchd` itself.
    package var object: String
    package var sentence: String
    /// The action that watchd takes.
    package var action: String
    /// The remedy that a person has.
    package var help: String?
    /// A time as RFC 3339 writes it.
    package var since: String
    /// Of several alike that the object has, as its workers are.
    package var part: Int?

    package init(object: String, sentence: String, action: String, help: String? = nil, since: String) {
        self.object = object
        self.sentence = sentence
        self.action = action
        self.help = help
        self.since = since
    }
}

/// A problem that has come, or one that is over.
package struct ProblemFact: Equatable, Sendable {
    package var problem: Problem
    package var isSolved: Bool

    package init(_ problem: Problem, isSolved: Bool) {
        self.problem = problem
        self.isSolved = isSolved
    }

    /// Bytes of its texts.
    package var size: Int {
        [problem.object, problem.sentence, problem.action, problem.help ?? "", problem.since]
            .reduce(0) { $0 + $1.utf8.count }
    }

    func value(_ specifier: Specifier) -> [UInt8] {
        switch specifier {
        case .object: Array(problem.object.utf8)
        case .problem: Array(problem.sentence.utf8)
        case .action: Array(problem.action.utf8)
        default: []
        }
    }
}
