/// Which names and numbers of the running daemon are meant; the operand of `watchctl complete`.
enum NameKind: String, CaseIterable, Sendable {
    /// All that has a name.
    case names
    case sources, customs, timers, groups, processes
    case queues, handlers, semaphores
    /// What `run` starts.
    case runnable
    /// What `suspend` takes, and what `resume` does.
    case pausable, suspended
    /// Operations that have not ended; with those that ended last.
    case pending, operations
    /// Operations that `failed` lists, and their handlers.
    case failures

    /// The lists of the daemon that have them.
    enum List { case sources, queues, handlers, semaphores }

    var lists: [List] {
        switch self {
        case .names: [.sources, .handlers, .queues, .semaphores]
        case .sources, .customs, .timers, .groups, .processes: [.sources]
        case .queues: [.queues]
        case .handlers: [.handlers]
        case .semaphores: [.semaphores]
        case .runnable: [.sources, .handlers]
        case .pausable, .suspended: [.sources, .queues]
        case .pending, .operations, .failures: []
        }
    }

    /// The kind of source that is meant, as the daemon names it; `nil`: any.
    var sourceKind: String? {
        switch self {
        case .customs: "custom"
        case .timers: "timer"
        case .groups: "group"
        case .processes: "process"
        default: nil
        }
    }
}
