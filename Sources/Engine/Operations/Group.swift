package import WatchFile

/// `[Group]`: fires when the last operation of its members has ended.
///
/// After a crash it is what was restored and adopted that is outstanding. How many operations of queues that are not
/// durable there were is written now and then (`membersAtRisk`), with what has ended since the group fired last
/// (`tallies`): those that are not found again were lost. The numbers are as old as the last write; what is to be exact
/// is for `Durable=yes`: such an end is written together with what it changes of the tally.
///
/// A ticket that lasts as long as a process outlives watchd with it: the next one watches the process.
extension Engine {
    mutating func leaveGroups(_ operation: Operation, _ view: OperationView) {
        for group in handlers[operation.handler].groups where sources.isInUse(group) {
            sources[group].group.outstanding -= 1
            switch view.result {
            case .done: sources[group].group.tally.ran += 1
            case .failed, .stopped:
                sources[group].group.tally.ran += 1
                sources[group].group.tally.failed += 1
                note(failed: view, in: group)
            case .cancelled: sources[group].group.tally.cancelled += 1
            case .skipped, .dropped, .annulled, .superseded, nil: break
            }
            sources[group].group.depth = max(sources[group].group.depth, Int(operation.descent.depth))
            if operation.record.isDurable { saveTally(group) }
            groupMayBeEmpty(group)
        }
    }

    private mutating func note(failed view: OperationView, in group: Int) {
        guard sources[group].group.tally.failures.count < GroupFact.failureLimit else { return }
        sources[group].group.tally.failures.append(
            GroupFact.Failure(handler: view.handler, operation: view.id, reason: view.told ?? ""))
    }

    private mutating func groupMayBeEmpty(_ source: Int) {
        guard sources[source].group.isEmpty else { return }
        tell(.group(source))
        let (fact, depth) = (sources[source].group.tally, sources[source].group.depth)
        sources[source].group.tally = GroupFact()
        sources[source].group.depth = 0
        if fact != GroupFact() { saveTally(source) }
        guard !sources[source].isRemoved, !life.isDrained else { return }
        // At a stop its handlers wait for the next start.
        life.drain?.keepsAll = true
        defer { life.drain?.keepsAll = false }
        accept(.group(fact), from: source, depth: depth + 1)
    }

    // MARK: After a stop or a crash

    private mutating func saveTally(_ source: Int) {
        guard case .source(let id) = sources[source].origin else { return }
        actions.append(.store(.tally(id, sources[source].group.tally)))
    }

    /// Of each group of which something has ended since it fired last, that.
    package var tallies: [SourceID: GroupFact] {
        var tallies: [SourceID: GroupFact] = [:]
        for source in sources.indices where isGroup(source) && sources[source].group.tally != GroupFact() {
            if case .source(let id) = sources[source].origin { tallies[id] = sources[source].group.tally }
        }
        return tallies
    }

    /// The next start goes on with them.
    mutating func saveTallies() {
        for (id, tally) in tallies.sorted(by: { $0.key.name < $1.key.name }) {
            actions.append(.store(.tally(id, tally)))
        }
    }

    /// Whether there are groups, for which `membersAtRisk` is to be written.
    package var hasGroups: Bool { sources.indices.contains { isGroup($0) } }

    /// Of each group that has any, how many operations of its members a crash would lose, with those already lost that
    /// it has not told yet. Takes as long as there are operations.
    package var membersAtRisk: [SourceID: Int] {
        var counts: [Int: Int] = [:]
        operations.forEachOperation { operation in
            guard !operation.record.isDurable else { return }
            for group in handlers[operation.handler].groups { counts[group, default: 0] += 1 }
        }
        var members: [SourceID: Int] = [:]
        for source in sources.indices where isGroup(source) {
            guard case .source(let id) = sources[source].origin else { continue }
            let count = counts[source, default: 0] + sources[source].group.tally.lost
            if count > 0 { members[id] = count }
        }
        return members
    }

    /// To be called before what is stored takes its place: that may empty a group.
    mutating func restoreGroups(_ state: StoredState) {
        for (id, tickets) in state.tickets.sorted(by: { $0.key.name < $1.key.name }) {
            guard let source = sources.index(of: .source(id)), isGroup(source) else {
                actions.append(.store(.tickets(id, [])))
                continue
            }
            for ticket in tickets { sources[source].group.tickets[ticket.number] = ticket }
        }
        for (id, tally) in state.tallies {
            guard let source = sources.index(of: .source(id)), isGroup(source) else { continue }
            sources[source].group.tally.add(earlier: tally)
        }
        for (id, count) in state.groups {
            guard let source = sources.index(of: .source(id)), isGroup(source) else { continue }
            let found = state.operations.count { operation in
                !operation.isDurable
                    && handlers.index(of: operation.handler).map { handlers[$0].groups.contains(source) } ?? false
            }
            // The count has those in it that were lost before.
            sources[source].group.tally.lost += max(0, count - found - (state.tallies[id]?.lost ?? 0))
        }
    }

    /// Groups of which nothing is left that has not ended, or was lost.
    mutating func tellTallies(_ state: StoredState) {
        for id in Set(state.groups.keys).union(state.tallies.keys).sorted(by: { $0.name < $1.name }) {
            guard let source = sources.index(of: .source(id)), isGroup(source),
                sources[source].group.tally != GroupFact()
            else { continue }
            groupMayBeEmpty(source)
        }
    }

    mutating func enterGroup(_ name: String, _ holder: CommandFact.Holder?, _ token: Token) throws(CommandError) {
        let source = try group(name)
        let ticket = GroupTicket(number: journal.ids.takeTicket(), holder: holder)
        sources[source].group.tickets[ticket.number] = ticket
        if holder != nil { saveTickets(source) }
        reply(token, .ticket(ticket.number), isSafe: holder == nil)
    }

    mutating func leaveGroup(_ name: String, _ ticket: UInt64) throws(CommandError) {
        // A group that was removed stays until its last client has left.
        let source = if let removed = removedGroup(name) { removed } else { try group(name) }
        guard let left = sources[source].group.tickets.removeValue(forKey: ticket) else {
            throw .noSuchTicket(group: name, ticket: ticket, isEarlier: !journal.ids.hasGivenOut(ticket: ticket))
        }
        if left.holder != nil { saveTickets(source) }
        groupMayBeEmpty(source)
        releaseSourceIfUnused(source)
    }

    private mutating func saveTickets(_ source: Int) {
        guard case .source(let id) = sources[source].origin else { return }
        let kept = sources[source].group.tickets.values.filter { $0.holder != nil }
        actions.append(.store(.tickets(id, kept.sorted { $0.number < $1.number })))
    }

    private func removedGroup(_ name: String) -> Int? {
        let bare = String(name.split(separator: "/").last ?? "")
        guard let source = sources.index(of: .source(SourceID(.group, bare))) else { return nil }
        return sources[source].isRemoved ? source : nil
    }

    private func group(_ name: String) throws(CommandError) -> Int {
        let named = try resolve(name) { named in
            guard case .source(let source) = named else { return false }
            return isGroup(source)
        }
        guard case .source(let source) = named else { throw .noSuchName(name, nearest: nil) }
        return source
    }

    func isGroup(_ source: Int) -> Bool {
        if case .group = sources[source].definition?.value.trigger { true } else { false }
    }

    /// The members of each group, and the number of their operations.
    mutating func linkGroups() {
        let before = handlers.indices.map { (handler: $0, groups: handlers[$0].groups) }
        for handler in handlers.indices { handlers[handler].groups = [] }
        for source in sources.indices where !sources[source].isRemoved {
            guard case .group(let trigger) = sources[source].definition?.value.trigger else { continue }
            for name in trigger.members {
                guard let handler = handlers.index(of: name) else { continue }
                handlers[handler].groups.append(source)
            }
        }
        for source in sources.indices where isGroup(source) {
            let outstanding = handlers.indices.reduce(0) { sum, handler in
                sum + (handlers[handler].groups.contains(source) ? handlers[handler].operations : 0)
            }
            let wasEmpty = sources[source].group.isEmpty
            sources[source].group.outstanding = outstanding
            let taken = before.reduce(0) { sum, member in
                let isTaken = member.groups.contains(source) && !handlers[member.handler].groups.contains(source)
                return sum + (isTaken ? handlers[member.handler].operations : 0)
            }
            if taken > 0 { refuseWaiters(forGroup: source, taken: taken) }
            // The group tells of operations that ended before; one that belongs to it no more has not ended.
            if !wasEmpty, taken == 0 || sources[source].group.tally != GroupFact() { groupMayBeEmpty(source) }
        }
    }

    /// A reload has taken operations out of a group: their ends are not seen there.
    mutating func refuseWaiters(forGroup source: Int, taken: Int) {
        let reason =
            "a reload has taken \(counted(taken, "operation")) out of \(sources[source].origin.description) before "
            + "\(taken == 1 ? "its end" : "their ends"): watchctl operations"
        for token in calls.takeWaiters(for: .group(source)) { reply(token, .failure(.refused(reason)), isSafe: true) }
    }
}
