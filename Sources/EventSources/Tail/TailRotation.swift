import LinuxSystem

/// Where a log goes on after the file that was read: it may have been rotated more than once since, moved or copied
/// away, compressed, or deleted. Looks at the files beside it, which may block.
struct TailRotation: Sendable {
    /// The next file to read, and from where on; `nil`: the one at the path.
    private(set) var next: (path: [UInt8], position: TailPosition)?
    /// The file at the path.
    private(set) var current: FileStatus?
    /// Earlier files that cannot be read any more: sentences.
    private(set) var lost: [String] = []
    /// The file that was read has gone or begins differently, and nobody knows whether more was written to it.
    private(set) var isRestUnknown = false
    /// Files that were read before it, and have more in them by now.
    private(set) var grown: [RotatedPlace] = []
    /// A copy of the file that was read, in which nothing more stands.
    private(set) var copy: RotatedPlace?

    private struct Candidate {
        var path: [UInt8]
        var name: RotatedName?
        var status: FileStatus
        var born: Int64

        var isCompressed: Bool { name?.uncompressed != nil }

        /// In the order in which they were written last. Time stamps are as coarse as the kernel's tick.
        func isOlder(than other: Candidate) -> Bool {
            if status.modified != other.status.modified { return status.modified < other.status.modified }
            if let number = name?.number, let other = other.name?.number, number != other { return number > other }
            if born != other.born { return born < other.born }
            // Dates.
            return path.lexicographicallyPrecedes(other.path)
        }
    }

    /// - Parameters:
    ///   - path: where the log is written.
    ///   - position: of the file that was read.
    ///   - isRead: it is open and was read to its end: only what was written between it and the file at the path is
    ///     looked for. Else its rest, too.
    ///   - known: files that were read before it. Who writes one still makes it look like the newest.
    ///   - read: those of which nothing is left to read.
    init(
        of path: [UInt8], after position: TailPosition, isRead: Bool, known: [RotatedPlace] = [],
        read: [FileStatus] = []
    ) throws(SystemError) {
        var candidates: [Candidate] = []
        (current, candidates) = try Self.settled(path, position)
        candidates.sort { $0.isOlder(than: $1) }
        let hasNothingRead = !isRead && position.offset == 0
        var old = candidates.first { candidate in
            !hasNothingRead && position.isOf(candidate.status) && (isRead || Self.goesOn(candidate.path, position))
        }
        candidates.removeAll { $0.name == nil || $0.status.inode == old?.status.inode }
        // Its writer may have gone on after other files had come.
        if let modified = old?.status.modified, position.modified > 0 {
            old?.status.modified = min(modified, position.modified)
        }
        let all = candidates
        for place in known {
            guard
                let index = candidates.firstIndex(where: {
                    place.position.isOf($0.status) && Self.goesOn($0.path, place.position)
                })
            else { continue }
            let candidate = candidates.remove(at: index)
            guard candidate.status.size > place.position.offset else { continue }
            grown.append(RotatedPlace(path: candidate.path, position: place.position))
        }
        candidates.removeAll { candidate in
            read.contains { Self.isWhole($0.size, $0.modified, in: candidate) }
                || isRead && Self.isWhole(position.offset, position.modified, in: candidate)
        }
        if !isRead {
            // Or a copy that was made before it was truncated.
            if old == nil, let copy = Self.copy(position, candidates) {
                old = copy
                // It was written and rotated away since: time stamps may be too coarse to tell that this came later.
                if copy.status.size <= position.offset, let anew = candidates.first(where: { position.isOf($0.status) })
                {
                    begin(anew)
                    let end = position.moved(to: copy.status, born: copy.born)
                    self.copy = RotatedPlace(path: copy.path, position: end)
                    return
                }
            }
            if let old {
                next = (old.path, position.moved(to: old.status, born: old.born))
                return
            }
            let whole = noteRest(position, all, isThere: current.map(position.isOf) ?? false)
            candidates.removeAll { $0.path == whole }
        }
        findNext(old, position, candidates)
    }

    /// How often the files are looked at until they stay as they were.
    private static let attempts = 20

    /// The files at the path and beside it. A rotation during the look moves a file from one name to another, where
    /// neither may be seen.
    private static func settled(
        _ path: [UInt8], _ position: TailPosition
    ) throws(SystemError) -> (current: FileStatus?, candidates: [Candidate]) {
        var last: [[UInt8]: UInt64]?
        var attempt = 0
        while true {
            let current = try? Linux.stat(path)
            let candidates = try candidates(path, position, current)
            var places = Dictionary(candidates.map { ($0.path, $0.status.inode) }) { first, _ in first }
            places[path] = current?.inode
            attempt += 1
            if places == last || attempt == attempts { return (current, candidates) }
            last = places
        }
    }

    /// Older parts of the log, and the file that was read under whatever name.
    private static func candidates(
        _ path: [UInt8], _ position: TailPosition, _ current: FileStatus?
    ) throws(SystemError) -> [Candidate] {
        var logs = [path]
        // A link that leads to a new file each day.
        if let real = with(path, { try? Linux.readlink("/proc/self/fd/\($0)") }), real != path { logs.append(real) }
        var found: [Candidate] = []
        for log in logs {
            let (folder, base) = split(log)
            for entry in try Linux.readFolder(folder) {
                let path = folder + entry.name
                let name = RotatedName(entry.name, of: base)
                guard name != nil || entry.inode == position.inode, let status = try? Linux.lstat(path),
                    status.kind == .regular, !isSame(status, current), !found.contains(where: { $0.path == path })
                else { continue }
                let born = with(path) { Linux.birthTime($0) } ?? 0
                found.append(Candidate(path: path, name: name, status: status, born: born))
            }
        }
        return found
    }

    /// Another file with the same beginning, which is as long at least.
    private static func copy(_ position: TailPosition, _ candidates: [Candidate]) -> Candidate? {
        guard position.markLength > 0 else { return nil }
        return candidates.first {
            !$0.isCompressed && $0.status.modified >= position.modified && goesOn($0.path, position, isCopy: true)
        }
    }

    /// Something that was compressed may tell that all of it had been read.
    ///
    /// - Returns: the path of that, whose time may be later than the last look: a touch writes nothing.
    private mutating func noteRest(_ position: TailPosition, _ candidates: [Candidate], isThere: Bool) -> [UInt8]? {
        // Nothing had been read of it, so that it stands there or among the others, from its start.
        if position.offset == 0,
            isThere
                || candidates.contains(where: { position.isOf($0.status) || $0.status.modified > position.modified })
        {
            return nil
        }
        let whole = candidates.filter { candidate in
            guard candidate.isCompressed else { return false }
            if let size = Self.uncompressedSize(candidate.path) {
                return size == UInt32(truncatingIfNeeded: position.offset)
            }
            return candidate.status.modified == position.modified && position.offset > 0
        }
        isRestUnknown = whole.isEmpty
        return (whole.last { $0.status.modified <= position.modified } ?? whole.first)?.path
    }

    /// Whether it is a file of that size and time, compressed since: that keeps the time of the last write, in the file's
    /// own or, by `gzip -c`, in its head.
    private static func isWhole(_ size: Int64, _ modified: Int64, in candidate: Candidate) -> Bool {
        guard candidate.isCompressed else { return false }
        let isSize = uncompressedSize(candidate.path).map { $0 == UInt32(truncatingIfNeeded: size) }
        if candidate.status.modified == modified { return isSize ?? true }
        return isSize == true && originalTime(candidate.path).map(Int64.init) == modified / 1_000_000_000
    }

    private mutating func findNext(_ old: Candidate?, _ position: TailPosition, _ candidates: [Candidate]) {
        // Nobody knows since when.
        guard old != nil || position.modified > 0 else { return }
        // Of which nothing was read, that itself.
        let unread = candidates.first { old == nil && position.isOf($0.status) }
        let paths = Set(candidates.map(\.path) + [old?.path].compactMap { $0 })
        var hasMetOld = !isRestUnknown
        for candidate in candidates where Self.isNewer(candidate, than: old ?? unread, position, isRead: old != nil) {
            guard let name = candidate.name?.uncompressed else { return begin(candidate) }
            // While it is being compressed both are there. The oldest one may be that whose rest is told to be lost.
            if paths.contains(Self.split(candidate.path).folder + name) { continue }
            if !hasMetOld {
                hasMetOld = true
            } else {
                lost.append("\(candidate.path.printable) was compressed before it was read")
            }
        }
    }

    /// It is the next one, from its start.
    private mutating func begin(_ candidate: Candidate) {
        var position = TailPosition(of: candidate.status)
        position.modified = max(0, candidate.status.modified)
        next = (candidate.path, position.moved(to: candidate.status, born: candidate.born))
    }

    /// - Parameter isRead: else `other` itself counts, too, and a copy that was made of it when it was truncated.
    private static func isNewer(
        _ candidate: Candidate, than other: Candidate?, _ position: TailPosition, isRead: Bool
    ) -> Bool {
        let modified = candidate.status.modified
        if candidate.isCompressed { return modified > (isRead ? other?.status.modified : nil) ?? position.modified }
        let isLater = (modified, candidate.born) > (position.modified, position.born)
        guard let other else { return isLater }
        return other.isOlder(than: candidate) || !isRead && (isLater || candidate.path == other.path)
    }

    // MARK: Files

    /// The folder with its slash, and the name.
    private static func split(_ path: [UInt8]) -> (folder: [UInt8], name: [UInt8]) {
        let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
        return (Array(path[...slash]), Array(path[(slash + 1)...]))
    }

    private static func isSame(_ status: FileStatus, _ other: FileStatus?) -> Bool {
        status.device == other?.device && status.inode == other?.inode
    }

    private static func with<Value>(_ path: [UInt8], _ body: (Int32) -> Value?) -> Value? {
        do throws(SystemError) {
            // A FIFO would let its writer begin, and a device may do something.
            guard try Linux.stat(path).kind == .regular else { return nil }
            return try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal]).use(body)
        } catch {
            return nil
        }
    }

    private static func goesOn(_ path: [UInt8], _ position: TailPosition, isCopy: Bool = false) -> Bool {
        with(path) { number in
            guard let status = try? Linux.fstat(number) else { return false }
            return isCopy ? position.continues(in: number, status) : position.fitsLater(number, status)
        } ?? false
    }

    /// The size in the trailer of a gzip file: that of its content, modulo 2³² (RFC 1952).
    private static func uncompressedSize(_ path: [UInt8]) -> UInt32? { number(in: path) { $0 - 4 } }

    /// The time in the head of a gzip file, in seconds: of the file that it was made of (RFC 1952).
    private static func originalTime(_ path: [UInt8]) -> UInt32? { number(in: path) { _ in 4 } }

    /// - Parameter place: of a gzip file of that size.
    private static func number(in path: [UInt8], at place: (Int64) -> Int64) -> UInt32? {
        guard path.suffix(3).elementsEqual(".gz".utf8) else { return nil }
        return with(path) { number in
            guard let status = try? Linux.fstat(number), status.size >= 18,
                let bytes = try? Linux.read(number, atMost: 4, from: place(status.size)), bytes.count == 4
            else { return nil }
            return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
}
