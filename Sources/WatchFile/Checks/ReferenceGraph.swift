/// Which node refers to which, and where that is written.
struct ReferenceGraph {
    struct Edge {
        var target: Int
        var text: SourceText
        /// It stands in a section of defaults.
        var isDefault = false
        var kind = Kind.plain
    }

    enum Kind {
        case plain
        /// `Requires=`.
        case requirement
        /// From a member to its group.
        case membership
    }

    /// A node and the edge that leaves it.
    typealias Step = (node: Int, edge: Edge)

    /// By node.
    var edges: [[Edge]]

    init(nodes: Int) { edges = Array(repeating: [], count: nodes) }

    /// The nodes that a way leads to, with the node itself.
    func reachable(from node: Int) -> Set<Int> {
        var found: Set<Int> = [node]
        var pending = [node]
        while let next = pending.popLast() {
            for edge in edges[next] where found.insert(edge.target).inserted { pending.append(edge.target) }
        }
        return found
    }

    /// A search in depth from each root in turn; each edge that leads back onto the current way closes a cycle, which
    /// begins at the node it leads to. Ends after `WatchFile.maximumDiagnostics` of them.
    func forEachCycle(from roots: [Int], _ body: (_ cycle: [Step]) -> Void) {
        /// Where a node stands on the current way from its root.
        var depth: [Int?] = Array(repeating: nil, count: edges.count)
        var isDone = Array(repeating: false, count: edges.count)
        var found = 0
        for root in roots where !isDone[root] {
            var way: [(node: Int, next: Int)] = [(root, 0)]
            depth[root] = 0
            while let (node, next) = way.last {
                guard next < edges[node].count else {
                    (depth[node], isDone[node]) = (nil, true)
                    way.removeLast()
                    continue
                }
                way[way.count - 1].next += 1
                let target = edges[node][next].target
                if let start = depth[target] {
                    body(way[start...].map { ($0.node, edges[$0.node][$0.next - 1]) })
                    found += 1
                    if found == WatchFile.maximumDiagnostics { return }
                } else if !isDone[target] {
                    depth[target] = way.count
                    way.append((target, 0))
                }
            }
        }
    }

    /// The longest way to each node along plain edges: how many of its nodes count, itself too, and its last step.
    /// Ways that a cycle leads to are left out of account.
    func longestWays(counting isCounted: (Int) -> Bool) -> [(length: Int, last: Step?)] {
        let edges = edges.map { $0.filter { $0.kind == .plain } }
        var pending = Array(repeating: 0, count: edges.count)
        for edge in edges.joined() { pending[edge.target] += 1 }
        var ways = edges.indices.map { (length: isCounted($0) ? 1 : 0, last: Step?.none) }
        var ready = edges.indices.filter { pending[$0] == 0 }
        while let node = ready.popLast() {
            for edge in edges[node] {
                let length = ways[node].length + (isCounted(edge.target) ? 1 : 0)
                if length > ways[edge.target].length { ways[edge.target] = (length, (node, edge)) }
                pending[edge.target] -= 1
                if pending[edge.target] == 0 { ready.append(edge.target) }
            }
        }
        return ways
    }

    /// `a → b → a`.
    static func chain(cycle: [Step], name: (Int) -> String) -> String {
        chain(cycle.map(\.node) + cycle.prefix(1).map(\.node), name: name)
    }

    /// `a → b → c`; a long one is told by its ends.
    static func chain(_ nodes: [Int], name: (Int) -> String) -> String {
        let shown = nodes.count > 21 ? [nodes.prefix(10), nodes.suffix(10)] : [nodes[...]]
        return shown.map { $0.map(name).joined(separator: " → ") }.joined(separator: " → … → ")
    }
}
