/// Makes the bytes that a `ByteReader` takes apart: numbers of seven bits a byte, the lowest first (LEB128), signed
/// ones folded to the small unsigned ones (zigzag), and bytes behind their count.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    /// `capacity`: bytes to make room for at once.
    init(capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func put(byte: UInt8) { bytes.append(byte) }

    mutating func put(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func put(_ number: Int64) { put(UInt64(bitPattern: (number << 1) ^ (number >> 63))) }

    mutating func put(_ number: Int) { put(Int64(number)) }

    mutating func put(_ number: Int32) { put(Int64(number)) }

    mutating func put(_ content: [UInt8]) {
        put(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    mutating func put(_ text: String) {
        put(UInt64(text.utf8.count))
        bytes.append(contentsOf: text.utf8)
    }
}
