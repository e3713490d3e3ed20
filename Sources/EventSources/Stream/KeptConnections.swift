/// The connections of durable sources that are in the service manager's store, so that what nobody has read of them
/// outlives the daemon. Bounded, for all sources together. Confined to the core.
package final class KeptConnections {
    /// With the two descriptors of each of 256 runs, and those of the sources themselves, within the unit's
    /// `FileDescriptorStoreMax=2048`.
    package static let limit = 1024

    private let limit: Int
    private var names: Set<KeptDescriptor> = []

    /// - Parameter limit: 0: there is no store.
    init(limit: Int) { self.limit = limit }

    /// There is a store, but it has no room for more.
    var isFull: Bool { limit > 0 && names.count >= limit }

    func contains(_ name: KeptDescriptor) -> Bool { names.contains(name) }

    /// It came out of the store.
    func adopt(_ name: KeptDescriptor) { if case .connection = name { names.insert(name) } }

    /// Whether there is room for it.
    func insert(_ name: KeptDescriptor) -> Bool {
        if names.count < limit { names.insert(name) }
        return names.contains(name)
    }

    /// Whether it was there.
    @discardableResult func remove(_ name: KeptDescriptor) -> Bool { names.remove(name) != nil }
}
