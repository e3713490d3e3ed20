import Engine
import LinuxSystem
package import WatchFile

/// `[Process]` with `PIDFile=`: the end of a process that is not ours, from a pidfd. Nothing is polled: the pid file
/// may come later or change, which inotify tells. Confined to its context.
package final class ProcessSource: EventSource {
    /// Processes watched at once; a file that names ever new ones loses the oldest of them, which is told.
    private static let processLimit = 64
    /// Descriptors that pidfds leave to everything else, to clients and handlers; of a low limit the last quarter.
    private static let descriptorsLeft: UInt64 = 64
    /// A pid file is longer than this only by mistake.
    private static let largestPIDFile = 4096

    private let id: SourceID
    private let path: [UInt8]
    private let environment: SourceEnvironment
    private var anchor: PathAnchor?
    private var watched: [Int32: WatchedProcess] = [:]
    /// Processes whose end was told, with their start, until nothing is left of them: a pid file may still name them.
    private var told: [Int32: Int64] = [:]
    private var retry = Retry()

    package init(_ id: SourceID, pidFile: [UInt8], _ environment: SourceEnvironment) {
        self.id = id
        path = pidFile
        self.environment = environment
    }

    package var watchCount: Int { anchor?.watchCount ?? 0 }

    package var descriptorCount: Int { watched.count }

    package var processIDs: [Int32] { watched.keys.sorted() }

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
        anchor = nil
        for process in watched.values { process.cancel() }
        watched = [:]
    }

    /// An end is one fact for each process, so there is nothing to hold back.
    package func hold() {}
    package func release() {}

    private func arm() {
        do throws(SystemError) {
            _ = try anchor?.arm([.closedAfterWriting, .modified])
            if let limit = anchor?.limit { environment.limited(id, SourceLimit(limit)) }
            look()
        } catch {
            failed(error.reason)
        }
    }

    private func failed(_ reason: String) {
        retry.schedule(id, [path], environment) { [weak self] in self?.arm() }
        environment.send(.source(id, retry.condition(reason)))
    }

    // MARK: The pid file

    /// Reads the pid file and watches the process it names.
    private func look() {
        let text: [UInt8]
        do throws(SystemError) {
            text = try readPIDFile()
        } catch  where error.errno == .noSuchFile || error.errno == .notFolder {
            return waiting("\(path.printable) does not exist yet")
        } catch {
            return failed(error.reason)
        }
        guard let pid = PIDFile.parse(text) else {
            let what =
                PIDFile.number(text) == 1 ? "names process 1, which nothing outlives" : "contains no process number"
            return waiting("\(path.printable) \(what); waiting for it to change")
        }
        guard pid != Linux.processID else {
            return waiting("\(path.printable) names watchd itself; waiting for it to change")
        }
        if watched[pid] != nil { return environment.send(.source(id, .armed)) }
        watch(pid)
    }

    /// Only a regular file: a FIFO in its place would be waited for.
    private func readPIDFile() throws(SystemError) -> [UInt8] {
        try checkKind(try Linux.stat(path))
        let file = try Linux.open(path, [.reading, .nonBlocking, .noControllingTerminal])
        return try file.use { number throws(SystemError) in
            try checkKind(try Linux.fstat(number))
            return try Linux.readToEnd(number, limit: Self.largestPIDFile, name: path)
        }
    }

    private func checkKind(_ status: FileStatus) throws(SystemError) {
        guard status.kind == .regular else {
            throw SystemError(call: "read", detail: "\(path.printable) (not a regular file)", errno: .invalidArgument)
        }
    }

    private func waiting(_ reason: String) {
        retry.reset()
        if watched.isEmpty { environment.send(.source(id, .waiting(reason))) }
    }

    private func watch(_ pid: Int32) {
        do throws(SystemError) {
            try DescriptorRoom.check()
            let process = try WatchedProcess(pid, on: environment.core, epoll: environment.epoll) { [weak self] in
                self?.ended(pid, $0)
            }
            if let started = told[pid], started == process.started {
                process.cancel()
                return waiting(Self.end(of: pid, path))
            }
            guard !isRecycled(process) else {
                process.cancel()
                return waiting("process \(pid) is younger than \(path.printable); waiting for it to change")
            }
            if let number = process.number, let reason = Self.refusal(of: number) {
                process.cancel()
                return failed(reason)
            }
            if watched.count >= Self.processLimit { loseOldest() }
            watched[pid] = process
            retry.reset()
            environment.send(.source(id, .armed))
        } catch  where error.errno == .noSuchProcess {
            waiting("process \(pid) of \(path.printable) is not running; waiting for it to change")
        } catch  where error.errno == .invalidArgument || error.errno == .noSuchFile {
            // Before Linux 6.9 the one, since then the other.
            waiting("\(pid) in \(path.printable) is a thread and no process; waiting for it to change")
        } catch {
            failed(error.reason)
        }
    }

    private func loseOldest() {
        guard let (pid, process) = watched.min(by: { $0.value.started ?? 0 < $1.value.started ?? 0 }) else { return }
        process.cancel()
        watched[pid] = nil
        environment.send(.gap(id, 1))
        environment.warn(
            id,
            "\(Self.processLimit) processes that \(path.printable) has named still run: the end of process \(pid) "
                + "will not be reported")
    }

    /// A new descriptor is the lowest that is free, so its number tells how many there are.
    private static func refusal(of descriptor: Int32) -> String? {
        guard let limit = try? Linux.openFileLimit().soft else { return nil }
        let left = min(descriptorsLeft, limit / 4)
        guard UInt64(max(0, descriptor)) >= limit - left else { return nil }
        return "too many open files: of \(limit) descriptors the last \(left) are left to everything else"
    }

    /// The number in an old pid file may by now be another process's: one that was started after the file was written.
    /// A file that seems older than the boot says nothing: the clock may have been set since.
    private func isRecycled(_ process: WatchedProcess) -> Bool {
        guard let started = process.started, let status = try? Linux.stat(path) else { return false }
        let booted = Linux.now(.realtime) - Linux.now(.boottime)
        let written = status.modified / 1000
        return written >= booted && booted + started > written + 2_000_000
    }

    private func ended(_ pid: Int32, _ exit: Exit?) {
        guard let process = watched.removeValue(forKey: pid) else { return }
        process.cancel()
        let runTime = process.started.map { Linux.now(.boottime) - $0 }
        environment.send(.event(id, .process(ProcessFact(pid: pid, exit: exit, runTime: runTime))))
        // Another one that has the number by now has another start.
        told = told.filter { Linux.place(of: $0.key)?.started == $0.value }
        told[pid] = process.started
        waiting(Self.end(of: pid, path))
    }

    private static func end(of pid: Int32, _ path: [UInt8]) -> String {
        "process \(pid) has ended; waiting for \(path.printable) to change"
    }
}

/// The content of a pid file.
enum PIDFile {
    /// A decimal number above 1, with space around it; `nil` for anything else.
    static func parse(_ text: [UInt8]) -> Int32? { number(text).flatMap { $0 > 1 ? $0 : nil } }

    /// The same of any decimal number.
    static func number(_ text: [UInt8]) -> Int32? {
        let words = text.split { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        guard let word = words.first, words.count == 1, word.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int32(String(decoding: word, as: UTF8.self))
        else { return nil }
        return number
    }
}
