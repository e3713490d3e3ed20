/// References that would go round for ever. Each cycle is told about once, at the reference that closes it.
extension Checker {
    // MARK: Queues that target each other

    mutating func checkTargets() {
        let indices = Dictionary(
            queues.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        var graph = ReferenceGraph(nodes: queues.count)
        for (index, entry) in targets {
            guard let target = queues[index].target.flatMap({ indices[$0] }) else { continue }
            graph.edges[index] = [.init(target: target, text: entry.text, isDefault: entry.isDefault)]
        }
        graph.forEachCycle(from: Array(queues.indices)) { cycle in
            guard let last = cycle.last else { return }
            let chain = ReferenceGraph.chain(cycle: cycle) { queues[$0].name }
            let what = cycle.count == 1 ? "a queue cannot target itself" : "these queues target each other"
            report("\(what): \(chain)", last.edge, in: "[Queue \(queues[last.node].name)]")
        }
        for (index, entry) in targets where count(through: index, in: graph) == QueueDefinition.longestChain + 1 {
            problems.error(
                "more than \(QueueDefinition.longestChain) queues in a chain of targets, from here on", at: entry.text)
        }
    }

    /// The queues that what is submitted to this one goes through, itself too; no more than that are looked at.
    private func count(through queue: Int, in graph: ReferenceGraph) -> Int {
        var (queue, count) = (queue, 1)
        while let edge = graph.edges[queue].first, count < QueueDefinition.longestChain + 2 {
            (queue, count) = (edge.target, count + 1)
        }
        return count
    }

    // MARK: Handlers that wait for each other

    mutating func checkDependencies() {
        var graph = ReferenceGraph(nodes: handlers.count)
        for (index, handler) in handlers.enumerated() { graph.edges[index] = edges(handler.dependencies) }
        graph.forEachCycle(from: Array(handlers.indices)) { cycle in
            guard let last = cycle.last else { return }
            let chain = ReferenceGraph.chain(cycle: cycle) { handlers[$0].name }
            let what = cycle.count == 1 ? "a handler cannot wait for itself" : "these wait for each other"
            report("\(what): \(chain)", last.edge, in: handlers[last.node].title)
        }
    }

    // MARK: Handlers that start each other

    /// `OnFailure=mail` of the unnamed `[Handler]` is meant for all handlers but for `mail` itself and those that it
    /// starts: a completion of the defaults that would lead back to its own handler is left out there. Those of
    /// failures are taken in first.
    mutating func leaveOutDefaultsThatGoRound() {
        let all = handlers.map(\.completions)
        guard all.contains(where: { $0.contains(where: \.isDefault) }) else { return }
        // First without those of the defaults, but for names that nobody has: they are told of elsewhere.
        for index in handlers.indices {
            handlers[index].completions.removeAll { $0.isDefault && handlerIndices[$0.name.string] != nil }
        }
        var graph = startGraph
        var isTaken = handlers.map { Set($0.completions.map(\.place)) }
        for key in ["OnFailure", "OnRetry", "OnLate", "OnSlow", "OnChange", "OnFinished", "OnSuccess"] {
            let named = all.joined().filter { $0.isDefault && $0.key == key }
            for target in Set(named.compactMap { handlerIndices[$0.name.string] }).sorted() {
                // Edges that lead to the target change nothing of the edges from it.
                let beyond = graph.reachable(from: target)
                for (index, references) in all.enumerated() where !beyond.contains(index) {
                    let taken = references.filter {
                        $0.isDefault && $0.key == key && $0.name.string == handlers[target].name
                    }
                    isTaken[index].formUnion(taken.map(\.place))
                    graph.edges[index] += edges(taken)
                }
            }
        }
        for index in handlers.indices {
            handlers[index].completions = all[index].filter { isTaken[index].contains($0.place) }
        }
    }

    mutating func checkCycles() {
        let graph = startGraph
        // From the groups first, so that a cycle through one begins with it.
        let groups = sources.indices.filter { sources[$0].id.kind == .group }.map { handlers.count + $0 }
        graph.forEachCycle(from: groups + Array(handlers.indices)) { cycle in
            if let index = cycle.firstIndex(where: { $0.edge.kind == .membership }) {
                reportGroup(Array(cycle[(index + 1)...] + cycle[...index]))
            } else if !cycle.allSatisfy({ $0.edge.kind == .requirement }),
                // The reference stands in a handler: a custom source merely passes it on.
                let last = cycle.last(where: { $0.node < handlers.count })
            {
                let chain = ReferenceGraph.chain(cycle: cycle) { name(ofNode: $0) }
                report("these start each other without end: \(chain)", last.edge, in: handlers[last.node].title)
            }
        }
    }

    /// The cycle begins at the group and ends with one of its members.
    private mutating func reportGroup(_ cycle: [ReferenceGraph.Step]) {
        guard let group = cycle.first?.node, let member = cycle.last else { return }
        let title = sources[group - handlers.count].title
        let chain = ReferenceGraph.chain(cycle: cycle) { name(ofNode: $0) }
        report("\(title) starts its own member \(name(ofNode: member.node)): \(chain)", member.edge, in: title)
    }

    /// The graph of starts: handlers first, then sources, each by its index. A handler starts its completion handlers,
    /// those that it requires, and through `Emit=` a custom source; a source its handlers; the end of a member its
    /// group.
    var startGraph: ReferenceGraph {
        var graph = ReferenceGraph(nodes: handlers.count + sources.count)
        for (index, handler) in handlers.enumerated() {
            graph.edges[index] = edges(handler.completions) + edges(handler.required)
            if let emission = handler.emission, let source = customIndices[emission.source.string] {
                graph.edges[index].append(.init(target: handlers.count + source, text: emission.source.text))
            }
        }
        for (index, source) in sources.enumerated() where [.custom, .group].contains(source.id.kind) {
            graph.edges[handlers.count + index] = source.routes.compactMap { route in
                handlerIndices[route.handler].map { .init(target: $0, text: source.header) }
            }
            for (name, entry) in source.entries.names("Members") where source.id.kind == .group {
                guard let member = handlerIndices[name.string] else { continue }
                graph.edges[member].append(
                    .init(
                        target: handlers.count + index, text: name.text, isDefault: entry.isDefault, kind: .membership))
            }
        }
        return graph
    }

    private func edges(_ references: [HandlerDraft.Reference]) -> [ReferenceGraph.Edge] {
        references.compactMap { reference in
            handlerIndices[reference.name.string].map {
                .init(
                    target: $0, text: reference.name.text, isDefault: reference.isDefault,
                    kind: reference.key == "Requires" ? .requirement : .plain)
            }
        }
    }

    private mutating func report(_ message: String, _ edge: ReferenceGraph.Edge, in title: String) {
        let hint = edge.isDefault ? "; an empty assignment in \(title) takes it out of the defaults" : ""
        problems.error(message + hint, at: edge.text)
    }

    func name(ofNode node: Int) -> String {
        node < handlers.count ? handlers[node].name : sources[node - handlers.count].id.description
    }
}
