import ControlInterface
import WatchFile

/// The tables of `watchctl sources`, `timers`, `queues`, `handlers` and `operations`.
struct Lists {
    let screen: Screen

    func sources(_ sources: [ListSources.Source]) -> [Styled] {
        var table = Table([
            .init(title: "SOURCE", yields: true), .init(title: "STATE"),
            .init(title: "LAST", isNumber: true, rank: 2), .init(title: "NEXT", isNumber: true, rank: 1),
            .init(title: "ACCEPTED", isNumber: true), .init(title: "MERGED", isNumber: true, rank: 4),
            .init(title: "PENDING", isNumber: true), .init(title: "FAILED", isNumber: true),
            .init(title: "DROPPED", isNumber: true, isRare: true),
            .init(title: "HANDLERS", isFlexible: true, rank: 3), .init(title: "WATCHES", isFlexible: true, rank: 5),
        ])
        for source in sources {
            table.add([
                Styled(source.name), state(of: source), Styled(screen.ago(source.lastEvent)),
                next(source, screen.ahead), number(source.counters.accepted),
                number(source.counters.coalesced), number(source.counters.pending + source.counters.held),
                failed(source.counters), dropped(source.counters),
                Styled(source.handlers.joined(separator: " ")), Styled(source.detail ?? source.description ?? ""),
            ])
        }
        // The line of a process that was stopped says so.
        let reasons = sources.filter { $0.processes == nil || $0.state != .waiting }.flatMap { source in
            let next = source.nextTry.map { "; next try \(screen.ahead($0))" } ?? ""
            return source.reason.map { Styled("\(source.name): \($0)\(next)", .dim).wrapped(to: screen.width) } ?? []
        }
        let processes = sources.flatMap { source in
            (source.processes ?? []).flatMap { process in
                let copy = source.processes?.count ?? 0 > 1 ? ", copy \(process.copy)" : ""
                return Styled("\(source.name)\(copy) \(ProcessText.standing(process, screen))", .dim)
                    .wrapped(to: screen.width)
            }
        }
        return lines(table, none: "The watch file has no sources.") + reasons + processes
    }

    /// Those that fire next first, then those of which nobody knows when.
    func timers(_ timers: [ListSources.Source]) -> [Styled] {
        var table = Table([
            .init(title: "NEXT"), .init(title: "IN", isNumber: true), .init(title: "LAST", isNumber: true, rank: 2),
            .init(title: "TIMER", yields: true), .init(title: "STATE", rank: 1),
            .init(title: "PENDING", isNumber: true, rank: 4), .init(title: "HANDLERS", isFlexible: true, rank: 3),
            .init(title: "WHEN", isFlexible: true, rank: 5),
        ])
        for timer in timers.sorted(by: { ($0.nextElapse ?? "~", $0.name) < ($1.nextElapse ?? "~", $1.name) }) {
            table.add([
                next(timer, screen.planned), Styled(screen.ahead(timer.nextElapse)),
                Styled(screen.ago(timer.lastEvent)), Styled(timer.name), state(of: timer),
                number(timer.counters.pending + timer.counters.held),
                Styled(timer.handlers.joined(separator: " ")), Styled(timer.detail ?? timer.description ?? ""),
            ])
        }
        return lines(table, none: "The watch file has no timers.")
    }

    /// The commands with a time, the next first.
    func commands(_ operations: [OperationSummary]) -> [Styled] {
        var table = Table([
            .init(title: "NEXT"), .init(title: "IN", isNumber: true), .init(title: "ID", isNumber: true),
            .init(title: "QUEUE", rank: 1, yields: true), .init(title: "COMMAND", isFlexible: true),
        ])
        for operation in operations.sorted(by: { ($0.notBefore ?? "~", $0.id) < ($1.notBefore ?? "~", $1.id) }) {
            table.add([
                Styled(operation.notBefore.map(screen.planned) ?? "-"), Styled(screen.ahead(operation.notBefore)),
                Styled("\(operation.id)"), Styled(operation.queue), Styled(operation.cause),
            ])
        }
        return table.lines(width: screen.width)
    }

    func queues(_ queues: [ListQueues.Queue]) -> [Styled] {
        var table = Table([
            .init(title: "QUEUE", yields: true), .init(title: "TYPE", rank: 3),
            .init(title: "QOS", isFlexible: true, rank: 4),
            .init(title: "STATE", isFlexible: true, isWrapped: true),
            .init(title: "RUNNING", isNumber: true),
            .init(title: "WAITING", isNumber: true),
            .init(title: "BACKLOG", isNumber: true, rank: 1),
            .init(title: "BYTES", isNumber: true, rank: 1, isRare: true),
            .init(title: "DONE", isNumber: true),
            .init(title: "FAILED", isNumber: true), .init(title: "DROPPED", isNumber: true, isRare: true),
            .init(title: "OLDEST", isNumber: true, rank: 2),
        ])
        for queue in queues {
            table.add([
                Styled(queue.name + (queue.target.map { " → \($0)" } ?? "")),
                Styled(queue.type == .serial ? "serial" : "concurrent \(queue.width)"), Styled(queue.qos),
                state(of: queue), number(queue.running), number(queue.operations),
                Styled("\(Phrases.count(queue.entries))/\(Phrases.count(queue.backlog))"), bytes(queue),
                number(queue.counters.done),
                failed(queue.counters), dropped(queue.counters),
                Styled(screen.age(queue.oldest)),
            ])
        }
        return lines(table, none: "There are no queues.")
    }

    func semaphores(_ semaphores: [ListSemaphores.Semaphore]) -> [Styled] {
        lines(semaphoreTable("SEMAPHORE", semaphores), none: "The watch file has no semaphores.")
    }

    /// - Parameter title: of the first column.
    func semaphoreTable(_ title: String, _ semaphores: [ListSemaphores.Semaphore], indent: String = "") -> Table {
        var table = Table([
            .init(title: title, isFlexible: true), .init(title: "FREE", isNumber: true),
            .init(title: "VALUE", isNumber: true), .init(title: "WAITING", isNumber: true),
            .init(title: "HELD BY", isFlexible: true, isWrapped: true, isRare: true),
        ])
        for semaphore in semaphores {
            let isShort = semaphore.available <= 0 && semaphore.waiting > 0
            table.add([
                Styled(indent + semaphore.name),
                Styled(Phrases.count(semaphore.available), isShort ? .yellow : .plain), number(semaphore.value),
                number(semaphore.waiting), Styled(SemaphoreScreen.holders(semaphore).joined(separator: "; ")),
            ])
        }
        return table
    }

    func handlers(_ handlers: [ListHandlers.Handler]) -> [Styled] {
        var table = Table([
            .init(title: "HANDLER", yields: true), .init(title: "QUEUE", rank: 2),
            .init(title: "RUNNING", isNumber: true), .init(title: "LAST", isFlexible: true),
            .init(title: "ENDED", isNumber: true, rank: 1), .init(title: "DONE", isNumber: true),
            .init(title: "FAILED", isNumber: true), .init(title: "DROPPED", isNumber: true, isRare: true),
            .init(title: "WORKERS", isFlexible: true, isRare: true),
            .init(title: "ACTION", isFlexible: true, rank: 3),
        ])
        for handler in handlers {
            table.add([
                Styled(handler.name), Styled(handler.queue), number(handler.counters.running),
                handler.lastResult.map { OperationText.result($0) } ?? Styled("-"),
                Styled(screen.ago(handler.lastEnded)),
                number(handler.counters.done), failed(handler.counters), dropped(handler.counters),
                Styled(
                    (handler.workers ?? []).compactMap { worker in
                        worker.pid.map { "\($0)" + ((worker.lines ?? 0) == 0 ? "" : " (\(worker.lines ?? 0))") }
                    }.joined(separator: ", ")),
                Styled(handler.action),
            ])
        }
        return lines(table, none: "The watch file has no handlers.")
    }

    /// - Parameter areEnded: of those that have ended, only what is still remembered was asked for.
    func operations(
        _ operations: [OperationSummary], _ held: [HeldEvents] = [], areEnded: Bool = false
    ) -> [Styled] {
        var table = Table([
            .init(title: "ID", isNumber: true), .init(title: "HANDLER", yields: true),
            .init(title: "QUEUE", rank: 1), .init(title: "STATE"),
            .init(title: "SINCE", isNumber: true), .init(title: "TRY", isNumber: true, rank: 2),
            .init(title: "CAUSE", isFlexible: true, isWrapped: true),
            .init(title: "WAITS FOR", isFlexible: true, isWrapped: true),
        ])
        for operation in operations {
            table.add([
                Styled(String(operation.id)), Styled(operation.handler), Styled(operation.queue),
                OperationText.brief(operation),
                Styled(screen.age(operation.ended ?? operation.started ?? operation.submitted)),
                Styled(OperationText.attempt(operation)), Styled(operation.cause),
                Styled(OperationText.detail(operation, screen)),
            ])
        }
        for events in held {
            table.add([
                Styled("-"), Styled(events.handlers.joined(separator: ", ")), Styled("-"), Styled("held"),
                Styled(screen.age(events.since)), Styled("-"),
                Styled("\(events.source), \(Phrases.count(events.events, "event"))"), Styled(events.waitingFor),
            ])
        }
        let none = "There are no such operations" + (areEnded ? " in memory; watchctl history has them all." : ".")
        return lines(table, none: none)
    }

    private func lines(_ table: Table, none: String) -> [Styled] {
        table.isEmpty ? [Styled(none)] : table.lines(width: screen.width)
    }

    private func number(_ number: Int) -> Styled { Styled(Phrases.count(number)) }

    private func failed(_ counters: Counters) -> Styled {
        Styled(Phrases.count(counters.failed), counters.failed > 0 ? .red : .plain)
    }

    /// Where they are worth a look: from a hundredth of what there may be.
    private func bytes(_ queue: ListQueues.Queue) -> Styled {
        guard queue.bytes >= queue.backlogBytes / 100, queue.bytes > 0 else { return Styled("") }
        return Styled("\(ByteCount.rounded(queue.bytes))/\(ByteCount.exact(queue.backlogBytes))")
    }

    private func dropped(_ counters: Counters) -> Styled {
        counters.dropped > 0 ? Styled(Phrases.count(counters.dropped), .red) : Styled("")
    }

    /// When it fires next, in the words of `phrase`.
    private func next(_ source: ListSources.Source, _ phrase: (String?) -> String) -> Styled {
        source.neverElapses == true ? Styled("never", .yellow) : Styled(phrase(source.nextElapse))
    }

    func state(of source: ListSources.Source) -> Styled {
        switch source.state {
        case .armed: Styled("armed", .green)
        case .failed: Styled("FAILED", .red)
        case .suspended: suspended(source)
        case .waiting, .held, .closed: Styled(source.state.rawValue, .yellow)
        }
    }

    private func suspended(_ source: ListSources.Source) -> Styled {
        if source.suspended > 1 { return Styled("suspended \(source.suspended)x", .yellow) }
        let until = source.suspendedBy.last?.until.map { " until \(screen.until($0))" } ?? ""
        return Styled("suspended\(until)", .yellow)
    }

    func state(of queue: ListQueues.Queue) -> Styled {
        if let newest = queue.suspendedBy.last {
            let until = newest.until.map { " until \(screen.until($0))" } ?? ""
            return Styled("suspended by \(newest.by)\(until)", .yellow)
        }
        if queue.suspended > 0 { return Styled("suspended", .yellow) }
        if queue.over > 0 { return Styled("full, \(Phrases.count(queue.over)) over", .red) }
        if let full = queue.full { return Styled("full: \(full)", .red) }
        if queue.entries >= queue.backlog { return Styled("full", .red) }
        if queue.running > 0 { return Styled("busy", .green) }
        return Styled(queue.operations > 0 ? "waiting" : "idle")
    }
}
