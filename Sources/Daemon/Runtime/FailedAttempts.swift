import Engine

/// The attempts of operations that failed and were tried again: of those that have not ended, and of those that ended
/// last. Confined to the core.
final class FailedAttempts {
    /// Attempts remembered, of all operations together.
    static let limit = 2000
    /// Of one operation, which may be tried without end.
    static let limitPerOperation = 50

    /// Bytes of output remembered, all together; the older ones are forgotten first.
    static let byteLimit = 1 << 20

    /// Oldest first; without their events, and with the output of the last attempt of an operation only.
    private var views: [OperationView] = []
    private var bytes = 0

    func add(_ view: OperationView) {
        var view = view
        view.events = []
        for index in views.indices where views[index].id == view.id { forgetOutput(index) }
        bytes += view.output.count
        var index = 0
        while bytes > Self.byteLimit, index < views.count {
            forgetOutput(index)
            index += 1
        }
        if views.count(where: { $0.id == view.id }) >= Self.limitPerOperation,
            let oldest = views.firstIndex(where: { $0.id == view.id })
        {
            forgetOutput(oldest)
            views.remove(at: oldest)
        }
        views.append(view)
        guard views.count > Self.limit else { return }
        forgetOutput(0)
        views.removeFirst()
    }

    /// The output of the last attempt.
    func output(of operation: UInt64) -> [UInt8] { views.last { $0.id == operation }?.output ?? [] }

    private func forgetOutput(_ index: Int) {
        bytes -= views[index].output.count
        views[index].output = []
    }

    /// The first one first.
    func of(_ operation: UInt64) -> [OperationView] { views.filter { $0.id == operation } }
}
