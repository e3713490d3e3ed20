/// Bytes as a watch file writes them.
package enum ByteCount {
    private static let units: [(shift: Int, name: String)] = [(30, "G"), (20, "M"), (10, "K")]

    /// `64M`: exact, as the value of a key.
    package static func exact(_ bytes: Int) -> String {
        let unit = units.first { bytes > 0 && bytes & ((1 << $0.shift) - 1) == 0 }
        return unit.map { "\(bytes >> $0.shift)\($0.name)" } ?? "\(bytes)"
    }

    /// `1.5M`: rounded to a tenth of the largest unit that fits.
    package static func rounded(_ bytes: Int) -> String {
        guard let unit = units.first(where: { bytes >= 1 << $0.shift }) else { return "\(bytes)" }
        let tenths = Int((Double(bytes) / Double(1 << unit.shift) * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)\(unit.name)" : "\(tenths / 10).\(tenths % 10)\(unit.name)"
    }
}
