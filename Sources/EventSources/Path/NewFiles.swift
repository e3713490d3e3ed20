import LinuxSystem

/// Files that came into a folder and were not seen to be closed: those that a link has brought, complete or still being
/// written (`linkat(2)` of an `O_TMPFILE`, `ln`), and those that somebody writes for longer than a moment.
///
/// A lease tells whether somebody can write one; while that is so its own close is waited for, since the folder is not
/// told of one by another name. Confined to its context.
final class NewFiles {
    /// Microseconds: most are closed by then.
    private static let moment = 20_000
    /// Microseconds, where no lease can be had and `SettleSec=` says nothing: unchanged for so long, a file is complete.
    static let unchanged = 1_000_000
    /// Microseconds: the longest pause between two questions after a close.
    private static let patience = 5_000_000

    private let hub: InotifyHub
    private let path: ([UInt8]) -> [UInt8]
    private let unchanged: () -> Int
    private let follows: () -> Bool
    private let pause: () -> Int?
    private let beside: (@escaping @Sendable () -> [FileAnswer], @escaping ([FileAnswer]) -> Void) -> Void
    private let completed: ([UInt8], FileStatus?) -> Void
    private var names: [[UInt8]: Waiting] = [:]
    private var isPlanned = false

    private struct Waiting {
        /// Of the file itself, where somebody writes it.
        var watch: FileWatch?
        /// Until it is asked again, after it was closed.
        var pause = NewFiles.moment
        var seen: FileAnswer.Seen?
    }

    /// - Parameters:
    ///   - path: of an entry.
    ///   - unchanged: microseconds, where no lease can be had: unchanged for so long, a file is complete.
    ///   - follows: whether a path may be a symbolic link.
    ///   - pause: microseconds after which a file that somebody writes is asked again; `nil`: it is watched.
    ///   - beside: does work beside the core, and comes back with what it gives.
    ///   - completed: told of each file that nobody writes any more, and how it stood then, unless `remove` came first.
    init(
        hub: InotifyHub, path: @escaping ([UInt8]) -> [UInt8], unchanged: @escaping () -> Int = { NewFiles.unchanged },
        follows: @escaping () -> Bool = { false }, pause: @escaping () -> Int? = { nil },
        beside: @escaping (@escaping @Sendable () -> [FileAnswer], @escaping ([FileAnswer]) -> Void) -> Void,
        completed: @escaping ([UInt8], FileStatus?) -> Void
    ) {
        self.hub = hub
        self.path = path
        self.unchanged = unchanged
        self.follows = follows
        self.pause = pause
        self.beside = beside
        self.completed = completed
    }

    var watches: [Int32] { names.values.compactMap { $0.watch?.watch } }

    /// One that waits already has been found again.
    func add(_ name: [UInt8]) {
        let seen = names[name]?.seen
        remove(name)
        names[name] = Waiting(seen: seen)
        guard !isPlanned else { return }
        isPlanned = true
        // Most files are written in one go: their close has been read with their creation, and no timer is needed.
        hub.whenCaughtUp { [weak self] in self?.planLook() }
    }

    private func planLook() {
        guard names.values.contains(where: { $0.watch == nil }) else {
            isPlanned = false
            return
        }
        hub.after(Self.moment) { [weak self] in
            self?.hub.whenCaughtUp { self?.look() }
        }
    }

    func remove(_ name: [UInt8]) {
        if names.isEmpty { return }
        names.removeValue(forKey: name)?.watch?.cancel()
    }

    func removeAll() {
        for waiting in names.values { waiting.watch?.cancel() }
        names = [:]
    }

    /// Everything that has happened was told, so that most have been closed by now.
    private func look() {
        isPlanned = false
        ask(names.filter { $1.watch == nil }.map(\.key))
    }

    private func ask(_ names: [[UInt8]]) {
        let asked = names.filter { self.names[$0] != nil }
        guard !asked.isEmpty else { return }
        let paths = asked.map(path)
        let follows = follows()
        beside({ paths.map { FileAnswer($0, follows: follows) } }) { [weak self] answers in
            for (name, answer) in zip(asked, answers) { self?.answered(name, answer) }
        }
    }

    private func answered(_ name: [UInt8], _ answer: FileAnswer) {
        guard let waiting = names[name] else { return }
        switch answer.writers {
        // Its close was reported before, and is told first.
        case .none: hub.whenCaughtUp { [weak self] in self?.complete(name, answer.status) }
        case .some where waiting.watch == nil:
            if let pause = pause() { askLater(name, pause) } else { wait(for: name, answer) }
        case .some: askAgain(name)
        case .unknown:
            guard let seen = waiting.seen, let status = answer.status, seen.status == status else {
                names[name]?.seen = FileAnswer.Seen(answer)
                return askLater(name, unchanged())
            }
            // Else it is asked for another reason.
            if Linux.now(.monotonic) - seen.since >= unchanged() { complete(name, status) }
        }
    }

    private func askLater(_ name: [UInt8], _ pause: Int) {
        hub.after(pause) { [weak self] in self?.ask([name]) }
    }

    private func wait(for name: [UInt8], _ answer: FileAnswer) {
        let watch = answer.place.flatMap { place in
            FileWatch(place.number, [.closedAfterWriting], hub: hub) { [weak self] _ in self?.wasClosed(name) }
        }
        guard let watch else { return askLater(name, Self.unchanged) }
        names[name]?.watch = watch
        // It may have been closed before it was watched.
        ask([name])
    }

    private func wasClosed(_ name: [UInt8]) {
        names[name]?.pause = Self.moment
        ask([name])
    }

    /// The kernel reports a close before it takes the writer away: who asks at once, may be too early.
    private func askAgain(_ name: [UInt8]) {
        guard let pause = names[name]?.pause, pause <= Self.patience else { return }
        names[name]?.pause = 2 * pause
        askLater(name, pause)
    }

    private func complete(_ name: [UInt8], _ status: FileStatus?) {
        guard let waiting = names.removeValue(forKey: name) else { return }
        waiting.watch?.cancel()
        completed(name, status)
    }
}
