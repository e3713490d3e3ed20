import WatchFile

extension Engine {
    /// The full name of the source or queue that `name` means, and how often it is suspended.
    package func suspensions(of name: String) -> (name: String, count: Int)? {
        switch try? resolveSuspendable(name) {
        case .source(let index): (sources[index].origin.description, sources[index].suspensions.count)
        case .queue(let index): ("queue/\(queues[index].definition.name)", queues[index].suspensions.count)
        case .handler, .semaphore, nil: nil
        }
    }
}
