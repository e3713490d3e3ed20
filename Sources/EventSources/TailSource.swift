import Engine
import LinuxSystem
package import WatchFile

/// `Tail=`: lines appended to a file, across its rotation, truncation and absence, and across a restart of watchd.
///
/// inotify tells when to look; how far was read is told together with the lines, so that both are stored at once. What
/// stands in the file at the very first start is no event. When another file has come in its place and has been written
/// to, the old one is read to its end first. Confined to its context.
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
    /// The next file to come is new: it is read from its start.
    private var hasSeenNone = false
    private var isLookingForOld = false
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

    package func open() {
        anchor = PathAnchor(path, hub: environment.inotify) { [weak self] change in
            switch change {
            case .entry: self?.look()
            case .moved, .overflowed: self?.arm()
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

    package func hold() { isHeld = true }

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
        environment.send(.source(id, .failed("\(error); trying again in \(retry.description)")))
    }

    // MARK: Looking

    private func look() {
        guard anchor != nil, !isHeld, !isLookingForOld, !isContinuing else { return }
        do throws(SystemError) {
            if file == nil { try openFirst() }
            if file != nil { try read() }
        } catch {
            file?.close()
            file = nil
            failed(error)
        }
    }

    /// - Returns: an open descriptor, which the caller closes; `nil`: there is none.
    private func openFile() throws(SystemError) -> (number: Int32, status: FileStatus)? {
        do throws(SystemError) {
            let opened = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
            if let status = try? Linux.fstat(opened.rawValue), status.kind == .regular {
                return (opened.release(), status)
            }
            opened.close()
            throw SystemError(call: "Tail", detail: "\(path.printable), no regular file", errno: .invalidArgument)
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return nil
        }
    }

    private func openFirst() throws(SystemError) {
        let stored = environment.position(id).flatMap { TailPosition($0) }
        guard let (opened, status) = try openFile() else {
            hasSeenNone = true
            retry.reset()
            return environment.send(.source(id, .waiting("\(path.printable) does not exist yet")))
        }
        if let stored, stored.fits(opened, status) { return take(TailFile(owning: opened, stored)) }
        var position = TailPosition(device: status.device, inode: status.inode, offset: 0)
        guard let stored else {
            // The very first time: what stands there already is no event.
            if !hasSeenNone { position.offset = status.size }
            take(TailFile(owning: opened, position))
            return tell([])
        }
        if stored.isOf(status) { return take(TailFile(owning: opened, position)) }
        FileDescriptor(owning: opened).close()
        lookForOld(stored)
    }

    private func take(_ new: TailFile) {
        file?.close()
        file = new
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

    /// It was rotated while nobody watched: it may still stand in the same folder under another name.
    private func lookForOld(_ stored: TailPosition) {
        isLookingForOld = true
        let folder = Array(path[...(path.lastIndex(of: UInt8(ascii: "/")) ?? 0)])
        let bound = QueueBound(self, to: environment.core)
        environment.slow.async { [core = environment.core] in
            let names = ((try? Linux.readFolder(folder)) ?? []).map { folder + $0.name }
            let found = names.first { name in (try? Linux.lstat(name)).map(stored.isOf) == true }
            core.async { bound.value.foundOld(found, stored) }
        }
    }

    private func foundOld(_ name: [UInt8]?, _ stored: TailPosition) {
        isLookingForOld = false
        guard anchor != nil else { return }
        if let name, let opened = try? Linux.open(name, [.reading, .nonBlocking, .noControllingTerminal]) {
            if let status = try? Linux.fstat(opened.rawValue), stored.fits(opened.rawValue, status) {
                take(TailFile(owning: opened.release(), stored))
                return look()
            }
            opened.close()
        }
        // What was not read of it is gone; all that stands in the new one is new.
        do throws(SystemError) {
            guard let (opened, status) = try openFile() else { return look() }
            take(TailFile(owning: opened, TailPosition(device: status.device, inode: status.inode, offset: 0)))
            look()
        } catch {
            failed(error)
        }
    }

    // MARK: Reading

    private func read() throws(SystemError) {
        guard let file else { return }
        let successor = try successor()
        if let facts = try file.next(trigger, maker, isOver: successor) {
            tell(facts)
            return later()
        }
        guard successor, let (opened, status) = try openFile() else { return watchElsewhere() }
        guard !file.position.isOf(status) else { return FileDescriptor(owning: opened).close() }
        take(TailFile(owning: opened, TailPosition(device: status.device, inode: status.inode, offset: 0)))
        tell([])
        later()
    }

    /// Whether another file stands at the path, with something in it: who wrote the old one writes there now.
    private func successor() throws(SystemError) -> Bool {
        guard let file, let status = try? Linux.stat(path) else { return false }
        return status.kind == .regular && !file.position.isOf(status) && status.size > 0
    }

    private func tell(_ facts: [LineFact]) {
        guard let file else { return }
        environment.send(.lines(id, maker.sift(facts), position: file.position.bytes))
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
