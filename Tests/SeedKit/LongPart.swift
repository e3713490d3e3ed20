import Glibc

/// The long part of the tests (`Tests/run-long`, which sets `WATCHD_LONG`): the same tests with more seeds and larger
/// numbers, where a debug build needs more than some seconds for them.
package enum LongPart {
    package static let isAsked = getenv("WATCHD_LONG") != nil

    /// Nothing else runs on the machine, as far as `Tests/run-long` can see to it: a clock on the wall tells the truth.
    package static let isAlone = getenv("WATCHD_ALONE") != nil

    /// How many: in the tests of every day, and in the long part.
    package static func count(_ usual: Int, long: Int) -> Int { isAsked ? long : usual }
}
