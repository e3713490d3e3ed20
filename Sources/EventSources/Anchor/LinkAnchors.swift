import LinuxSystem

/// Keeps sight of where the symbolic links on the way to a path lead: each link, and the end of the way, which need not
/// be there yet. A place that the path's own anchor sees is left to it. Confined to its context.
final class LinkAnchors {
    /// Makes the ways beside the context, where they may lead to a file system that hangs, and comes back with them.
    typealias Beside = (@escaping @Sendable () -> LinkWays, @escaping (LinkWays) -> Void) -> Void

    private let path: [UInt8]
    private let hub: InotifyHub
    private let mask: InotifyMask
    private let beside: Beside?
    private let changed: (FolderEvent.Change) -> Void
    private var anchors: [[UInt8]: PathAnchor] = [:]
    private var unwatched: [[UInt8]: SystemError] = [:]
    private let isLazy: Bool
    private var isAsking = false
    /// Something, since the ways were begun to be made.
    private var hasHappened = false
    private var isOver = false

    /// - Parameters:
    ///   - mask: what happens to the end of the way, besides its coming and going.
    ///   - isLazy: the ways are taken over by its owner after a change, once for many of them, and not for each.
    ///   - beside: `nil`: the ways are made on the context.
    ///   - changed: called on the context after something happened at a link, or where one leads.
    init(
        _ path: [UInt8], hub: InotifyHub, mask: InotifyMask = [.modified, .attributes], isLazy: Bool = false,
        beside: Beside? = nil, changed: @escaping (FolderEvent.Change) -> Void
    ) {
        self.beside = beside
        self.path = path
        self.hub = hub
        self.mask = mask
        self.isLazy = isLazy
        self.changed = changed
    }

    /// Whether the path is a link; or it does not exist, and the way to it may lead through one that leads nowhere.
    static func isNeeded(for path: [UInt8]) -> Bool {
        guard let status = try? Linux.lstat(path) else { return !LinkWays.places(of: path).isEmpty }
        return status.kind == .symbolicLink
    }

    /// The anchors of a path that needs them: those it has, or new ones. `nil`: it needs none, and has none any more.
    static func needed(for path: [UInt8], _ old: LinkAnchors?, _ make: () -> LinkAnchors) -> LinkAnchors? {
        if isNeeded(for: path) { return old ?? make() }
        old?.disarm()
        return nil
    }

    /// Throws where a place on the way is left without a watch.
    func followAll() throws(SystemError) {
        follow()
        if let failure, failure.leavesUnwatched { throw failure }
    }

    var watches: Set<Int32> { anchors.values.reduce(into: []) { $0.formUnion($1.watches) } }

    /// The names that are watched, by the place that they lead to.
    var levels: [[UInt8]: [PathAnchor.Level]] { anchors.mapValues(\.levels) }

    /// Why one of them is not watched.
    var failure: SystemError? { unwatched.values.first }

    /// Why less is seen than there may be: a sentence.
    var limit: String? { anchors.values.lazy.compactMap(\.limit).first }

    /// The end of the way, or the first name on it that is not there.
    var end: [UInt8] { LinkWatch.places(path).last?.path ?? path }

    /// Watches what is on the way now; to be called when something happened to the path's own entry, or above it.
    func follow() { take(LinkWays(path, mask, hub.adder)) }

    /// Takes over what was watched on the way. False: it had all of that already.
    @discardableResult func take(_ ways: LinkWays) -> Bool {
        var isNew = false
        for (place, way) in ways.all {
            let anchor =
                anchors[place] ?? PathAnchor(place, hub: hub) { [weak self] change in self?.happened(change) }
            anchors[place] = anchor
            if anchor.take(way) { isNew = true }
            unwatched[place] = way.failure
        }
        for gone in Set(anchors.keys).subtracting(ways.all.keys) {
            anchors.removeValue(forKey: gone)?.disarm()
            unwatched[gone] = nil
            isNew = true
        }
        hub.discard(ways.left)
        return isNew
    }

    func disarm() {
        isOver = true
        for anchor in anchors.values { anchor.disarm() }
        (anchors, unwatched) = ([:], [:])
    }

    private func happened(_ change: PathAnchor.Change) {
        if case .entry(let event) = change, !event.change.isOfName { return tell(change) }
        if isLazy { return tell(change) }
        guard let beside else {
            follow()
            return tell(change)
        }
        hasHappened = true
        guard !isAsking else { return }
        isAsking = true
        follow(beside, LinkWatch.looks) { [weak self] in self?.tell(change) }
    }

    /// Until the ways are the same twice, and nothing has happened while they were made.
    private func follow(_ beside: @escaping Beside, _ looks: Int, then: @escaping () -> Void) {
        hasHappened = false
        beside(LinkWays.work(path, mask, hub.adderBeside)) { [weak self, hub] ways in
            guard let self, !isOver else { return ways.discard(hub) }
            let isNew = take(ways)
            if hasHappened || (isNew && looks > 1) { return follow(beside, looks - 1, then: then) }
            isAsking = false
            then()
        }
    }

    private func tell(_ change: PathAnchor.Change) {
        switch change {
        case .entry(let event): changed(event.change)
        case .moved, .overflowed: changed(.selfChanged)
        }
    }
}

extension FolderEvent.Change {
    /// Something else may stand there by that name now.
    var isOfName: Bool {
        switch self {
        case .modified, .closedAfterWriting, .attributes: false
        case .created, .deleted, .movedIn, .movedOut, .renamed, .selfChanged, .overflowed: true
        }
    }
}
