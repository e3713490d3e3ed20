import LinuxSystem

/// Files of a tree whose content is to be told when nobody writes them any more, and whose close was not reported yet:
/// most are closed a moment later; for the others a lease tells whether somebody can write them, and while that is so
/// their own close is waited for (`Linux.writers`). Confined to its context.
final class DueFiles {
    /// Microseconds: most are closed by then.
    private static let moment = 20_000
    /// Asked at once.
    private static let batch = 500

    private let hub: InotifyHub
    private let path: (FileTree.Reference) -> [UInt8]?
    private let unchanged: () -> Int
    private let beside: (@escaping @Sendable () -> [Writers], @escaping ([Writers]) -> Void) -> Void
    private let completed: (FileTree.Reference) -> Void
    private var waiting: [FileTree.Reference] = []
    private var isPlanned = false
    private var isOver = false
    private var watches: [FileTree.Reference: FileWatch] = [:]

    private struct Question {
        var file: FileTree.Reference
        var path: [UInt8]
    }

    /// - Parameters:
    ///   - path: of a file that is still due; `nil`: it is not any more.
    ///   - unchanged: microseconds, where no lease can be had: unchanged for so long, a file is complete.
    ///   - beside: does work beside the core, and comes back with what it gives.
    ///   - completed: told of each file that nobody writes any more, while it is due.
    init(
        hub: InotifyHub, path: @escaping (FileTree.Reference) -> [UInt8]?, unchanged: @escaping () -> Int,
        beside: @escaping (@escaping @Sendable () -> [Writers], @escaping ([Writers]) -> Void) -> Void,
        completed: @escaping (FileTree.Reference) -> Void
    ) {
        self.hub = hub
        self.path = path
        self.unchanged = unchanged
        self.beside = beside
        self.completed = completed
    }

    var watchCount: Int { watches.count }

    func add(_ file: FileTree.Reference) {
        waiting.append(file)
        plan()
    }

    /// It is not due any more, or another file.
    func forget(_ file: FileTree.Reference) {
        if watches.isEmpty { return }
        watches.removeValue(forKey: file)?.cancel()
    }

    func close() {
        isOver = true
        for watch in watches.values { watch.cancel() }
        (watches, waiting) = ([:], [])
    }

    private func plan() {
        guard !isPlanned, !waiting.isEmpty else { return }
        isPlanned = true
        hub.after(Self.moment) { [weak self] in
            self?.hub.whenCaughtUp { self?.look() }
        }
    }

    /// Everything that has happened was told, so that most have been closed by now.
    private func look() {
        guard !isOver else { return }
        isPlanned = false
        // In the order in which they came.
        var known: Set<FileTree.Reference> = []
        let asked = waiting.filter { watches[$0] == nil && known.insert($0).inserted }
        waiting = []
        ask(asked)
    }

    private func ask(_ files: [FileTree.Reference]) {
        var rest = files[...]
        while !rest.isEmpty {
            let questions = rest.prefix(Self.batch).compactMap { file in
                path(file).map { Question(file: file, path: $0) }
            }
            rest = rest.dropFirst(Self.batch)
            guard !questions.isEmpty else { continue }
            let paths = questions.map(\.path)
            beside({ paths.map(Linux.writers) }) { [weak self] writers in
                // What was reported before the answers is told first.
                self?.hub.whenCaughtUp {
                    for (question, writers) in zip(questions, writers) { self?.answered(question, writers) }
                }
            }
        }
    }

    private func answered(_ question: Question, _ writers: Writers) {
        let file = question.file
        guard !isOver, let now = path(file) else { return }
        // It was another one's answer, perhaps.
        guard now == question.path else { return add(file) }
        switch writers {
        case .none:
            forget(file)
            completed(file)
        case .some: if watches[file] == nil { wait(for: question) }
        case .unknown:
            let before = try? Linux.statusOfAny(now)
            hub.after(unchanged()) { [weak self] in
                guard let self, !isOver, let now = path(file) else { return }
                guard let after = try? Linux.statusOfAny(now), after == before else { return add(file) }
                forget(file)
                completed(file)
            }
        }
    }

    private func wait(for question: Question) {
        let file = question.file
        let watch = (try? Linux.open(question.path, [.pathOnly, .noFollow]))?.use { number in
            FileWatch(number, [.closedAfterWriting], hub: hub) { [weak self] in self?.ask([file]) }
        }
        guard let watch = watch ?? nil else { return hub.after(NewFiles.unchanged) { [weak self] in self?.add(file) } }
        watches[file] = watch
        // It may have been closed before it was watched.
        ask([file])
    }
}
