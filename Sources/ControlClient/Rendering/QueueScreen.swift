import ControlInterface
import WatchFile

/// `watchctl status queue/NAME`: everything that is known of one queue.
struct QueueScreen {
    let queue: ListQueues.Queue
    /// Operations of it that run.
    let running: [OperationSummary]
    let screen: Screen

    var lines: [Styled] {
        var facts = FactSheet("queue/\(queue.name)", Lists(screen: screen).state(of: queue), screen)
        facts.addPlace(queue.file, queue.line)
        let width = queue.type == .serial ? "serial" : "concurrent, \(queue.width) at a time"
        facts.add("type", "\(width), QoS \(queue.qos)")
        facts.add("target", queue.target.map { "queue/\($0)" })
        for suspension in queue.suspendedBy { facts.add("paused", Phrases.suspension(suspension, screen)) }
        facts.add("running", all: running.map { OperationText.running($0, screen) })
        facts.add("waiting", waiting)
        facts.add("backlog", backlog)
        facts.add("events", StatusScreen.totals(queue.counters))
        return facts.lines
    }

    private var waiting: String {
        guard queue.operations > 0 else { return "nothing" }
        let oldest = queue.oldest.map { ", the oldest for \(screen.age($0))" } ?? ""
        return Phrases.count(queue.operations, "operation") + oldest
    }

    private var backlog: String {
        let entries = "\(Phrases.count(queue.entries)) of \(Phrases.count(queue.backlog, "entry", "entries"))"
        let bytes = "\(ByteCount.rounded(queue.bytes)) of \(ByteCount.exact(queue.backlogBytes))"
        return "\(entries), \(bytes); above it Overflow=\(queue.overflow)"
    }
}
