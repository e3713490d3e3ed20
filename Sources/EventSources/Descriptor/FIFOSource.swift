import Engine
import LinuxSystem
package import WatchFile

/// `ListenFIFO=`: lines written into a named pipe, which is made if it is not there. Confined to its context.
///
/// When the last writer goes, the pipe is read to its end, an unterminated rest is delivered, and the pipe is opened
/// anew before the old end is closed: in between nothing is lost, and no hang-up stays pending. A durable one consumes
/// no byte before what it said is safely stored.
package final class FIFOSource: EventSource {
    private let id: SourceID
    private let path: [UInt8]
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private let spare: SpareDescriptors
    /// Of a durable one.
    private let view: PipeView?
    private var pipe: (any DescriptorReader)?
    private let maker: LineMaker
    private var guardian: FileGuard?
    private var retry = Retry()
    private var keptInode: UInt64?

    /// - Parameters:
    ///   - isDurable: what it tells is stored.
    ///   - spare: where it finds, and leaves, its pipe.
    package init(
        _ id: SourceID, path: [UInt8], _ trigger: DescriptorTrigger, _ environment: SourceEnvironment,
        isDurable: Bool = false, spare: SpareDescriptors = SpareDescriptors()
    ) {
        self.id = id
        self.path = path
        self.trigger = trigger
        self.environment = environment
        self.spare = spare
        maker = LineMaker(id, trigger, environment)
        view = isDurable ? PipeView(trigger, maker) : nil
        pipe = view.map(durablePipe) ?? plainPipe()
        guardian = FileGuard(path, hub: environment.inotify) { [weak self] in self?.lost() }
    }

    private func plainPipe() -> any DescriptorReader {
        environment.reader(
            id, maker, ended: { [weak self] in self?.open() }, failed: { [weak self] error in self?.failed(error) })
    }

    private func durablePipe(_ view: PipeView) -> any DescriptorReader {
        view.reader(
            id, environment, untaken: environment.untaken[id], ended: { [weak self] in self?.open() },
            failed: { [weak self] error in self?.failed(error) })
    }

    package var watchCount: Int { guardian?.watchCount ?? 0 }

    package var descriptorCount: Int { (pipe?.isOpen == true ? 1 : 0) + (view == nil ? 0 : 2) }

    package var keptName: KeptDescriptor? { .fifo(id) }

    package func open() {
        FileOwner.of(id, trigger, environment) { [weak self] owner in
            guard let self, let pipe else { return }
            var resumed: [LineFact] = []
            do throws(SystemError) {
                let unfinished = spare.unfinished(.fifo(id))
                let (opened, isNew) = try takeOrOpen(owner.get(), unfinished)
                if !isNew { resumed = view?.resume(unfinished) ?? maker.resume(unfinished) }
                view?.prepare(opened)
                if isNew { keep(opened) }
                try pipe.open(FileDescriptor(owning: opened))
                retry.reset()
                environment.send(.source(id, .armed))
                guardian?.watch()
            } catch {
                failed(error)
            }
            environment.tell(id, resumed)
        }
    }

    /// Nobody finds it any more: what is in it is read first, then it is made anew.
    private func lost() {
        guard let pipe else { return }
        if let number = pipe.number, (try? Linux.bytesAvailable(number)) ?? 0 > 0 || !pipe.isSettled {
            environment.send(.source(id, .waiting("\(path.printable) was removed; what is in it is read first")))
            return retry.schedule(on: environment.core) { [weak self] in self?.lost() }
        }
        environment.send(.source(id, .waiting("\(path.printable) was removed; watchd makes it again")))
        environment.tell(id, view?.rest() ?? maker.rest())
        open()
    }

    private func failed(_ error: SystemError) {
        guard pipe != nil else { return }
        retry.schedule(id, trigger.paths, environment) { [weak self] in self?.open() }
        environment.send(.source(id, retry.condition(error.reason)))
    }

    package func close() { close {} }

    package func close(then left: @escaping () -> Void) {
        retry.cancel()
        let isOpen = pipe?.isOpen ?? false
        let untold = pipe?.untold ?? []
        pipe?.close { [spare, id, view, maker] in
            spare.put(.fifo(id), $0, unfinished: Self.unfinished(view, maker, untold))
            left()
        }
        pipe = nil
        view?.close()
        guardian?.close()
        guardian = nil
        if !isOpen { left() }
    }

    package func hold() { pipe?.hold() }

    package func positionsCame() { pipe?.lookAgain() }

    package func rest() {
        retry.cancel()
        hold()
        guard let pipe else { return }
        // Of what is told every byte is consumed: whoever goes on with it has the rest only.
        environment.tellLost(id, Self.unfinished(view, maker, pipe.untold), "its end has not come in time")
    }

    private static func unfinished(_ view: PipeView?, _ maker: LineMaker, _ untold: [LineFact]) -> Unfinished {
        var unfinished = view?.unfinished ?? maker.unfinished
        unfinished.facts = untold
        return unfinished
    }

    package func release() {
        do throws(SystemError) { try pipe?.release() } catch { failed(error) }
    }

    // MARK: The pipe

    /// Any end of the same pipe keeps what is in it: it is stored once, and again where another one stands at the path.
    private func keep(_ number: Int32) {
        guard let status = try? Linux.fstat(number), status.inode != keptInode else { return }
        if keptInode != nil { environment.forget(.fifo(id)) }
        keptInode = status.inode
        environment.keep(.fifo(id), number)
    }

    /// - Parameter unfinished: of the one that may be taken.
    private func takeOrOpen(
        _ owner: FileOwner, _ unfinished: Unfinished
    ) throws(SystemError) -> (number: Int32, isNew: Bool) {
        if let taken = spare.take(.fifo(id), where: isStillThere) {
            do throws(SystemError) {
                try owner.check(try Linux.fstat(taken.rawValue), .fifo, path)
                try owner.apply(to: taken.rawValue)
            } catch {
                // It keeps what is in it for the next try.
                spare.put(.fifo(id), taken, unfinished: unfinished)
                throw error
            }
            keptInode = (try? Linux.fstat(taken.rawValue))?.inode
            return (taken.release(), false)
        }
        // One that is opened anew takes the place of the one before.
        if pipe?.isOpen != true { try DescriptorRoom.check(for: 1 + (view?.descriptorsMissing ?? 0)) }
        return (try FIFO.open(path, owner).release(), true)
    }

    /// Whether a kept one is still the one that is meant. If not, it is closed, which must not happen in silence.
    private func isStillThere(_ number: Int32) -> Bool {
        if isAtPath(number) { return true }
        let reason = "\(path.printable) is another pipe than before; the old one is closed"
        environment.send(.source(id, .failed(reason)))
        return false
    }

    /// Whether it is the FIFO that stands at the path now.
    private func isAtPath(_ number: Int32) -> Bool {
        guard let own = try? Linux.fstat(number), let status = try? Linux.lstat(path) else { return false }
        return own.kind == .fifo && own.device == status.device && own.inode == status.inode
    }
}

enum FIFO {
    /// Opens a FIFO for reading, and makes it first if it is not there. No link is followed, and nothing else is opened.
    ///
    /// - Parameter isWritten: for writing too, as one end alone would find no reader.
    static func open(
        _ path: [UInt8], _ owner: FileOwner, isWritten: Bool = false
    ) throws(SystemError) -> FileDescriptor {
        // Nobody gets at it before it is as it should be.
        let made = Swift.Result { () throws(SystemError) in try Linux.mkfifo(path, mode: owner.mode & 0o600) }
        if case .failure(let error) = made, error.errno != .fileExists { throw error.making(path) }
        do throws(SystemError) {
            return try open(path, owner, [isWritten ? .readingAndWriting : .reading])
        } catch {
            // Else the next try would find it standing.
            if case .success = made { try? Linux.unlink(path) }
            throw error
        }
    }

    private static func open(
        _ path: [UInt8], _ owner: FileOwner, _ options: OpenOptions
    ) throws(SystemError) -> FileDescriptor {
        // Opening a device can do something: it is asked first, and again once it is open.
        try owner.check(try Linux.lstat(path), .fifo, path)
        let opened = try Linux.open(path, options.union([.noFollow, .nonBlocking, .noControllingTerminal]))
        do throws(SystemError) {
            try owner.check(try Linux.fstat(opened.rawValue), .fifo, path)
            try owner.apply(to: opened.rawValue)
        } catch {
            opened.close()
            throw error
        }
        return opened
    }
}
