import Engine
import LinuxSystem
package import WatchFile

/// `Tail=`: lines appended to a file, across its rotation, truncation and absence, and across a restart of watchd.
///
/// inotify tells when to look; how far was read is told together with the lines, so that both are stored at once. The
/// content of the file when this path is read for the very first time is no event. When another file has come in its
/// place and has been written to, the old one is read to its end first, and whatever was rotated away between them
/// (`TailRotation`). Confined to its context.
package final class TailSource: EventSource {
    let id: SourceID
    let path: [UInt8]
    let trigger: DescriptorTrigger
    let environment: SourceEnvironment
    let maker: LineMaker
    var anchor: PathAnchor?
    /// The targets of links at the path: rotation leaves them as they are.
    private(set) var links: LinkAnchors?
    /// Of the file that is open.
    private var watch: FileWatch?
    var file: TailFile?
    /// Those before it.
    var rotated: RotatedFiles?
    var arrivals = TailArrivals()
    /// The file that is open is among them.
    var isCounted = false
    /// Where it begins if it turns out that the store, which cannot be opened yet, knows nothing of it.
    private var beginning: TailProgress?
    /// The next file to come is new: it is read from its start.
    private var hasSeenNone = false
    var isSearching = false
    /// Something happened while others were looked for.
    var isLookDue = false
    /// The file at the path when others were looked for last.
    var searched: UInt64?
    /// Nothing stands at the path, and the file that was read was looked for beside it.
    private var isLookedFor = false
    /// It was read to its end when something was looked at last.
    var wasRead = false
    var isHeld = false
    private var isContinuing = false
    private var isContinuingRotated = false
    /// Microseconds since the last write within which the rest of a line is waited for, though the next file is written.
    private let linePatience: Int
    private var isLineDue = false
    /// Since when it is waited for: monotonic microseconds.
    private var lineSince: Int64?
    var retry = Retry()
    /// The last condition that was told.
    private(set) var condition: SourceCondition?
    /// Their failure, as the log was told.
    var linkFailure: SystemError?

    /// - Parameters:
    ///   - patience: microseconds that a file which was rotated away may be still until it is not followed any longer.
    ///   - linePatience: microseconds that it may be still in the middle of a line until the next file is read.
    package init(
        _ id: SourceID, path: [UInt8], _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        patience: Int? = nil, linePatience: Int = 1_000_000
    ) {
        self.linePatience = linePatience
        self.id = id
        self.path = path
        self.trigger = trigger
        self.environment = environment
        maker = LineMaker(id, trigger, environment)
        rotated = RotatedFiles(
            trigger, maker, environment, patience: patience ?? RotatedFiles.patience,
            RotatedFiles.Owner(
                tell: { [weak self] in self?.tell($0) }, lose: { [weak self] in self?.lose($0) },
                gone: { [environment, id] in environment.log(id, Array($0.utf8)) },
                isHeld: { [weak self] in self?.isHeld ?? true }, changed: { [weak self] in self?.lookAtRotated() }))
    }

    package var watchCount: Int {
        (anchor?.watchCount ?? 0) + (links?.watches.count ?? 0) + (watch == nil ? 0 : 1) + (rotated?.watchCount ?? 0)
    }

    package var descriptorCount: Int { (file?.number == nil ? 0 : 1) + (rotated?.descriptorCount ?? 0) }

    package func open() {
        anchor = PathAnchor(path, hub: environment.inotify) { [weak self] change in
            guard let self else { return }
            switch change {
            case .entry(let event):
                arrivals.note(event.change, file?.position) { current }
                if event.change.isOfName { followLinks() }
                look()
            case .moved, .overflowed:
                arrivals.losesSight()
                arm()
            }
        }
        links = LinkAnchors(path, hub: environment.inotify) { [weak self] _ in
            self?.linksFollowed()
            self?.look()
        }
        arm()
    }

    package func close() {
        retry.cancel()
        anchor?.disarm()
        links?.disarm()
        (anchor, links) = (nil, nil)
        closeFile()
        rotated?.close()
        rotated = nil
    }

    package func rest() {
        retry.cancel()
        hold()
    }

    package func hold() {
        isHeld = true
        wasRead = false
    }

    package func release() {
        isHeld = false
        look()
    }

    private func arm() {
        do throws(SystemError) {
            _ = try anchor?.arm([.modified, .closedAfterWriting, .attributes])
            if let limit = anchor?.limit { environment.limited(id, SourceLimit(limit)) }
            followLinks()
            look()
        } catch {
            failed(error)
        }
    }

    func failed(_ error: SystemError) {
        guard anchor != nil else { return }
        searched = nil
        // An attempt that an event caused does not make the pauses longer.
        if !retry.isPending { retry.schedule(id, [path], environment) { [weak self] in self?.arm() } }
        say(retry.condition(error.reason))
    }

    func say(_ condition: SourceCondition) {
        self.condition = condition
        environment.send(.source(id, condition))
    }

    // MARK: Looking

    private func look() {
        lookAtRotated()
        if isSearching { isLookDue = true }
        if isHeld { file?.remember() }
        guard anchor != nil, !isHeld, !isSearching, !isContinuing else { return }
        do throws(SystemError) {
            if file == nil { try openFirst() }
            if file != nil { try read() }
        } catch {
            closeFile()
            failed(error)
        }
    }

    private func lookAtRotated() {
        guard anchor != nil, !isHeld, !isContinuingRotated, rotated?.read() == true else { return }
        // After the others have had their turn.
        isContinuingRotated = true
        let bound = QueueBound(self, to: environment.core)
        environment.core.async {
            bound.value.isContinuingRotated = false
            bound.value.lookAtRotated()
        }
    }

    package func positionsCame() { look() }

    private var stored: TailProgress? {
        environment.position(id).flatMap { TailProgress($0, of: path) } ?? beginning
    }

    /// How far it was read is not known yet: what stands there now may have been, or not.
    private func waitForPosition(_ reason: String) throws(SystemError) {
        if beginning == nil {
            var position: TailPosition?
            if let (opened, status) = try TailFile.open(path) {
                position = TailPosition(beginningOf: opened, status)
                position?.offset = status.size
                FileDescriptor(owning: opened).close()
            }
            beginning = TailProgress(of: path, position)
        }
        retry.reset()
        say(.waiting("how far it was read is in the store, which cannot be opened: \(reason)"))
    }

    private func openFirst() throws(SystemError) {
        if let reason = environment.positionsMissing() { return try waitForPosition(reason) }
        try DescriptorRoom.check()
        let progress = stored
        if let progress { rotated?.restore(progress.rotated) }
        guard let (opened, status) = try TailFile.open(path) else {
            // It may have been rotated away with lines that nobody has read.
            if let current = progress?.current, !isLookedFor {
                isLookedFor = true
                return search(after: current, isRead: false)
            }
            hasSeenNone = true
            if progress == nil { tell([]) }
            retry.reset()
            return say(.waiting(missing))
        }
        guard let stored = progress?.current else {
            var position = TailPosition(beginningOf: opened, status)
            // The very first time: what stands there already is no event.
            if !hasSeenNone, progress == nil {
                position.offset = status.size
                arrivals.losesSight()
            }
            take(TailFile(owning: opened, position))
            file?.remember()
            return tell([])
        }
        // Of what was truncated before anything was read of it nobody sees that it was.
        if stored.offset > 0, stored.fitsLater(opened, status) { return take(TailFile(owning: opened, stored)) }
        FileDescriptor(owning: opened).close()
        search(after: stored, isRead: false)
    }

    /// - Parameter isRead: the file that was open was read to its end.
    func take(_ new: TailFile, isRead: Bool = false) {
        count()
        if file?.position.inode != new.position.inode { isCounted = false }
        isLookedFor = false
        let old = file
        watch?.cancel()
        watch = nil
        file = new
        file?.isRotated = (try? Linux.stat(path)).map(new.position.isOf) != true
        if let old, isRead, !old.position.isOf(new.position) { rotated?.follow(old) } else { old?.close() }
        count()
        settle()
        (searched, lineSince) = (nil, nil)
        hasSeenNone = true
        retry.reset()
        watchFile()
        say(.armed)
    }

    func closeFile() {
        watch?.cancel()
        watch = nil
        file?.close()
        file = nil
    }

    /// Appends by the watched name need not be told twice: the file itself tells them only where it has another name.
    func watchFile() {
        guard let file, let number = file.number else { return }
        let hasOtherNames = file.isRotated || links?.failure != nil || (try? Linux.fstat(number))?.links != 1
        let mask: InotifyMask = hasOtherNames ? [.attributes, .selfMoved, .modified] : [.attributes, .selfMoved]
        if watch?.mask == mask { return }
        watch?.cancel()
        watch = FileWatch(number, mask, hub: environment.inotify) { [weak self] _ in self?.look() }
        // Before the watch was there.
        if watch != nil { later() }
    }

    // MARK: Reading

    private func read() throws(SystemError) {
        guard let file else { return }
        let successor = try successor()
        file.isRotated = (try? Linux.stat(path)).map(file.position.isOf) != true
        let isInLine = successor && waitsForLine(of: file)
        switch try file.next(trigger, maker, isOver: successor && !isInLine) {
        case .facts(let facts):
            wasRead = false
            tell(facts)
            later()
        case .begunAnew:
            search(after: file.position, isRead: false)
        case .nothing:
            wasRead = true
            let other = try? Linux.stat(path)
            let isElsewhere = other.map { !file.position.isOf($0) } ?? false
            // It may have been moved away since the first look at its path, and the move is told during a search.
            file.isRotated = other == nil || isElsewhere
            if other != nil, !isElsewhere { tellOfArrivals() }
            watchFile()
            if isInLine { return restsHere() }
            // Once for each file that comes, until something is written to it; one may have come and be rotated away.
            let isPast = other == nil && arrivals.isBehind
            guard successor || isPast || isElsewhere && other?.inode != searched else { return restsHere() }
            searched = other?.inode
            search(after: file.position, isRead: true)
        }
    }

    /// Whether its writer may be about to end its last line: then it is looked at again, before the next file is read.
    /// A writer that never ends one holds up the next file for five times as long.
    func waitsForLine(of file: TailFile) -> Bool {
        guard let still = file.stillInLine, still < linePatience else { return false }
        let now = Linux.now(.monotonic)
        let since = lineSince ?? now
        lineSince = since
        guard now - since < 5 * Int64(linePatience) else { return false }
        if !isLineDue {
            isLineDue = true
            let bound = QueueBound(self, to: environment.core)
            environment.core.after(linePatience - still + 1_000) {
                bound.value.isLineDue = false
                bound.value.look()
            }
        }
        return true
    }

    /// Whether another file stands at the path, with something in it: who wrote the old one writes there now.
    func successor() throws(SystemError) -> Bool {
        guard let file, let status = try? Linux.stat(path) else { return false }
        return status.kind == .regular && !file.position.isOf(status) && status.size > 0
    }

    func tell(_ facts: [LineFact]) {
        let position = file?.position ?? stored?.current
        let progress = TailProgress(of: path, position, rotated: rotated?.places ?? [])
        environment.send(.lines(id, maker.sift(facts), position: progress.bytes))
    }

    /// Goes on after the others have had their turn.
    func later() {
        isContinuing = true
        let bound = QueueBound(self, to: environment.core)
        environment.core.async {
            bound.value.isContinuing = false
            bound.value.look()
        }
    }
}
