/// The commands of sources that run or are being started, and those that are to end. Confined to its context.
final class RunningCommands {
    private var sources: [ObjectIdentifier: CommandSource] = [:]
    private var waiting: [() -> Void] = []

    func add(_ source: CommandSource) { sources[ObjectIdentifier(source)] = source }

    /// It has been waited for.
    func remove(_ source: CommandSource) {
        sources[ObjectIdentifier(source)] = nil
        guard sources.isEmpty else { return }
        let now = waiting
        waiting = []
        for done in now { done() }
    }

    /// Calls back when none is left; at once where there is none.
    func whenEnded(_ done: @escaping () -> Void) {
        if sources.isEmpty { done() } else { waiting.append(done) }
    }

    var all: [CommandSource] { Array(sources.values) }
}
