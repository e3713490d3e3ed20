/// SipHash-2-4 (Aumasson, Bernstein, 2012): without the key nobody can tell a hash, however many others are known.
package enum SipHash {
    /// - Parameter key: 16 bytes; what is missing is 0.
    package static func hash(_ bytes: [UInt8], key: [UInt8]) -> UInt64 {
        let key = key.prefix(16) + Array(repeating: 0, count: max(0, 16 - key.count))
        var state = State(word(key.prefix(8)), word(key.dropFirst(8)))
        var rest = bytes[...]
        while rest.count >= 8 {
            state.take(word(rest.prefix(8)))
            rest = rest.dropFirst(8)
        }
        state.take(word(rest) | UInt64(UInt8(truncatingIfNeeded: bytes.count)) << 56)
        return state.end()
    }

    /// Little-endian.
    private static func word(_ bytes: some Collection<UInt8>) -> UInt64 {
        bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private struct State {
        var (a, b, c, d): (UInt64, UInt64, UInt64, UInt64)

        init(_ low: UInt64, _ high: UInt64) {
            (a, b) = (low ^ 0x736f_6d65_7073_6575, high ^ 0x646f_7261_6e64_6f6d)
            (c, d) = (low ^ 0x6c79_6765_6e65_7261, high ^ 0x7465_6462_7974_6573)
        }

        mutating func take(_ word: UInt64) {
            d ^= word
            for _ in 0..<2 { round() }
            a ^= word
        }

        mutating func end() -> UInt64 {
            c ^= 0xFF
            for _ in 0..<4 { round() }
            return a ^ b ^ c ^ d
        }

        private mutating func round() {
            func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word << count | word >> (64 - count) }
            a &+= b
            b = rotated(b, 13) ^ a
            a = rotated(a, 32)
            c &+= d
            d = rotated(d, 16) ^ c
            a &+= d
            d = rotated(d, 21) ^ a
            c &+= b
            b = rotated(b, 17) ^ c
            c = rotated(c, 32)
        }
    }
}
