import Engine
import LinuxSystem
import Schedule
package import WatchFile

/// `[Path NAME]`: changes of files, from inotify. Confined to its context.
package final class PathSource: EventSource {
    private(set) var trigger: PathTrigger
    private let environment: SourceEnvironment
    let id: SourceID
    private(set) var roots: [any WatchedPath] = []
    /// Those of `roots` that have ignore files.
    private var ignoring: [[UInt8]: TreeRoot] = [:]
    private(set) var levels: LevelWatch?
    /// The places of its paths in their list, where one lies below another.
    private var ranks: [[UInt8]: Int] = [:]
    private var retry = Retry()
    private(set) var isHeld = false
    private(set) var failure: SystemError?
    /// Comparisons that clients have asked for and that have not ended, by number.
    var comparisonCalls: [Int: ComparisonCall] = [:]
    var lastCall = 0
    /// Said once.
    private var hasLostEvents = false
    /// Below the roots: never told of.
    private var ownPaths: [[UInt8]] = []
    /// The last comparison that was told.
    private var comparison: String?
    /// It was said that paths have no watch.
    private var isBlind = false

    package init(_ id: SourceID, _ trigger: PathTrigger, _ environment: SourceEnvironment) {
        self.id = id
        self.trigger = trigger
        self.environment = environment
    }

    /// Each once, by whichever of its paths it is watched.
    package var watchCount: Int {
        let others = roots.reduce(into: levels?.watchNumbers ?? []) { $0.formUnion($1.watches) }
        return environment.inotify.count(of: roots.compactMap { $0 as? TreeRoot }, others)
    }

    /// Microseconds: unchanged for so long, a file of which nobody knows whether it is being written is complete.
    var unchanged: Int { trigger.settle.map { Int(clamping: $0.quiet.microseconds) } ?? NewFiles.unchanged }

    var followsLinks: Bool { trigger.followsLinks }
    var polling: PathTrigger.Polling { trigger.polling }
    var polls: Bool { polling.isAlways }
    /// Microseconds.
    var pollInterval: Int { Int(clamping: min(polling.interval.microseconds, UInt64(Int.max / 4))) }
    /// Microseconds from look to look at whether a file is being written; `nil`: that is watched.
    var pauseOfWriters: Int? { polls ? min(pollInterval, NewFiles.unchanged) : nil }
    var pollSpan: String { polling.interval.brief }

    var core: Context { environment.core }
    var initial: PathTrigger.Initial { trigger.initial }
    var snapshots: (any PathSnapshotStore)? { environment.snapshots }
    var handled: HandledPaths? { environment.handled }

    package func open() {
        findOwnPaths()
        roots = trigger.paths.map(root)
        findIgnoring()
        findRanks()
        openLevels()
        arm()
    }

    private func root(_ path: [UInt8]) -> any WatchedPath {
        trigger.isTree(path)
            ? TreeRoot(path, trigger, hub: environment.inotify, owner: self)
            : PathRoot(path, events: trigger.events(of: path), hub: environment.inotify, owner: self)
    }

    private func findIgnoring() {
        ignoring = [:]
        guard trigger.ignoreFile != nil else { return }
        for case let root as TreeRoot in roots { ignoring[root.path] = root }
    }

    /// The line of an ignore file that keeps back the news of a path below a root; `nil`: none does.
    package func ignored(_ path: [UInt8], below root: [UInt8]) -> IgnoredPath? { ignoring[root]?.ignored(path) }

    /// Why less is seen of a path below a root than there may be: a sentence.
    package func limit(at path: [UInt8], below root: [UInt8]) -> String? {
        roots.first { $0.path == root }?.limit(at: path)
    }

    /// A change that several of its paths see is told by the first of them.
    private func findRanks() {
        ranks = [:]
        guard roots.count > 1 else { return }
        let found = Dictionary(roots.enumerated().map { ($1.path, $0) }, uniquingKeysWith: min)
        let doOverlap = roots.contains { root in
            root.path.foldersAbove.contains { found[$0] != nil }
        }
        if doOverlap { ranks = found }
    }

    private func openLevels() {
        levels = trigger.levels.map { LevelWatch($0, id: id, environment: environment, owner: self) }
        levels?.look()
    }

    private func arm() {
        failure = nil
        makeFolders()
        for root in roots { arming { () throws(SystemError) in try root.arm() } }
        armed()
    }

    /// `MakeDirectory=`: what is to come to exist by itself is not made, as systemd has it.
    private func makeFolders() {
        guard let mode = trigger.directoryMode else { return }
        let folders = (trigger.levels?.conditions ?? []).compactMap { condition in
            if case .notEmpty(let folder) = condition { folder } else { nil }
        }
        for path in trigger.paths + folders {
            arming { () throws(SystemError) in try Linux.makeFolders(path, permissions: mode) }
        }
    }

    private func arming(_ work: () throws(SystemError) -> Void) {
        do throws(SystemError) { try work() } catch { failure = error }
    }

    private func armed() { if let failure { failed(failure) } else { rootChanged() } }

    /// Goes on as another one: of paths that stay, what is not told yet is told, and nothing falls between. It is not
    /// held any more.
    func reopen(_ trigger: PathTrigger) {
        retry.cancel()
        retry.reset()
        isHeld = false
        failure = nil
        self.trigger = trigger
        refuseComparisons("its watch file has changed meanwhile")
        findOwnPaths()
        var old = Dictionary(grouping: roots, by: \.path)
        let kept = trigger.paths.map { path in
            (path, old[path]?.popLast(where: { $0.isRecursive == trigger.isTree(path) }))
        }
        // A path that is watched in another way from now on hands its knowledge to the next watcher.
        let known = kept.map { path, kept in
            kept == nil ? old[path]?.first.flatMap { other in other.handOver().map { (other, $0) } } : nil
        }
        end(old.values.flatMap(\.self), handedOver: known.compactMap { $0?.0 })
        makeFolders()
        let trees = kept.compactMap(\.1).filter(\.isRecursive).map(\.path)
        roots = zip(kept, known).map { kept, known in
            if let root = kept.1 { return root }
            if known == nil, trees.contains(where: kept.0.isAtOrBelow) { forgetHandled(kept.0) }
            let root = root(kept.0)
            if let known { root.take(over: known.1) }
            return root
        }
        findIgnoring()
        findRanks()
        for root in roots { root.initialChanged() }
        for root in roots { arming { () throws(SystemError) in try root.rearm(for: trigger) } }
        if levels?.levels != trigger.levels || levels?.polling != trigger.polling {
            levels?.close()
            openLevels()
        } else {
            levels?.look()
        }
        armed()
    }

    /// A path below one that was watched all the time: what its own snapshot says is out of date.
    private func forgetHandled(_ path: [UInt8]) {
        guard initial == .changed, let snapshots, snapshots.missing == nil else { return }
        snapshots.forget(path, of: id)
        handled?.forget(id, path)
    }

    package func close() {
        retry.cancel()
        refuseComparisons("it was taken away meanwhile")
        end(roots)
        (roots, ignoring, ranks) = ([], [:], [:])
        levels?.close()
        levels = nil
    }

    private func end(_ roots: [any WatchedPath], handedOver: [any WatchedPath] = []) {
        // A change that is not told yet shows when the source begins again, where handled changes are recorded.
        let behind = roots.filter { root in
            root.isBehind && !root.isRecorded && !handedOver.contains { $0 === root }
        }
        for root in roots { root.disarm() }
        guard let first = behind.first else { return }
        let more = behind.count > 1 ? " and \(behind.count - 1) more" : ""
        let reason = "changes made before it was taken away, and not told yet, are lost"
        environment.warn(id, "\(first.path.printable)\(more): \(reason)")
        environment.send(.gap(id, behind.count))
    }

    package func rest() {
        retry.cancel()
        hold()
    }

    package func hold() { isHeld = true }

    package func release() {
        isHeld = false
        for root in roots { root.goOn() }
        levels?.look()
    }

    // MARK: The needs of the roots

    /// Works beside the core and comes back; one thing at a time.
    func beside<Value: Sendable>(
        _ work: @escaping @Sendable () throws(SystemError) -> Value,
        then: @escaping (Swift.Result<Value, SystemError>) -> Void
    ) {
        let bound = QueueBound(then, to: environment.core)
        environment.slow.submit(id.description, inOrder: true) { [core = environment.core] in
            let result = Swift.Result { () throws(SystemError) in try work() }
            core.async { bound.value(result) }
        }
    }

    /// Makes the ways of links beside the core.
    func makeWays(_ work: @escaping @Sendable () -> LinkWays, then: @escaping (LinkWays) -> Void) {
        beside { () throws(SystemError) in
            work()
        } then: { ways in
            if case .success(let ways) = ways { then(ways) }
        }
    }

    /// Tells what is asked for, and what else may change what that comes to while it waits. False: it is none of its
    /// events.
    ///
    /// - Parameter state: what stands at the path now; `nil`: nobody records it.
    @discardableResult func tell(_ fact: PathFact, isFolder: Bool = false, state: PathState? = nil) -> Bool {
        let told = filtered(fact)
        if let state, told != fact { noteUntold(fact, told, state) }
        guard let filtered = told else { return false }
        guard let told = own(filtered) else {
            if let state { noteUntold(fact, nil, state) }
            return false
        }
        if let state, told != filtered { noteUntold(filtered, told, state) }
        let isAsked = trigger.events.contains(PathEvents(told.change))
        let mayCount =
            switch told.change {
            case .written, .deleted: true
            // That of a file is told when it is complete, which a FIFO is when it is made.
            case .created: isFolder || fact.isFolder || state.map { $0.kind == .file && $0.size >= 0 } ?? false
            case .modified, .attributes, .renamed: false
            }
        if isAsked, !told.isUntold { countFound(told) }
        if isAsked || mayCount {
            let now = state.map { told.path == fact.path ? $0 : .nothing }
            environment.send(now.map { .change(id, told, $0) } ?? .event(id, .path(told)))
        }
        return isAsked
    }

    func asks(for change: PathEvents) -> Bool { !trigger.events.isDisjoint(with: change) }

    /// Whether it may be told.
    func wants(_ fact: PathFact) -> Bool { filtered(fact) != nil }

    /// Files and folders that watchd writes itself, without links.
    var ownRealPaths: [[UInt8]] { environment.ownPaths }

    /// Changes of watchd's own files are not told: telling writes to them.
    func isOwn(_ folder: [UInt8]) -> Bool { environment.ownFolders.contains(folder) }

    /// The fact, unless a path before it in the list tells it; of a rename, its meaning at the end that they do not see.
    private func own(_ fact: PathFact) -> PathFact? {
        guard !ranks.isEmpty else { return fact }
        guard let oldPath = fact.oldPath else { return isToldByAnother(fact) ? nil : fact }
        let left = PathFact(.deleted, path: oldPath, root: fact.root, isFolder: fact.isFolder)
        let come = PathFact(
            fact.isFolder ? .created : .written, path: fact.path, root: fact.root, isNew: !fact.hasReplaced,
            isFolder: fact.isFolder)
        guard Set(pathsBefore(left)).isDisjoint(with: pathsBefore(come)) else { return nil }
        switch (isToldByAnother(left), isToldByAnother(come)) {
        case (false, false): return fact
        case (false, true): return left
        case (true, false): return come
        case (true, true): return nil
        }
    }

    private func isToldByAnother(_ fact: PathFact) -> Bool {
        pathsBefore(fact).contains { trigger.events(of: $0).contains(PathEvents(fact.change)) }
    }

    /// The paths before its own in the list that see it as well.
    private func pathsBefore(_ fact: PathFact) -> [[UInt8]] {
        guard let rank = ranks[fact.root] else { return [] }
        // No folder tells of itself, but of its attributes.
        let own = fact.isFolder && fact.change != .attributes ? [] : [fact.path]
        return (own + fact.path.foldersAbove).filter { other in
            ranks[other].map { $0 < rank } ?? false && trigger.reaches(fact.path, from: other)
                && !(ignoring[other]?.ignores(anyOf: fact.path) ?? false)
        }
    }

    /// A change that a filter keeps back is handled, so that a filter which lets it through later finds no change.
    private func noteUntold(_ fact: PathFact, _ told: PathFact?, _ state: PathState) {
        let sides = [(fact.path, state)] + (fact.oldPath.map { [($0, .nothing)] } ?? [])
        let untold = sides.filter { path, _ in path != told?.path && path != told?.oldPath && !isOwnPath(path) }
        environment.handled?.note(id, untold.map { PathMoment(root: fact.root, path: $0, state: $1) })
    }

    /// The fact that `Include=` and `Exclude=` let through; of a rename that crosses them, its meaning at the end they do.
    private func filtered(_ fact: PathFact) -> PathFact? {
        let isLet = lets(fact.path, fact)
        guard let oldPath = fact.oldPath else { return isLet ? fact : nil }
        switch (lets(oldPath, fact), isLet) {
        case (true, true): return fact
        case (true, false): return PathFact(.deleted, path: oldPath, root: fact.root, isFolder: fact.isFolder)
        case (false, true):
            return fact.isFolder
                ? PathFact(.created, path: fact.path, root: fact.root, isFolder: true)
                : PathFact(.written, path: fact.path, root: fact.root, isNew: !fact.hasReplaced)
        case (false, false): return nil
        }
    }

    private func lets(_ path: [UInt8], _ fact: PathFact) -> Bool {
        guard trigger.filter.lets(path, below: fact.root), !isOwnPath(path),
            trigger.scopes.isEmpty || trigger.scopes[fact.root]?.covers(path) ?? true
        else { return false }
        // The folders of what was moved may be ignored: those of anything else are not known then.
        let isMoved = fact.oldPath != nil
        return ignoring[fact.root]?.ignores(path, isFolder: fact.isFolder, isWhole: isMoved) != true
    }

    // MARK: Files that watchd itself writes

    private func isOwnPath(_ path: [UInt8]) -> Bool { !ownPaths.isEmpty && ownPaths.contains { path.isAtOrBelow($0) } }

    /// By the names that the roots give them, which may lead through links.
    private func findOwnPaths() {
        if environment.ownPaths.isEmpty { return }
        ownPaths = trigger.paths.flatMap { root -> [[UInt8]] in
            guard let real = try? Linux.realPath(root) else { return [] }
            let end = root.last == UInt8(ascii: "/") ? root.dropLast() : root[...]
            return environment.ownPaths.compactMap { own in
                if real.isAtOrBelow(own) { return root }
                guard real.count == 1 || own.isAtOrBelow(real) else { return nil }
                return Array(end + own.dropFirst(real.count == 1 ? 0 : real.count))
            }
        }
    }

    /// The kernel's queue overflowed while no watchd read it.
    func lostEvents() {
        guard !hasLostEvents else { return }
        hasLostEvents = true
        environment.send(.gap(id, 1))
        let reason = "changes that were made while watchd did not run are lost: the kernel could keep no more of them"
        environment.send(.source(id, .failed("\(reason) (sysctl fs.inotify.max_queued_events)")))
    }

    /// A path goes without a watch: nobody knows what comes and goes between two comparisons.
    func lostWatch() { environment.send(.gap(id, 1)) }

    func warn(_ sentence: String) { environment.warn(id, sentence) }

    func failed(_ error: SystemError) {
        failure = error
        refuseComparisons(error.reason)
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.arm() }
        rootChanged()
    }

    package func positionsCame() { for root in roots { root.storeCame() } }

    /// The store has lost what it had.
    func storeAgain() { for root in roots { root.storeAgain() } }

    /// Paths that a limit leaves without a watch: a sentence.
    private var blindness: String? {
        let blind = roots.filter { $0.blindness != nil }
        guard let first = blind.first, let error = first.blindness else { return nil }
        if first.isRecursive { return first.limit }
        let others = blind.count > 1 ? " and \(blind.count - 1) more" : ""
        return "\(first.path.printable)\(others) compared every \(pollSpan): \(error.reason)"
    }

    private func sayLimit() {
        let blindness = blindness
        // A tree says it itself, as its parts come and go.
        if let blindness, !isBlind, !trigger.isRecursive { environment.warn(id, blindness) }
        isBlind = blindness != nil
        let unread = roots.first { $0.isUnread }
        let text = blindness ?? (unread ?? roots.first { $0.limit != nil })?.limit ?? levels?.limit
        let isUnread = unread != nil || levels?.isUnread ?? false
        let cause: SourceLimit.Cause = isBlind || levels?.isBlind ?? false ? .shortage : isUnread ? .unread : .nature
        environment.limited(id, text.map { SourceLimit($0, cause: cause) })
    }

    /// `does not exist yet`; or why nobody sees whether it does.
    private func absence(of path: [UInt8]) -> String {
        // Where nothing is watched it may hang.
        if polls { return "does not exist yet" }
        do throws(SystemError) {
            _ = try Linux.lstat(path)
        } catch  where error.errno == .accessDenied {
            return "cannot be looked at: \(error.errno)"
        } catch {}
        return "does not exist yet"
    }

    /// Says where the source stands.
    func rootChanged() {
        let comparison = roots.lazy.compactMap(\.comparisonText).first
        if comparison != self.comparison { environment.comparing(id, comparison) }
        self.comparison = comparison
        if roots.contains(where: \.isUnready) { return }
        sayLimit()
        if let failure {
            environment.send(.source(id, retry.condition(failure.reason)))
        } else if let missing = roots.first(where: { !$0.exists }) {
            retry.reset()
            environment.send(.source(id, .waiting("\(missing.path.printable) \(absence(of: missing.path))")))
        } else {
            retry.reset()
            if let condition = levels?.condition { return environment.send(.source(id, condition)) }
            environment.send(.source(id, .armed))
        }
    }
}

extension [any WatchedPath] {
    /// Takes out the last one that is as wanted.
    fileprivate mutating func popLast(where isWanted: (any WatchedPath) -> Bool) -> (any WatchedPath)? {
        lastIndex(where: isWanted).map { remove(at: $0) }
    }
}
