import ControlInterface
import Engine
import WatchFile

/// The records that a follower wants: all of them, or those that concern a handler, source or queue.
struct FollowFilter: Sendable {
    private var handlers: Set<String> = []
    private var queues: Set<String> = []
    private var sources: Set<String> = []
    private var isForAll = true
    let wantsOutput: Bool

    init(wantsOutput: Bool = false) { self.wantsOutput = wantsOutput }

    /// - Parameter name: `handler/backup`, or a bare name for all that have it.
    /// - Throws: nothing has this name.
    init(_ name: String, wantsOutput: Bool, _ engine: Engine) throws(ManagerError) {
        self.wantsOutput = wantsOutput
        isForAll = false
        let handlers = engine.handlerViews.filter { !$0.isRemoved }.map(\.definition.name)
        let queues = engine.queueViews.map(\.definition.name)
        let sources = engine.sourceViews.filter { !$0.isRemoved }.map(\.id)
        self.handlers = Set(handlers.filter { $0 == name || "handler/\($0)" == name })
        self.queues = Set(queues.filter { $0 == name || "queue/\($0)" == name })
        self.sources = Set(sources.filter { $0.name == name || $0.description == name }.map(\.description))
        guard self.handlers.isEmpty, self.queues.isEmpty, self.sources.isEmpty else { return }
        let all =
            name.contains("/")
            ? handlers.map { "handler/\($0)" } + queues.map { "queue/\($0)" } + sources.map(\.description)
            : handlers + queues + sources.map(\.name)
        throw .noSuchName(
            name: name, nearest: Spelling.nearest(to: name, among: Set(all).sorted()),
            kinds: ["handler", "source", "queue"])
    }

    func contains(_ content: FollowHub.Content) -> Bool {
        if case .output = content, !wantsOutput { return false }
        if isForAll { return true }
        switch content {
        case .event(_, let origin, let told):
            return sources.contains(origin.description) || told.contains(where: handlers.contains)
        case .operation(let view): return contains(view.handler, view.queue, view.origin)
        case .output(let output):
            return contains(output.run?.handler ?? output.worker ?? "", output.run?.queue ?? "", output.origin)
        case .state: return false
        }
    }

    private func contains(_ handler: String, _ queue: String, _ origin: Origin) -> Bool {
        handlers.contains(handler) || queues.contains(queue) || sources.contains(origin.description)
    }
}
