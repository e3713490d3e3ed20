/// What the store keeps of a `Tail=`: of which path it is, and how far that has been read.
struct TailProgress: Equatable {
    /// What `Tail=` says: with another one the source begins anew.
    let path: [UInt8]
    /// `nil`: nothing has stood there yet, and what comes is new.
    var current: TailPosition?

    init(of path: [UInt8], _ current: TailPosition?) {
        self.path = path
        self.current = current
    }

    /// In the order above, with a zero between them, which no path has.
    var bytes: [UInt8] { path + [0] + (current?.bytes ?? []) }

    /// `nil`: it is of another path, or cannot be read. An older watchd stored the position alone.
    init?(_ bytes: [UInt8], of path: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        if parts.count == 1, let position = TailPosition(bytes) {
            self.init(of: path, position)
            return
        }
        guard parts.count == 2, parts[0] == path else { return nil }
        self.init(of: path, TailPosition(parts[1]))
    }
}
