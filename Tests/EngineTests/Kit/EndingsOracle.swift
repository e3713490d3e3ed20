import Schedule
import WatchFile

@testable import Engine

/// Tries every order in which runs can end: can all that is there still come to its end?
///
/// It knows nothing of what waits for what: a run whose client waits for an answer does not end before it has it.
struct EndingsOracle {
    var engine: Engine
    var now: Moment
    var running: [RunID]
    /// The operations in whose runs somebody waits, by what he waits for.
    var waiting: [Token: UInt64]

    /// Takes an input, without asking whether it is a deadlock.
    mutating func send(_ input: Input) {
        for action in engine.handle(input, at: now) {
            switch action {
            case .start(let request): running.append(request.run)
            case .reply(let token, _): waiting[token] = nil
            default: break
            }
        }
    }

    func canAllEnd() -> Bool {
        var seen: Set<[UInt64]> = []
        return canAllEnd(&seen)
    }

    private func canAllEnd(_ seen: inout Set<[UInt64]>) -> Bool {
        if engine.operations.count == 0 { return true }
        let state = running.map(\.operation).sorted() + [0] + engine.operations.refs.map(\.id)
        guard seen.insert(state).inserted else { return false }
        let callers = Set(waiting.values)
        for (index, run) in running.enumerated() where !callers.contains(run.operation) {
            var next = self
            next.running.remove(at: index)
            next.send(.runEnded(run, .exited(0)))
            if next.canAllEnd(&seen) { return true }
        }
        return false
    }
}
