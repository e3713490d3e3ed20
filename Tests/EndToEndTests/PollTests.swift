import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// `Poll=` in a daemon of its own, with the kernel's own limits and file systems.
@Suite("Polling, end to end", .ownThread) struct PollTests {
    /// The user of a namespace of his own, in which he is root.
    private static let inUserNamespace = ["unshare", "--user", "--map-root-user"]
    private static let hasUserNamespaces =
        (try? Program.run(inUserNamespace + ["sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]).code) == 0

    private static func text(_ paths: String, _ more: String = "") -> String {
        """
        [Path polled]
        Path=\(paths)
        Events=changed
        \(more)
        Key=%p
        Exec=/bin/sh -c 'echo "$WATCHD_EVENT ${WATCHD_PATH##*/}"'
        StandardOutput=append:@/told
        [Descriptor healthy]
        Tail=@/ok
        Log=%{line}
        """
    }

    private static func launcher(_ limit: String, _ count: Int) -> [String] {
        inUserNamespace + ["sh", "-c", "echo \(count) > /proc/sys/user/\(limit) && exec \"$@\"", "sh"]
    }

    private func raise(_ limit: String, of watchd: Watchd) throws {
        let file = "/proc/sys/user/\(limit)"
        let entering = ["nsenter", "--user", "--target", "\(watchd.processID)", "sh", "-c", "echo 1000 > \(file)"]
        #expect(try Program.run(entering).code == 0)
    }

    @Test(
        .enabled(if: hasUserNamespaces, "there are no user namespaces here"),
        arguments: [("max_inotify_watches", 6, "max_user_watches"), ("max_inotify_instances", 0, "max_user_instances")])
    func whatCannotBeWatchedIsComparedUntilItCan(limit: String, count: Int, help: String) throws {
        let names = (1...9).map { "in/\($0)" }
        try Watchd.run(
            Self.text(names.map { "@/\($0)" }.joined(separator: " "), "PollSec=100ms"),
            launcher: Self.launcher(limit, count),
            prepare: { folder in
                try folder.makeFolder("in")
                for name in names { try folder.makeFolder(name) }
                try folder.write("in/3/same", "")
            }
        ) { watchd in
            try wait(for: "it to say so") {
                let source = try watchd.source("polled")
                return source.state == .armed && source.reason?.contains("sysctl fs.inotify.\(help)") ?? false
            }
            #expect(try watchd.source("polled").reason?.contains("compared every 100ms: ") == true)
            let problems = try watchd.status().problems
            #expect(problems.contains { $0.object == "path/polled" && $0.problem.contains(help) }, "\(problems)")
            #expect(problems.contains { $0.action == "heals by itself when there is more" })

            for name in names { try watchd.folder.write("\(name)/f", "") }
            try wait(for: "all files, not \(watchd.folder.lines("told"))") {
                watchd.folder.lines("told") == Array(repeating: "written f", count: 9)
            }
            try raise(limit, of: watchd)
            try wait(for: "the end of it") { try watchd.source("polled").reason == nil }
            // That something may have come and gone unseen meanwhile stays.
            let left = try watchd.status().problems.filter { $0.object == "path/polled" }
            #expect(!left.contains { $0.problem.contains(help) }, "\(left)")
            #expect(try watchd.source("polled").counters.gap > 0)
            for name in names { try Linux.unlink(watchd.folder["\(name)/f"]) }
            try wait(for: "all files") { watchd.folder.lines("told").count == 18 }
            try watchd.folder.write("in/1/last", "")
            try wait(for: "the last one") { watchd.folder.lines("told").last == "written last" }
            #expect(watchd.folder.lines("told").count == 19)
        }
    }

    // MARK: File systems

    private func onMirror(
        _ text: String, sourceLocation: SourceLocation = #_sourceLocation, _ body: (Watchd) throws -> Void
    ) throws {
        try MirrorMount.with { folder in
            try folder.write("ok", "")
            for name in ["back/old", "back/same"] { try folder.write(name, "1") }
            let watchd = try Watchd(folder, text, launcher: MirrorMount.launcher(folder))
            do {
                try watchd.waitUntilReady()
                try body(watchd)
                try watchd.stop()
            } catch {
                let log = watchd.logText + folder.text("mirror.log")
                Issue.record(error, log: log, sourceLocation: sourceLocation)
            }
        }
    }

    /// Unchanged files are not told, though they have other numbers at each look.
    @Test(
        .enabled(if: Linux.effectiveUserID == 0, "needs root for a mount"),
        arguments: ["", "Recursive=yes", "Poll=yes"])
    func whereTheKernelDoesNotTellItIsComparedByItself(more: String) throws {
        try onMirror(Self.text("@/mnt", "PollSec=50ms\n" + more)) { watchd in
            if more != "Poll=yes" {
                try wait(for: "it to say so") {
                    try watchd.source("polled").reason?.hasSuffix("on FUSE the kernel does not tell of every change")
                        ?? false
                }
                #expect(try watchd.status().problems.isEmpty, "it is no trouble")
            }
            try watchd.folder.replace("back/new", "1")
            try wait(for: "the new file") { watchd.folder.lines("told") == ["written new"] }
            try watchd.folder.replace("back/old", "22")
            try wait(for: "the change") { watchd.folder.lines("told").last == "written old" }
            try Linux.unlink(watchd.folder["back/old"])
            try wait(for: "the end") { watchd.folder.lines("told").last == "deleted old" }
            #expect(watchd.folder.lines("told").count == 3)
        }
    }

    @Test(
        .enabled(if: Linux.effectiveUserID == 0, "needs root for a mount"),
        arguments: ["", "Recursive=yes", "Poll=yes"])
    func oneThatHangsLaterHoldsUpNobodyElse(more: String) throws {
        try onMirror(Self.text("@/mnt", "PollSec=50ms\n" + more)) { watchd in
            try watchd.folder.replace("back/new", "1")
            try wait(for: "the new file") { watchd.folder.lines("told") == ["written new"] }
            try watchd.folder.write("hang", "")
            try watchd.folder.replace("back/later", "1")
            try wait(for: "it to be named") {
                try watchd.status().problems.contains { $0.object == "path/polled" && $0.problem.hasSuffix("hangs") }
            }
            try watchd.folder.append("ok", "one\n")
            try watchd.waitForLog("healthy: one")
            #expect(watchd.folder.lines("told") == ["written new"])
            try Linux.unlink(watchd.folder["hang"])
            try wait(for: "the file") { watchd.folder.lines("told") == ["written new", "written later"] }
            try watchd.folder.write("hang", "")
            let began = Linux.now(.monotonic)
            watchd.send(15)
            watchd.waitForEnd()
            #expect(Linux.now(.monotonic) - began < 25_000_000, "it waits for nothing that hangs")
            try Linux.unlink(watchd.folder["hang"])
        }
    }
}
