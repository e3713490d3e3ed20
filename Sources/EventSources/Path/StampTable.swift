/// The stamps of the names in a folder, found by name.
///
/// A folder may hold a million files: a name with its stamp takes 56 bytes, its bytes once more, and about 8 bytes of
/// the table that finds it. Names stand one behind the other. In no order.
package struct StampTable: Sendable {
    package typealias Stamp = FolderSnapshot.Stamp

    private struct Flags: OptionSet {
        let rawValue: UInt8

        static let isFolder = Flags(rawValue: 1)
        static let isRegular = Flags(rawValue: 2)
        static let isRecovered = Flags(rawValue: 4)
        static let areAttributesRecovered = Flags(rawValue: 8)
        static let isOpen = Flags(rawValue: 16)
        static let isFresh = Flags(rawValue: 32)
        static let isMentioned = Flags(rawValue: 64)
    }

    private struct Record {
        var inode: UInt64
        var size: Int64
        var modified: Int64
        var changed: Int64
        var permissions: UInt32
        var userID: UInt32
        var groupID: UInt32
        var links: UInt32
        var nameStart: UInt32
        var nameLength: UInt16
        var flags: UInt8
    }

    private var records: [Record] = []
    /// Numbers of records, each 1 more; 0: free. A name stands at its hash or behind it, without a gap before it.
    private var slots: [UInt32] = []
    private var names: [UInt8] = []
    /// Bytes of names that are gone.
    private var staleNames = 0

    package init() {}

    package var count: Int { records.count }
    package var isEmpty: Bool { records.isEmpty }

    /// Bytes of memory.
    package var room: Int {
        records.capacity * MemoryLayout<Record>.stride + slots.capacity * MemoryLayout<UInt32>.stride + names.capacity
    }

    package subscript(name: [UInt8]) -> Stamp? {
        get { find(name).map { stamp(Int(slots[$0]) - 1) } }
        set {
            switch (find(name), newValue) {
            case (let slot?, let stamp?): set(stamp, at: Int(slots[slot]) - 1)
            case (let slot?, nil): remove(at: slot)
            case (nil, let stamp?): add(name, stamp)
            case (nil, nil): break
            }
        }
    }

    package mutating func reserveCapacity(_ count: Int) { records.reserveCapacity(count) }

    /// The entries that are wanted.
    func filter(_ isWanted: ([UInt8], Stamp) -> Bool) -> StampTable {
        var wanted = StampTable()
        for (name, stamp) in self where isWanted(name, stamp) { wanted[name] = stamp }
        return wanted
    }

    // MARK: Records

    private func stamp(_ index: Int) -> Stamp {
        let record = records[index]
        let flags = Flags(rawValue: record.flags)
        var stamp = Stamp(
            inode: record.inode, size: record.size, modified: record.modified, changed: record.changed,
            isFolder: flags.contains(.isFolder))
        (stamp.permissions, stamp.userID, stamp.groupID) = (record.permissions, record.userID, record.groupID)
        (stamp.links, stamp.isRegular) = (UInt64(record.links), flags.contains(.isRegular))
        stamp.isRecovered = flags.contains(.isRecovered)
        stamp.areAttributesRecovered = flags.contains(.areAttributesRecovered)
        (stamp.isOpen, stamp.isFresh) = (flags.contains(.isOpen), flags.contains(.isFresh))
        stamp.isMentioned = flags.contains(.isMentioned)
        return stamp
    }

    private mutating func set(_ stamp: Stamp, at index: Int) {
        var flags = Flags()
        if stamp.isFolder { flags.insert(.isFolder) }
        if stamp.isRegular { flags.insert(.isRegular) }
        if stamp.isRecovered { flags.insert(.isRecovered) }
        if stamp.areAttributesRecovered { flags.insert(.areAttributesRecovered) }
        if stamp.isOpen { flags.insert(.isOpen) }
        if stamp.isMentioned { flags.insert(.isMentioned) }
        if stamp.isFresh { flags.insert(.isFresh) }
        let known = records[index]
        records[index] = Record(
            inode: stamp.inode, size: stamp.size, modified: stamp.modified, changed: stamp.changed,
            permissions: stamp.permissions, userID: stamp.userID, groupID: stamp.groupID,
            links: UInt32(clamping: stamp.links), nameStart: known.nameStart, nameLength: known.nameLength,
            flags: flags.rawValue)
    }

    private func bytes(_ record: Record) -> Range<Int> {
        let start = Int(record.nameStart)
        return start..<(start + Int(record.nameLength))
    }

    private mutating func add(_ name: [UInt8], _ stamp: Stamp) {
        // At most three of four are taken.
        if 4 * (records.count + 1) > 3 * slots.count { grow() }
        let start = names.count
        let end = start + name.count
        if end > names.capacity { names.reserveCapacity(end + Swift.max(256, start / 8)) }
        names += name
        let count = records.count
        if count == records.capacity { records.reserveCapacity(count + Swift.max(4, count / 8)) }
        records.append(
            Record(
                inode: 0, size: 0, modified: 0, changed: 0, permissions: 0, userID: 0, groupID: 0, links: 0,
                nameStart: UInt32(truncatingIfNeeded: start), nameLength: UInt16(clamping: name.count), flags: 0))
        set(stamp, at: records.count - 1)
        slots[free(from: place(of: name))] = UInt32(records.count)
    }

    /// The last record comes into the place of the one that goes.
    private mutating func remove(at slot: Int) {
        let (index, last) = (Int(slots[slot]) - 1, records.count - 1)
        staleNames += Int(records[index].nameLength)
        if index != last, let moved = find(Array(names[bytes(records[last])])) {
            slots[moved] = UInt32(index + 1)
            records[index] = records[last]
        }
        records.removeLast()
        free(slot)
        if staleNames > 65_536, staleNames > names.count / 2 { compactNames() }
    }

    private mutating func compactNames() {
        var kept: [UInt8] = []
        kept.reserveCapacity(names.count - staleNames)
        for index in records.indices {
            let start = kept.count
            kept += names[bytes(records[index])]
            records[index].nameStart = UInt32(truncatingIfNeeded: start)
        }
        (names, staleNames) = (kept, 0)
    }

    // MARK: Slots

    private func place(of name: [UInt8]) -> Int { name.withUnsafeBytes(place) }

    private func place(of name: UnsafeRawBufferPointer) -> Int {
        // Names are chosen by others: with a seed of this process, none can choose them to fall together.
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return hasher.finalize() & (slots.count - 1)
    }

    private func place(of record: Record) -> Int {
        names.withUnsafeBytes { place(of: UnsafeRawBufferPointer(rebasing: $0[bytes(record)])) }
    }

    private func find(_ name: [UInt8]) -> Int? {
        if slots.isEmpty { return nil }
        var slot = place(of: name)
        while slots[slot] != 0 {
            let record = records[Int(slots[slot]) - 1]
            if Int(record.nameLength) == name.count, names[bytes(record)].elementsEqual(name) { return slot }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    private func free(from place: Int) -> Int {
        var slot = place
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    /// The entries behind it, up to the next gap, move up as far as they may.
    private mutating func free(_ slot: Int) {
        var (gap, next) = (slot, (slot + 1) & (slots.count - 1))
        slots[gap] = 0
        while slots[next] != 0 {
            let home = place(of: records[Int(slots[next]) - 1])
            if (next - home) & (slots.count - 1) >= (next - gap) & (slots.count - 1) {
                (slots[gap], slots[next]) = (slots[next], 0)
                gap = next
            }
            next = (next + 1) & (slots.count - 1)
        }
    }

    private mutating func grow() {
        slots = [UInt32](repeating: 0, count: Swift.max(8, 2 * slots.count))
        for (index, record) in records.enumerated() { slots[free(from: place(of: record))] = UInt32(index + 1) }
    }
}

extension StampTable: Sequence {
    package struct Iterator: IteratorProtocol {
        fileprivate let table: StampTable
        fileprivate var index = 0

        package mutating func next() -> (name: [UInt8], stamp: Stamp)? {
            guard index < table.records.count else { return nil }
            defer { index += 1 }
            return (Array(table.names[table.bytes(table.records[index])]), table.stamp(index))
        }
    }

    package func makeIterator() -> Iterator { Iterator(table: self) }
}

extension StampTable: Equatable {
    package static func == (one: StampTable, other: StampTable) -> Bool {
        one.count == other.count && one.allSatisfy { other[$0.name] == $0.stamp }
    }
}
