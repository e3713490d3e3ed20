import LinuxSystem
import Synchronization

/// Paths that a lane asks one after the other, while the core looks how far it has come.
final class ProbeSteps: Sendable {
    private struct State {
        /// The next one last.
        var left: [[UInt8]]
        var current: (step: [UInt8], since: Int64)?
        var hasBegun = false
    }

    private let state: Mutex<State>

    init(_ steps: [[UInt8]]) { state = Mutex(State(left: steps.reversed())) }

    /// The one before has answered; `nil`: there is none left.
    func next() -> [UInt8]? {
        let now = Linux.now(.monotonic)
        return state.withLock { state in
            state.hasBegun = true
            let step = state.left.popLast()
            state.current = step.map { ($0, now) }
            return step
        }
    }

    /// The one that is being asked, since that monotonic microsecond.
    var current: (step: [UInt8], since: Int64)? { state.withLock { $0.current } }

    /// The first one, while no lane has come to it.
    var untouched: [UInt8]? { state.withLock { $0.hasBegun ? nil : $0.left.last } }

    /// Takes out those that nobody has come to; `path`: only those at and below it.
    func takeLeft(below path: [UInt8]?) -> [[UInt8]] {
        state.withLock { state in
            guard let path else {
                defer { state.left = [] }
                return state.left.reversed()
            }
            let taken = state.left.filter { $0.isAtOrBelow(path) }
            state.left.removeAll { $0.isAtOrBelow(path) }
            return taken.reversed()
        }
    }
}
