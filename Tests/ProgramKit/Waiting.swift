import Glibc
import LinuxSystem

/// Something that did not become true in time.
package struct TimedOut: Error, CustomStringConvertible {
    package var description: String

    package init(description: String) { self.description = description }
}

/// Waits until `condition` is true, looking again every few milliseconds; generous, for a busy machine.
///
/// - Throws: `TimedOut`, naming what was waited for; whatever `condition` throws.
package func wait(
    for what: @autoclosure () -> String, seconds: Int = 30, until condition: () throws -> Bool
) throws {
    let deadline = Linux.now(.monotonic) + Int64(seconds) * 1_000_000
    while try !condition() {
        guard Linux.now(.monotonic) < deadline else {
            throw TimedOut(description: "waited \(seconds) s in vain for \(what())")
        }
        _ = poll(nil, 0, 3)
    }
}
