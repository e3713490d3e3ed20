import ControlInterface
import Varlink

/// A word that a shell may offer, and what it is.
struct Candidate: Equatable, Sendable {
    var name: String
    var text: String
}

/// Asks the daemon for the candidates of a kind, over one connection.
struct Candidates {
    /// Of the operations that have ended.
    private static let recent = 20

    let session: Session
    let client: Client

    init(_ session: Session) throws(Failure) {
        self.session = session
        client = try session.connect()
    }

    /// Those that begin so. With a slash in it, `path/uploads`; else `uploads`, where no other source is called that.
    func list(_ kind: NameKind, prefix: String) throws(Failure) -> [Candidate] {
        switch kind {
        case .pending, .operations, .failures:
            return try operations(kind).filter { $0.name.hasPrefix(prefix) }
        default:
            return Self.short(try named(kind), isQualified: prefix.contains("/")).filter { $0.name.hasPrefix(prefix) }
        }
    }

    // MARK: Names

    /// By their full names.
    private func named(_ kind: NameKind) throws(Failure) -> [Candidate] {
        var all: [Candidate] = []
        for list in kind.lists {
            switch list {
            case .sources: all += try sources(kind)
            case .handlers:
                all += try pages(ListHandlers.self, \.next, \.handlers).map {
                    Candidate(name: "handler/\($0.name)", text: $0.action)
                }
            case .queues:
                all += try pages(ListQueues.self, \.next, \.queues).filter { kind != .suspended || $0.suspended > 0 }
                    .map { Candidate(name: "queue/\($0.name)", text: "\($0.type.rawValue) queue") }
            case .semaphores:
                all += try pages(ListSemaphores.self, \.next, \.semaphores).map {
                    Candidate(name: "semaphore/\($0.name)", text: "semaphore")
                }
            }
        }
        return all
    }

    private func sources(_ kind: NameKind) throws(Failure) -> [Candidate] {
        try pages(ListSources.self, \.next, \.sources).filter { source in
            (kind.sourceKind.map { $0 == source.kind } ?? true) && (kind != .suspended || source.suspended > 0)
                && (kind != .processes || source.processes != nil)
        }.map { source in
            Candidate(name: source.name, text: [source.kind, source.detail].compactMap(\.self).joined(separator: " "))
        }
    }

    /// A name that a source and its handler share is offered once; one that several sources have, with its kind.
    static func short(_ full: [Candidate], isQualified: Bool) -> [Candidate] {
        if isQualified { return full }
        let sources = full.filter { !isOther($0.name) }.map { short($0.name) }
        let shared = Set(Dictionary(grouping: sources, by: \.self).filter { $0.value.count > 1 }.keys)
        var seen: Set<String> = []
        return full.compactMap { candidate in
            let name = short(candidate.name)
            let shown = shared.contains(name) ? candidate.name : name
            return seen.insert(shown).inserted ? Candidate(name: shown, text: candidate.text) : nil
        }
    }

    /// No source.
    private static func isOther(_ name: String) -> Bool {
        ["handler/", "queue/", "semaphore/"].contains { name.hasPrefix($0) }
    }

    private static func short(_ name: String) -> String { name.split(separator: "/").last.map(String.init) ?? name }

    private func pages<Method: ControlMethod, Item>(
        _ method: Method.Type, _ next: (Method.Reply) -> String?, _ items: (Method.Reply) -> [Item]
    ) throws(Failure) -> [Item] where Method.Parameters == NamedListParameters {
        var all: [Item] = []
        var after: String?
        repeat {
            let page = try call(method, NamedListParameters(after: after))
            all += items(page)
            after = next(page)
        } while after != nil
        return all
    }

    // MARK: Operations

    private func operations(_ kind: NameKind) throws(Failure) -> [Candidate] {
        if kind == .failures {
            let failed = try call(ListHistory.self, .init(unsettled: true)).operations
            return failed.map(Self.candidate) + Self.handlers(failed)
        }
        let living = try call(ListOperations.self, .init()).operations.map(Self.candidate)
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
