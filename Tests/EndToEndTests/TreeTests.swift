import ControlInterface
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
