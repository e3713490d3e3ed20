import LinuxSystem

/// Keeps sight of where the symbolic links on the way to a log lead: each link, and the end of the way, which need not
/// be there yet. A place that the log's own anchor sees is left to it. Confined to its context.
final class LinkAnchors {
    private let path: [UInt8]
    private let hub: InotifyHub
    private let mask: InotifyMask
    private let beside: ((@escaping () -> Void) -> Void)?
    private let changed: (FolderEvent.Change) -> Void
    private var anchors: [[UInt8]: PathAnchor] = [:]
    private var unwatched: [[UInt8]: SystemError] = [:]
    /// Places whose folders above have changed.
    private var moved: Set<[UInt8]> = []
    private let isLazy: Bool
    /// The way may lead elsewhere, and whoever is lazy has not followed it yet.
    private(set) var isBehind = false
    private var isAsking = false
    private var isOver = false

    /// - Parameters:
    ///   - mask: what happens to the end of the way, besides its coming and going.
    ///   - isLazy: `follow` is called after a change, once for many of them, and not for each.
    ///   - beside: calls back when the way answers, which it may lead to a file system that hangs; `nil`: nobody asks.
    ///   - changed: called on the context after something happened at a link, or where one leads.
    init(
        _ path: [UInt8], hub: InotifyHub, mask: InotifyMask = [.modified, .attributes], isLazy: Bool = false,
        beside: ((@escaping () -> Void) -> Void)? = nil, changed: @escaping (FolderEvent.Change) -> Void
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
        guard let status = try? Linux.lstat(path) else { return !places(of: path).isEmpty }
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

    /// Why one of them is not watched.
    var failure: SystemError? { unwatched.values.first }

    /// Why less is seen than there may be: a sentence.
    var limit: String? { anchors.values.lazy.compactMap(\.limit).first }

    /// The end of the way, or the first name on it that is not there.
    var end: [UInt8] { LinkWatch.places(path).last?.path ?? path }

    /// Watches what is on the way now; to be called when something happened to the log's own entry, or above it. Until
    /// the way is the same after it is watched as before: nothing is missed between.
    func follow() {
        isBehind = false
        for place in moved where anchors[place] != nil { watch(place) }
        moved = []
        for _ in 0..<LinkWatch.looks {
            let places = places
            for place in places where anchors[place] == nil || unwatched[place] != nil { watch(place) }
            for gone in Set(anchors.keys).subtracting(places) {
                anchors.removeValue(forKey: gone)?.disarm()
                unwatched[gone] = nil
            }
            if self.places == places { return }
        }
    }

    /// The way is to be followed anew by whoever is lazy.
    func doubt() { isBehind = true }

    func disarm() {
        isOver = true
        for anchor in anchors.values { anchor.disarm() }
        (anchors, unwatched, moved) = ([:], [:], [])
    }

    private var places: [[UInt8]] { Self.places(of: path) }

    private static func places(of path: [UInt8]) -> [[UInt8]] {
        LinkWatch.places(path).map(\.path).filter { !path.starts(with: $0 + [UInt8(ascii: "/")]) && $0 != path }
    }

    private func watch(_ place: [UInt8]) {
        let anchor =
            anchors[place] ?? PathAnchor(place, hub: hub) { [weak self] change in self?.happened(at: place, change) }
        anchors[place] = anchor
        do throws(SystemError) {
            _ = try anchor.arm(mask)
            unwatched[place] = nil
        } catch {
            unwatched[place] = error
        }
    }

    private func happened(at place: [UInt8], _ change: PathAnchor.Change) {
        switch change {
        case .entry(let event): if event.change.isOfName { isBehind = true }
        case .moved, .overflowed:
            isBehind = true
            moved.insert(place)
        }
        guard isBehind, !isLazy else { return tell(change) }
        guard let beside else {
            follow()
            return tell(change)
        }
        guard !isAsking else { return }
        isAsking = true
        beside { [weak self] in self?.answered(change) }
    }

    /// A change during the question shows in the state that is found now.
    private func answered(_ change: PathAnchor.Change) {
        isAsking = false
        guard !isOver else { return }
        follow()
        tell(change)
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
