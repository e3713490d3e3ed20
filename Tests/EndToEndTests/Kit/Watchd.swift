import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// The real daemon on a watch file of its own in a folder of its own.
final class Watchd {
    let folder: Folder
    private let program: Program
    /// What the service manager would be told, read so far.
    private(set) var notifications: [String] = []
    private let manager: Int32
    private let log: Int32
    /// Microseconds within which the service manager wants to hear of it, once it is READY.
    let watchdog: Int?

    /// Runs `body` with a daemon that is READY; then it is stopped if it still runs, and nothing of it may be left.
    ///
    /// - Parameters:
    ///   - text: the watch file; `@/` stands for the folder. `ControlSocket=` is set already.
    ///   - settings: further lines of `[Watchd]`.
    ///   - launcher: words before the daemon's own, for limits and users.
    static func run(
        _ text: String, settings: String = "", launcher: [String] = [], prepare: (Folder) throws -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation, body: (Watchd) throws -> Void
    ) throws {
        try Folder.with { folder in
            try Recorded.install(in: folder)
            try prepare(folder)
            let watchd = try Watchd(folder, text, settings: settings, launcher: launcher)
            do {
                try watchd.waitUntilReady(sourceLocation: sourceLocation)
                try body(watchd)
                try watchd.stop(sourceLocation: sourceLocation)
            } catch {
                // What it said is worth more than what was waited for.
                Issue.record(error, log: folder.text("log"), sourceLocation: sourceLocation)
            }
        }
    }

    /// Starts one that nobody waits for.
    init(
        _ folder: Folder, _ text: String, settings: String = "", launcher: [String] = [], watchdog: Int? = nil
    ) throws {
        self.folder = folder
        self.watchdog = watchdog
        try Self.write(text, settings: settings, to: folder)
        manager = try Linux.socket(for: .unix(Array(folder["notify"].utf8)), .datagram).release()
        log = try Linux.open(folder["log"], [.writing, .creating, .appending]).release()
        try? Linux.unlink(folder["notify"])
        try Linux.bind(manager, .unix(Array(folder["notify"].utf8)))
        try Linux.chmod(folder["notify"], 0o777)
        let null = try Linux.open("/dev/null").release()
        defer { FileDescriptor(owning: null).close() }
        program = try Program(
            (launcher + [try Products.path("watchd"), folder["watch"]]).map { Array($0.utf8) },
            environment: Program.environment + [
                "NOTIFY_SOCKET=\(folder["notify"])", "XDG_RUNTIME_DIR=\(folder.path)", "HOME=\(folder.path)",
                "A_VARIABLE_OF_THE_DAEMON=1",
            ] + Self.environment(watchdog: watchdog), descriptors: [null, log, log])
    }

    deinit {
        FileDescriptor(owning: manager).close()
        FileDescriptor(owning: log).close()
    }

    /// As in the unit: else a SIGABRT would print first.
    private static func environment(watchdog: Int?) -> [String] {
        watchdog.map { ["WATCHDOG_USEC=\($0)", "SWIFT_BACKTRACE=enable=no"] } ?? []
    }

    var processID: Int32 { program.processID }
    var hasEnded: Bool { program.hasEnded }
    var logText: String { folder.text("log") }
    var socket: String { folder["socket"] }

    static func write(_ text: String, settings: String = "", to folder: Folder) throws {
        let head = "[Watchd]\nControlSocket=@/socket\nStateDirectory=@/state\n\(settings)\n"
        try folder.write("watch", (head + text).replacing("@/", with: folder.path + "/"))
    }

    // MARK: Life

    func waitUntilReady(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try waitForNotification("READY=1", sourceLocation: sourceLocation)
    }

    /// Waits until the service manager has been told a line that begins so.
    func waitForNotification(_ line: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try wait(for: "the notification \(line)", sourceLocation: sourceLocation) {
            readNotifications()
            if notifications.contains(where: { $0.hasPrefix(line) }) { return true }
            guard !program.hasEnded else {
                throw TimedOut(
                    description: "watchd ended (\(program.status.map { "\($0)" } ?? "?")) before \(line)",
                    sourceLocation: sourceLocation)
            }
            return false
        }
    }

    func forgetNotifications() {
        readNotifications()
        notifications = []
    }

    /// Lets it hang, and does what the service manager does when the watchdog was not answered in time: SIGABRT, and
    /// SIGKILL for one that cannot even take that.
    func hang(takesAbort: Bool) throws {
        let interval = Int64(try #require(watchdog))
        // A busy machine delays an answer, which is no matter here: it must come at all.
        try waitForNotification("WATCHDOG=1")
        send(SIGSTOP)
        forgetNotifications()
        var silentSince = Linux.now(.monotonic)
        try wait(for: "the watchdog to run out") {
            readNotifications()
            if !notifications.isEmpty { silentSince = Linux.now(.monotonic) }
            notifications = []
            return Linux.now(.monotonic) - silentSince > interval
        }
        send(SIGABRT)
        send(takesAbort ? SIGCONT : SIGKILL)
        guard case .signaled(takesAbort ? SIGABRT : SIGKILL, _)? = waitForEnd() else {
            throw TimedOut(description: "the watchdog did not end it: \(program.status.map { "\($0)" } ?? "it runs")")
        }
    }

    func readNotifications() {
        while let datagram = try? Linux.receiveDatagram(manager, limit: 8192) {
            notifications += String(decoding: datagram.bytes, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    func send(_ signal: Int32) { program.send(signal) }

    @discardableResult func waitForEnd(seconds: Int = 30) -> LinuxSystem.ExitStatus? { program.wait(seconds: seconds) }

    /// Stops it, if it still runs: it ends with status 0, removes its socket, and leaves no process behind.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) throws {
        if !program.hasEnded { program.send(SIGTERM) }
        #expect(program.wait() == .exited(0), sourceLocation: sourceLocation)
        #expect(!folder.exists("socket"), "the socket is removed", sourceLocation: sourceLocation)
        try wait(for: "every process to be gone", seconds: 10, sourceLocation: sourceLocation) {
            Self.processes(of: folder).isEmpty
        }
    }

    /// Processes whose words, folder or environment name this folder.
    static func processes(of folder: Folder) -> [String] {
        let entries = (try? Linux.readFolder("/proc")) ?? []
        return entries.compactMap { entry in
            let name = String(decoding: entry.name, as: UTF8.self)
            guard let pid = Int32(name), pid != Linux.processID else { return nil }
            let words = (try? Linux.readFile("/proc/\(name)/cmdline")) ?? []
            let text = String(decoding: words, as: UTF8.self)
            return text.contains(folder.path) ? "\(pid) \(text.replacing("\0", with: " "))" : nil
        }
    }

    // MARK: Talking to it

    func connect() throws -> Client { try Client(connectingTo: socket) }

    @discardableResult func call<Method: ControlMethod>(
        _ method: Method.Type, _ parameters: Method.Parameters, timeout: Int = 30_000
    ) throws -> Method.Reply {
        let client = try connect()
        guard Method.style == .stream else {
            return try client.call(Method.fullName, parameters, timeout: timeout).parameters()
        }
        try client.start(Method.fullName, parameters, timeout: timeout)
        return try client.nextReply(timeout: timeout).parameters()
    }

    /// The error that a call ends with.
    func error<Method: ControlMethod>(_ method: Method.Type, _ parameters: Method.Parameters) throws -> ErrorReply? {
        do {
            _ = try call(method, parameters)
            return nil
        } catch ClientError.remote(let error) {
            return error
        }
    }

    @discardableResult func emit(_ name: String, data: Int? = nil, payload: JSONValue? = nil) throws -> Int {
        try call(Emit.self, .init(name: name, data: data, payload: payload)).event
    }

    func suspend(_ name: String) throws { try call(Suspend.self, .init(name: name)) }

    func resume(_ name: String) throws { try call(Resume.self, .init(name: name)) }

    /// watchctl with its end.
    func control(_ words: String..., launcher: [String] = []) throws -> Finished {
        try control(words, launcher: launcher)
    }

    func control(_ words: [String], launcher: [String] = []) throws -> Finished {
        try Program.run(launcher + [try Products.path("watchctl"), "--socket", socket] + words)
    }

    // MARK: What it says

    /// The status. Whenever it is looked at, the accounting must be exact.
    func status(sourceLocation: SourceLocation = #_sourceLocation) throws -> GetStatus.Reply {
        let status = try call(GetStatus.self, .init())
        expectExact(status.totals, "totals", sourceLocation)
        return status
    }

    func source(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> ListSources.Source {
        let found = try #require(
            try call(ListSources.self, .init(name: name)).sources.first, sourceLocation: sourceLocation)
        expectExact(found.counters, name, sourceLocation)
        return found
    }

    func queue(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> ListQueues.Queue {
        let found = try #require(
            try call(ListQueues.self, .init(name: name)).queues.first, sourceLocation: sourceLocation)
        expectExact(found.counters, name, sourceLocation)
        return found
    }

    func handler(_ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> ListHandlers.Handler {
        let found = try #require(
            try call(ListHandlers.self, .init(name: name)).handlers.first, sourceLocation: sourceLocation)
        expectExact(found.counters, name, sourceLocation)
        return found
    }

    private func expectExact(_ counters: Counters, _ whose: String, _ sourceLocation: SourceLocation) {
        #expect(counters.accepted == counters.sumOfPlaces, "\(whose): \(counters)", sourceLocation: sourceLocation)
    }

    func operation(_ id: Int) throws -> OperationDetail { try call(GetOperation.self, .init(id: id)).operation }

    /// The ended operations that are remembered, oldest first.
    func ended(_ handler: String? = nil) throws -> [OperationSummary] {
        try [OperationSummary.State.finished, .cancelled].flatMap {
            try call(ListOperations.self, .init(handler: handler, state: $0)).operations
        }.sorted { $0.id < $1.id }
    }

    /// Waits for so many ended operations of a handler.
    @discardableResult func waitForEnded(
        _ count: Int, of handler: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [OperationSummary] {
        var found: [OperationSummary] = []
        try wait(for: "\(count) ended operations of \(handler), got \(found)", sourceLocation: sourceLocation) {
            found = try ended(handler)
            return found.count >= count
        }
        return found
    }

    /// Waits until all that was accepted has come to its end, and gives the totals.
    @discardableResult func waitUntilIdle(sourceLocation: SourceLocation = #_sourceLocation) throws -> Counters {
        var totals = Counters()
        try wait(for: "all deliveries to end, \(totals)", sourceLocation: sourceLocation) {
            totals = try status(sourceLocation: sourceLocation).totals
            return totals.outstanding == 0
        }
        return totals
    }

    /// Waits for runs of the recorder.
    func waitForRuns(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) throws -> [Recorded] {
        var runs: [Recorded] = []
        try wait(for: "\(count) runs, got \(runs.count)", sourceLocation: sourceLocation) {
            runs = try Recorded.all(in: folder)
            return runs.count >= count
        }
        return runs
    }

    /// The log is written beside the core: it may tell of what has happened a little later.
    func waitForLog(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        try wait(for: "“\(text)” in the log", sourceLocation: sourceLocation) { logText.contains(text) }
    }

    func waitForLines(
        _ count: Int, in file: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [String] {
        try wait(for: "\(count) lines in \(file), got \(folder.lines(file))", sourceLocation: sourceLocation) {
            folder.lines(file).count >= count
        }
        return folder.lines(file)
    }
}

extension Counters {
    /// Deliveries that have not come to their end.
    var outstanding: Int { held + pending + running }

    var sumOfPlaces: Int {
        held + pending + running + done + failed + cancelled + skipped + dropped + annulled
    }
}
