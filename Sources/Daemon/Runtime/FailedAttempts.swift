import Engine
import Store

/// The attempts of operations that failed and were tried again: of those that have not ended, and of those that ended
/// last. Confined to the core.
final class FailedAttempts {
    /// Attempts remembered, of all operations together.
    static let limit = 2000
    /// Bytes of output remembered, all together; the older ones are forgotten first.
    static let byteLimit = 1 << 20

    /// Oldest first; without their events.
    private var views: [OperationView] = []
    /// How many of the oldest have lost their output.
    private var withoutOutput = 0
    private var bytes = 0

    var isEmpty: Bool { views.isEmpty }

    func add(_ view: OperationView) {
        var view = view
        view.events = []
        bytes += view.output.count
        while bytes > Self.byteLimit, withoutOutput < views.count {
            bytes -= views[withoutOutput].output.count
            views[withoutOutput].output = []
            withoutOutput += 1
        }
        if views.count(where: { $0.id == view.id }) >= AttemptRow.outputsPerOperation,
            let oldest = views.firstIndex(where: { $0.id == view.id })
        {
            remove(oldest)
        }
        views.append(view)
        if views.count > Self.limit { remove(0) }
    }

    /// The output of an attempt; `nil`: it is not known, or forgotten.
    func output(of operation: UInt64, attempt: Int) -> [UInt8]? {
        views[withoutOutput...].last { ($0.id, $0.attempt) == (operation, attempt) }?.output
    }

    private func remove(_ index: Int) {
        bytes -= views[index].output.count
        views.remove(at: index)
        if index < withoutOutput { withoutOutput -= 1 }
    }

    /// The first one first.
    func of(_ operation: UInt64) -> [OperationView] { views.filter { $0.id == operation } }
}
