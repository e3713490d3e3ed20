package import LinuxSystem

/// One signalfd for all signals: sender and value survive and nothing coalesces, as it would in a Dispatch signal
/// source (Dispatch.md, fact 13). Confined to its context.
///
/// The signals must be blocked in every thread: `Linux.blockSignals(.watchable)` on the main thread before the first
/// other one starts.
package final class SignalSource {
    /// Signals read in one turn.
    private static let signalsPerTurn = 1000

    private let source: ReadSource

    package init(
        _ signals: SignalSet, on context: Context, handler: @escaping (SignalInfo) -> Void
    ) throws(SystemError) {
        let descriptor = try Linux.signalCreate(signals)
        let number = descriptor.rawValue
        source = ReadSource(descriptor, on: context) {
            var count = 0
            while count < Self.signalsPerTurn, let signals = try? Linux.signalRead(number), !signals.isEmpty {
                signals.forEach(handler)
                count += signals.count
            }
        }
    }

    /// Other signals from now on; what waits stays waiting.
    package func watch(_ signals: SignalSet) throws(SystemError) {
        try Linux.signalSet(source.descriptor, signals)
    }
}
