import Engine
import LinuxSystem
package import WatchFile

/// `ListenFIFO=`: lines written into a named pipe, which is made if it is not there. Confined to its context.
///
/// When the last writer goes, the pipe is read to its end, an unterminated rest is delivered, and the pipe is opened
/// anew before the old end is closed: in between nothing is lost, and no hang-up stays pending.
package final class FIFOSource: EventSource {
    private static let bytesPerTurn = 256 << 10
    private static let linesPerTurn = 1000

    private let id: SourceID
    private let path: [UInt8]
    private let trigger: DescriptorTrigger
    private let environment: SourceEnvironment
    private var descriptor: FileDescriptor?
    private var token: UInt64?
    private var framer: LineFramer
    private var isHeld = false
    private var retry = Retry()

    package init(_ id: SourceID, path: [UInt8], _ trigger: DescriptorTrigger, _ environment: SourceEnvironment) {
        self.id = id
        self.path = path
        self.trigger = trigger
        self.environment = environment
        framer = LineFramer(maxLength: trigger.maxLength)
    }

    package func open() {
        do throws(SystemError) {
            let opened = try openFIFO()
            replaceDescriptor(by: opened)
            try watch()
            retry.reset()
            environment.send(.source(id, .armed))
        } catch {
            failed("\(error)")
        }
    }

    private func failed(_ reason: String) {
        retry.schedule(on: environment.core) { [weak self] in self?.open() }
        environment.send(.source(id, .failed("\(reason); trying again in \(retry.description)")))
    }

    package func close() {
        retry.cancel()
        unwatch()
        descriptor.take()?.close()
    }

    package func hold() {
        isHeld = true
        unwatch()
    }

    package func release() {
        guard isHeld else { return }
        isHeld = false
        do throws(SystemError) { try watch() } catch { failed("\(error)") }
    }

    // MARK: The pipe

    private func openFIFO() throws(SystemError) -> FileDescriptor {
        do throws(SystemError) {
            try Linux.mkfifo(path, mode: trigger.mode)
            // The umask has taken its part of the mode.
            try Linux.chmod(path, trigger.mode)
        } catch  where error.errno == .fileExists {
            // Somebody's pipe is as good as ours.
        }
        let opened = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
        let kind: FileStatus.Kind
        do throws(SystemError) { kind = try Linux.fstat(opened.rawValue).kind } catch {
            opened.close()
            throw error
        }
        guard kind == .fifo else {
            opened.close()
            throw SystemError(call: "open", detail: "\(path.printable), which is not a FIFO", errno: .fileExists)
        }
        return opened
    }

    private func replaceDescriptor(by new: consuming FileDescriptor) {
        unwatch()
        descriptor.take()?.close()
        descriptor = consume new
    }

    private func watch() throws(SystemError) {
        guard token == nil, !isHeld, let number = rawValue else { return }
        token = try environment.epoll.add(number, .readable) { [unowned self] _ in turn(number) }
    }

    /// Out of the set altogether: a hang-up is reported whether it is asked for or not.
    private func unwatch() {
        if let token { environment.epoll.remove(token) }
        token = nil
    }

    private var rawValue: Int32? {
        switch descriptor {
        case .some(let descriptor): descriptor.rawValue
        case .none: nil
        }
    }

    private func turn(_ number: Int32) {
        var bytes = 0
        var lines = 0
        while bytes < Self.bytesPerTurn, lines < Self.linesPerTurn, !isHeld, token != nil {
            let read: [UInt8]
            do throws(SystemError) {
                read = try Linux.read(number, atMost: 1 << 16)
            } catch  where error.errno == .wouldBlock {
                return
            } catch {
                unwatch()
                return failed("\(error)")
            }
            guard !read.isEmpty else { return writersGone() }
            bytes += read.count
            for line in framer.push(read) {
                lines += 1
                send(line)
            }
        }
    }

    private func writersGone() {
        if let rest = framer.finish() { send(rest) }
        // The hang-up stays on this end for ever; should the new one fail, nobody must wait on it.
        unwatch()
        open()
    }

    private func send(_ line: LineFramer.Line) {
        environment.send(.event(id, .line(LineFact(line.bytes, isIncomplete: line.isIncomplete))))
    }
}
