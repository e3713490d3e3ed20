/// Descriptors that are open for nothing, so that there are some for what must go on when all others are used up: a
/// client that wants to know what uses them, the service manager. Not safe for several threads at once.
package struct DescriptorReserve: ~Copyable {
    package let size: Int
    private var spare: [Int32] = []

    /// Those that can be had at once.
    package init(_ size: Int) {
        self.size = size
        refill()
    }

    deinit { for number in spare { FileDescriptor(owning: number).close() } }

    package var count: Int { spare.count }

    /// Gives up to that many back to the process. `false`: there are none.
    @discardableResult package mutating func release(_ count: Int = 1) -> Bool {
        guard !spare.isEmpty else { return false }
        for number in spare.suffix(count) { FileDescriptor(owning: number).close() }
        spare.removeLast(min(count, spare.count))
        return true
    }

    /// Takes what is free by now, before somebody else does.
    package mutating func refill() {
        while spare.count < size, let one = try? Linux.open("/dev/null") { spare.append(one.release()) }
    }
}
