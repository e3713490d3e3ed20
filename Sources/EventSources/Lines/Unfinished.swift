import Engine
import WatchFile

/// The data taken out of a descriptor and not told: it belongs before the data still in it.
struct Unfinished {
    /// Lines that were held back.
    var facts: [LineFact] = []
    /// The beginning of the line that comes next.
    var bytes: [UInt8] = []
    /// The bytes up to the next newline belong to a line that was told, cut.
    var isSkipping = false

    /// Nothing would be lost with it.
    var isEmpty: Bool { facts.isEmpty && bytes.isEmpty }
    /// Bytes that would be lost with it.
    var size: Int { facts.reduce(bytes.count) { $0 + $1.bytes.count } }
    /// Lines of which at least a part would be.
    var lines: Int { facts.count + (bytes.isEmpty ? 0 : 1) }
}
