/// Text as part of the name of a unit (`systemd.unit(5)`, "String Escaping for Inclusion in Unit Names").
package enum UnitEscape {
    /// `UNIT_NAME_MAX` without the final NUL.
    package static let longestName = 255

    /// As `systemd-escape TEXT`.
    package static func text(_ bytes: [UInt8]) -> [UInt8] {
        bytes.enumerated().flatMap { index, byte -> [UInt8] in
            if byte == UInt8(ascii: "/") { return [UInt8(ascii: "-")] }
            let isDot = byte == UInt8(ascii: ".")
            if byte.isLetter || byte.isDigit || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":")
                || isDot && index > 0
            {
                return [byte]
            }
            return Array("\\x".utf8) + [digit(byte >> 4), digit(byte & 15)]
        }
    }

    /// As `systemd-escape --path PATH`: without slashes at the ends and doubled ones.
    package static func path(_ bytes: [UInt8]) -> [UInt8] {
        let parts = bytes.split(separator: UInt8(ascii: "/")).filter { $0 != [UInt8(ascii: ".")] }
        if parts.isEmpty { return bytes.isEmpty ? [] : [UInt8(ascii: "-")] }
        return text(Array(parts.joined(separator: [UInt8(ascii: "/")])))
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
