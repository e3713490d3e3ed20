import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// `Recursive=yes` in a daemon of its own.
@Suite("Trees, end to end", .ownThread) struct TreeTests {
    /// The user of a namespace of his own, in which he is root.
    private static let inUserNamespace = ["unshare", "--user", "--map-root-user"]
    private static let hasUserNamespaces =
        (try? Program.run(inUserNamespace + ["sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]).code) == 0

    private static func text(_ more: String = "") -> String {
        """
        [Path tree]
        Path=@/in
        Recursive=yes
        \(more)
        Key=%p
        Exec=/bin/sh -c 'echo "$WATCHD_PATH"'
        StandardOutput=append:@/paths
        """
    }

    @Test(.enabled(if: hasUserNamespaces, "there are no user namespaces here"))
    func whereWatchesAreUsedUpTheRestIsComparedUntilThereAreMore() throws {
        let file = "/proc/sys/user/max_inotify_watches"
        let launcher = Self.inUserNamespace + ["sh", "-c", "echo 12 > \(file) && exec \"$@\"", "sh"]
        try Watchd.run(
            Self.text(), launcher: launcher,
            prepare: { folder in
                try folder.makeFolder("in")
                for number in 1...20 { try folder.makeFolder("in/\(number)") }
            }
        ) { watchd in
            #expect(try watchd.source("tree").state == .armed)
            try wait(for: "it to say so") {
                try watchd.source("tree").reason?.contains("sysctl fs.inotify.max_user_watches") ?? false
            }
            for number in 1...20 { try watchd.folder.write("in/\(number)/f", "") }
            let all = Set((1...20).map { watchd.folder["in/\($0)/f"] })
            try wait(for: "all files") { Set(watchd.folder.lines("paths")) == all }
            let entering = ["nsenter", "--user", "--target", "\(watchd.processID)", "sh", "-c", "echo 100 > \(file)"]
            #expect(try Program.run(entering).code == 0)
            try wait(for: "the end of it", seconds: 60) { try watchd.source("tree").reason == nil }
            for number in 1...20 { try watchd.folder.write("in/\(number)/g", "") }
            try wait(for: "all files") { watchd.folder.lines("paths").count == 40 }
        }
    }

    /// By a daemon of another user.
    @Test(.enabled(if: getuid() == 0, "takes another user"))
    func aFolderThatMayNotBeReadIsReadWhenItMay() throws {
        let text = """
            [Path p]
            Path=@/in
            Recursive=yes
            PollSec=1s
            Events=changed
            Key=%p
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT $WATCHD_PATH"'
            StandardOutput=append:@/told
            [Path c]
            PathExists=@/in/no/f
            Log=it exists
            """
        let launcher = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        try Watchd.run(
            text, launcher: launcher,
            prepare: { folder in
                let made = try Program.run(
                    ["sh", "-ec", "mkdir -p in/no/deep; echo >in/no/f; chown -R 65534:65534 .; chmod 0 in/no"],
                    folder: folder.path)
                #expect(made.status == .exited(0))
            }
        ) { watchd in
            func told() -> [String] {
                watchd.folder.lines("told").map { $0.replacing(watchd.folder["in"], with: "in") }
            }
            try wait(for: "it to say so") { watchd.logText.contains("in/no cannot be read, tried again every 1s") }
            let problems = try watchd.status().problems
            #expect(problems.map(\.object) == ["path/p", "path/c"])
            #expect(problems.first?.problem.contains("in/no cannot be read") == true)
            #expect(problems.first?.help?.contains("Prune=") == true)
            #expect(problems.last?.problem.contains("in/no") == true)
            #expect(problems.last?.help?.contains("Prune=") == false)
            try Linux.chmod(watchd.folder["in/no"], 0o755)
            try wait(for: "what is in it, not \(told())") { told().contains("written in/no/f") }
            try watchd.waitForLog("it exists")
            #expect(try watchd.status().problems.isEmpty)
            try watchd.folder.write("in/no/deep/g", "")
            try wait(for: "it to be watched, not \(told())") { told().contains("written in/no/deep/g") }
            try Linux.chmod(watchd.folder["in/no"], 0)
            try watchd.folder.write("in/last", "")
            try wait(for: "the last one, not \(told())") { told().contains("written in/last") }
            #expect(!told().contains { $0.hasPrefix("deleted") })
        }
    }

    /// While nobody was there.
    @Test(.enabled(if: getuid() == 0, "takes another user"))
    func aFolderThatCannotBeReadIsNotDeleted() throws {
        let text = """
            [Path p]
            Path=@/in
            Recursive=yes
            PollSec=1s
            Events=changed
            Initial=changed
            Key=%p
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT $WATCHD_PATH"'
            StandardOutput=append:@/told
            """
        let launcher = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        try Folder.with { folder in
            let made = try Program.run(
                ["sh", "-ec", "mkdir -p in/no/deep; echo >in/no/f; echo >in/no/deep/g; chown -R 65534:65534 ."],
                folder: folder.path)
            #expect(made.status == .exited(0))
            for (round, isReadable) in [true, false, true].enumerated() {
                try Linux.chmod(folder["in/no"], isReadable ? 0o755 : 0)
                let watchd = try Watchd(folder, text, launcher: launcher)
                try watchd.waitUntilReady()
                let reason = "in/no cannot be read, tried again every 1s"
                if !isReadable { try wait(for: "it to say so") { watchd.logText.contains(reason) } }
                try folder.write("in/last\(round)", "")
                try wait(for: "the last one") { folder.lines("told").contains { $0.hasSuffix("/in/last\(round)") } }
                try watchd.waitUntilIdle()
                try watchd.stop()
            }
            let told = folder.lines("told").map { $0.replacing(folder["in"], with: "in") }
            #expect(told == ["written in/last0", "written in/last1", "written in/last2"], "\(folder.text("log"))")
        }
    }

    @Test func aboveMaxWatchesTheRestIsComparedUntilAReloadGivesMore() throws {
        try Watchd.run(
            Self.text("PollSec=200ms"), settings: "MaxWatches=12",
            prepare: { folder in
                try folder.makeFolder("in")
                for number in 1...20 { try folder.makeFolder("in/\(number)") }
            }
        ) { watchd in
            #expect(try watchd.source("tree").state == .armed)
            let reason = "inotify watches used up (MaxWatches=12, 12)"
            try wait(for: "it to say so") { try watchd.source("tree").reason?.hasSuffix(reason) ?? false }
            let problems = try watchd.status().problems
            #expect(problems.contains { $0.object == "path/tree" && $0.problem.hasSuffix(reason) }, "\(problems)")
            // Explain says it of those alone of which it is true.
            let polled = try (1...20).filter { number in
                let place = watchd.folder["in/\(number)"]
                let steps = try watchd.call(Explain.self, .init(path: "\(place)/f")).steps
                return steps.contains { $0.code == "seen" && $0.sentence.contains("\(place) compared every 200ms: ") }
            }
            #expect(8...19 ~= polled.count, "\(polled)")
            for number in 1...20 { try watchd.folder.write("in/\(number)/f", "") }
            let all = Set((1...20).map { watchd.folder["in/\($0)/f"] })
            try wait(for: "all files") { Set(watchd.folder.lines("paths")) == all }
            try Watchd.write(Self.text("PollSec=200ms"), settings: "MaxWatches=50%", to: watchd.folder)
            try watchd.call(Reload.self, .init())
            try wait(for: "the end of it") { try watchd.source("tree").reason == nil }
            for number in 1...20 { try watchd.folder.write("in/\(number)/g", "") }
            try wait(for: "all files") { watchd.folder.lines("paths").count == 40 }
        }
    }

    /// What is told is written into the store.
    @Test func watchdsOwnStateIsLeftOut() throws {
        let text = """
            [Queue kept]
            Durable=yes
            [Path tree]
            Path=@/
            Recursive=yes
            Include=**/*.txt **/store* **/*-wal
            Queue=kept
            Key=%p
            Exec=/bin/true
            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            try watchd.folder.write("in/a.txt", "")
            try watchd.waitForEnded(1, of: "tree")
            try watchd.folder.write("in/b.txt", "")
            try watchd.waitForEnded(2, of: "tree")
            #expect(try watchd.waitUntilIdle().done == 2)
        }
    }

    @Test func aReloadThatPrunesTellsNothing() throws {
        try Watchd.run(
            Self.text("Prune=cache"),
            prepare: { folder in
                for name in ["in", "in/cache", "in/d"] { try folder.makeFolder(name) }
                for name in ["in/cache/f", "in/d/f"] { try folder.write(name, "") }
            }
        ) { watchd in
            try watchd.folder.write("in/cache/f", "")
            try watchd.folder.write("in/d/f", "")
            #expect(try watchd.waitForLines(1, in: "paths") == [watchd.folder["in/d/f"]])
            try Watchd.write(Self.text(), to: watchd.folder)
            try watchd.call(Reload.self, .init())
            try wait(for: "the folder to be watched") {
                try watchd.folder.write("in/cache/g", "")
                return watchd.folder.lines("paths").contains(watchd.folder["in/cache/g"])
            }
            #expect(!watchd.folder.lines("paths").contains(watchd.folder["in/cache/f"]))
        }
    }
}
