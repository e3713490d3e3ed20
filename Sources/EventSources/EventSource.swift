package import Engine

/// A source of the rim. It belongs to one context, tells what it sees through its environment, and is done after
/// `close`.
package protocol EventSource: AnyObject {
    /// Tries to arm it, and says so with `Input.source`, now or as soon as that is known. What fails is tried again.
    func open()
    func close()
    /// Takes in no more, without losing anything, until `release`.
    func hold()
    func release()
    /// inotify watches it has.
    var watchCount: Int { get }
}

extension EventSource {
    package var watchCount: Int { 0 }
}

/// What sources share.
package struct SourceEnvironment {
    package let core: Context
    /// For work that may block: listing a folder.
    package let slow: Context
    package let epoll: EpollSet
    package let inotify: InotifyHub
    /// Gives an input to the engine.
    package let send: (Input) -> Void

    package init(
        core: Context, slow: Context, epoll: EpollSet, inotify: InotifyHub, send: @escaping (Input) -> Void
    ) {
        self.core = core
        self.slow = slow
        self.epoll = epoll
        self.inotify = inotify
        self.send = send
    }
}

/// Tries again after 1 s, doubling to 1 min. Confined to the context of who has it.
package struct Retry {
    private static let first = 1_000_000
    private static let longest = 60_000_000

    private var delay = first
    private var attempt = Attempt()

    package init() {}

    private final class Attempt {
        var isCancelled = false
    }

    /// `1s`, for messages: the delay that `schedule` took last.
    package private(set) var description = "1s"

    /// Only the newest attempt happens.
    package mutating func schedule(on context: Context, _ work: @escaping () -> Void) {
        attempt.isCancelled = true
        let current = Attempt()
        attempt = current
        description = "\(delay / 1_000_000)s"
        let bound = QueueBound((current, work), to: context)
        context.after(delay) {
            let (attempt, work) = bound.value
            if !attempt.isCancelled { work() }
        }
        delay = min(2 * delay, Self.longest)
    }

    package mutating func reset() { delay = Self.first }

    package mutating func cancel() { attempt.isCancelled = true }
}
