import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What else outlives the daemon: lines in a pipe, suspensions, `Once=`, operations whose handler is gone.
@Suite("Restart, end to end", .ownThread) struct RestartTests {
    private static let poke = """
        [Queue kept]
        Durable=yes
        [Custom poke]
        Exec=@/job
        Queue=kept
        Key=none
        Coalesce=no

        """

    private static let lines = """
        [Queue kept]
        Durable=yes
        [Descriptor lines]
        ListenFIFO=@/fifo
        Exec=@/bin/cat
        StandardInput=lines
        StandardOutput=append:@/copy
        Queue=kept

        """

    // MARK: Lines of a FIFO

    /// Each line once, where it came first.
    private func firsts(_ lines: [String]) -> [String] {
        var seen: Set<String> = []
        return lines.filter { seen.insert($0).inserted }
    }

    @Test func linesThatNobodyHasReadWaitInThePipe() throws {
        try Lives.run(Self.lines) { lives in
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            lives.watchd.send(SIGSTOP)
            try wait(for: "it to stand still") {
                let status = try Linux.readFile("/proc/\(lives.watchd.processID)/stat")
                return String(decoding: status, as: UTF8.self).contains(") T ")
            }
            try Linux.writeAll(writer, (1...500).map { "\($0)\n" }.joined().utf8)
            lives.kill()
            try lives.start()
            // A process for each, on a busy machine.
            try wait(for: "all lines", seconds: 120) { lives.folder.lines("copy").count >= 500 }
            try lives.watchd.waitUntilIdle()
            #expect(lives.folder.lines("copy") == (1...500).map(String.init))
        }
    }

    @Test func halfALineThatWasReadIsNotLost() throws {
        try Lives.run(Self.lines) { lives in
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            try Linux.writeAll(writer, "whole\nfirst ha".utf8)
            try wait(for: "the whole line") { lives.folder.lines("copy") == ["whole"] }
            lives.kill()
            try lives.start()
            try Linux.writeAll(writer, "lf\n".utf8)
            try wait(for: "the other line") { lives.folder.lines("copy").contains("first half") }
            #expect(firsts(lives.folder.lines("copy")) == ["whole", "first half"])
        }
    }

    @Test func aWriterOutlivesManyDaemonsAndEachOfItsLinesArrives() throws {
        try Lives.run(Self.lines) { lives in
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            var count = 0
            for _ in 1...6 {
                for _ in 1...50 {
                    count += 1
                    try Linux.writeAll(writer, "\(count)\n".utf8)
                }
                // In the middle of reading, storing and running.
                lives.kill()
                try lives.start()
            }
            let wanted = (1...count).map(String.init)
            try wait(for: "all lines", seconds: 120) { Set(lives.folder.lines("copy")).count == count }
            try lives.watchd.waitUntilIdle()
            #expect(firsts(lives.folder.lines("copy")) == wanted)
        }
    }

    @Test func linesOfAStopComeAtTheNextStart() throws {
        try Lives.run(Self.lines) { lives in
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            for number in 1...200 { try Linux.writeAll(writer, "\(number)\n".utf8) }
            lives.stop()
            try lives.start()
            try wait(for: "all lines", seconds: 120) { Set(lives.folder.lines("copy")).count == 200 }
            try lives.watchd.waitUntilIdle()
            #expect(lives.folder.lines("copy") == (1...200).map(String.init))
        }
    }

    /// Heartbeats, for one.
    @Test func ofTheSameLineAgainAfterAStopNobodySaysThatItIsARepeat() throws {
        let text = Self.lines.replacing("Exec=@/bin/cat", with: "Exec=@/job")
            .replacing("StandardInput=lines\nStandardOutput=append:@/copy\n", with: "")
        try Lives.run(text) { lives in
            try lives.folder.write("go", "")
            // The pipe lives on between the daemons.
            let writer = try Linux.open(lives.folder["fifo"], .readingAndWriting).release()
            defer { FileDescriptor(owning: writer).close() }
            for life in 1...3 {
                try Linux.writeAll(writer, "beat\n".utf8)
                if life > 1 { try lives.start() }
                try lives.waitForBegun(life)
                try lives.watchd.waitUntilIdle()
                #expect(try lives.begun().map(\.told.isRedelivered) == Array(repeating: false, count: life))
                lives.stop()
            }
        }
    }

    @Test func aStopThatWaitsForNobodyLeavesAloneWhatTheServiceManagerKeeps() throws {
        let text = Self.lines.replacing("Durable=yes", with: "Durable=yes\nBacklog=2\nSuspended=yes")
        try Lives.run(text) { lives in
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            try Linux.writeAll(writer, "1\n2\n3\n4\n".utf8)
            try wait(for: "the first lines") { try lives.operations().count >= 2 }
            lives.stop()
            try lives.watchd.waitForNotification("STOPPING=1")
            let told = lives.watchd.notifications
            let removed = told.indices.filter { told[$0] == "FDSTOREREMOVE=1" }.map { told[$0 + 1] }
            #expect(removed == ["FDNAME=control"], "of a stop; \(told)")
            #expect(!lives.watchd.logText.contains("nobody has read"))
            try lives.start()
            try lives.watchd.resume("kept")
            try wait(for: "all lines") { lives.folder.lines("copy").count == 4 }
        }
    }

    // MARK: What people and handlers have said

    @Test(arguments: [SIGKILL, SIGTERM]) func aSuspensionByHandOutlivesTheDaemon(_ signal: Int32) throws {
        try Lives.run(Self.poke) { lives in
            try lives.folder.write("go", "")
            let suspend = try lives.watchd.control("suspend", "queue/kept", "--reason", "upgrade")
            #expect(suspend.code == 0, "\(suspend)")
            lives.watchd.send(signal)
            lives.watchd.waitForEnd()
            try lives.start()
            let pause = try #require(try lives.watchd.status().pauses.first)
            #expect(pause.object == "queue/kept")
            #expect(pause.suspension.reason == "upgrade")
            try lives.watchd.emit("poke")
            #expect(try lives.operations().count == 1)
            #expect(try lives.begun().isEmpty)
            let resume = try lives.watchd.control("resume", "queue/kept")
            #expect(resume.code == 0, "\(resume)")
            try lives.waitForBegun(1)
            lives.kill()
            try lives.start()
            #expect(try lives.watchd.status().pauses.isEmpty, "and so does its end")
        }
    }

    @Test func whatEachAttemptHasUsedIsKept() throws {
        let text = "[Custom c]\nExec=/bin/sh -c 'exit 3'\nRetry=1\nRetrySec=1ms\n"
        try Lives.run(text) { lives in
            func usages() throws -> [ResourcesUsed?] {
                try lives.watchd.call(GetOperation.self, .init(id: 1)).operation.runs.map(\.used)
            }
            try lives.watchd.emit("c")
            try wait(for: "its end") {
                try lives.watchd.call(GetOperation.self, .init(id: 1)).operation.summary.ended != nil
            }
            let before = try usages()
            #expect(before.count == 2 && before.allSatisfy { $0?.cpuUsec ?? 0 > 0 }, "\(before)")
            let shown = try lives.watchd.control("show", "1").text
            #expect(
                shown.contains("run 1 used ") && shown.contains("run 2 used ") && shown.contains(" of CPU"), "\(shown)")
            lives.stop()
            try lives.start()
            #expect(try usages() == before)
            let listed = try lives.watchd.call(ListHistory.self, .init()).operations
            #expect(listed.first?.used == before.last)
        }
    }

    /// Of an operation that has not ended yet.
    @Test func attemptsOfAnEarlierWatchdAreShown() throws {
        let text = "[Queue kept]\nDurable=yes\n[Custom c]\nQueue=kept\nExec=/bin/sh -c 'exit 3'\nRetry=1\nRetrySec=1h\n"
        try Lives.run(text) { lives in
            func runs() throws -> [String] {
                try lives.watchd.call(GetOperation.self, .init(id: 1)).operation.runs.map {
                    "\($0.attempt) \($0.started) \($0.exitStatus.map { "exit \($0)" } ?? "running")"
                }
            }
            try lives.watchd.emit("c")
            try wait(for: "the end of its first attempt") { try runs().first?.hasSuffix("exit 3") == true }
            let before = try runs()
            #expect(before.count == 1, "\(before)")
            lives.stop()
            try lives.start()
            #expect(try lives.operations().count == 1)
            #expect(try runs() == before)
        }
    }

    @Test(arguments: [SIGKILL, SIGTERM]) func onceMeansOnceInAllLives(_ signal: Int32) throws {
        let text = "[Custom first]\nExec=@/job\nOnce=ever\nKey=none\nCoalesce=no\nOverlap=parallel\n"
        try Lives.run(text) { lives in
            try lives.folder.write("go", "")
            try lives.watchd.emit("first", data: 1)
            try lives.watchd.waitForEnded(1, of: "first")
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("main")
            lives.watchd.send(signal)
            lives.watchd.waitForEnd()
            try lives.start()
            try lives.watchd.emit("first", data: 2)
            let totals = try lives.watchd.waitUntilIdle()
            #expect((totals.accepted, totals.skipped) == (1, 1))
            #expect(try lives.begun().map(\.told.tokens) == [[1]])
        }
    }

    private static let sources = """
        [Queue kept]
        Durable=yes
        [Path in]
        Path=@/in
        Key=%p
        Exec=@/job
        Queue=kept
        [Custom poke]
        Exec=@/job
        Queue=kept
        [Signal on]
        Signal=RTMIN+1
        Exec=@/job
        Queue=kept
        [Descriptor lines]
        ListenFIFO=@/fifo
        Exec=@/job
        Queue=kept

        """

    @Test(arguments: [SIGKILL, SIGTERM]) func whatASuspendedSourceHoldsOutlivesTheDaemon(_ signal: Int32) throws {
        try Lives.run(Self.sources, prepare: { try $0.makeFolder("in") }) { lives in
            let names = ["path/in", "custom/poke", "signal/on", "descriptor/lines"]
            let writer = try Linux.open(lives.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            for name in names { try lives.watchd.suspend(name) }
            try lives.folder.write("in/7", "")
            try Linux.writeAll(writer, "8\n".utf8)
            #expect(sigqueue(lives.watchd.processID, 35, sigval(sival_int: 5)) == 0)
            for name in ["in", "on"] {
                try wait(for: "\(name) to hold it") { try lives.watchd.source(name).counters.held == 1 }
            }
            try lives.watchd.emit("poke", data: 9)
            lives.watchd.send(signal)
            lives.watchd.waitForEnd()
            try lives.folder.write("go", "")
            try lives.start()
            #expect(try lives.begun().isEmpty)
            for name in names { try lives.watchd.resume(name) }
            let begun = try lives.waitForBegun(4)
            try lives.watchd.waitUntilIdle()
            #expect(Set(begun.map(\.told.handler)) == ["in", "on", "poke", "lines"])
            #expect(Set(begun.flatMap(\.told.tokens)) == [7, 8, 9])
            #expect(try lives.begun().count == 4)
        }
    }

    // MARK: Changed watch files

    private static let without = "[Queue kept]\nDurable=yes\n[Custom other]\nLog=x\n"

    /// Two operations of a handler that the next watch file does not have.
    private func withOrphans(_ body: (Lives) throws -> Void) throws {
        try Lives.run(Self.poke) { lives in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.emit("poke", data: 2)
            try lives.waitForBegun(1)
            try lives.killAll()
            try lives.start(Self.without)
            let orphans = try lives.operations()
            #expect(orphans.map(\.waitReason) == ["orphaned", "orphaned"])
            #expect(orphans.map(\.handler) == ["poke", "poke"])
            try lives.folder.write("go", "")
            try body(lives)
        }
    }

    @Test func anOrphanWaitsForItsHandlerToComeBack() throws {
        try withOrphans { lives in
            lives.stop()
            try lives.start()
            #expect(try lives.operations().count == 2, "they outlive this one, too")
            try lives.write(Self.poke)
            let reload = try lives.watchd.control("reload")
            #expect(reload.code == 0, "\(reload)")
            let begun = try lives.waitForBegun(3)
            try lives.watchd.waitUntilIdle()
            #expect(begun.map(\.told.tokens) == [[1], [1], [2]])
            #expect(begun.map(\.told.isRedelivered) == [false, true, false])
            #expect(try lives.operations().isEmpty)
        }
    }

    @Test func anOrphanCanBeCancelledForGood() throws {
        try withOrphans { lives in
            for orphan in try lives.operations() {
                let cancel = try lives.watchd.control("cancel", "\(orphan.id)")
                #expect(cancel.code == 0, "\(cancel)")
            }
            #expect(try lives.operations().isEmpty)
            lives.stop()
            try lives.start(Self.poke)
            try lives.watchd.emit("poke", data: 3)
            try lives.watchd.waitUntilIdle()
            #expect(try lives.begun().map(\.told.tokens) == [[1], [3]])
        }
    }

    @Test func aQueueThatBecomesDurableKeepsWhatWaitsFromTheReplyOn() throws {
        let plain = Self.poke.replacing("Durable=yes", with: "Suspended=yes")
        try Lives.run(plain) { lives in
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            let ids = try lives.operations().map(\.id)
            try lives.write(Self.poke.replacing("Durable=yes", with: "Durable=yes\nSuspended=yes"))
            try lives.watchd.call(Reload.self, .init())
            lives.kill()
            try lives.folder.write("go", "")
            try lives.start(Self.poke)
            let begun = try lives.waitForBegun(3)
            try lives.watchd.waitUntilIdle()
            #expect(begun.map(\.operation) == ids)
            #expect(begun.map(\.told.tokens) == [[1], [2], [3]])
        }
    }

    // MARK: Runs of other users

    /// A command of a user, and a run of a handler that has another `User=` by now.
    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root for other users"))
    func aDurableRunOfAnotherUserIsFoundAgain() throws {
        let text = """
            [Queue kept]
            Type=concurrent
            Durable=yes
            [Handler other]
            Queue=kept
            User=nobody
            Exec=/bin/sleep 1000

            """
        try Lives.run(text) { lives in
            for words in [["other"], ["--queue", "kept", "--user", "nobody", "--", "/bin/sleep", "1000"]] {
                #expect(try lives.watchd.control(["run"] + words).code == 0)
            }
            func processes() throws -> [Int] { try lives.operations().compactMap(\.pid).sorted() }
            try wait(for: "both to run") { try processes().count == 2 }
            let begun = try processes()
            // From one second on the processes are stored, and nothing else tells when.
            let end = Linux.now(.monotonic) + 3_000_000
            try wait(for: "the runs to be stored") { Linux.now(.monotonic) >= end }
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("main")
            try lives.watchd.resume("main")
            lives.kill()
            try lives.start(text.replacing("User=nobody\n", with: ""))
            #expect(try processes() == begun)
            #expect(!lives.watchd.logText.contains("starts again"))
            #expect(try lives.watchd.control("cancel", "kept").code == 0)
            try lives.watchd.waitUntilIdle()
        }
    }

    // MARK: Runs that are not durable

    private static let plain = "[Custom plain]\nExec=@/job\n\n"

    @Test func aRunTooYoungToBeStoredKeepsItsSource() throws {
        try Lives.run(Self.plain) { lives in
            try lives.watchd.emit("plain")
            try lives.waitForBegun(1)
            lives.kill()
            try lives.start()
            let found = try #require(try lives.operations(of: "plain").first)
            #expect(found.source == "custom/plain" && found.cause.hasPrefix("custom/plain"), "\(found)")
            try lives.watchd.waitForLog("still runs, process")
            try lives.folder.write("go", "")
            try lives.watchd.waitForEnded(1, of: "plain")
        }
    }

    @Test func ofARunThatIsGoneItIsNotSaidThatItRunsStill() throws {
        try Lives.run(Self.plain) { lives in
            try lives.watchd.emit("plain")
            try lives.waitForBegun(1)
            // From one second on it is stored, and nothing else tells when.
            let end = Linux.now(.monotonic) + 3_000_000
            try wait(for: "the run to be stored") { Linux.now(.monotonic) >= end }
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("main")
            try lives.watchd.resume("main")
            try lives.killAll()
            try lives.start()
            try lives.watchd.waitForEnded(1, of: "plain")
            // Where process 1 has not waited for it yet, the kernel still says how it ended.
            try lives.watchd.waitForLog("plain 1  failed in")
            let log = lives.watchd.logText
            #expect(log.contains("how it ended is not known") || log.contains("ended by SIGKILL while watchd was down"))
            #expect(!lives.watchd.logText.contains("still runs"))
            #expect(!lives.watchd.logText.contains("1 of them still run"))
        }
    }

    @Test func theHistoryShowsNoMoreThanIsKept() throws {
        let text = "[Queue kept]\nDurable=yes\n[Custom poke]\nLog=x\nQueue=kept\nKey=none\nCoalesce=no\n\n"
        try Lives.run(text, settings: "KeepHistory=20") { lives in
            for _ in 1...100 { try lives.watchd.emit("poke") }
            try lives.watchd.waitUntilIdle()
            var count = 0
            // What is trimmed lags behind by a few commits.
            try wait(for: "the rest to be gone, got \(count)") {
                try lives.watchd.emit("poke")
                count = try lives.watchd.call(ListHistory.self, .init()).operations.count
                return (20...40).contains(count)
            }
        }
    }

    /// Two timers share a handler: each tells its own operations, and those of this life and of the earlier one once.
    @Test func aSourceIsExplainedByItsOwnEarlierOperations() throws {
        let watch = ["one", "two"].map { "[Timer \($0)]\nOnStartupSec=1h\nHandler=h\n\n" }.joined()
        try Lives.run(watch + "[Handler h]\nExec=true\n\n") { lives in
            for name in ["one", "two", "one"] { #expect(try lives.watchd.control("run", "--wait", name).code == 0) }
            lives.watchd.send(SIGTERM)
            lives.watchd.waitForEnd()
            try lives.start()
            #expect(try lives.watchd.control("run", "--wait", "one").code == 0)
            func ended(_ name: String) throws -> [Int?] {
                let steps = try lives.watchd.call(Explain.self, .init(name: name)).steps
                return steps.filter { $0.code == "ended" }.map(\.operation)
            }
            #expect(try ended("timer/one") == [1, 3, 4])
            let two = try ended("timer/two")
            #expect(two == [2], "\(two)")
            #expect(try ended("handler/h") == [1, 2, 3, 4])
        }
    }

    @Test func whatAnEarlierWatchdRanIsShownAndExplained() throws {
        try Lives.run("[Timer t]\nOnStartupSec=1h\nExec=/bin/sh -c 'exit 3'\n\n") { lives in
            let run = try lives.watchd.control("run", "--wait", "t")
            #expect(run.code == 3, "\(run)")
            lives.watchd.send(SIGTERM)
            lives.watchd.waitForEnd()
            try lives.start()
            try wait(for: "FINISHED") { try !lives.watchd.status().recent.isEmpty }
            #expect(try lives.watchd.status().recent.map(\.handler) == ["t"])
            for name in ["t", "timer/t", "handler/t"] {
                let steps = try lives.watchd.call(Explain.self, .init(name: name)).steps
                #expect(
                    steps.prefix(2).map(\.sentence) == [
                        "operation 1 of t on queue default: timer/t, run by hand",
                        "operation 1 of t ended failed, exit 3",
                    ], "\(name): \(steps)")
            }
            let refused = try lives.watchd.control("run", "t", "/tmp/file")
            #expect(refused.code == 1 && refused.errorText.contains("“t” takes no paths"), "\(refused)")
            let suspended = try lives.watchd.control("suspend", "t")
            #expect(suspended.code == 0, "\(suspended)")
            let last = try lives.watchd.call(Explain.self, .init(name: "timer/t")).steps.map(\.sentence)
            let kept = "suspended: what elapses until it is resumed is not kept"
            #expect(last.contains { $0.hasPrefix(kept) }, "\(last)")
            #expect(!last.contains { $0.hasPrefix("armed") }, "\(last)")
        }
    }
}
