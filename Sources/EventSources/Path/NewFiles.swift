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

    private let hub: InotifyHub
    private let path: ([UInt8]) -> [UInt8]
    private let unchanged: () -> Int
    private let beside: (@escaping @Sendable () -> [Writers], @escaping ([Writers]) -> Void) -> Void
    private let completed: ([UInt8]) -> Void
    /// With the watch of the file itself, where somebody writes it.
    private var names: [[UInt8]: FileWatch?] = [:]
    private var isPlanned = false

    /// - Parameters:
    ///   - path: of an entry.
    ///   - unchanged: microseconds, where no lease can be had: unchanged for so long, a file is complete.
    ///   - beside: does work beside the core, and comes back with what it gives.
    ///   - completed: told of each file that nobody writes any more, unless `remove` came first.
    init(
        hub: InotifyHub, path: @escaping ([UInt8]) -> [UInt8], unchanged: @escaping () -> Int = { NewFiles.unchanged },
        beside: @escaping (@escaping @Sendable () -> [Writers], @escaping ([Writers]) -> Void) -> Void,
        completed: @escaping ([UInt8]) -> Void
    ) {
        self.hub = hub
        self.path = path
        self.unchanged = unchanged
        self.beside = beside
        self.completed = completed
    }

    var watchCount: Int { names.values.count { $0 != nil } }

    func add(_ name: [UInt8]) {
        remove(name)
        names[name] = .some(nil)
        guard !isPlanned else { return }
        isPlanned = true
        hub.after(Self.moment) { [weak self] in
            self?.hub.whenCaughtUp { self?.look() }
        }
    }

    func remove(_ name: [UInt8]) {
        if names.isEmpty { return }
        names.removeValue(forKey: name)??.cancel()
    }

    func removeAll() {
        for watch in names.values { watch?.cancel() }
        names = [:]
    }

    /// Everything that has happened was told, so that most have been closed by now.
    private func look() {
        isPlanned = false
        ask(names.filter { $1 == nil }.map(\.key))
    }

    private func ask(_ asked: [[UInt8]]) {
        guard !asked.isEmpty else { return }
        let paths = asked.map(path)
        beside({ paths.map(Linux.writers) }) { [weak self] writers in
            for (name, writers) in zip(asked, writers) { self?.answered(name, writers) }
        }
    }

    private func answered(_ name: [UInt8], _ writers: Writers) {
        guard let watch = names[name] else { return }
        switch writers {
        // Its close was reported before, and is told first.
        case .none: hub.whenCaughtUp { [weak self] in self?.complete(name) }
        case .some where watch == nil: wait(for: name)
        case .some: break
        case .unknown:
            let before = try? Linux.lstat(path(name))
            hub.after(unchanged()) { [weak self] in
                guard let self else { return }
                if let before, (try? Linux.lstat(path(name))) == before { complete(name) } else { ask([name]) }
            }
        }
    }

    private func wait(for name: [UInt8]) {
        let watch = (try? Linux.open(path(name), [.pathOnly, .noFollow]))?.use { file in
            FileWatch(file, [.closedAfterWriting], hub: hub) { [weak self] in self?.ask([name]) }
        }
        guard let watch = watch ?? nil else { return hub.after(Self.unchanged) { [weak self] in self?.ask([name]) } }
        names[name] = .some(watch)
        // It may have been closed before it was watched.
        ask([name])
    }

    private func complete(_ name: [UInt8]) {
        guard let watch = names.removeValue(forKey: name) else { return }
        watch?.cancel()
        completed(name)
    }
}
