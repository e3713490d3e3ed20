import LinuxSystem

/// Tells by their names which files beside a log are older parts of it.
///
/// `log.1`, `log.old`, `log-20261122`, `log.2026-11-22_07:00`, `log.1.gz`, and with the number before the ending, as
/// `app-20261122.log` of `app.log` or of `app-20261123.log`. Anything else beside it, as `app-error.log`, is another
/// log.
struct RotatedName: Equatable {
    /// `log.3`: higher numbers are older. `nil`: a date, or no number.
    private(set) var number: UInt64?
    /// The name without `.gz` or its like; `nil`: it is not compressed.
    private(set) var uncompressed: [UInt8]?

    private static let compressions = [".gz", ".xz", ".bz2", ".zst", ".lz4", ".Z"].map { Array($0.utf8) }

    /// `nil`: `name` is no older part of the log `base`.
    init?(_ name: [UInt8], of base: [UInt8]) {
        var name = name
        if let ending = Self.compressions.first(where: { name.count > $0.count && name.suffix($0.count) == $0[...] }) {
            name.removeLast(ending.count)
            uncompressed = name
        }
        if Self.isOfAnotherDay(name, base) { return }
        guard let mark = Self.mark(name, of: base), let separator = mark.first, ".-_".utf8.contains(separator) else {
            return nil
        }
        let rest = mark.dropFirst()
        if rest.elementsEqual("old".utf8) { return }
        guard rest.contains(where: Self.isDigit),
            rest.allSatisfy({ Self.isDigit($0) || "-._:+TZ".utf8.contains($0) })
        else { return nil }
        // A date has eight digits.
        if rest.count < 8 { number = UInt64(String(decoding: rest, as: UTF8.self)) }
    }

    /// The part added to the name, at its end or before its ending.
    private static func mark(_ name: [UInt8], of base: [UInt8]) -> ArraySlice<UInt8>? {
        if name.starts(with: base) { return name[base.count...] }
        guard let dot = base.lastIndex(of: UInt8(ascii: ".")), dot > 0, name.count > base.count,
            name.starts(with: base[..<dot]), name.suffix(base.count - dot) == base[dot...]
        else { return nil }
        return name[dot..<(name.count - (base.count - dot))]
    }

    /// The same but for its digits, which are enough for a date.
    private static func isOfAnotherDay(_ name: [UInt8], _ base: [UInt8]) -> Bool {
        guard name.count == base.count, name != base else { return false }
        let pairs = zip(name, base)
        return pairs.allSatisfy { $0 == $1 || isDigit($0) && isDigit($1) } && base.count(where: isDigit) >= 6
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
