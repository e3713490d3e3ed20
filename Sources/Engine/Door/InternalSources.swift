/// Sources that watchd itself is: ends of operations, runs by hand, digests, silence, problems.
extension Engine {
    /// It goes with its handler or queue.
    mutating func internalSource(_ origin: Origin) -> Int {
        if let source = sources.index(of: origin) { return source }
        var state = SourceState(origin)
        state.condition = .armed
        state.isRemoved = !isWanted(origin)
        return sources.insert(state)
    }

    /// Whether a source without a definition is needed: of a source that watchd itself is the handler has to exist. One
    /// of a section that is gone is needed only by what it has made.
    func isWanted(_ origin: Origin) -> Bool {
        switch origin {
        case .source: false
        case .completion(let handler), .run(let handler), .digest(let handler):
            handlers.index(of: handler).map { !handlers[$0].isRemoved } ?? false
        case .finalizer, .problem: false
        case .silence(let id): sources.index(of: .source(id)).map { !sources[$0].isRemoved } ?? false
        }
    }
}
