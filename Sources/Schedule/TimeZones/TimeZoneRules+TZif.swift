extension TimeZoneRules {
    /// Bytes of a file; the system's have less than 4 KiB.
    package static let largestFile = 1 << 18

    /// Reads a TZif file of version 1 to 4 (RFC 8536, RFC 9636; `tzfile(5)`).
    ///
    /// Where it counts leap seconds (`right/…`), they are taken out: the system's clock has none.
    package init(tzif bytes: [UInt8]) throws(TimeZoneError) {
        guard bytes.count <= Self.largestFile else { throw .tooLarge }
        var reader = TZifReader(bytes: bytes)
        self = try reader.read()
    }
}

private struct TZifReader {
    private struct Header {
        var version: UInt8
        var utcFlags: Int
        var standardFlags: Int
        var leapSeconds: Int
        var changes: Int
        var types: Int
        var characters: Int

        /// Bytes of the block behind the header.
        func size(timeSize: Int) -> Int {
            changes * (timeSize + 1) + types * 6 + characters + leapSeconds * (timeSize + 4) + standardFlags + utcFlags
        }
    }

    private let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func read() throws(TimeZoneError) -> TimeZoneRules {
        var header = try readHeader()
        guard header.version >= 2 else { return try readBlock(header, timeSize: 4) }
        _ = try take(header.size(timeSize: 4))
        header = try readHeader()
        return try readBlock(header, timeSize: 8)
    }

    private mutating func readHeader() throws(TimeZoneError) -> Header {
        guard bytes[position...].starts(with: "TZif".utf8) else { throw .notTZif }
        let start = try take(44)
        let version = bytes[start.lowerBound + 4]
        let counts = (0..<6).map { number(start.lowerBound + 20 + $0 * 4, size: 4) }
        // No count can be larger than the file: so no product overflows.
        guard counts.allSatisfy({ (0...bytes.count).contains($0) }) else { throw .truncated }
        let header = Header(
            version: version == 0 ? 1 : version &- UInt8(ascii: "0"), utcFlags: counts[0], standardFlags: counts[1],
            leapSeconds: counts[2], changes: counts[3], types: counts[4], characters: counts[5])
        guard (1...256).contains(header.types), header.characters > 0 else { throw .malformed }
        return header
    }

    private mutating func readBlock(_ header: Header, timeSize: Int) throws(TimeZoneError) -> TimeZoneRules {
        let times = try take(header.changes * timeSize)
        let kinds = try take(header.changes)
        let types = try readTypes(header)
        let leaps = try take(header.leapSeconds * (timeSize + 4))
        _ = try take(header.standardFlags + header.utcFlags)
        let corrections = (0..<header.leapSeconds).map { index in
            let entry = leaps.lowerBound + index * (timeSize + 4)
            return (number(entry, size: timeSize), number(entry + timeSize, size: 4))
        }
        var changes: [TimeZoneRules.Change] = []
        var correction = 0
        var leap = 0
        for index in 0..<header.changes {
            let time = number(times.lowerBound + index * timeSize, size: timeSize)
            while leap < corrections.count, corrections[leap].0 <= time {
                correction = corrections[leap].1
                leap += 1
            }
            // Some begin with the big bang.
            let change = TimeZoneRules.Change(
                instant: max(time, TimeZoneRules.instants.lowerBound + 1) - correction,
                kind: Int(bytes[kinds.lowerBound + index]))
            guard change.kind < types.count, change.instant < 1 << 40, change.instant >= changes.last?.instant ?? .min
            else { throw .malformed }
            changes.append(change)
        }
        return TimeZoneRules(
            types: types, initial: 0, recorded: changes, rule: timeSize == 8 ? try readFooter() : nil)
    }

    private mutating func readTypes(_ header: Header) throws(TimeZoneError) -> [TimeZoneRules.LocalTimeType] {
        let entries = try take(header.types * 6)
        let names = try take(header.characters)
        var types: [TimeZoneRules.LocalTimeType] = []
        for entry in stride(from: entries.lowerBound, to: entries.upperBound, by: 6) {
            let offset = number(entry, size: 4)
            let name = names.lowerBound + Int(bytes[entry + 5])
            // RFC 8536 section 3.2: more than a day, but less than 26 hours, is allowed.
            guard abs(offset) < 26 * 3600, bytes[entry + 4] <= 1, name < names.upperBound else { throw .malformed }
            types.append(
                TimeZoneRules.LocalTimeType(
                    offset: offset, isDaylightSaving: bytes[entry + 4] == 1,
                    abbreviation: String(decoding: bytes[name..<names.upperBound].prefix { $0 != 0 }, as: UTF8.self)))
        }
        return types
    }

    /// `\nRULE\n`; an empty rule is none.
    private mutating func readFooter() throws(TimeZoneError) -> PosixTimeZone? {
        let newline = UInt8(ascii: "\n")
        guard position < bytes.count, bytes[position] == newline else { throw .truncated }
        guard let end = bytes[(position + 1)...].firstIndex(of: newline) else { throw .truncated }
        let rule = Array(bytes[(position + 1)..<end])
        return rule.isEmpty ? nil : try PosixTimeZone(parsing: rule)
    }

    private mutating func take(_ count: Int) throws(TimeZoneError) -> Range<Int> {
        guard count <= bytes.count - position else { throw .truncated }
        position += count
        return position - count..<position
    }

    /// A signed number, most significant byte first.
    private func number(_ start: Int, size: Int) -> Int {
        let value = bytes[start..<start + size].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return size == 4 ? Int(Int32(truncatingIfNeeded: value)) : Int(Int64(bitPattern: value))
    }
}
