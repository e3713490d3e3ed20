import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// One daemon after another on one folder, each with what the one before has left there.
final class Lives {
    let folder: Folder
    /// The newest one.
    private(set) var watchd: Watchd
    private(set) var count = 1
    private(set) var text: String
    private let settings: String
    private let watchdog: Int?
    /// Where the store is, if that was asked for and the machine allows it.
    let disk: SmallDisk?

    /// Runs `body` with a first daemon that is READY; then the last one is stopped, and no handler may be left.
    static func run(
        _ text: String, settings: String = "", onSmallDisk: Bool = false, watchdog: Int? = nil,
        prepare: (Folder) throws -> Void = { _ in }, sourceLocation: SourceLocation = #_sourceLocation,
        body: (Lives) throws -> Void
    ) throws {
        try Folder.with { folder in
            try Job.install(in: folder)
            try prepare(folder)
            let disk = onSmallDisk ? try SmallDisk(on: folder["state"]) : nil
            defer {
                endProcesses(of: folder)
                disk?.unmount()
            }
            do {
                let lives = try Lives(folder, text, settings, disk, watchdog)
                try body(lives)
                try lives.watchd.stop(sourceLocation: sourceLocation)
            } catch {
                Issue.record(error, log: folder.text("log"), sourceLocation: sourceLocation)
            }
        }
    }

    private init(
        _ folder: Folder, _ text: String, _ settings: String, _ disk: SmallDisk?, _ watchdog: Int?
    ) throws {
        (self.folder, self.text, self.settings, self.disk) = (folder, text, settings, disk)
        self.watchdog = watchdog
        watchd = try Watchd(folder, text, settings: settings, watchdog: watchdog)
        try watchd.waitUntilReady()
    }

    /// `kill -9`: its handlers live on.
    func kill() {
        watchd.send(SIGKILL)
        watchd.waitForEnd()
    }

    /// `kill -9` of the daemon and then of every handler, as a loss of power would do.
    func killAll(sourceLocation: SourceLocation = #_sourceLocation) throws {
        kill()
        Self.endProcesses(of: folder)
        try wait(for: "all handlers to be gone", sourceLocation: sourceLocation) {
            Watchd.processes(of: folder).isEmpty
        }
    }

    /// SIGTERM: it ends in good order.
    func stop(sourceLocation: SourceLocation = #_sourceLocation) {
        watchd.send(SIGTERM)
        #expect(watchd.waitForEnd() == .exited(0), sourceLocation: sourceLocation)
    }

    /// The next life, perhaps with another watch file.
    func start(
        _ newText: String? = nil, untilReady: Bool = true, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        text = newText ?? text
        watchd = try Watchd(folder, text, settings: settings, watchdog: watchdog)
        count += 1
        if untilReady { try watchd.waitUntilReady(sourceLocation: sourceLocation) }
    }

    /// Writes another watch file; the daemon is to be told.
    func write(_ newText: String) throws {
        text = newText
        try Watchd.write(newText, settings: settings, to: folder)
    }

    private static func endProcesses(of folder: Folder) {
        for process in Watchd.processes(of: folder) {
            guard let pid = process.split(separator: " ").first.flatMap({ Int32($0) }) else { continue }
            try? Linux.kill(process: pid, signal: SIGKILL)
        }
    }

    /// Runs of `job` that have begun, in their order.
    func begun() throws -> [Job] { try folder.lines("begun").map(Job.init) }

    @discardableResult func waitForBegun(
        _ count: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> [Job] {
        try wait(for: "\(count) runs to begin, got \(folder.lines("begun"))", sourceLocation: sourceLocation) {
            folder.lines("begun").count >= count
        }
        return try begun()
    }

    /// Operations that have not ended, by their ids.
    func operations(of handler: String? = nil) throws -> [OperationSummary] {
        try watchd.call(ListOperations.self, .init(handler: handler)).operations
    }
}
