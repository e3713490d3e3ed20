import Engine
import LinuxSystem
import Store

/// The operations whose runs have begun and that the store need not have: those of short runs never come there. By this
/// a watchd that finds a process of the one before, which was killed, knows all of the operation that it runs for.
///
/// A ring in a file, written without waiting for the disk: what is written outlives the process that wrote it, and the
/// processes that it tells of do not outlive the kernel. An entry is erased when its run has ended, with the secrets
/// that it may have, and overwritten when that has lasted long and is in the store. Confined to its writer's context.
final class BegunRuns {
    static let name = "/watchd.begun"
    /// Bytes of the file.
    private static let size = 1 << 20
    private static let mark: UInt64 = 0x6e75_4264_6863_7477
    /// Numbers before the bytes of an operation: the mark, the hash of all behind it, the operation, the count of bytes.
    private static let headerCount = 4

    /// It is kept open as long as the program runs; `nil`: nothing can be written there, and less is known after a kill.
    private let file: Int32?
    /// Bytes written so far, those left out at the end of the file among them.
    private var written = 0
    private var entries: [UInt64: Range<Int>] = [:]

    /// Empties the file: the entries of the watchd before are gone.
    init(folder: [UInt8]) {
        let options: OpenOptions = [.writing, .creating, .truncating, .noFollow]
        file = (try? Linux.open(folder + Self.name.utf8, options, mode: 0o600))?.release()
    }

    func began(_ operation: StoredOperation) {
        ended(operation.id)
        let bytes = StateCoding.encode(begun: operation)
        let rest = [operation.id, UInt64(bytes.count)]
        var entry: [UInt8] = []
        entry.reserveCapacity(Self.headerCount * 8 + bytes.count + 8)
        for number in [Self.mark, Self.hash(rest, bytes.span)] + rest { Self.append(number, to: &entry) }
        entry += bytes
        while entry.count & 7 != 0 { entry.append(0) }
        // One that does not fit, or that a full disk does not take, is missing like any that was overwritten.
        guard file != nil, entry.count <= Self.size else { return }
        let left = Self.size - written % Self.size
        if entry.count > left { written += left }
        entries[operation.id] = written..<written + entry.count
        write(entry, at: written)
        written += entry.count
        if entries.count > Self.mostEntries { forgetOverwritten() }
    }

    func ended(_ id: UInt64) {
        guard let place = entries.removeValue(forKey: id), isThere(place) else { return }
        write([UInt8](repeating: 0, count: place.count), at: place.lowerBound)
    }

    private static let mostEntries = size / (headerCount * 8)

    private func isThere(_ place: Range<Int>) -> Bool { place.lowerBound >= written - Self.size }

    private func forgetOverwritten() { entries = entries.filter { isThere($0.value) } }

    private func write(_ bytes: [UInt8], at place: Int) {
        if let file { _ = try? Linux.write(file, bytes, at: Int64(place % Self.size)) }
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func hash(_ numbers: [UInt64], _ bytes: Span<UInt8>) -> UInt64 {
        var hash = FNV1a.start
        for number in numbers { hash = (hash ^ number) &* 0x100_0000_01b3 }
        return FNV1a.hash(bytes, after: hash)
    }

    // MARK: Reading

    /// The operations that the watchd before has written into this folder: their runs had begun and not ended, as far as
    /// it knew. Damaged entries are left out.
    static func read(folder: [UInt8]) -> [UInt64: StoredOperation] {
        let bytes = (try? Linux.readFile(folder + name.utf8, limit: size)) ?? []
        var found: [UInt64: StoredOperation] = [:]
        var start = 0
        while start + headerCount * 8 <= bytes.count {
            guard let content = entry(bytes, at: start) else {
                start += 8
                continue
            }
            if let operation = StateCoding.begun(Array(content)) { found[operation.id] = operation }
            start += (headerCount * 8 + content.count + 7) & ~7
        }
        return found
    }

    private static func entry(_ bytes: [UInt8], at start: Int) -> ArraySlice<UInt8>? {
        let numbers = (0..<headerCount).map { place in
            (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + place * 8 + $1]) << UInt64($1 * 8) }
        }
        let content = bytes[(start + headerCount * 8)...]
        guard numbers[0] == mark, numbers[3] <= content.count else { return nil }
        let own = content.prefix(Int(numbers[3]))
        return hash(Array(numbers[2...]), own.span) == numbers[1] ? own : nil
    }
}
