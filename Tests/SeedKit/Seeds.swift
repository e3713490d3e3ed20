import Glibc

/// The seeds of a property test: a few hundred, or what the environment asks for (`WATCHD_SEEDS=1000`, or
/// `WATCHD_SEEDS=17...17` for one that failed).
package enum Seeds {
    /// - Parameter long: as many in the long part of the tests.
    package static func range(_ usual: UInt64, long: UInt64? = nil) -> ClosedRange<UInt64> {
        let usual = LongPart.isAsked ? long ?? usual : usual
        guard let value = getenv("WATCHD_SEEDS") else { return 1...usual }
        let numbers = String(cString: value).split(separator: ".").compactMap { UInt64($0) }
        guard let first = numbers.first, let last = numbers.last, last > 0 else { return 1...usual }
        return numbers.count > 1 ? min(first, last)...max(first, last) : 1...last
    }
}
