/// Numbers that look random and are the same for the same seed: Sebastiano Vigna's splitmix64.
struct RandomNumbers: Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        return Self.mix(state)
    }

    /// From 0 to `limit` (at least 0), from any number.
    static func scale(_ number: UInt64, to limit: Int64) -> Int64 {
        Int64(number.multipliedFullWidth(by: UInt64(limit) + 1).high)
    }

    /// The same number for the same bytes, everywhere.
    static func hash(_ bytes: [UInt8]) -> UInt64 {
        // The upper bits of FNV-1a alone are poor.
        mix(FNV1a.hash(bytes.span))
    }

    private static func mix(_ number: UInt64) -> UInt64 {
        var word = number
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
