import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// What whoever starts watchd has left to it, and what it is not allowed to have.
@Suite("Surroundings, end to end", .ownThread) struct SurroundingsTests {
    static let isRoot = Linux.effectiveUserID == 0
    private static let inUserNamespace = ["unshare", "--user", "--map-root-user"]
    static let hasUserNamespaces = (try? Program.run(inUserNamespace + ["true"]))?.code == 0

    private let poke = """
        [Custom poke]
        Exec=/bin/cat /proc/self/status
        StandardOutput=file:@/signals

        """

    @Test func ignoredAndBlockedSignalsOfTheStarterAreTakenBack() throws {
        let launcher = ["env", "--ignore-signal=CHLD", "--ignore-signal=40", "--block-signal=ABRT"]
        try Watchd.run(poke, launcher: launcher) { watchd in
            try watchd.emit("poke")
            let totals = try watchd.waitUntilIdle()
            #expect((totals.done, totals.failed) == (1, 0))
            for field in ["SigBlk", "SigIgn", "SigCgt"] {
                #expect(watchd.folder.text("signals").contains("\(field):\t0000000000000000\n"))
            }
        }
    }

    /// Two that wait for descriptors, and Dispatch's own; a thread of Dispatch that has nothing to do ends after 5 s.
    @Test func idleWithTenSourcesItHasThreeThreads() throws {
        let paths = (1...7).map { "[Path p\($0)]\nPath=@/p\($0)\nExec=/bin/true\n" }.joined()
        let text = """
            \(paths)
            [Timer t]
            OnCalendar=yearly
            Exec=/bin/true
            [Signal s]
            Signal=USR1
            Exec=/bin/true
            [Descriptor d]
            ListenFIFO=@/fifo
            Exec=/bin/true

            """
        try Watchd.run(text) { watchd in
            try wait(for: "three threads") { try Linux.readFolder("/proc/\(watchd.processID)/task").count == 3 }
        }
    }

    @Test(.enabled(if: isRoot, "only root can hide /proc")) func withoutProcTheArgumentsAreThoseOfMain() throws {
        let launcher = [
            "unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"",
            "sh",
        ]
        let text = "[Custom poke]\nExec=/bin/echo %{data}\nStandardOutput=append:@/out\n"
        try Watchd.run(text, launcher: launcher) { watchd in
            let emitted = try watchd.control("emit", "poke", "--data", "7", launcher: launcher)
            #expect(emitted.code == 0, "\(emitted)")
            #expect(try watchd.waitForLines(1, in: "out") == ["7"])
            #expect(watchd.logText.contains("/proc does not show processes"))
        }
    }

    @Test(.enabled(if: isRoot, "only root can be somebody else")) func withTooFewThreadsItSaysSoAndEnds() throws {
        try Folder.with { folder in
            try Watchd.write(poke, to: folder)
            // Others may not enter the folder of the checkout.
            let copied = try Program.run(["cp", try Products.path("watchd"), folder["watchd"]])
            #expect(copied.code == 0, "\(copied)")
            let words = [
                "setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "prlimit", "--nproc=6:6",
                folder["watchd"], folder["watch"],
            ]
            let ended = try Program.run(words, seconds: 20)
            #expect(ended.code == 1)
            #expect(ended.errorText.contains("LimitNPROC="), "\(ended)")
        }
    }

    /// Dispatch would wait for a thread, and all that watchd does with it.
    @Test(.enabled(if: isRoot, "only root can be somebody else"))
    func whereNoThreadCanBeMadeClientsAreAnswered() throws {
        let user = ["setpriv", "--reuid=54322", "--regid=54322", "--clear-groups"]
        try Folder.with { folder in
            // Others may not enter the folder of the checkout.
            let copied = try Program.run(["cp", try Products.path("watchd"), folder["watchd"]])
            #expect(copied.code == 0, "\(copied)")
            let given = try Program.run(["chown", "-R", "54322", folder.path])
            #expect(given.code == 0, "\(given)")
            let text = "[Custom poke]\nExec=/bin/true\nKey=none\nCoalesce=no\n"
            let shell = ["sh", "-c", "exec '\(folder["watchd"])' \"$1\""]
            let watchd = try Watchd(folder, text, launcher: user + ["prlimit", "--nproc=40:40"] + shell)
            try watchd.waitUntilReady()
            // A thread of Dispatch that has nothing to do ends after 5 s.
            try wait(for: "three threads") { try Linux.readFolder("/proc/\(watchd.processID)/task").count == 3 }
            func limit(_ count: Int) throws {
                let words = ["prlimit", "--pid", "\(watchd.processID)", "--nproc=\(count):40"]
                #expect(try Program.run(user + words).code == 0)
            }
            try limit(3)
            for number in 1...6 { #expect(try watchd.control("emit", "poke").text == "event \(number)\n") }
            #expect(try watchd.control("status").text.contains("raise LimitNPROC="))
            try limit(40)
            try wait(for: "all runs") { try watchd.control("status").text.contains("6 accepted = 6 done") }
        }
    }

    @Test(
        .enabled(if: hasUserNamespaces, "there are no user namespaces here"), arguments: ["instances", "watches"])
    func withoutInotifyTheRestGoesOnAndAPathIsComparedInTheEnd(_ limit: String) throws {
        let file = "/proc/sys/user/max_inotify_\(limit)"
        let launcher = Self.inUserNamespace + ["sh", "-c", "echo 0 > \(file) && exec \"$@\"", "sh"]
        let text = """
            [Path in]
            Path=@/in
            Exec=/bin/cat
            StandardInput=paths
            StandardOutput=append:@/paths
            """
        let prepare: (Folder) throws -> Void = { folder in
            try folder.makeFolder("in")
            try folder.write("in/before", "")
        }
        try Watchd.run(poke + text, launcher: launcher, prepare: prepare) { watchd in
            try watchd.emit("poke")
            try watchd.waitForEnded(1, of: "poke")
            let reason = limit == "instances" ? "no inotify instance is left" : "inotify watches used up"
            #expect(try watchd.status().problems.contains { $0.object == "path/in" && $0.problem.contains(reason) })
            try watchd.folder.write("in/meanwhile", "")
            let entering = ["nsenter", "--user", "--target", "\(watchd.processID)", "sh", "-c", "echo 100 > \(file)"]
            let raised = try Program.run(entering)
            #expect(raised.code == 0, "\(raised)")
            #expect(try watchd.waitForLines(1, in: "paths") == [watchd.folder["in/meanwhile"]])
            #expect(try watchd.source("in").counters.gap == 1)
            try watchd.folder.write("in/later", "")
            #expect(try watchd.waitForLines(2, in: "paths").last == watchd.folder["in/later"])
        }
    }

    /// Whoever opens a FIFO that nobody reads waits for its reader.
    @Test func aFifoThatNobodyReadsIsNoOutputToWaitFor() throws {
        let text = "[Custom poke]\nExec=/bin/echo hello\nStandardOutput=append:@/fifo\n"
        try Watchd.run(text, prepare: { try Linux.mkfifo($0["fifo"]) }) { watchd in
            try watchd.emit("poke")
            let ended = try watchd.waitForEnded(1, of: "poke")
            #expect(ended[0].reason?.contains("nobody reads") == true, "\(ended)")
        }
    }
}
