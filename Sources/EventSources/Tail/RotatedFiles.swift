import Engine
import LinuxSystem
import WatchFile

/// The files that were rotated away last: who writes them may not have noticed yet. Each is followed until it is
/// deleted, or still for long; what such a one has more than was read is found when the log is rotated again, or read
/// anew. Confined to its context.
final class RotatedFiles {
    /// The newest ones.
    static let limit = 4
    /// How long each may be still, in microseconds.
    static let patience = 3_600_000_000

    private static let turnsAtEnd = 64
    /// The files that an earlier daemon followed are looked for so many times.
    private static let looks = 3

    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let maker: LineMaker
    private let patience: Int
    private let owner: Owner
    /// The oldest first.
    private var files: [RotatedFile] = []
    /// Files that were deleted last, each read to its end.
    private var deleted: [FileStatus] = []
    private var isTimed = false
    private var isRestored = false

    /// The owner that is told. Its closures are called on the context.
    struct Owner {
        /// These were read; how far is in `places`.
        var tell: ([LineFact]) -> Void
        /// A file cannot be read any more: a sentence.
        var lose: (String) -> Void
        /// A file has gone while nobody read it, maybe with more in it: a sentence.
        var gone: (String) -> Void
        /// No more is to be read now.
        var isHeld: () -> Bool
        /// Something happened to one of the files.
        var changed: () -> Void
    }

    init(
        _ trigger: DescriptorTrigger, _ maker: LineMaker, _ environment: SourceEnvironment, patience: Int,
        _ owner: Owner
    ) {
        self.trigger = trigger
        self.environment = environment
        self.maker = maker
        self.patience = patience
        self.owner = owner
    }

    var places: [RotatedPlace] { files.map(\.place) }
    /// Files of which nothing is left to read: one beside the log may be such a file, compressed.
    var readFiles: [FileStatus] { deleted + files.compactMap(\.readFile) }
    var watchCount: Int { files.reduce(0) { $0 + $1.watchCount } }
    var descriptorCount: Int { files.count(where: \.isOpen) }

    func close() {
        for file in files { file.close() }
        files = []
    }

    /// The file was read to its end, and another one stands in its place.
    func follow(_ file: TailFile) {
        guard let path = file.path else { return file.close() }
        files.append(make(file, RotatedPlace(path: path, position: file.position)))
        while files.count > Self.limit { finish(files.removeFirst()) }
        watchStillness()
        owner.changed()
    }

    /// Files that an earlier daemon followed are looked for.
    func restore(_ places: [RotatedPlace]) {
        guard !isRestored, !places.isEmpty else { return }
        isRestored = true
        files = places.suffix(Self.limit).map { make(nil, $0) }
        look(for: places, tries: Self.looks)
    }

    private func look(for places: [RotatedPlace], tries: Int) {
        let bound = QueueBound(WeakFiles(files: self), to: environment.core)
        environment.slow.submit(maker.id.description, inOrder: true) { [core = environment.core] in
            let found = places.map { place in place.find().map { RotatedPlace(path: $0, position: place.position) } }
            core.async { bound.value.files?.took(found, of: places, tries: tries) }
        }
    }

    /// A rotation between the look and now gives each file another name: those are looked for again.
    private func took(_ found: [RotatedPlace?], of places: [RotatedPlace], tries: Int) {
        follow(found.compactMap(\.self))
        let missing = zip(places, found).filter { place, found in
            files.contains { !$0.isOpen && $0.place.position == place.position && (found == nil || isElsewhere(found)) }
        }
        if tries > 1, !missing.isEmpty { return look(for: missing.map(\.0), tries: tries - 1) }
        for (place, found) in missing where found == nil { hasGone(place) }
    }

    /// Another file has the name by now, or none.
    private func isElsewhere(_ place: RotatedPlace?) -> Bool {
        guard let place, let (number, status) = try? TailFile.open(place.path) else { return true }
        defer { FileDescriptor(owning: number).close() }
        return !place.position.fitsLater(number, status)
    }

    /// Some of the files were found: there, with the positions that are known.
    func follow(_ found: [RotatedPlace]) {
        for place in found {
            guard let index = files.firstIndex(where: { !$0.isOpen && $0.place.position == place.position }),
                let (number, status) = try? TailFile.open(place.path)
            else { continue }
            if place.position.fitsLater(number, status) {
                files[index] = make(TailFile(owning: number, place.position), place)
            } else {
                FileDescriptor(owning: number).close()
            }
        }
        watchStillness()
        owner.changed()
    }

    private func hasGone(_ place: RotatedPlace) {
        files.removeAll { !$0.isOpen && $0.place == place }
        // Of one that had been still for long nobody expects more.
        guard Linux.now(.realtime) - place.position.modified / 1_000 < patience else { return }
        owner.gone(
            "\(place.path.printable) is gone: what was written after byte \(place.position.offset) is lost, if anything was"
        )
    }

    /// It stands at the path of the log again.
    ///
    /// - Returns: how far it was read; `nil`: it is none of these.
    func takeBack(_ number: Int32, _ status: FileStatus) -> TailPosition? {
        guard let index = files.firstIndex(where: { $0.place.position.fitsLater(number, status) }) else { return nil }
        let file = files.remove(at: index)
        file.close()
        return file.place.position
    }

    private func make(_ file: TailFile?, _ place: RotatedPlace) -> RotatedFile {
        RotatedFile(file, place, hub: environment.inotify) { [weak self] in self?.owner.changed() }
    }

    /// Reads what there is, one turn of each.
    ///
    /// - Returns: there may be more.
    func read() -> Bool {
        var (hasMore, hasMoved) = (false, false)
        for file in files where file.isOpen && !owner.isHeld() {
            let isDeleted = file.isDeleted
            do throws(SystemError) {
                switch try file.next(trigger, maker, isOver: isDeleted) {
                case .facts(let facts):
                    owner.tell(facts)
                    hasMore = true
                // A program that empties it has no more lines for it.
                case .begunAnew: remove(file)
                case .nothing where isDeleted:
                    deleted = deleted.suffix(Self.limit - 1) + [file.readFile].compactMap(\.self)
                    remove(file)
                case .nothing: hasMoved = file.hasMoved() || hasMoved
                }
            } catch {
                remove(file)
                owner.lose("\(file.place.path.printable), which was rotated away, cannot be read any more: \(error)")
            }
        }
        if hasMoved { owner.tell([]) }
        return hasMore
    }

    private func remove(_ file: RotatedFile) {
        file.close()
        files.removeAll { $0 === file }
    }

    /// It is too old to be followed: only what stands in it now is read.
    private func finish(_ file: RotatedFile) {
        defer { file.close() }
        for _ in 0..<Self.turnsAtEnd {
            guard case .facts(let facts)? = try? file.next(trigger, maker, isOver: true) else { return }
            owner.tell(facts)
        }
        owner.lose("\(file.place.path.printable) is not followed any longer, though it is written still")
    }

    // MARK: Stillness

    private func watchStillness() {
        guard !isTimed, let next = files.filter(\.isOpen).map(\.stillSince).min() else { return }
        isTimed = true
        let delay = max(0, Int(next) + patience - Int(Linux.now(.monotonic)))
        let bound = QueueBound(WeakFiles(files: self), to: environment.core)
        environment.core.after(delay + 1_000) { bound.value.files?.closeStill() }
    }

    private struct WeakFiles {
        weak var files: RotatedFiles?
    }

    private func closeStill() {
        isTimed = false
        let oldest = Linux.now(.monotonic) - Int64(patience)
        for file in files where file.isOpen && file.stillSince <= oldest { file.close() }
        watchStillness()
    }
}
