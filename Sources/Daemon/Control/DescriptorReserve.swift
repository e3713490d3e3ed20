import LinuxSystem

/// Descriptors that are open for nothing, so that a client can be let in when everything else is used up: whoever wants
/// to know what uses them must be able to ask. Confined to the control context.
struct DescriptorReserve {
    private static let size = 8

    private let listener: Int32
    private var spare: [Int32] = []

    init(for listener: Int32) {
        self.listener = listener
        refill()
    }

    /// So much of it has been given away that the rest is for who can do something about it.
    var isLow: Bool { spare.count <= Self.size / 2 }

    /// A connection, or `nil` when none waits. EMFILE: there is nothing left.
    mutating func accept() throws(SystemError) -> FileDescriptor? {
        while true {
            do throws(SystemError) {
                guard let connection = try Linux.accept(listener) else {
                    refill()
                    return nil
                }
                return connection
            } catch {
                guard error.errno == .descriptorsExhausted, let last = spare.popLast() else { throw error }
                FileDescriptor(owning: last).close()
            }
        }
    }

    /// What is free by now, before somebody else takes it.
    mutating func refill() {
        while spare.count < Self.size, let one = try? Linux.open("/dev/null") { spare.append(one.release()) }
    }
}
