import ControlInterface
import Engine
import Schedule
import Store
import Varlink
import WatchFile

/// The question of a client to the history, as the store is asked it.
extension Runtime {
    func query(_ parameters: ListHistory.Parameters) throws(ErrorReply) -> HistoryQuery {
        var query = HistoryQuery()
        if let name = parameters.name {
            // A handler that is in no watch file any more may still stand in the history.
            let source = handlerNames.contains(name) ? nil : try source(named: name)
            query.source = source
            if source == nil { query.handler = Self.handlerName(name) }
        } else {
            query.handler = parameters.handler.map(Self.handlerName)
            query.source = try parameters.source.map { name throws(ErrorReply) in
                guard let source = try source(named: name) else { throw noSuchName(name, sourceNames).reply }
                return source
            }
        }
        if let result = parameters.result {
            // A run that a stop has ended failed, for whoever asks for failures.
            query.results = result == .failed ? ["failed", "stopped"] : [result.rawValue]
        }
        query.isUnsettled = parameters.unsettled ?? false
        query.since = try Self.time(parameters.since, "since")
        query.until = try Self.time(parameters.until, "until")
        if let after = parameters.after {
            guard let position = HistoryQuery.Position(after) else { throw .invalidParameter("after") }
            query.after = position
        }
        query.limit = min(max(parameters.limit ?? Manager.maximumPage, 1), Manager.maximumPage) + 1
        return query
    }

    private static func time(_ text: String?, _ parameter: String) throws(ErrorReply) -> Int64? {
        guard let text else { return nil }
        guard let time = try? Timestamp(parsing: text) else { throw .invalidParameter(parameter) }
        return time.microseconds
    }

    // MARK: Names

    /// `backup` of `handler/backup`.
    static func handlerName(_ name: String) -> String {
        name.hasPrefix("handler/") ? String(name.dropFirst("handler/".count)) : name
    }

    /// Of those there are, and of those that ran lately.
    private var handlerNames: Set<String> {
        Set(engine.handlerViews.filter { !$0.isRemoved }.map(\.definition.name) + recent.all.map(\.handler))
    }

    private var sourceNames: Set<String> {
        Set(
            engine.sourceViews.filter { !$0.isRemoved }.map(\.id.description)
                + recent.all.map(\.origin.description))
    }

    /// The full name of a source: of one there is, or of one that there may have been. `nil`: it is none.
    private func source(named name: String) throws(ErrorReply) -> String? {
        if name.contains("/") { return Origin(description: name)?.description }
        let found = sourceNames.filter { $0.hasSuffix("/" + name) }.sorted()
        guard found.count <= 1 else { throw ManagerError.ambiguousName(name: name, candidates: found).reply }
        return found.first
    }

    /// Why nothing was found, if it is a name that nothing has.
    func unknownName(in parameters: ListHistory.Parameters) -> ManagerError? {
        if let name = parameters.source, !name.contains("/") || sourceNames.contains(name) { return nil }
        guard let name = parameters.name ?? parameters.handler ?? parameters.source else { return nil }
        let isKnown = handlerNames.contains(Self.handlerName(name)) || sourceNames.contains(name)
        let isSource = sourceNames.contains { $0.hasSuffix("/" + name) }
        return isKnown || isSource ? nil : noSuchName(name, handlerNames.union(sourceNames))
    }

    /// Why nothing was found of this handler, if there is none.
    func unknownHandler(_ name: String) -> ManagerError? {
        handlerNames.contains(Self.handlerName(name)) ? nil : noSuchName(name, handlerNames)
    }

    private func noSuchName(_ name: String, _ candidates: Set<String>) -> ManagerError {
        let bare = candidates.union(candidates.map(Self.shortName))
        return .noSuchName(name: name, nearest: Spelling.nearest(to: name, among: bare.sorted()))
    }
}
