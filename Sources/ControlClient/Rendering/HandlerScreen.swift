import ControlInterface

/// `watchctl status handler/NAME`: everything that is known of one handler.
struct HandlerScreen {
    let handler: ListHandlers.Handler
    /// Operations of it that run.
    let running: [OperationSummary]
    /// The end of what its newest operation has written.
    let output: [Styled]
    let screen: Screen

    var lines: [Styled] {
        var facts = FactSheet("handler/\(handler.name)", state, screen)
        facts.addPlace(handler.file, handler.line)
        facts.add("does", handler.action)
        facts.add("queue", handler.queue)
        facts.add("overlap", handler.overlap + (handler.overlapIsDefault == true ? " (default)" : ""))
        for worker in handler.workers ?? [] {
            let title = (handler.workers?.count ?? 1) > 1 ? "worker \(worker.copy)" : "worker"
            facts.add(title, ProcessText.worker(worker, screen))
        }
        facts.add("running", all: running.map { OperationText.running($0, screen) })
        if let result = handler.lastResult {
            let ended = handler.lastEnded.map { ", \(screen.full($0))" } ?? ""
            facts.add("last run", OperationText.result(result) + Styled(ended))
        }
        facts.add("events", StatusScreen.totals(handler.counters))
        facts.add("output", all: output)
        return facts.lines
    }

    private var state: Styled {
        let counters = handler.counters
        if counters.running > 0 { return Styled("running", .green) }
        return Styled(counters.pending > 0 ? "waiting" : "idle")
    }
}
