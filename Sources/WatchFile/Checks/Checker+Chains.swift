/// Chains of `On…=` and `Emit=` that are longer than what a run starts.
extension Checker {
    /// Warns of each handler that is one too many. Groups and `Requires=` are no part of a chain.
    mutating func checkChains() {
        let ways = startGraph.longestWays { $0 < handlers.count }
        let longest = HandlerDefinition.longestChain + 1
        for (node, way) in ways.enumerated() where node < handlers.count && way.length == longest + 1 {
            guard let last = way.last else { continue }
            var steps = [last]
            while let before = steps.last.flatMap({ ways[$0.node].last }) { steps.append(before) }
            let names = ReferenceGraph.chain(steps.reversed().map(\.node) + [node]) { name(ofNode: $0) }
            problems.warning(
                "a chain of On...= and Emit= ends after \(longest) handlers, before \(name(ofNode: node)): \(names)",
                at: last.edge.text)
        }
    }
}
