import WatchFile

/// Which worker takes a line, and what it takes of the width of queues.
extension Scheduler {
    /// The worker for the next line of an operation; `nil`: there is none with room, or it is no line.
    func seat(for ticket: Ticket) -> Seat? {
        guard let crew = needs[operations[ticket].handler].crew else { return nil }
        return member(of: crew, on: operations[ticket].queue).map { Seat(crew: crew, copy: $0) }
    }

    /// The one that holds fewest lines, among those whose place on the queue and its targets is taken already or free.
    private func member(of crew: Int, on queue: Int) -> Int? {
        let isWide = fullPlace(queue) == nil
        let prefetch = crews[crew].stream.prefetch
        var best: (index: Int, held: Int)?
        for index in crews[crew].members.indices {
            let held = crews[crew].members[index].held
            guard held < best?.held ?? prefetch, crews[crew].members[index].worker.isOpen,
                isWide || hasPlaces(crew, index, on: queue)
            else { continue }
            best = (index, held)
            if held == 0 { break }
        }
        return best?.index
    }

    private func hasPlaces(_ crew: Int, _ copy: Int, on queue: Int) -> Bool {
        lanes[queue].chain.allSatisfy { lanes[$0].hasWidth || crews[crew].members[copy].places[$0] != nil }
    }

    /// The first queue without width for an operation: the next line of a worker takes none.
    func fullPlace(_ queue: Int, for ticket: Ticket) -> Int? {
        guard let full = fullPlace(queue) else { return nil }
        guard let crew = needs[operations[ticket].handler].crew else { return full }
        return member(of: crew, on: queue) == nil ? full : nil
    }

    // MARK: Taking and giving

    /// A worker gets a line.
    mutating func take(_ seat: Seat, on queue: Int) {
        crews[seat.crew].members[seat.copy].held += 1
        let places = crews[seat.crew].members[seat.copy].places.count
        for place in lanes[queue].chain { takePlace(place, seat) }
        if crews[seat.crew].members[seat.copy].places.count > places, isRoomy(seat) { wakeForWorker(seat) }
        if !restarting.isEmpty { areRestartsMoved = true }
        self[queue].rate.pass(at: surroundings.now)
    }

    mutating func takePlace(_ place: Int, _ seat: Seat) {
        let count = crews[seat.crew].members[seat.copy].places[place] ?? 0
        crews[seat.crew].members[seat.copy].places[place] = count + 1
        guard count == 0 else { return }
        self[place].runsThrough += 1
        if lanes[place].parked.through > 0 { areSemaphoresMoved = true }
    }

    /// A worker is through with a line. Returns the queues whose width it has given back.
    mutating func give(_ seat: Seat, _ places: [Int], _ shares: [SemaphoreShare]) -> [Int] {
        crews[seat.crew].members[seat.copy].held -= 1
        giveBack(shares)
        if !crews[seat.crew].members[seat.copy].worker.isOpen { fitRoom(seat.crew) }
        var given: [Int] = []
        for place in places {
            let left = (crews[seat.crew].members[seat.copy].places[place] ?? 1) - 1
            crews[seat.crew].members[seat.copy].places[place] = left > 0 ? left : nil
            if left <= 0 {
                giveWidth(place)
                given.append(place)
            }
        }
        wakeForWorker(seat)
        return given
    }

    private func isRoomy(_ seat: Seat) -> Bool {
        crews[seat.crew].members[seat.copy].held < crews[seat.crew].stream.prefetch
    }

    /// A worker has room, and keeps places on queues without width: what waits there for width may have this worker.
    private mutating func wakeForWorker(_ seat: Seat) {
        for place in crews[seat.crew].members[seat.copy].places.keys.sorted() where !lanes[place].hasWidth {
            for queue in lanes[place].through {
                if lanes[queue].standing?.spot == .target(place) { self[queue].standing = nil }
                touch(queue: queue)
            }
        }
    }

    /// A worker takes lines now, or none any more, or more than before.
    mutating func fitRoom(_ crew: Int) {
        let (room, capacity) = (crews[crew].room, crews[crew].capacity)
        let change = capacity - semaphores[room].definition.value
        guard change != 0 else { return }
        semaphores[room].definition.value = capacity
        semaphores[room].available += change
        areSemaphoresMoved = true
        if change > 0, !restarting.isEmpty { areRestartsMoved = true }
    }

    // MARK: Reload

    /// Makes the crew of a handler that has none.
    mutating func addCrew(_ definition: SharedDefinition, _ stream: StreamAction) -> Int {
        lastRoom += 1
        // No section can have this name.
        let name = "worker \(lastRoom) of \(definition.value.name)"
        var state = SemaphoreState(SemaphoreDefinition(name: name, value: 0))
        state.isRoom = true
        let room = semaphores.insert(state)
        return crews.insert(
            Crew(handler: definition.value.name, definition: definition, stream: stream, room: room))
    }

    /// Nothing of it is left.
    mutating func removeCrew(_ crew: Int) {
        semaphores[crews[crew].room].isRemoved = true
        releaseSemaphoreIfUnused(crews[crew].room)
        crews.remove(crew)
    }

    /// The places are about to be counted anew.
    mutating func clearPlaces() {
        for crew in crews.indices {
            for copy in crews[crew].members.indices { crews[crew].members[copy].places = [:] }
        }
    }
}
