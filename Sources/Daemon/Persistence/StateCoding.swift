import Engine

/// The bytes of events and of what the engine knows of an operation, as they stand in the store.
///
/// The first byte is the version. The bytes after it are of the version's making: the order of fields, and the numbers
/// of `StateNumber`, never change within one.
enum StateCoding {
    static let version: UInt8 = 1
    /// Before the fact of an event that `watchctl run` made.
    static let byHand: UInt8 = 18
    /// Before that, or before the fact: the span that an event came from.
    static let traced: UInt8 = 19
    /// Before that, or before the fact: where an event of a digest came from.
    static let told: UInt8 = 20
    /// Completions within completions that are read. The engine ends a chain much earlier.
    static let deepest = 64
    /// No number of deliveries or members is larger.
    static let largestCount = 1 << 48

    static func encode(_ events: [Event]) -> [UInt8] {
        var writer = ByteWriter(capacity: events.reduce(8) { $0 + $1.fact.room })
        writer.put(byte: version)
        writer.put(events)
        return writer.bytes
    }

    /// `nil`: damaged, or of a version that is not known.
    static func events(_ bytes: [UInt8]) -> [Event]? {
        decode(bytes) { reader throws(DamagedBytes) in try reader.events() }
    }

    /// As the event that it becomes.
    static func encode(tally: GroupFact) -> [UInt8] { encode([Event(id: 0, time: 0, fact: .group(tally))]) }

    static func tally(_ bytes: [UInt8]) -> GroupFact? {
        guard let events = events(bytes), events.count == 1, case .group(let tally) = events[0].fact else { return nil }
        return tally
    }

    /// Everything but its events.
    static func encode(_ operation: StoredOperation) -> [UInt8] {
        var writer = ByteWriter(capacity: 128 + operation.keys.reduce(0) { $0 + $1.count })
        writer.put(byte: version)
        writer.put(operation)
        return writer.bytes
    }

    static func operation(_ bytes: [UInt8]) -> StoredOperation? {
        decode(bytes) { reader throws(DamagedBytes) in try reader.operation() }
    }

    /// With its events.
    static func encode(begun operation: StoredOperation) -> [UInt8] {
        var writer = ByteWriter(capacity: operation.events.reduce(192) { $0 + $1.fact.room })
        writer.put(byte: version)
        writer.put(operation)
        writer.put(operation.events)
        return writer.bytes
    }

    static func begun(_ bytes: [UInt8]) -> StoredOperation? {
        decode(bytes) { reader throws(DamagedBytes) in
            var operation = try reader.operation()
            operation.events = try reader.events()
            return operation
        }
    }

    static func encode(_ suspensions: [Suspension]) -> [UInt8] {
        var writer = ByteWriter(capacity: 16 + 64 * suspensions.count)
        writer.put(byte: version)
        writer.put(UInt64(suspensions.count))
        for suspension in suspensions { writer.put(suspension) }
        return writer.bytes
    }

    static func suspensions(_ bytes: [UInt8]) -> [Suspension]? {
        decode(bytes) { reader throws(DamagedBytes) in
            try reader.list(ofAtLeast: 3) { reader throws(DamagedBytes) in try reader.suspension() }
        }
    }

    static func encode(_ stamp: TimerStamp) -> [UInt8] {
        var writer = ByteWriter(capacity: 24)
        writer.put(byte: version)
        writer.put(stamp)
        return writer.bytes
    }

    static func timer(_ bytes: [UInt8]) -> TimerStamp? {
        decode(bytes) { reader throws(DamagedBytes) in try reader.timerStamp() }
    }

    /// All of the bytes have to be the value's.
    static func decode<Value>(
        _ bytes: [UInt8], _ read: (inout ByteReader) throws(DamagedBytes) -> Value
    ) -> Value? {
        var reader = ByteReader(bytes)
        do throws(DamagedBytes) {
            guard try reader.byte() == version else { return nil }
            let value = try read(&reader)
            return reader.rest == 0 ? value : nil
        } catch {
            return nil
        }
    }
}

extension ByteReader {
    /// A list whose elements take at least `size` bytes each.
    mutating func list<Element>(
        ofAtLeast size: Int, _ element: (inout ByteReader) throws(DamagedBytes) -> Element
    ) throws(DamagedBytes) -> [Element] {
        let count = try count(ofAtLeast: size)
        var elements: [Element] = []
        elements.reserveCapacity(count)
        for _ in 0..<count { elements.append(try element(&self)) }
        return elements
    }

    mutating func number<Case: StateNumber>() throws(DamagedBytes) -> Case { try within(Case(stateNumber: byte())) }

    /// Which of the parts that may be missing are there; `known` are the bits that mean something.
    mutating func flags(_ known: UInt64) throws(DamagedBytes) -> UInt64 {
        let flags = try unsigned()
        guard flags & ~known == 0 else { throw DamagedBytes() }
        return flags
    }

    mutating func signed(if isThere: Bool) throws(DamagedBytes) -> Int64? { isThere ? try signed() : nil }
    mutating func content(if isThere: Bool) throws(DamagedBytes) -> [UInt8]? { isThere ? try content() : nil }
    mutating func text(if isThere: Bool) throws(DamagedBytes) -> String? { isThere ? try text() : nil }
}

/// One bit for each part that may be missing, and for each that is only true or false, the first one lowest.
func flags(_ bits: Bool...) -> UInt64 {
    bits.reversed().reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
}
