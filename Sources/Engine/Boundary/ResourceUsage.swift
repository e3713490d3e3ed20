/// What all processes of a run have used together. `nil`: nobody has counted it.
package struct ResourceUsage: Equatable, Sendable {
    /// Bytes of memory at its highest.
    package var peakMemory: UInt64?
    /// Microseconds of processors.
    package var processorTime: UInt64?
    /// Bytes from and to block devices.
    package var bytesRead: UInt64?
    package var bytesWritten: UInt64?

    package init() {}

    package var isKnown: Bool { self != ResourceUsage() }

    /// Of one run behind the other.
    package mutating func add(_ later: ResourceUsage) {
        func sum(_ left: UInt64?, _ right: UInt64?) -> UInt64? {
            guard let left, let right else { return left ?? right }
            return left &+ right
        }
        peakMemory = [peakMemory, later.peakMemory].compactMap { $0 }.max()
        processorTime = sum(processorTime, later.processorTime)
        bytesRead = sum(bytesRead, later.bytesRead)
        bytesWritten = sum(bytesWritten, later.bytesWritten)
    }
}
