import WatchFile

@testable import Engine

/// What must hold of workers after every input: what they hold is counted, none holds more than it may, their room is
/// what is left, and the width of queues counts each busy worker once.
struct WorkerInvariants {
    /// A sentence about the first thing that is wrong.
    func check(_ engine: Engine, _ refs: [OperationRef]) -> String? {
        let scheduler = engine.scheduler
        var held: [Seat: Int] = [:]
        var places: [Int: Set<Seat>] = [:]
        var width: [Int: Int] = [:]
        for ref in refs {
            for run in engine.operations[ref].runs {
                guard let seat = run.seat else {
                    for place in run.queues { width[place, default: 0] += 1 }
                    continue
                }
                held[seat, default: 0] += 1
                for place in run.queues { places[place, default: []].insert(seat) }
                guard scheduler.crews.contains(seat) else { return "operation \(ref.id) is with a worker that is gone" }
                if scheduler.crews[seat.crew].members[seat.copy].worker.process == nil {
                    return "operation \(ref.id) is with a worker that has no process"
                }
            }
        }
        for queue in engine.queues.indices {
            let taken = width[queue, default: 0] + (places[queue]?.count ?? 0)
            if scheduler[queue].runsThrough != taken {
                return
                    "queue \(engine.queues[queue].name) counts \(scheduler[queue].runsThrough) places, \(taken) are taken"
            }
        }
        for crew in scheduler.crews.indices {
            if let wrong = check(scheduler.crews[crew], crew, held, scheduler) { return wrong }
        }
        for handler in engine.handlers.indices {
            let isStream = engine.handlers[handler].definition.value.stream != nil
            if isStream != (engine.handlers[handler].crew != nil) {
                return "handler \(engine.handlers[handler].name) has no crew, or one for nothing"
            }
        }
        return nil
    }

    private func check(_ crew: Crew, _ index: Int, _ held: [Seat: Int], _ scheduler: Scheduler) -> String? {
        var room = 0
        for copy in crew.members.indices {
            let (seat, member) = (Seat(crew: index, copy: copy), crew.members[copy])
            if member.held != held[seat, default: 0] {
                return
                    "worker \(copy + 1) of \(crew.handler) counts \(member.held) lines, it has \(held[seat, default: 0])"
            }
            if member.worker.isOpen { room += crew.stream.prefetch - member.held }
            if let run = member.worker.process?.run, scheduler.crews.seats[run.operation] != seat {
                return "nobody knows worker \(copy + 1) of \(crew.handler)"
            }
        }
        let state = scheduler.semaphores[crew.room]
        if state.available != room {
            return "the room of \(crew.handler) is \(room), and counted as \(state.available)"
        }
        let isKept = crew.isRemoved && crew.members.allSatisfy { $0.worker.process == nil }
        return isKept ? "the workers of \(crew.handler) are kept for nothing" : nil
    }
}
