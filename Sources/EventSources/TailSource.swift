import Engine
import LinuxSystem
package import WatchFile

/// `Tail=`: lines appended to a file, across its rotation, truncation and absence, and across a restart of watchd.
///
/// inotify tells when to look; how far was read is told together with the lines, so that both are stored at once. What
/// stands in the file when this path is read for the very first time is no event. When another file has come in its place and has been written
/// to, the old one is read to its end first, and whatever was rotated away between them (`TailRotation`). Confined to its
/// context.
package final class TailSource: EventSource {
    private let id: SourceID
    private let path: [UInt8]
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let maker: LineMaker
    private var anchor: PathAnchor?
    /// Where the open file really stands: what a link leads to, or under the name it was rotated to.
    private var elsewhere: PathAnchor?
    private var file: TailFile?
    private var arrivals = TailArrivals()
    /// The file that is open is among them.
    private var isCounted = false
    /// The next file to come is new: it is read from its start.
    private var hasSeenNone = false
    private var isSearching = false
    /// The file at the path when others were looked for last.
    private var searched: UInt64?
    /// It was read to its end when something was looked at last.
    private var wasRead = false
    private var isHeld = false
    private var isContinuing = false
    private var retry = Retry()

    package init(
        _ id: SourceID, path: [UInt8], _ trigger: DescriptorTrigger, _ environment: SourceEnvironment
    ) {
        self.id = id
        self.path = path
        self.trigger = trigger
        self.environment = environment
        maker = LineMaker(id, trigger, environment)
    }

    package var watchCount: Int { (anchor?.watchCount ?? 0) + (elsewhere?.watchCount ?? 0) }

    package var descriptorCount: Int { file?.number == nil ? 0 : 1 }

    package func open() {
        anchor = PathAnchor(path, hub: environment.inotify) { [weak self] change in
            guard let self else { return }
            switch change {
            case .entry(let event):
                arrivals.note(event.change, file?.position) { current }
                look()
            case .moved, .overflowed:
                arrivals.losesSight()
                arm()
            }
        }
        arm()
    }

    package func close() {
        retry.cancel()
        anchor?.disarm()
        elsewhere?.disarm()
        (anchor, elsewhere) = (nil, nil)
        file?.close()
        file = nil
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
            _ = try anchor?.arm([.modified, .closedAfterWriting])
            look()
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: SystemError) {
        guard anchor != nil else { return }
        retry.schedule(on: environment.core) { [weak self] in self?.arm() }
        environment.send(.source(id, retry.condition("\(error)")))
    }

    // MARK: Looking

    private func look() {
        guard anchor != nil, !isHeld, !isSearching, !isContinuing else { return }
        do throws(SystemError) {
            if file == nil { try openFirst() }
            if file != nil { try read() }
        } catch {
            file?.close()
            file = nil
            failed(error)
        }
    }

    private func openFirst() throws(SystemError) {
        let progress = environment.position(id).flatMap { TailProgress($0, of: path) }
        guard let (opened, status) = try TailFile.open(path) else {
            hasSeenNone = true
            if progress == nil { tell([]) }
            retry.reset()
            return environment.send(.source(id, .waiting("\(path.printable) does not exist yet")))
        }
        guard let stored = progress?.current else {
            var position = TailPosition(beginningOf: opened, status)
            // The very first time: what stands there already is no event.
            if !hasSeenNone, progress == nil {
                position.offset = status.size
                arrivals.losesSight()
            }
            take(TailFile(owning: opened, position))
            return tell([])
        }
        // Of what was truncated before anything was read of it nobody sees that it was.
        if stored.offset > 0, stored.fitsLater(opened, status) { return take(TailFile(owning: opened, stored)) }
        FileDescriptor(owning: opened).close()
        search(after: stored, isRead: false)
    }

    private func take(_ new: TailFile) {
        count()
        if file?.position.inode != new.position.inode { isCounted = false }
        file?.close()
        file = new
        count()
        settle()
        searched = nil
        hasSeenNone = true
        retry.reset()
        watchElsewhere()
        environment.send(.source(id, .armed))
    }

    private func watchElsewhere() {
        let real = file?.path
        guard real != path, let real else {
            elsewhere?.disarm()
            elsewhere = nil
            return
        }
        if elsewhere?.path == real { return }
        elsewhere?.disarm()
        elsewhere = PathAnchor(real, hub: environment.inotify) { [weak self] _ in self?.look() }
        // Without a watch for it, it is looked at whenever something happens at the path.
        _ = try? elsewhere?.arm([.modified])
    }

    // MARK: Rotation

    /// - Parameter isRead: the file that is open was read to its end; else it has gone, or begins differently.
    private func search(after position: TailPosition, isRead: Bool) {
        isSearching = true
        let bound = QueueBound(self, to: environment.core)
        environment.slow.async { [core = environment.core, path] in
            let result = Swift.Result { () throws(SystemError) in
                try TailRotation(of: path, after: position, isRead: isRead)
            }
            core.async { bound.value.found(result, after: position, isRead: isRead) }
        }
    }

    private func found(
        _ result: Swift.Result<TailRotation, SystemError>, after position: TailPosition, isRead: Bool
    ) {
        isSearching = false
        // What was found may not be true any more when it is let go.
        searched = isHeld ? nil : searched
        guard anchor != nil, !isHeld else { return }
        do throws(SystemError) {
            let rotation = try result.get()
            // Who has it open may have written more meanwhile.
            if isRead, let file, case .facts(let facts) = try file.next(trigger, maker, isOver: true) {
                tell(facts)
                return later()
            }
            // Who wrote the file that was read may do so still.
            if isRead, rotation.next == nil, try !successor() { return watchElsewhere() }
            try goOn(rotation, position)
        } catch {
            failed(error)
        }
    }

    private func tellOfLoss(_ rotation: TailRotation, _ position: TailPosition) {
        for sentence in rotation.lost { lose(sentence) }
        arrivals.took(rotation.lost.count)
        guard rotation.isRestUnknown else { return }
        let sentence = "what was read up to byte \(position.offset) is no more"
        // Whoever truncates a log that was read to its end has lost nothing of it.
        if wasRead { return environment.log(id, Array("\(path.printable) begins again: \(sentence)".utf8)) }
        lose("\(sentence), and nothing beside it goes on there: what came behind that is lost, if there was anything")
    }

    /// What stands at the path, if every event of it was told.
    private var current: FileStatus? {
        let status = try? Linux.stat(path)
        return environment.inotify.isCaughtUp ? status : nil
    }

    private func count() {
        guard !isCounted, let number = file?.number, (try? Linux.fstat(number))?.size != 0 else { return }
        isCounted = true
        arrivals.took()
    }

    /// Everything that is there is being read: what else came has gone.
    private func tellOfArrivals() {
        count()
        let lost = arrivals.lost()
        if lost > 0 {
            let files = lost == 1 ? "a file that was written here was" : "\(lost) files that were written here were"
            lose("\(files) deleted or overwritten before \(lost == 1 ? "it" : "they") could be read", lost)
        }
        guard arrivals.isAhead else { return }
        let bound = QueueBound(self, to: environment.core)
        // After the events that are being told now.
        environment.core.async { bound.value.settle() }
    }

    private func settle() {
        guard let current, file?.position.isOf(current) == true else { return }
        isCounted = true
        arrivals.settle()
    }

    private func lose(_ sentence: String, _ count: Int = 1) {
        environment.send(.gap(id, count))
        environment.warn(id, "\(path.printable): \(sentence)")
    }

    /// To the next file, unless it was rotated once more meanwhile: then that is looked at again.
    private func goOn(_ rotation: TailRotation, _ position: TailPosition) throws(SystemError) {
        if let next = rotation.next {
            guard let (opened, status) = try TailFile.open(next.path) else { return later() }
            guard next.position.isOf(status) else {
                FileDescriptor(owning: opened).close()
                return later()
            }
            take(TailFile(owning: opened, next.position))
        } else {
            guard let (opened, status) = try TailFile.open(path) else {
                file?.close()
                file = nil
                return later()
            }
            guard rotation.current.map(TailPosition(of: status).isOf) == true else {
                FileDescriptor(owning: opened).close()
                return later()
            }
            take(TailFile(owning: opened, TailPosition(beginningOf: opened, status)))
        }
        tellOfLoss(rotation, position)
        tell([])
        later()
    }

    // MARK: Reading

    private func read() throws(SystemError) {
        guard let file else { return }
        let successor = try successor()
        switch try file.next(trigger, maker, isOver: successor) {
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
            if other != nil, !isElsewhere { tellOfArrivals() }
            // Once for each file that comes, until something is written to it.
            guard successor || isElsewhere && other?.inode != searched else { return watchElsewhere() }
            searched = other?.inode
            search(after: file.position, isRead: true)
        }
    }

    /// Whether another file stands at the path, with something in it: who wrote the old one writes there now.
    private func successor() throws(SystemError) -> Bool {
        guard let file, let status = try? Linux.stat(path) else { return false }
        return status.kind == .regular && !file.position.isOf(status) && status.size > 0
    }

    private func tell(_ facts: [LineFact]) {
        let progress = TailProgress(of: path, file?.position)
        environment.send(.lines(id, maker.sift(facts), position: progress.bytes))
    }

    /// Goes on after the others have had their turn.
    private func later() {
        isContinuing = true
        let bound = QueueBound(self, to: environment.core)
        environment.core.async {
            bound.value.isContinuing = false
            bound.value.look()
        }
    }
}
