extension Configuration {
    /// The handlers of `OnProblem=` and `OnSolved=`, and all that may start because one of them runs.
    package var problemTellers: Set<String> {
        let byName = Dictionary(handlers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var found: Set<String> = []
        var pending = settings.onProblem + settings.onSolved
        while let name = pending.popLast() {
            guard found.insert(name).inserted, let handler = byName[name] else { continue }
            pending += handler.completions.all + handler.constraints.requires
            for source in sharedSources.lazy.map(\.value) where source.follows(handler) {
                pending += source.routes.map(\.handler)
            }
        }
        return found
    }
}

extension SourceDefinition {
    /// It fires because the handler runs, or has ended.
    fileprivate func follows(_ handler: HandlerDefinition) -> Bool {
        if case .group(let group) = trigger { return group.members.contains(handler.name) }
        if case .emit(let source, _) = handler.action { return id.kind == .custom && id.name == source }
        return false
    }
}
