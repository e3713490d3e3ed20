import Engine
import LinuxSystem
import Store

/// The operations whose runs began last and that the store need not have: those of short runs never come there. By this
/// a watchd that finds a process of the one before, which was killed, knows all of the operation that it runs for.
///
/// A ring in a file, written without waiting for the disk: what is written outlives the process that wrote it, and the
/// processes that it tells of do not outlive the kernel. An entry is overwritten when its run has ended, or when that
/// has lasted long and is in the store. Confined to the core.
final class BegunRuns {
    static let name = "/watchd.begun"
    /// Bytes of the file.
    private static let size = 1 << 20
    private static let mark: UInt64 = 0x6e75_4264_6863_7477
    /// Numbers before the bytes of an operation: the mark, the hash of all behind it, the place in the order of the
    /// entries, the operation, the count of bytes. No bytes: the run has ended.
    private static let headerCount = 5

    /// It is kept open as long as the program runs; `nil`: nothing can be written there, and less is known after a kill.
    private let file: Int32?
    private var offset = 0
    private var order: UInt64 = 0

    init(folder: [UInt8]) {
        let options: OpenOptions = [.readingAndWriting, .creating, .noFollow]
        file = (try? Linux.open(folder + Self.name.utf8, options, mode: 0o600))?.release()
    }

    func began(_ operation: StoredOperation) { write(operation.id, StateCoding.encode(begun: operation)) }

    func ended(_ id: UInt64) { write(id, []) }

    private func write(_ id: UInt64, _ bytes: [UInt8]) {
        guard let file else { return }
        // Later than those of the watchd before, too: the file is of this boot, as its processes are.
        order = max(order + 1, UInt64(clamping: Linux.now(.boottime)))
        var entry: [UInt8] = []
        entry.reserveCapacity(Self.headerCount * 8 + bytes.count + 8)
        let rest = [order, id, UInt64(bytes.count)]
        for number in [Self.mark, Self.hash(rest, bytes)] + rest { Self.append(number, to: &entry) }
        entry += bytes
        while entry.count & 7 != 0 { entry.append(0) }
        if offset + entry.count > Self.size { offset = 0 }
        // One that does not fit, or that a full disk does not take, is missing like any that was overwritten.
        guard entry.count <= Self.size else { return }
        _ = try? Linux.write(file, entry, at: Int64(offset))
        offset += entry.count
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private static func hash(_ numbers: [UInt64], _ bytes: some Collection<UInt8>) -> UInt64 {
        var hash = FNV1a.start
        for number in numbers { hash = (hash ^ number) &* 0x100_0000_01b3 }
        return FNV1a.hash(bytes, after: hash)
    }

    // MARK: Reading

    /// What the watchd before has written into this folder and not overwritten: operations with a run that had begun
    /// and not ended, as far as it knew. Damaged entries are left out.
    static func read(folder: [UInt8]) -> [UInt64: StoredOperation] {
        let bytes = (try? Linux.readFile(folder + name.utf8, limit: size)) ?? []
        var latest: [UInt64: (order: UInt64, bytes: ArraySlice<UInt8>)] = [:]
        var start = 0
        while start + headerCount * 8 <= bytes.count {
            guard let entry = entry(bytes, at: start) else {
                start += 8
                continue
            }
            if latest[entry.id]?.order ?? 0 < entry.order { latest[entry.id] = (entry.order, entry.bytes) }
            start += (headerCount * 8 + entry.bytes.count + 7) & ~7
        }
        return latest.values.reduce(into: [:]) { found, entry in
            guard let operation = StateCoding.begun(Array(entry.bytes)) else { return }
            found[operation.id] = operation
        }
    }

    private static func entry(
        _ bytes: [UInt8], at start: Int
    ) -> (order: UInt64, id: UInt64, bytes: ArraySlice<UInt8>)? {
        let numbers = (0..<headerCount).map { place in
            (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + place * 8 + $1]) << UInt64($1 * 8) }
        }
        let content = bytes[(start + headerCount * 8)...]
        guard numbers[0] == mark, numbers[4] <= content.count else { return nil }
        let own = content.prefix(Int(numbers[4]))
        guard hash(Array(numbers[2...]), own) == numbers[1] else { return nil }
        return (numbers[2], numbers[3], own)
    }
}
