import Dispatch
import LinuxSystem
import ProgramKit
import Synchronization
import Testing

@testable import EventSources

@Suite("Paths that may hang are asked before they are touched", .ownThread) struct PathProbeTests {
    /// Runs `body` with one that asks on two lanes, which are replaced soon.
    private func with(
        _ hung: [String], patience: Int64 = 1_000_000,
        _ body: (HungFolders, Context, QueueBound<PathProbes>, QueueBound<Lanes>) throws -> Void
    ) throws {
        let (core, folders) = (Context("test.core"), HungFolders(hung))
        let (probes, lanes) = core.queue.sync {
            let lanes = Lanes(core: core, name: "test.slow", count: 2, replacement: 100_000)
            let probes = PathProbes(core: core, lanes: lanes, patience: patience) { folders.probe($0) }
            return (QueueBound(probes, to: core), QueueBound(lanes, to: core))
        }
        defer { folders.healAll() }
        try body(folders, core, probes, lanes)
    }

    /// Asks, and waits for the end of it.
    private func ask(_ paths: [String], _ probes: QueueBound<PathProbes>) throws {
        let isOver = Mutex(false)
        probes.context.queue.sync {
            probes.value.ask(paths.map { Array($0.utf8) }) { isOver.withLock { $0 = true } }
        }
        try wait(for: "\(paths.count) paths") { isOver.withLock { $0 } }
    }

    private func silence(of path: String, _ probes: QueueBound<PathProbes>) -> String? {
        probes.context.queue.sync { probes.value.silence(of: [Array(path.utf8)]) }
    }

    @Test func eachFolderIsAskedOnceFromTheRootDown() throws {
        try with([]) { folders, _, probes, _ in
            try ask(["/a/b/one", "/a/b/two", "/a", "/c"], probes)
            #expect(folders.all == ["/a", "/a/b", "/a/b/one", "/a/b/two", "/c"])
            #expect(silence(of: "/a/b/one", probes) == nil)
        }
    }

    @Test func whereThereIsNothingToAskItGoesOnAtOnce() throws {
        try with([]) { _, core, probes, _ in
            var isOver = false
            core.queue.sync { probes.value.ask([]) { isOver = true } }
            #expect(isOver)
        }
    }

    @Test func belowAMountThatHangsOneThreadStandsStillAndNothingElseIsAsked() throws {
        try with(["/mnt"]) { folders, core, probes, lanes in
            let paths = (0..<300).map { "/mnt/\($0)/log" }
            try ask(paths + ["/ok/log"], probes)
            #expect(folders.all == ["/mnt", "/ok", "/ok/log"])
            #expect(silence(of: "/mnt/7/log", probes) == "/mnt does not answer (a hung file system?)")
            #expect(silence(of: "/mnt2", probes) == nil && silence(of: "/ok/log", probes) == nil)
            for path in paths.prefix(50) { try ask([path], probes) }
            #expect(folders.count("/mnt") == 1, "it is known not to answer")
            #expect(core.queue.sync { lanes.value.hung }.isEmpty, "the sources say it")
        }
    }

    @Test func whoWaitsForItIsToldOnceAndGoesOnWhenAllAnswers() throws {
        try with(["/mnt", "/also"]) { folders, core, probes, _ in
            let told = Mutex<[String]>([])
            let done = Mutex(0)
            core.queue.sync {
                for name in ["one", "two"] {
                    let paths = ["/mnt/\(name)", "/also/\(name)"].map { Array($0.utf8) }
                    probes.value.whenAnswered(paths) { reason in
                        told.withLock { $0.append(reason) }
                    } then: {
                        done.withLock { $0 += 1 }
                    }
                }
            }
            try wait(for: "both to be told") { told.withLock { $0.count } == 2 }
            folders.heal("/mnt")
            try wait(for: "the other reason") {
                told.withLock { $0.suffix(2).allSatisfy { $0.hasPrefix("/also does not answer") } }
            }
            #expect(done.withLock { $0 } == 0)
            folders.heal("/also")
            try wait(for: "both to go on") { done.withLock { $0 } == 2 }
            #expect(folders.count("/mnt/one") > 0 && folders.count("/also/two") > 0)
        }
    }

    @Test func oneThatIsSlowIsWaitedFor() throws {
        try with(["/disk"], patience: 60_000_000) { folders, core, probes, _ in
            let isOver = Mutex(false)
            core.queue.sync {
                probes.value.ask([Array("/disk/log".utf8), Array("/ok".utf8)]) { isOver.withLock { $0 = true } }
            }
            try wait(for: "the other one, beside it") { folders.count("/ok") == 1 }
            folders.heal("/disk")
            try wait(for: "the answer") { isOver.withLock { $0 } }
            #expect(folders.all.sorted() == ["/disk", "/disk/log", "/ok"])
            #expect(silence(of: "/disk/log", probes) == nil)
        }
    }

    @Test func soManyThreadsHangAtMostAndThatIsSaid() throws {
        let mounts = (0..<(Lanes.hungLimit + 10)).map { "/mnt\($0)" }
        try with(mounts) { folders, core, probes, lanes in
            try ask(mounts + ["/ok"], probes)
            #expect(folders.all.count == Lanes.hungLimit + 2, "\(folders.all)")
            let reasons = mounts.compactMap { silence(of: $0, probes) }
            #expect(reasons.count == mounts.count)
            #expect(reasons.count { $0.hasSuffix("cannot be looked at: \(Lanes.hungLimit) others hang") } == 8)
            #expect(core.queue.sync { lanes.value.starving } > 0)
            for mount in mounts.prefix(20) { folders.heal(mount) }
            let told = Mutex<[String]>([])
            let isOver = Mutex(false)
            core.queue.sync {
                probes.value.whenAnswered([Array("/ok".utf8)]) { reason in
                    told.withLock { $0.append(reason) }
                } then: {
                    isOver.withLock { $0 = true }
                }
            }
            try wait(for: "the healthy one") { isOver.withLock { $0 } }
            #expect(core.queue.sync { lanes.value.starving } == 0)
        }
    }

    @Test func whereSomethingElseIsMountedItIsAskedAnew() throws {
        let (core, folders) = (Context("test.core"), HungFolders(["/mnt"]))
        defer { folders.healAll() }
        let mount = Mutex(7)
        let done = Mutex(false)
        let probes = core.queue.sync {
            let lanes = Lanes(core: core, name: "test.slow", count: 2, replacement: 100_000)
            let probes = PathProbes(core: core, lanes: lanes) {
                folders.probe($0)
            } mounts: {
                MountTable(Array("\(mount.withLock { $0 }) 1 0:1 / /mnt rw - nfs x rw\n".utf8))
            }
            probes.whenAnswered([Array("/mnt/log".utf8)]) { _ in
            } then: {
                done.withLock { $0 = true }
            }
            return QueueBound(probes, to: core)
        }
        try wait(for: "it to be silent") { silence(of: "/mnt/log", probes) != nil }
        folders.hang("/mnt/log")
        folders.replace("/mnt")
        mount.withLock { $0 = 8 }
        try wait(for: "the other mount to be asked") { folders.count("/mnt/log") == 1 }
        #expect(!done.withLock { $0 })
        folders.heal("/mnt/log")
        try wait(for: "its answer") { done.withLock { $0 } }
        #expect(folders.count("/mnt") == 2)
    }

    @Test func aRealPathAnswersAndSoDoesWhatIsNotThere() throws {
        Linux.waitForAnswer(of: "/proc/self/status")
        Linux.waitForAnswer(of: "/nowhere/at/all")
        Linux.waitForAnswer(of: [0])
    }
}
