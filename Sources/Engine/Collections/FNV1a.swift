/// The hash FNV-1a of 64 bits (draft-eastlake-fnv): the same number for the same bytes in every process, so it may be
/// stored. Not for keys that somebody else chooses: collisions are easy to make.
package enum FNV1a {
    /// The hash of no bytes.
    package static let start: UInt64 = 0xcbf2_9ce4_8422_2325

    /// The hash of all bytes so far, of which `hash` is that of those before `bytes`.
    package static func hash(_ bytes: Span<UInt8>, after hash: UInt64 = start) -> UInt64 {
        var hash = hash
        for index in bytes.indices { hash = (hash ^ UInt64(bytes[index])) &* 0x100_0000_01b3 }
        return hash
    }
}
