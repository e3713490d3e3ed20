/// The bytes are not what a `ByteWriter` made.
struct DamagedBytes: Error {}

/// Takes apart what a `ByteWriter` made. Every number has one spelling, the shortest, and nothing is made larger than
/// the bytes that are there.
struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// How many bytes are still to be read.
    var rest: Int { bytes.count - position }

    mutating func byte() throws(DamagedBytes) -> UInt8 {
        guard position < bytes.count else { throw DamagedBytes() }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func unsigned() throws(DamagedBytes) -> UInt64 {
        var number: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let next = try byte()
            // The tenth byte has room for one bit.
            guard shift < 63 || next <= 1 else { throw DamagedBytes() }
            number |= UInt64(next & 0x7F) << shift
            if next < 0x80 {
                guard next != 0 || shift == 0 else { throw DamagedBytes() }
                return number
            }
            shift += 7
        }
    }

    mutating func signed() throws(DamagedBytes) -> Int64 {
        let folded = try unsigned()
        return Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1)
    }

    mutating func int32() throws(DamagedBytes) -> Int32 { try within(Int32(exactly: signed())) }

    /// A number between these two.
    mutating func int(_ range: ClosedRange<Int>) throws(DamagedBytes) -> Int {
        let number = try Int(signed())
        guard range.contains(number) else { throw DamagedBytes() }
        return number
    }

    /// The count of a list whose elements take at least so many bytes each.
    mutating func count(ofAtLeast size: Int) throws(DamagedBytes) -> Int {
        let count = try unsigned()
        guard count <= UInt64(rest / size) else { throw DamagedBytes() }
        return Int(count)
    }

    mutating func content() throws(DamagedBytes) -> [UInt8] {
        let count = try count(ofAtLeast: 1)
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    mutating func text() throws(DamagedBytes) -> String {
        let count = try count(ofAtLeast: 1)
        defer { position += count }
        return try bytes.withUnsafeBufferPointer { bytes throws(DamagedBytes) in
            let text = UnsafeBufferPointer(rebasing: bytes[position..<position + count])
            return try within(String(validating: text, as: UTF8.self))
        }
    }

    /// A value that does not exist means damage.
    func within<Value>(_ value: Value?) throws(DamagedBytes) -> Value {
        guard let value else { throw DamagedBytes() }
        return value
    }
}
