import LinuxSystem

/// Files of a tree whose content is to be told when nobody writes them any more, and whose close was not reported yet:
/// most are closed a moment later; for the others a lease tells whether somebody can write them, and while that is so
/// their own close is waited for (`Linux.writers`). Confined to its context.
final class DueFiles {
    /// Microseconds: most are closed by then.
    private static let moment = 20_000
    /// Asked at once.
    private static let batch = 500
    /// Microseconds: the longest pause between two questions after a close.
    private static let patience = 5_000_000

    private let hub: InotifyHub
    private let path: (FileTree.Reference) -> [UInt8]?
    private let unchanged: () -> Int
    private let follows: ([UInt8]) -> Bool
    private let pause: () -> Int?
    private let beside: (@escaping @Sendable () -> [FileAnswer], @escaping ([FileAnswer]) -> Void) -> Void
    private let completed: (FileTree.Reference, FileStatus?) -> Void
    private let idle: () -> Void
    private var waiting: [FileTree.Reference] = []
    /// Batches that are being asked for.
    private var asking = 0
    private var isPlanned = false
    private var isOver = false
    /// Nobody is asked, for now.
    var isPaused = false { didSet { plan() } }
    private var watches: [FileTree.Reference: Watched] = [:]
    private var seen: [FileTree.Reference: FileAnswer.Seen] = [:]

    private struct Watched {
        var watch: FileWatch
        /// Of the watched file.
        var inode: UInt64
        /// Until it is asked again.
        var pause = DueFiles.moment
    }

    private struct Question {
        var file: FileTree.Reference
        var path: [UInt8]
    }

    /// - Parameters:
    ///   - path: of a file that is still due; `nil`: it is not any more.
    ///   - unchanged: microseconds, where no lease can be had: unchanged for so long, a file is complete.
    ///   - follows: a symbolic link of that path stands for what it leads to.
    ///   - pause: microseconds after which a file that somebody writes is asked again; `nil`: it is watched.
    ///   - beside: does work beside the core, and comes back with what it gives.
    ///   - completed: told of each file that nobody writes any more, and how it stood then, while it is due.
    ///   - idle: told when it is known of each file whether somebody writes it.
    init(
        hub: InotifyHub, path: @escaping (FileTree.Reference) -> [UInt8]?, unchanged: @escaping () -> Int,
        follows: @escaping ([UInt8]) -> Bool = { _ in false }, pause: @escaping () -> Int? = { nil },
        beside: @escaping (@escaping @Sendable () -> [FileAnswer], @escaping ([FileAnswer]) -> Void) -> Void,
        completed: @escaping (FileTree.Reference, FileStatus?) -> Void, idle: @escaping () -> Void
    ) {
        self.hub = hub
        self.path = path
        self.unchanged = unchanged
        self.follows = follows
        self.pause = pause
        self.beside = beside
        self.completed = completed
        self.idle = idle
    }

    var watchCount: Int { watches.count }
    var watchNumbers: [Int32] { watches.values.compactMap(\.watch.watch) }

    /// Those that somebody writes.
    var written: [FileTree.Reference] { Array(watches.keys) }

    /// There are files that nobody was asked about yet.
    var isBusy: Bool { !waiting.isEmpty || asking > 0 }

    /// Nobody was asked about some of them yet.
    var isWaiting: Bool { !waiting.isEmpty }

    func add(_ file: FileTree.Reference) {
        waiting.append(file)
        plan()
    }

    /// It is not due any more, or another file.
    func forget(_ file: FileTree.Reference) {
        if !seen.isEmpty { seen[file] = nil }
        if watches.isEmpty { return }
        watches.removeValue(forKey: file)?.watch.cancel()
    }

    func close() {
        isOver = true
        forgetAll()
    }

    func forgetAll() {
        for watched in watches.values { watched.watch.cancel() }
        (watches, waiting, seen) = ([:], [], [:])
    }

    private func plan() {
        guard !isPlanned, !isPaused, !waiting.isEmpty else { return }
        isPlanned = true
        hub.after(Self.moment) { [weak self] in
            self?.hub.whenCaughtUp { self?.look() }
        }
    }

    /// Everything that has happened was told, so that most have been closed by now.
    private func look() {
        guard !isOver else { return }
        isPlanned = false
        if isPaused { return }
        // In the order in which they came.
        var known: Set<FileTree.Reference> = []
        let asked = waiting.filter { known.insert($0).inserted }
        waiting = []
        ask(asked)
        // None of them is due any more.
        if !isBusy { idle() }
    }

    private func ask(_ files: [FileTree.Reference]) {
        var rest = files[...]
        while !rest.isEmpty {
            let questions = rest.prefix(Self.batch).compactMap { file in
                path(file).map { Question(file: file, path: $0) }
            }
            rest = rest.dropFirst(Self.batch)
            guard !questions.isEmpty else { continue }
            let paths = questions.map { (path: $0.path, follows: follows($0.path)) }
            asking += 1
            beside({ paths.map { FileAnswer($0.path, follows: $0.follows) } }) { [weak self] answers in
                // Changes reported before the answers are told first.
                self?.hub.whenCaughtUp {
                    for (question, answer) in zip(questions, answers) { self?.answered(question, answer) }
                    self?.wasAnswered()
                }
            }
        }
    }

    private func wasAnswered() {
        asking -= 1
        if !isBusy, !isOver { idle() }
    }

    private func answered(_ question: Question, _ answer: FileAnswer) {
        let file = question.file
        hub.trail?("asked \(question.path.printable): \(answer.writers) \(answer.status?.inode ?? 0)")
        guard !isOver, let now = path(file) else { return }
        // It was another one's answer, perhaps.
        guard now == question.path else { return watches[file] == nil ? add(file) : ask([file]) }
        switch answer.writers {
        case .none: complete(file, answer)
        case .some where watches[file] == nil || watches[file]?.inode != answer.status?.inode:
            // Another file may have come in its place.
            watches.removeValue(forKey: file)?.watch.cancel()
            guard let pause = pause() else { return wait(for: question.file, answer) }
            hub.after(pause) { [weak self] in self?.add(file) }
        case .some: askAgain(file)
        case .unknown:
            guard let before = seen[file], let status = answer.status, before.status == status else {
                seen[file] = FileAnswer.Seen(answer)
                return hub.after(unchanged()) { [weak self] in self?.ask([file]) }
            }
            // Else it is asked for another reason.
            if Linux.now(.monotonic) - before.since >= unchanged() { complete(file, answer) }
        }
    }

    private func complete(_ file: FileTree.Reference, _ answer: FileAnswer) {
        forget(file)
        completed(file, answer.status)
    }

    private func wait(for file: FileTree.Reference, _ answer: FileAnswer) {
        let watch = answer.place.flatMap { place in
            FileWatch(place.number, [.closedAfterWriting], hub: hub) { [weak self] _ in self?.wasClosed(file) }
        }
        guard let watch, let inode = answer.status?.inode else {
            return hub.after(NewFiles.unchanged) { [weak self] in self?.add(file) }
        }
        watches[file] = Watched(watch: watch, inode: inode)
        // It may have been closed before it was watched.
        ask([file])
    }

    private func wasClosed(_ file: FileTree.Reference) {
        watches[file]?.pause = Self.moment
        ask([file])
    }

    /// The kernel reports a close before it takes the writer away: who asks at once, may be too early.
    private func askAgain(_ file: FileTree.Reference) {
        guard let pause = watches[file]?.pause, pause <= Self.patience else { return }
        watches[file]?.pause = 2 * pause
        hub.after(pause) { [weak self] in self?.ask([file]) }
    }
}
