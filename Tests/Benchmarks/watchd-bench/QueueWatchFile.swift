import Schedule
import WatchFile

/// The watch file of `watchd-bench queue`, as it is after it has been read.
///
/// Each queue is concurrent, and has path sources (`Key=%p`) of its own: for one queue ten, each with a handler of its
/// own; for many queues one each, the ten handlers in turn; and one more that leads to a handler with `Barrier=yes`.
/// Beside them a suspended queue with ten sources for the same handlers.
struct QueueWatchFile {
    static let handlers = 10
    /// `Width=` of each queue.
    static let width = 4
    /// Commands at once, over all queues.
    private static let maxProcesses = 16
    /// More than ever wait, so that nothing is held back.
    private static let backlog = 1_000_000

    let configuration: Configuration
    /// Sources in the order in which they fire.
    let ordinary: [SourceID]
    let barriers: [SourceID]
    let suspended: [SourceID]

    init(queues count: Int) {
        let settings = DaemonSettings(maxProcesses: Self.maxProcesses, maxOperations: Self.backlog, maxMemory: 1 << 40)
        func queue(_ name: String, isSuspended: Bool = false) -> QueueDefinition {
            QueueDefinition(
                name: name, kind: .concurrent(width: Self.width), backlog: Self.backlog, backlogBytes: 1 << 40,
                isSuspended: isSuspended)
        }
        let builtIn = QueueDefinition.builtInNames.map { name in
            QueueDefinition(
                name: name, kind: name == "main" ? .serial : .concurrent(width: Self.maxProcesses))
        }
        let names = (0..<count).map { "queue\($0)" }
        let sources = (0..<max(count, Self.handlers)).map {
            Self.source("source\($0)", handler: "handler\($0 % Self.handlers)", queue: names[$0 % count])
        }
        let barriers = names.map { Self.source("barrier.\($0)", handler: "barrier", queue: $0) }
        let suspended = (0..<Self.handlers).map {
            Self.source("suspended\($0)", handler: "handler\($0)", queue: "suspended")
        }
        (ordinary, self.barriers, self.suspended) = (sources.map(\.id), barriers.map(\.id), suspended.map(\.id))
        configuration = Configuration(
            settings: settings, queues: builtIn + names.map { queue($0) } + [queue("suspended", isSuspended: true)],
            handlers: (0..<Self.handlers).map { Self.handler("handler\($0)") } + [
                Self.handler("barrier", barrier: true)
            ],
            sources: sources + barriers + suspended)
    }

    private static func handler(_ name: String, barrier: Bool = false) -> HandlerDefinition {
        let words = ["/usr/bin/convert", "-thumbnail", "200x200"].map { Command.Word.template(Template(literal: $0)) }
        var constraints = StartConstraints()
        constraints.isBarrier = barrier
        return HandlerDefinition(name: name, action: .exec([Command(words: words)]), constraints: constraints)
    }

    private static func source(_ name: String, handler: String, queue: String) -> SourceDefinition {
        SourceDefinition(
            id: SourceID(.path, name), routes: [Route(handler: handler, queue: queue)],
            key: .template(Template(parts: [.specifier(.path)])),
            trigger: .path(PathTrigger(paths: [Array("/srv".utf8)])))
    }
}
