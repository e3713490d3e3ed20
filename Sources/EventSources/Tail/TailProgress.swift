/// The stored progress of a `Tail=`: of which path it is, and how far that has been read.
struct TailProgress: Equatable {
    /// The path of `Tail=`: with another one the source begins anew.
    let path: [UInt8]
    /// `nil`: nothing has stood there yet, and what comes is new.
    var current: TailPosition?
    /// The oldest first.
    var rotated: [RotatedPlace] = []

    init(of path: [UInt8], _ current: TailPosition?, rotated: [RotatedPlace] = []) {
        self.path = path
        self.current = current
        self.rotated = rotated
    }

    /// Paths and positions by turns, with a zero between them, which no path has.
    var bytes: [UInt8] {
        rotated.reduce(into: path + [0] + (current?.bytes ?? [])) { $0 += [0] + $1.path + [0] + $1.position.bytes }
    }

    /// `nil`: it is of another path, or cannot be read. An older watchd stored the position alone.
    init?(_ bytes: [UInt8], of path: [UInt8]) {
        let parts = bytes.split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        if parts.count == 1, let position = TailPosition(bytes) {
            self.init(of: path, position)
            return
        }
        guard parts.count >= 2, parts[0] == path else { return nil }
        self.init(of: path, TailPosition(parts[1]))
        for index in stride(from: 2, to: parts.count - 1, by: 2) {
            guard let position = TailPosition(parts[index + 1]) else { continue }
            rotated.append(RotatedPlace(path: parts[index], position: position))
        }
    }
}
