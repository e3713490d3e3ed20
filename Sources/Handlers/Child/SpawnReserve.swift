import LinuxSystem

/// Descriptors for one start at a time, however many sources and clients have taken: handlers go on, one after the
/// other, where there would be none for any. Confined to the core.
final class SpawnReserve {
    /// The pipe of its output, its standard input, two files, its pidfd, the pipe of the spawn, a socket handed over.
    private static let needed = 8

    private var reserve = DescriptorReserve(needed)
    private var isLent = false

    /// Gives them to a start that found none. `false`: another one has them, or they are not all there.
    func lend() -> Bool {
        if !isLent { reserve.refill() }
        guard !isLent, reserve.count == reserve.size else { return false }
        isLent = true
        return reserve.release(reserve.size)
    }

    /// Takes what is free by now.
    /// - Parameter isReturned: the start that they were lent to is over; the process itself keeps two or three.
    func refill(isReturned: Bool = false) {
        if isReturned { isLent = false }
        if !isLent { reserve.refill() }
    }
}
