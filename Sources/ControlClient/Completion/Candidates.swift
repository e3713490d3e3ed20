import ControlInterface
import Varlink

/// A word that a shell may offer, and what it is.
struct Candidate: Equatable, Sendable {
    var name: String
    var text: String
}

/// Asks the daemon for the candidates of a kind, over one connection.
struct Candidates {
    /// Operations of each list.
    private static let recent = 50

    let session: Session
    let client: Client

    init(_ session: Session) throws(Failure) {
        self.session = session
        client = try session.connect()
    }

    /// Those that begin so. With a slash in it, `path/uploads`; else `uploads`, where no other source is called that.
    func list(_ kind: NameKind, prefix: String) throws(Failure) -> [Candidate] {
        let found =
            if let list = kind.list {
                Self.short(
                    try call(ListNames.self, .init(kind: list, prefix: prefix)).names,
                    isQualified: prefix.contains("/"))
            } else {
                try operations(kind)
            }
        return found.filter { $0.name.hasPrefix(prefix) }
    }

    /// A name that a source and its handler share is offered once; one that several sources have, with its kind.
    static func short(_ full: [String], isQualified: Bool) -> [Candidate] {
        let names = full.map { $0.split(separator: "/", maxSplits: 1).map(String.init) }.filter { $0.count == 2 }
        let others: Set = ["handler", "queue", "semaphore"]
        let sources = names.filter { !others.contains($0[0]) }
        let shared = Dictionary(grouping: sources, by: { $0[1] }).filter { $0.value.count > 1 }
        var seen: Set<String> = []
        return (sources + names.filter { others.contains($0[0]) }).compactMap { name in
            let shown = isQualified || shared[name[1]] != nil ? "\(name[0])/\(name[1])" : name[1]
            return seen.insert(shown).inserted ? Candidate(name: shown, text: name[0]) : nil
        }
    }

    // MARK: Operations

    private func operations(_ kind: NameKind) throws(Failure) -> [Candidate] {
        if kind == .failures {
            let failed = try call(ListHistory.self, .init(unsettled: true, limit: Self.recent)).operations
            return failed.map(Self.candidate) + Self.handlers(failed)
        }
        let living = try call(ListOperations.self, .init(limit: Self.recent)).operations.map(Self.candidate)
        guard kind == .operations else { return living }
        return living + (try call(ListHistory.self, .init(limit: Self.recent)).operations.map(Self.candidate))
    }

    private static func candidate(_ operation: OperationSummary) -> Candidate {
        let state = operation.result?.rawValue ?? operation.state.rawValue
        return Candidate(name: String(operation.id), text: "\(operation.handler), \(state): \(operation.cause)")
    }

    private static func handlers(_ operations: [OperationSummary]) -> [Candidate] {
        Set(operations.map(\.handler)).sorted().map { Candidate(name: $0, text: "all failures of the handler") }
    }

    private func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters
    ) throws(Failure) -> Method.Reply {
        try session.attempt(Method.name) { () throws(ClientError) in
            try client.call(Method.fullName, parameters, timeout: session.timeout(taking: 0))
                .parameters(as: Method.Reply.self)
        }
    }
}
