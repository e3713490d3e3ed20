import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite(
    "A file system that hangs, end to end", .ownThread,
    .enabled(if: Linux.effectiveUserID == 0, "needs root for a mount"))
struct HungMountTests {
    private static let text = """
        [Descriptor tail]
        Tail=@/mnt/log
        Log=%{line}
        [Process pid]
        PIDFile=@/mnt/pid
        Log=ended
        [Path folder]
        Path=@/mnt/in
        Log=changed
        [Descriptor socket]
        ListenStream=@/mnt/socket
        Log=%{line}
        [Descriptor command]
        Command=@/mnt/program
        Log=%{line}
        [Descriptor healthy]
        Tail=@/ok
        Log=%{line}
        """
    private static let hung = [
        "descriptor/socket", "descriptor/command", "descriptor/tail", "path/folder", "process/pid",
    ]

    private func with(
        _ text: String = text, sourceLocation: SourceLocation = #_sourceLocation, _ body: (Watchd) throws -> Void
    ) throws {
        try HungMount.with { folder in
            try folder.write("ok", "")
            try folder.write("script", "#!\(folder["mnt"])/sh\n")
            try Linux.chmod(folder["script"], 0o755)
            let watchd = try Watchd(folder, text, launcher: HungMount.launcher(folder))
            do {
                try body(watchd)
                try watchd.stop()
            } catch {
                Issue.record(error, log: watchd.logText, sourceLocation: sourceLocation)
            }
        }
    }

    private func sentence(_ watchd: Watchd) -> String {
        "\(watchd.folder["mnt"]) does not answer (a hung file system?)"
    }

    private func expectTheOthersWork(_ watchd: Watchd, _ line: String) throws {
        try watchd.folder.append("ok", "\(line)\n")
        try wait(for: "the line of the healthy one") { watchd.logText.contains("healthy: \(line)") }
    }

    @Test func onlyTheSourcesThatNeedItFailAndTheyHealByThemselves() throws {
        try with { watchd in
            try watchd.waitUntilReady()
            for name in Self.hung {
                let source = try watchd.source(name)
                #expect(source.state == .failed && source.reason == sentence(watchd), "\(source)")
            }
            #expect(try watchd.status().problems.map(\.object).sorted() == Self.hung.sorted())
            let steps = try watchd.call(Explain.self, .init(name: "descriptor/tail")).steps
            #expect(steps.contains { $0.sentence.contains(sentence(watchd)) }, "\(steps)")
            try expectTheOthersWork(watchd, "one")
            #expect(try Self.threadsThatHang(watchd) == 1)

            HungMount.end(watchd.folder)
            for name in Self.hung where name != "descriptor/command" {
                try wait(for: "\(name) to say it") {
                    try watchd.source(name).reason?.contains("ENOTCONN") == true
                }
            }
            #expect(try HungMount.unmount(watchd).code == 0)
            try wait(for: "the socket") { try watchd.source("descriptor/socket").state == .armed }
            for name in Self.hung.dropFirst(2) {
                try wait(for: "\(name) to wait") { try watchd.source(name).state == .waiting }
            }
            try watchd.folder.write("mnt/log", "here\n")
            try wait(for: "the line") { watchd.logText.contains("tail: here") }
        }
    }

    /// In the kernel, where it waits for the file system.
    private static func threadsThatHang(_ watchd: Watchd) throws -> Int {
        let folder = "/proc/\(watchd.processID)/task/"
        return try Linux.readFolder(folder).count { entry in
            let place = (try? Linux.readFile(folder + String(decoding: entry.name, as: UTF8.self) + "/wchan")) ?? []
            return String(decoding: place, as: UTF8.self).contains("fuse")
        }
    }

    @Test func aReloadAndAStopGoOnWhileItHangs() throws {
        try with { watchd in
            try watchd.waitUntilReady()
            let more =
                Self.text.replacing("Log=changed", with: "Log=changed otherwise") + "\n[Custom poke]\nLog=poked\n"
            let fewer = more.replacing("[Process pid]\nPIDFile=@/mnt/pid\nLog=ended\n", with: "")
            try Watchd.write(fewer, to: watchd.folder)
            #expect(try watchd.control("reload").code == 0)
            let names = try watchd.call(ListSources.self, .init()).sources.map(\.name)
            #expect(!names.contains("process/pid") && names.contains("custom/poke"))
            for name in ["descriptor/tail", "path/folder"] {
                #expect(try watchd.source(name).reason == sentence(watchd))
            }
            try expectTheOthersWork(watchd, "two")
            #expect(try Self.threadsThatHang(watchd) == 1)

            let began = Linux.now(.monotonic)
            watchd.send(15)
            watchd.waitForEnd()
            #expect(Linux.now(.monotonic) - began < 25_000_000, "it waits for nothing that hangs")
        }
    }

    @Test func whatWasTakenAwayThoughItHangsIsNotWaitedFor() throws {
        try with { watchd in
            try watchd.waitUntilReady()
            #expect(try HungMount.unmount(watchd, isLazy: true).code == 0)
            try wait(for: "the socket") { try watchd.source("descriptor/socket").state == .armed }
            try watchd.folder.write("mnt/log", "")
            try wait(for: "the file") { try watchd.source("descriptor/tail").state == .armed }
            try watchd.folder.append("mnt/log", "four\n")
            try wait(for: "the line") { watchd.logText.contains("tail: four") }
            #expect(try Self.threadsThatHang(watchd) == 1)
        }
    }

    /// Its file answers, and what it needs does not.
    @Test func whatHangsBesideTheCoreIsNamedAndReadyComesAllTheSame() throws {
        try with(Self.text.replacing("Command=@/mnt/program", with: "Command=@/script")) { watchd in
            try watchd.waitUntilReady()
            let source = try watchd.source("descriptor/command")
            #expect(source.reason == "what it needs does not answer (a hung file system?)", "\(source)")
            let problems = try watchd.status().problems.filter { $0.object == "descriptor/command" }
            #expect(problems.contains { $0.problem.hasSuffix("hangs") }, "\(problems)")
            try expectTheOthersWork(watchd, "five")
            HungMount.end(watchd.folder)
            try wait(for: "its end") { try watchd.source("descriptor/command").reason?.contains("ENOTCONN") == true }
        }
    }

    /// It answers when a link to it comes to be watched.
    @Test(arguments: [false, true]) func aFileSystemBehindALinkMayBeginToHang(isRecursive: Bool) throws {
        let text = """
            [Path links]
            Path=@/in
            Recursive=\(isRecursive ? "yes" : "no")
            FollowSymlinks=yes
            PollSec=100ms
            Events=changed
            Key=%p
            Log=%{path}
            [Descriptor healthy]
            Tail=@/ok
            Log=%{line}
            """
        try HungMount.with { folder in
            for name in ["ok", "server"] { try folder.write(name, name == "ok" ? "" : HungMount.server) }
            let made = try Program.run(
                ["sh", "-ec", "mkdir in; ln -s ../mnt/f in/f; ln -s ../mnt/d in/d"], folder: folder.path)
            #expect(made.code == 0)
            let watchd = try Watchd(folder, text, launcher: HungMount.answeringLauncher(folder))
            defer { HungMount.end(folder) }
            try watchd.waitUntilReady()
            try wait(for: "it to be armed") { try watchd.source("path/links").state == .armed }
            try folder.write("in/here", "")
            try wait(for: "the file, not \(watchd.logText)") { watchd.logText.contains("in/here") }
            try folder.write("hang", "")
            for text in ["ln -sfn ../mnt/g in/f", "rm in/d", "ln -s ../mnt in/d", "ln -s ../mnt in/new"] {
                #expect(try Program.run(["sh", "-ec", text], folder: folder.path).code == 0)
                try wait(for: "somebody to hang") { !folder.lines("hung").isEmpty }
                for number in 1...5 { try expectTheOthersWork(watchd, "\(text) \(number)") }
            }
            HungMount.end(folder)
            try expectTheOthersWork(watchd, "last")
            try watchd.stop()
        }
    }

    @Test func readyWaitsForOneThatIsRequired() throws {
        let text = Self.text.replacing("Log=ended", with: "Log=ended\nRequired=yes")
        try with(text) { watchd in
            try watchd.waitForNotification("STATUS=starting, waiting for process/pid to be armed (Required=yes)")
            try expectTheOthersWork(watchd, "three")
            HungMount.end(watchd.folder)
            try wait(for: "the reason") { try watchd.source("process/pid").reason?.contains("ENOTCONN") == true }
            #expect(try HungMount.unmount(watchd).code == 0)
            try watchd.folder.write("mnt/pid", "\(Linux.processID)\n")
            try watchd.waitUntilReady()
        }
    }

    @Test func aMountThatNobodyMayLookAtHidesItselfAlone() throws {
        let text = """
            [Path tree]
            Path=@/in
            Recursive=yes
            Key=%p
            Log=tree %{path}
            [Path flat]
            Path=@/in
            Key=%p
            Log=flat %{path}
            """
        try HungMount.with { folder in
            let made = try Program.run(["mkdir", "-p", "in/mnt", "in/d"], folder: folder.path)
            #expect(made.code == 0)
            let watchd = try Watchd(folder, text, launcher: HungMount.strangersLauncher(folder))
            defer { HungMount.end(folder) }
            try watchd.waitUntilReady()
            for name in ["tree", "flat"] {
                try wait(for: "\(name) to be armed") { try watchd.source("path/\(name)").state == .armed }
                let limit = try watchd.control("status", "path/\(name)").text.replacing("\n", with: " ")
                #expect(limit.contains("in/mnt cannot be read"), "\(limit)")
                #expect(try watchd.control("run", name, "--changed").code == 0)
            }
            for name in ["in/d/f", "in/g"] { try folder.write(name, "") }
            try wait(for: "all, not \(watchd.logText)") {
                ["tree \(folder["in/d/f"])", "tree \(folder["in/g"])", "flat \(folder["in/g"])"].allSatisfy {
                    watchd.logText.contains($0)
                }
            }
            #expect(!watchd.logText.contains("deleted"))
            try watchd.stop()
        }
    }
}
