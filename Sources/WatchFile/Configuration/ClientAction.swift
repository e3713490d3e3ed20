/// The work of an operation that stands for a client; no key of a watch file says it.
package enum ClientAction: Equatable, Sendable {
    /// Suspends its queue: `watchctl drain`.
    case suspend
    /// Holds units of a semaphore until somebody ends it: `watchctl acquire`.
    case hold
    /// Starts or fires something at its time: `watchctl run --at`, `watchctl emit --at`.
    case call
}
