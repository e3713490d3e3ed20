/// Handlers that start each other without end.
extension Checker {
    /// An edge of the graph of who starts whom: a handler its completion handlers, `Emit=` a custom source, a custom
    /// source its handlers.
    private struct Edge {
        var target: Int
        var text: SourceText
        var isDefault = false
    }

    /// Tells about each cycle once, at the reference that closes it.
    mutating func checkCycles() {
        let edges = startGraph
        /// Where a node stands on the current way from its root.
        var depth: [Int?] = Array(repeating: nil, count: edges.count)
        var isDone = Array(repeating: false, count: edges.count)
        for root in handlers.indices where !isDone[root] {
            var way: [(node: Int, next: Int)] = [(root, 0)]
            depth[root] = 0
            while let (node, next) = way.last {
                guard next < edges[node].count else {
                    (depth[node], isDone[node]) = (nil, true)
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let edge = edges[node][next]
                if let start = depth[edge.target] {
                    report(way[start...], edges)
                } else if !isDone[edge.target] {
                    depth[edge.target] = way.count
                    way.append((edge.target, 0))
                }
            }
        }
    }

    /// Handlers first, then custom sources, each by its index.
    private var startGraph: [[Edge]] {
        var edges: [[Edge]] = Array(repeating: [], count: handlers.count + sources.count)
        for (index, handler) in handlers.enumerated() {
            edges[index] = handler.completions.compactMap { reference in
                handlerIndices[reference.name.string].map {
                    Edge(target: $0, text: reference.name.text, isDefault: reference.isDefault)
                }
            }
            if let emission = handler.emission, let source = customIndices[emission.source.string] {
                edges[index].append(Edge(target: handlers.count + source, text: emission.source.text))
            }
        }
        for source in customIndices.values {
            edges[handlers.count + source] = sources[source].routes.compactMap { route in
                handlerIndices[route.handler].map { Edge(target: $0, text: sources[source].header) }
            }
        }
        return edges
    }

    /// Each element of the cycle is a node and the edge behind the one it took.
    private mutating func report(_ cycle: ArraySlice<(node: Int, next: Int)>, _ edges: [[Edge]]) {
        // A long chain is told by its ends. The reference stands in a handler: a custom source merely passes it on.
        guard let first = cycle.first, let last = cycle.last(where: { $0.node < handlers.count }) else { return }
        let shown = cycle.count > 20 ? [cycle.prefix(10), cycle.suffix(9)] : [cycle]
        let chain = shown.map { part in part.map { name(ofNode: $0.node) }.joined(separator: " → ") }
        let edge = edges[last.node][last.next - 1]
        var message =
            "these start each other without end: \(chain.joined(separator: " → … → ")) → \(name(ofNode: first.node))"
        if edge.isDefault {
            message += "; an empty assignment in \(handlers[last.node].title) takes it out of the defaults"
        }
        problems.error(message, at: edge.text)
    }

    private func name(ofNode node: Int) -> String {
        node < handlers.count ? handlers[node].name : sources[node - handlers.count].id.description
    }
}
