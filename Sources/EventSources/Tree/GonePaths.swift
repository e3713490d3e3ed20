/// Paths that were handled and at which nothing stands any more, in the order in which that is told.
///
/// A source is armed before it tells what has gone while nobody was there. The nodes of what has gone leave the tree at
/// once, so that no later report is compared with them; their paths wait here. Paths are below the root.
struct GonePaths {
    private(set) var all: [(path: [UInt8], isFolder: Bool)] = []
    private var known: Set<[UInt8]> = []

    var isEmpty: Bool { all.isEmpty }

    func contains(_ path: [UInt8]) -> Bool { known.contains(path) }

    /// The contents of a folder come before the folder.
    mutating func add(_ path: [UInt8], isFolder: Bool) {
        all.append((path, isFolder))
        known.insert(path)
    }
}
