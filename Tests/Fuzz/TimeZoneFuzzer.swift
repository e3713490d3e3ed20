import Schedule

/// The entry point of libFuzzer: whatever the bytes, reading them as TZif or as a POSIX rule ends, and a zone that was
/// read has an answer for every instant, and for a calendar expression.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzTimeZone(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    if let rules = try? TimeZoneRules(tzif: bytes) { check(rules) }
    if let rules = try? TimeZoneRules(posix: String(decoding: bytes, as: UTF8.self)) { check(rules) }
    return 0
}

private let expressions: [CalendarExpression] = ["*-*-* 02:30", "*:0/20", "Mon *-*-1..7 00:00"].compactMap {
    try? CalendarExpression(
        parsing: $0, zones: CalendarExpression.ZoneNames(local: .utc) { _ in false })
}

private func check(_ rules: TimeZoneRules) {
    for instant in [Int.min, -(1 << 56), -1, 0, 1_795_000_000, 1 << 34, 1 << 56, Int.max] {
        precondition(abs(rules.offset(at: instant)) < 26 * 3600)
        _ = rules.localTime(at: instant).abbreviation
    }
    for expression in expressions {
        for daylightSaving in DaylightSaving.allCases {
            let base: Int64 = 1_795_000_000_000_000
            let next = expression.nextElapse(after: base, in: rules, daylightSaving: daylightSaving)
            precondition(next ?? .max > base)
            _ = expression.newestElapses(
                after: base, through: base + 1_000_000_000_000, limit: 10, in: rules, daylightSaving: daylightSaving)
        }
    }
}
