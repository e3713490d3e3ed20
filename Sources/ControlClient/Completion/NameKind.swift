import ControlInterface

/// Which names and numbers of the running daemon are meant; the operand of `watchctl complete`.
enum NameKind: String, CaseIterable, Sendable {
    /// All that has a name.
    case names
    case sources, customs, timers, groups, processes
    case queues, handlers, semaphores
    /// The names that `run` starts.
    case runnable
    /// The names that `suspend` takes, and those that `resume` does.
    case pausable, suspended
    /// Operations that have not ended; with those that ended last.
    case pending, operations
    /// Operations that `failed` lists, and their handlers.
    case failures

    /// As the daemon lists them; `nil`: they are numbers of operations.
    var list: ListNames.Kind? { ListNames.Kind(rawValue: rawValue) }
}
