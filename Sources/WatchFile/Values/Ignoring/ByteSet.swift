/// A set of bytes: `[…]` of a pattern as git reads it.
struct ByteSet: Hashable, Sendable {
    private var words = SIMD4<UInt64>()

    func contains(_ byte: UInt8) -> Bool { words[Int(byte >> 6)] & 1 << UInt64(byte & 63) != 0 }

    mutating func insert(_ byte: UInt8) { words[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }

    mutating func insert(_ isMember: (UInt8) -> Bool) {
        for byte in UInt8.min...UInt8.max where isMember(byte) { insert(byte) }
    }

    init() {}

    /// - Parameter index: of the `[`; then behind its `]`.
    /// - Returns: `nil`: it has no end, or names a class that there is not.
    init?(brackets text: [UInt8], _ index: inout Int) {
        // Nothing stands behind the end, as in C.
        func at(_ place: Int) -> UInt8 { place < text.count ? text[place] : 0 }
        var place = index + 1
        let isNegated = at(place) == UInt8(ascii: "!") || at(place) == UInt8(ascii: "^")
        if isNegated { place += 1 }
        // The member before, where a range may begin with it.
        var before: UInt8 = 0
        repeat {
            var member = at(place)
            if member == 0 { return nil }
            if member == UInt8(ascii: "\\") {
                place += 1
                member = at(place)
                if member == 0 { return nil }
                insert(member)
            } else if member == UInt8(ascii: "-"), before != 0, at(place + 1) != 0, at(place + 1) != UInt8(ascii: "]") {
                place += 1
                if at(place) == UInt8(ascii: "\\") { place += 1 }
                let last = at(place)
                if last == 0 { return nil }
                if before <= last { for byte in before...last { insert(byte) } }
                member = 0
            } else if member == UInt8(ascii: "["), at(place + 1) == UInt8(ascii: ":") {
                guard let end = text[min(place + 2, text.count)...].firstIndex(of: UInt8(ascii: "]")) else {
                    return nil
                }
                if end > place + 2, text[end - 1] == UInt8(ascii: ":") {
                    guard let isMember = Self.classes[String(decoding: text[(place + 2)..<(end - 1)], as: UTF8.self)]
                    else { return nil }
                    insert(isMember)
                    (place, member) = (end, 0)
                } else {
                    insert(member)
                }
            } else {
                insert(member)
            }
            before = member
            place += 1
        } while at(place) != UInt8(ascii: "]")
        if isNegated { words = ~words }
        index = place + 1
    }

    /// Of ASCII alone. White space has no vertical tab and no form feed in git.
    private static let classes: [String: @Sendable (UInt8) -> Bool] = [
        "alnum": { isLetter($0) || $0.isDigit }, "alpha": isLetter, "blank": { $0 == 0x20 || $0 == 0x09 },
        "cntrl": { $0 < 0x20 || $0 == 0x7F }, "digit": { $0.isDigit }, "graph": { $0 > 0x20 && $0 < 0x7F },
        "lower": { (0x61...0x7A).contains($0) }, "print": { $0 >= 0x20 && $0 < 0x7F },
        "punct": { $0 > 0x20 && $0 < 0x7F && !isLetter($0) && !$0.isDigit },
        "space": { [0x20, 0x09, 0x0A, 0x0D].contains($0) }, "upper": { (0x41...0x5A).contains($0) },
        "xdigit": { $0.isDigit || (0x61...0x66).contains($0 | 0x20) },
    ]

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
