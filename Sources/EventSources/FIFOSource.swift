import Engine
import LinuxSystem
package import WatchFile

/// `ListenFIFO=`: lines written into a named pipe, which is made if it is not there. Confined to its context.
///
/// When the last writer goes, the pipe is read to its end, an unterminated rest is delivered, and the pipe is opened
/// anew before the old end is closed: in between nothing is lost, and no hang-up stays pending.
package final class FIFOSource: EventSource {
    private let id: SourceID
    private let path: [UInt8]
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private var pipe: HeldDescriptor<LineFramer.Line>?
    private var framer: LineFramer
    private var retry = Retry()

    package init(_ id: SourceID, path: [UInt8], _ trigger: DescriptorTrigger, _ environment: SourceEnvironment) {
        self.id = id
        self.path = path
        self.trigger = trigger
        self.environment = environment
        framer = LineFramer(maxLength: trigger.maxLength)
        pipe = HeldDescriptor(on: environment.core, epoll: environment.epoll) {
            [unowned self] number throws(SystemError) in
            try read(number)
        } tell: { [unowned self] line in
            let fact = LineFact(line.bytes, isIncomplete: line.isIncomplete)
            self.environment.send(.event(id, .line(fact)))
        } ended: { [unowned self] in
            open()
        } failed: { [unowned self] error in
            failed(error)
        }
    }

    package func open() {
        do throws(SystemError) {
            try pipe?.open(try openFIFO())
            retry.reset()
            environment.send(.source(id, .armed))
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: SystemError) {
        guard pipe != nil else { return }
        retry.schedule(on: environment.core) { [weak self] in self?.open() }
        environment.send(.source(id, .failed("\(error); trying again in \(retry.description)")))
    }

    package func close() {
        retry.cancel()
        pipe?.close()
        pipe = nil
    }

    package func hold() { pipe?.hold() }

    package func release() {
        do throws(SystemError) { try pipe?.release() } catch { failed(error) }
    }

    // MARK: The pipe

    private func openFIFO() throws(SystemError) -> FileDescriptor {
        let made = Swift.Result { () throws(SystemError) in try Linux.mkfifo(path, mode: trigger.mode) }
        if case .failure(let error) = made, error.errno != .fileExists { throw error }
        let opened = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
        do throws(SystemError) {
            guard try Linux.fstat(opened.rawValue).kind == .fifo else {
                throw SystemError(call: "open", detail: "\(path.printable), which is not a FIFO", errno: .fileExists)
            }
            // The umask has taken its part of the mode; somebody else's pipe keeps its own.
            if case .success = made { try Linux.fchmod(opened.rawValue, trigger.mode) }
        } catch {
            opened.close()
            throw error
        }
        return opened
    }

    private func read(_ number: Int32) throws(SystemError) -> HeldDescriptor<LineFramer.Line>.Reading {
        do throws(SystemError) {
            let bytes = try Linux.read(number, atMost: 1 << 16)
            guard bytes.isEmpty else { return .items(framer.push(bytes), bytes: bytes.count) }
            return .end(framer.finish().map { [$0] } ?? [])
        } catch  where error.errno == .wouldBlock {
            return .empty
        }
    }
}
