import LinuxSystem

/// The symbolic links of a tree that are followed, those that a bound leaves unfollowed, and those that are still to be
/// looked at. A value without any knowledge of the kernel.
struct TreeLinks {
    /// A link that is watched: it leads somewhere, or may later.
    struct Link {
        /// Of the link itself.
        var inode: UInt64
        /// Its last change, in nanoseconds since the epoch.
        var changed: Int64
        /// Its path without links on the way.
        var place: [UInt8]
        /// The path of what it leads to, without links; `nil`: it stands for itself.
        var real: [UInt8]?
        /// `nil`: nothing is watched there, yet or at all.
        var anchors: LinkAnchors?
        /// Another link has come, or it stands elsewhere, and it is not watched yet where that leads.
        var isStale = true
    }

    /// Why no watch tells of the end of a link.
    enum Unwatched {
        /// The kernel does not tell of every change on that file system.
        case silent
        case failed(SystemError)

        var failure: SystemError? { if case .failed(let error) = self { error } else { nil } }
    }

    /// Links of one root that are followed.
    static let limit = 4096
    /// Files and folders of one root that are seen through links.
    static let fileLimit = 1_000_000
    /// Nodes that come until those behind links are counted once more.
    private static let censusStep = 65_536

    private(set) var all: [FileTree.Reference: Link] = [:]
    /// Those that stand for themselves though they lead somewhere, which may end.
    private(set) var refused: [FileTree.Reference: LinkLook.Refusal] = [:]
    /// Those whose end is compared now and then, as no watch tells of it.
    var unwatched: [FileTree.Reference: Unwatched] = [:]
    /// Those that lead to a folder in which watchd writes files of its own.
    private(set) var withOwnFiles: Set<FileTree.Reference> = []
    /// To be looked at, in that order.
    private(set) var waiting: [FileTree.Reference] = []
    private var isWaiting: Set<FileTree.Reference> = []
    /// Those of which a report says that they may lead elsewhere, until they are looked at, and whether something
    /// was left out that was reported behind them meanwhile.
    var doubted: [FileTree.Reference: Bool] = [:]
    /// Looks that go on.
    var isLooking = false
    /// Whether links were followed when what is known was seen; `nil`: as now.
    var wereFollowed: Bool?
    private var nextCensus = TreeLinks.fileLimit
    /// Files and folders behind links, when they were counted last; what has gone since by a bound is taken off.
    var behind = 0

    var isEmpty: Bool { all.isEmpty }
    var isBusy: Bool { isLooking || !waiting.isEmpty }
    /// Whether one is not watched yet where it leads.
    var areStale: Bool { all.values.contains { $0.isStale } }
    var hasRoom: Bool { all.count < Self.limit }

    subscript(reference: FileTree.Reference) -> Link? { all[reference] }

    /// - Parameter hasOwnFiles: watchd writes files of its own below what it leads to.
    /// - Returns: anchors that nobody needs any more.
    mutating func note(_ look: LinkLook, hasOwnFiles: Bool, at reference: FileTree.Reference) -> LinkAnchors? {
        refused[reference] = look.refusal?.reason == nil ? nil : look.refusal
        if hasOwnFiles { withOwnFiles.insert(reference) } else { withOwnFiles.remove(reference) }
        if look.refusal == .tooMany || look.refusal == .tooLarge { return all.removeValue(forKey: reference)?.anchors }
        let new = Link(inode: look.own.inode, changed: look.own.changed, place: look.place, real: look.real)
        guard var link = all[reference] else {
            all[reference] = new
            return nil
        }
        link.isStale = link.isStale || link.inode != new.inode || link.changed != new.changed
        (link.inode, link.changed, link.real) = (new.inode, new.changed, new.real)
        defer { all[reference] = link }
        if link.place == new.place { return nil }
        (link.place, link.isStale) = (new.place, true)
        return link.anchors.take()
    }

    mutating func setAnchors(_ anchors: LinkAnchors?, of reference: FileTree.Reference) {
        all[reference]?.anchors = anchors
        all[reference]?.isStale = anchors == nil
    }

    /// It is no link any more, or gone.
    ///
    /// - Returns: its anchors.
    mutating func remove(_ reference: FileTree.Reference) -> LinkAnchors? {
        refused[reference] = nil
        unwatched[reference] = nil
        doubted[reference] = nil
        withOwnFiles.remove(reference)
        return all.removeValue(forKey: reference)?.anchors
    }

    /// Those that wait for the place of another one, one of them.
    var next: FileTree.Reference? { refused.first { $0.value == .tooMany }?.key }

    // MARK: Looks

    mutating func look(at reference: FileTree.Reference) {
        if isWaiting.insert(reference).inserted { waiting.append(reference) }
    }

    /// The next ones, in that order.
    mutating func takeWaiting(_ count: Int) -> [FileTree.Reference] {
        let next = Array(waiting.prefix(count))
        waiting.removeFirst(next.count)
        isWaiting.subtract(next)
        return next
    }

    // MARK: Bounds

    /// Whether the files behind links may have become too many since they were counted.
    mutating func isCensusDue(_ count: Int) -> Bool {
        guard !all.isEmpty, count >= nextCensus else { return false }
        nextCensus = count + Self.censusStep
        return true
    }
}
