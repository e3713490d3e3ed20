@testable import Engine

/// What must hold of `obstacle(before:on:)` and `obstacles(before:)` after every input: a candidate that waits has an
/// obstacle, or it would have been started, and whoever asks why is told one.
struct ObstacleInvariants {
    /// A sentence about the first candidate that is kept back by nothing.
    func check(_ engine: Engine) -> String? {
        guard engine.life.isOpen else { return nil }
        var scheduler = engine.scheduler
        for queue in engine.queues.indices {
            guard let ticket = scheduler.candidate(queue) else { continue }
            let ref = scheduler.operations.ref(ticket)
            guard let obstacle = scheduler.obstacle(before: ticket, on: queue) else {
                return "operation \(ref.id) waits, and nothing stands before it"
            }
            // Nobody is told of a cancellation that is on its way.
            if obstacle != .closed, scheduler.obstacles(before: ref).isEmpty {
                return "operation \(ref.id) waits for \(obstacle), and nobody is told"
            }
        }
        return nil
    }
}
