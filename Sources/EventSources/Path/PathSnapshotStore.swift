package import Engine
package import WatchFile

/// Keeps snapshots of what was handled: of each root of a source the paths below it, relative to it, with what stood
/// there when it was told. To be called on the core; what is written is safe after `whenWritten`, in order.
package protocol PathSnapshotStore: AnyObject {
    /// Why nobody knows what it has: a sentence.
    var missing: String? { get }
    /// Nothing can be written now.
    var isFailing: Bool { get }
    /// The stored state of a root; `nil`: there is no complete snapshot of it.
    func root(_ root: [UInt8], of id: SourceID) -> SnapshotRoot?
    /// Reads the paths of a root beside the core, in the order of their bytes, and calls back there; `nil`: they cannot
    /// be read.
    ///
    /// - Parameter add: takes in one path after the other, relative to the root, with what stood there.
    func read<Known: Sendable>(
        _ root: [UInt8], of id: SourceID, into known: Known,
        _ add: @escaping @Sendable (inout Known, [UInt8], PathState) -> Void, then: @escaping (Known?) -> Void)
    /// Begins a new snapshot, which is complete only when that is said.
    func begin(_ root: [UInt8], of id: SourceID)
    /// Writes the states of paths; nothing takes the root out.
    func write(_ entries: [(path: [UInt8], state: PathState)], _ root: [UInt8], of id: SourceID)
    func complete(_ root: [UInt8], of id: SourceID, _ identity: SnapshotRoot)
    func forget(_ root: [UInt8], of id: SourceID)
    /// Calls back when all that was given to it is safe; at once where nothing can be written.
    func whenWritten(_ work: @escaping () -> Void)
    /// A change of the path was told and is not handled yet.
    func isBeingHandled(_ path: [UInt8], of id: SourceID) -> Bool
    /// Paths that operations of an earlier watchd are for, which the store has kept. Given once.
    func takeStoredPaths(of id: SourceID) -> Set<[UInt8]>
    /// Paths at which something stands as far as runs were told that an earlier watchd has left, and that the store does
    /// not bring to their end. Given once.
    func takeStartedPaths(of id: SourceID, below root: [UInt8]) -> [[UInt8]: PathState.Kind]
}
