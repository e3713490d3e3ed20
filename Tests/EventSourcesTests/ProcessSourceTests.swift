import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("Processes of a pid file", .ownThread) struct ProcessSourceTests {
    private func start() throws -> Program {
        let null = try Linux.open("/dev/null", .readingAndWriting).release()
        defer { FileDescriptor(owning: null).close() }
        return try Program(
            ["sleep", "1000"].map(\.pathBytes), environment: Program.environment, descriptors: [null, null, null])
    }

    @Test func whatIsRefusedIsNamed() throws {
        try Folder.with { folder in
            let path = folder["pid"].pathBytes
            try folder.write("pid", "1\n")
            try Rim.with {
                ProcessSource($0, pidFile: path, $1)
            } then: { rim, _ in
                for (text, reason) in [
                    ("1", "names process 1, which nothing outlives"), ("0", "contains no process number"),
                    ("x", "contains no process number"), ("\(getpid())", "names watchd itself"),
                ] {
                    try folder.write("pid", text)
                    let sentence = "\(folder["pid"]) \(reason); waiting for it to change"
                    try wait(for: sentence) { rim.condition == .waiting(sentence) }
                }
            }
        }
    }

    @Test func oneThatIsNotWatchedAnyMoreIsTold() throws {
        try Folder.with { folder in
            let rim = try Rim()
            let path = folder["pid"].pathBytes
            let source = rim.open { ProcessSource($0, pidFile: path, $1) }
            defer { rim.on(source) { $0.close() } }
            let programs = try (0..<66).map { _ in try start() }
            for (index, program) in programs.enumerated() {
                try folder.write("pid", "\(program.processID)\n")
                try wait(for: "process \(program.processID) to be watched") {
                    var count = 0
                    rim.on(source) { count = $0.descriptorCount }
                    return count + rim.gap == index + 1
                }
            }
            #expect(rim.gap == 2)
            #expect(rim.warnings.count == 2)
            #expect(rim.warnings.allSatisfy { $0.contains("64 processes that") && $0.contains("will not be reported") })
            for program in programs { program.send(SIGKILL) }
            for program in programs { program.wait() }
            try wait(for: "the ends of the others") { rim.facts.count == 64 }
        }
    }

    @Test func theEndOfOneThatNobodyWaitsForIsToldWithItsStatus() throws {
        try Folder.with { folder in
            let rim = try Rim()
            let source = rim.open { ProcessSource($0, pidFile: folder["pid"].pathBytes, $1) }
            defer { rim.on(source) { $0.close() } }
            let program = try start()
            try folder.write("pid", "\(program.processID)\n")
            try wait(for: "it to be watched") { rim.condition == .armed }
            program.send(SIGTERM)
            try wait(for: "its end") { !rim.facts.isEmpty }
            #expect(rim.facts.map { $0.process?.pid } == [program.processID])
            #expect(rim.facts.map { $0.process?.exit } == [.signaled(SIGTERM)])
            #expect(Linux.place(of: program.processID)?.isZombie == true)

            try wait(for: "it to wait") { if case .waiting? = rim.condition { true } else { false } }
            // The pid file names it once more, then another one.
            try folder.write("pid", "\(program.processID)\n")
            let other = try start()
            try folder.write("new", "\(other.processID)\n")
            try Linux.rename(folder["new"], to: folder["pid"])
            try wait(for: "the other to be watched") { rim.condition == .armed }
            other.send(SIGTERM)
            try wait(for: "its end") { rim.facts.contains { $0.process?.pid == other.processID } }
            #expect(rim.facts.map { $0.process?.pid } == [program.processID, other.processID])
        }
    }

    /// As somebody whom permissions bind: this thread alone (`setfsuid(2)`, which the Glibc module does not have).
    private func bound<Value>(_ body: () throws -> Value) throws -> Value {
        typealias SetUser = @convention(c) (UInt32) -> Int32
        guard geteuid() == 0 else { return try body() }
        let setUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: SetUser.self)
        _ = setUser(65534)
        defer { _ = setUser(0) }
        return try body()
    }

    /// Runs `body` on the core of a rim beside `passable/one` and `passable/two`, and `passable/way`, which leads to
    /// one.
    private func withPassable(_ body: (Rim, Folder) throws -> Void) throws {
        try Folder.with { folder in
            let owner: UInt32? = geteuid() == 0 ? 65534 : nil
            for name in ["passable", "passable/one", "passable/two"] {
                try folder.makeFolder(name)
                if let owner { try Linux.chown(folder[name], user: owner, group: nil) }
            }
            try Linux.symlink(folder["passable/way"], to: "one")
            try Linux.symlink(folder["passable/new"], to: "two")
            try Linux.chmod(folder["passable"], 0o311)
            defer { try? Linux.chmod(folder["passable"], 0o755) }
            try body(try Rim(), folder)
        }
    }

    @Test func aFolderAboveMayBePassableOnly() throws {
        try withPassable { rim, folder in
            try rim.core.queue.sync {
                let hub = rim.parts.value.environment.inotify
                let anchor = PathAnchor(folder["passable/one/pid"].pathBytes, hub: hub) { _ in }
                let isThere = try bound { try anchor.arm([]) }
                #expect(isThere)
                let passable = folder["passable"]
                let limit =
                    "what replaces a folder in \(passable) may be noticed a minute late, as watchd may not read that"
                #expect(anchor.limit == limit)
                anchor.disarm()
                #expect(anchor.limit == nil)
                let inside = PathAnchor(folder["passable/pid"].pathBytes, hub: hub) { _ in }
                let sentence =
                    "inotify_add_watch \(passable), which takes read permission on that folder: "
                    + "Permission denied (EACCES)"
                let error = #expect(throws: SystemError.self) { _ = try bound { try inside.arm([]) } }
                #expect(error?.description == sentence)
                inside.disarm()
            }
        }
    }

    @Test func whatIsReplacedInAFolderThatMayNotBeReadIsFound() throws {
        try withPassable { rim, folder in
            let path = folder["passable/way/pid"].pathBytes
            let moves = Mutex(0)
            let anchor = try rim.core.queue.sync {
                let anchor = PathAnchor(path, hub: rim.parts.value.environment.inotify, interval: 1000) { change in
                    if case .moved = change { moves.withLock { $0 += 1 } }
                }
                _ = try bound { try anchor.arm([]) }
                return QueueBound(anchor, to: rim.core)
            }
            try Linux.rename(folder["passable/new"], to: folder["passable/way"])
            try wait(for: "it to be found") { moves.withLock { $0 } == 1 }
            rim.core.queue.sync { anchor.value.disarm() }
        }
    }

    /// The way may lead to a file system that hangs by then.
    @Test func whatIsBehindAFolderThatMayNotBeReadIsLookedAtBesideTheCore() throws {
        try withPassable { rim, folder in
            let path = folder["passable/way/pid"].pathBytes
            let moves = Mutex(0)
            let looks = Mutex(0)
            let gate = DispatchSemaphore(value: 0)
            let anchor = try rim.core.queue.sync {
                let hub = rim.parts.value.environment.inotify
                let slow = Lanes(core: rim.core, name: "test.hung", count: 1)
                slow.submit(nil) { gate.wait() }
                hub.slow = slow
                let anchor = PathAnchor(path, hub: hub, interval: 1000) { change in
                    if case .moved = change { moves.withLock { $0 += 1 } }
                }
                _ = try bound { try anchor.arm([]) }
                return QueueBound(anchor, to: rim.core)
            }
            try Linux.rename(folder["passable/new"], to: folder["passable/way"])
            rim.core.after(50_000) { looks.withLock { $0 += 1 } }
            try wait(for: "the time of a look") { looks.withLock { $0 } == 1 }
            #expect(moves.withLock { $0 } == 0)
            gate.signal()
            try wait(for: "it to be found") { moves.withLock { $0 } == 1 }
            rim.core.queue.sync { anchor.value.disarm() }
        }
    }
}

extension Fact {
    fileprivate var process: ProcessFact? { if case .process(let fact) = self { fact } else { nil } }
}
