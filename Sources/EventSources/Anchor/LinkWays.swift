import LinuxSystem

/// The watches of where the symbolic links on the way to a path lead, which `LinkAnchors` take over. One of them may
/// lead to a file system that hangs, so they are made beside the context where one is possible.
struct LinkWays: Sendable {
    /// By the place that each leads to.
    private(set) var all: [[UInt8]: AnchoredWay] = [:]
    /// Watches at places that are not on the way any more.
    private(set) var left: [Int32] = []

    /// Until the way is the same after it is watched as before: nothing is missed between.
    init(_ path: [UInt8], _ mask: InotifyMask, _ adder: WatchAdder) {
        var places = Self.places(of: path)
        for _ in 0..<LinkWatch.looks {
            for place in places where all[place] == nil {
                all[place] = AnchoredWay(PathAnchor.components(of: place), mask, adder)
            }
            for gone in Set(all.keys).subtracting(places) { left += all.removeValue(forKey: gone)?.added ?? [] }
            let now = Self.places(of: path)
            if now == places { return }
            places = now
        }
    }

    /// Makes them beside the context.
    static func work(_ path: [UInt8], _ mask: InotifyMask, _ adder: WatchAdder) -> @Sendable () -> LinkWays {
        { LinkWays(path, mask, adder) }
    }

    /// Nobody takes them over.
    func discard(_ hub: InotifyHub) { hub.discard(left + all.values.flatMap(\.added)) }

    /// The links on the way, and its end, but for those that the path's own anchor sees.
    static func places(of path: [UInt8]) -> [[UInt8]] {
        LinkWatch.places(path).map(\.path).filter { !path.starts(with: $0 + [UInt8(ascii: "/")]) && $0 != path }
    }
}
