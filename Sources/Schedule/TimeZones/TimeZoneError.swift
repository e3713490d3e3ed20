/// Why there are no rules of a time zone.
package enum TimeZoneError: Error, Hashable, Sendable {
    /// It does not begin as TZif does.
    case notTZif
    /// More than `TimeZoneRules.largestFile` bytes.
    case tooLarge
    /// It ends before what it announces.
    case truncated
    /// A count, an index, an offset or an order that cannot be.
    case malformed
    /// The rule for the time after the last change is none.
    case badRule
}

extension TimeZoneError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notTZif: "not a time-zone file"
        case .tooLarge: "larger than \(TimeZoneRules.largestFile >> 10) KiB"
        case .truncated: "the time-zone file ends too early"
        case .malformed: "the time-zone file is damaged"
        case .badRule: "not a rule as in TZ=CET-1CEST,M3.5.0,M10.5.0/3"
        }
    }
}
