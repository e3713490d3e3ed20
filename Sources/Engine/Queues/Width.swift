/// `Width=`: how many operations run through a queue at once, counting those of the queues that it is the target of.
extension Scheduler {
    /// The first queue, of those that a queue runs through, that has no width left.
    func fullPlace(_ queue: Int) -> Int? { lanes[queue].chain.first { !lanes[$0].hasWidth } }

    /// A run takes its place on its queue and the targets, and counts in the rate.
    mutating func takeWidth(_ queue: Int) {
        for place in lanes[queue].chain {
            self[place].runsThrough += 1
            if lanes[place].parked.through > 0 { areSemaphoresMoved = true }
        }
        if !restarting.isEmpty { areRestartsMoved = true }
        self[queue].rate.pass(at: surroundings.now)
    }

    /// A run gives back its place on one of the queues that it ran through.
    mutating func giveWidth(_ place: Int) {
        self[place].runsThrough -= 1
        if lanes[place].parked.through > 0 { areSemaphoresMoved = true }
        noteWide(place)
        touch(queue: place)
        if !restarting.isEmpty { areRestartsMoved = true }
    }

    /// A target has width again: as many of its oldest contenders as it has width for may try. Those behind them may
    /// when these have been fed, if there is width still: they may be kept from starting by something else.
    mutating func wakeContenders(of target: Int) {
        var free = lanes[target].rules.width - lanes[target].runsThrough
        while free > 0, let first = self[target].contenders.removeFirst() {
            guard lanes.isStanding(first, at: .target(target)) else { continue }
            self[first.queue].standing = nil
            touch(queue: first.queue)
            free -= 1
        }
        self[target].mark.isWide = false
        if free == 0, lanes[target].hasWidth { noteWide(target, isFed: true) }
    }
}
