import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// `Submit=`: queues that others than administrators may put commands on.
@Suite(
    "Commands of users, end to end", .ownThread,
    .enabled(if: Linux.effectiveUserID == 0, "needs root to become somebody else"))
struct SubmitByUsersTests {
    private static let queues = """
        [Queue open]
        Type=concurrent
        Width=4
        Submit=users
        [Queue admins]
        Submit=group:adm
        [Queue numbered]
        Submit=group:4711
        [Queue closed]
        [Queue kept]
        Submit=users
        Durable=yes

        """

    private static let program: @Sendable (Folder) throws -> Void = { folder in
        // Where the tree stands may be closed to others.
        try folder.write("watchctl".pathBytes, try Linux.readFile(try Products.path("watchctl"), limit: 256 << 20))
        try Linux.chmod(folder["watchctl"], 0o755)
        try Linux.chmod(folder.path, 0o755)
    }

    private func run(
        _ folder: Folder, user: Int = 65_534, group: Int = 65_534, groups: String = "", in place: String = "/",
        _ words: [String]
    ) throws -> Finished {
        let others = groups.isEmpty ? "--clear-groups" : "--groups=\(groups)"
        return try Program.run(
            [
                "setpriv", "--reuid=\(user)", "--regid=\(group)", others, "--", folder["watchctl"], "--socket",
                folder["socket"],
            ] + words, folder: place)
    }

    @Test func itRunsWithExactlyTheIdsOfTheCaller() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            let told = [
                "--wait", "--", "sh", "-c",
                "id -u; id -g; id -G; grep -E '^(Groups|Cap(Eff|Prm|Inh|Amb))' /proc/self/status",
            ]
            let end = try run(watchd.folder, group: 4, groups: "24,27", ["run", "--queue", "open"] + told)
            let lines = end.text.split(separator: "\n").map(String.init)
            #expect(lines.prefix(3) == ["65534", "4", "4 24 27"], "\(end)")
            let none = "\t0000000000000000"
            #expect(
                lines.contains("CapEff:\(none)") && lines.contains("CapPrm:\(none)") && lines.contains("CapAmb:\(none)")
            )
            let daemon = try run(watchd.folder, user: 1, group: 1, ["run", "--queue", "open"] + told)
            #expect(daemon.text.hasPrefix("1\n1\n1\n"), "\(daemon)")
        }
    }

    @Test func nothingInTheCallMakesItSomebodyElse() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            let named = try run(watchd.folder, ["run", "--queue", "open", "--user", "root", "--wait", "id", "-u"])
            #expect(named.code == 4 && named.errorText.contains("only root and the group watchd"), "\(named)")
            let told = try run(
                watchd.folder,
                ["run", "--queue", "open", "--env", "USER=root", "--env", "HOME=/root", "--wait", "id", "-un"])
            #expect(told.text == "nobody\n", "\(told)")
            for words in [["--barrier"], ["--priority", "very-high"]] {
                let end = try run(watchd.folder, ["run", "--queue", "open"] + words + ["--", "true"])
                #expect(end.code == 4 && end.errorText.contains("before others"), "\(end)")
            }
            #expect(try run(watchd.folder, ["run", "--queue", "open", "--priority", "low", "true"]).code == 0)
        }
    }

    @Test func theKernelChecksFolderAndProgramAsThatUser() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            try watchd.folder.makeFolder("private")
            try watchd.folder.write("private/tool", "#!/bin/sh\necho private\n", mode: 0o755)
            try Linux.chmod(watchd.folder["private"], 0o700)
            let inside = try run(
                watchd.folder, in: watchd.folder["private"], ["run", "--queue", "open", "--wait", "pwd"])
            #expect(inside.code == 1 && inside.errorText.contains("chdir"), "\(inside)")
            let tool = try run(watchd.folder, ["run", "--queue", "open", "--wait", watchd.folder["private/tool"]])
            #expect(tool.code == 1 && tool.errorText.contains("Permission denied"), "\(tool)")
            // Whether there is one that nobody may see is not told.
            for name in ["tool", "no-such-tool"] {
                let path = "PATH=\(watchd.folder["private"])"
                let end = try run(watchd.folder, ["run", "--queue", "open", "--env", path, "--wait", name])
                #expect(end.errorText.contains("Permission denied"), "\(end)")
            }
        }
    }

    @Test func aQueueSaysWhoMay() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            func code(_ queue: String, group: Int = 65_534, groups: String = "") throws -> Int32? {
                try run(watchd.folder, group: group, groups: groups, ["run", "--queue", queue, "true"]).code
            }
            #expect(try code("open") == 0 && code("queue/open") == 0)
            #expect(try code("closed") == 4 && code("main") == 4 && code("no-such-queue") == 4)
            #expect(try code("admins") == 4 && code("admins", groups: "4") == 0 && code("admins", group: 4) == 0)
            #expect(try code("numbered") == 4 && code("numbered", groups: "4711") == 0)
            let large = try run(watchd.folder, ["run", "--queue", "closed", "--timeout", "0", "true"])
            #expect(large.code == 4, "who may not is told nothing else: \(large)")
        }
    }

    @Test func ownCommandsMayBeLookedAtAndEndedAndNobodyElses() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            let folder = watchd.folder
            _ = try run(
                folder, user: 1, group: 1,
                ["run", "--queue", "open", "--wait", "--", "sh", "-c", "echo SECRET; exit 1"])
            _ = try run(folder, user: 1, group: 1, ["run", "--queue", "open", "--", "sleep", "1000"])
            try wait(for: "it to run") { try watchd.status().totals.running == 1 }
            for words in [
                ["output", "1"], ["cancel", "2"], ["retry", "1"], ["output", "@command"], ["cancel", "open"],
            ] {
                #expect(try run(folder, words).code == 4, "\(words)")
            }
            for words in [
                ["show", "1"], ["explain", "1"], ["history"], ["operations"], ["status"], ["--json", "show", "1"],
            ] {
                let end = try run(folder, words)
                #expect(
                    end.code == 0 && !end.text.contains("SECRET") && !end.text.contains("sleep"), "\(words): \(end)")
            }
            #expect(try run(folder, user: 1, group: 1, ["output", "1"]).text == "SECRET\n")
            #expect(try run(folder, user: 1, group: 1, ["show", "1"]).text.contains("sh -c"))
            for words in [["operations"], ["status"]] {
                #expect(try run(folder, user: 1, group: 1, words).text.contains("sleep 1000"), "\(words)")
            }
            #expect(try run(folder, user: 1, group: 1, ["cancel", "2"]).code == 0)
            #expect(try run(folder, user: 1, group: 1, ["wait", "2"]).code == 1)
            try watchd.waitUntilIdle()
            #expect(try watchd.operation(2).summary.result == .cancelled)
        }
    }

    @Test func ownFailuresMayBeDealtWithAndNobodyElses() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            let folder = watchd.folder
            func own(_ words: String...) throws -> Finished { try run(folder, user: 1, group: 1, words) }
            _ = try own("run", "--queue", "open", "--wait", "false")
            for verb in ["retry", "forget"] {
                #expect(try run(folder, [verb, "1"]).code == 4)
                #expect(try own(verb, "@command").code == 4, "those of everybody")
            }
            let again = try own("retry", "1")
            #expect(again.code == 0 && again.text.contains("1 runs again as 2"), "\(again)")
            try watchd.waitUntilIdle()
            #expect(try run(folder, ["forget", "2"]).code == 4)
            #expect(try own("forget", "2").code == 0)
            #expect(try own("forget", "2").code == 1)
            #expect(try watchd.control("run", "--queue", "closed", "--user", "daemon", "--wait", "false").code != 0)
            #expect(try own("retry", "3").code == 4, "root has submitted it")
        }
    }

    @Test func ownCommandsHaveTheirNamesInTheStoreToo() throws {
        try Lives.run(Self.queues, prepare: Self.program) { lives in
            _ = try run(lives.folder, user: 1, group: 1, ["run", "--queue", "open", "--wait", "--", "echo", "mine"])
            lives.stop()
            try lives.start()
            #expect(try run(lives.folder, user: 1, group: 1, ["history"]).text.contains("echo mine"))
            let others = try run(lives.folder, ["history"])
            #expect(others.code == 0 && others.text.contains("@command") && !others.text.contains("mine"))
        }
    }

    @Test func oneUsersKeyKeepsNobodyElseWaiting() throws {
        try Watchd.run(Self.queues, prepare: Self.program) { watchd in
            _ = try run(watchd.folder, ["run", "--queue", "open", "--key", "disk", "--", "sleep", "1000"])
            let other = try run(
                watchd.folder, user: 1, group: 1, ["run", "--queue", "open", "--key", "disk", "--wait", "true"])
            #expect(other.code == 0, "\(other)")
            let root = try watchd.control("run", "--queue", "open", "--key", "disk", "--wait", "true")
            #expect(root.code == 0, "\(root)")
            let own = try run(watchd.folder, ["run", "--queue", "open", "--key", "disk", "--", "true"])
            #expect(own.code == 0)
            #expect(try watchd.operation(4).summary.waitingFor?.contains("operation 1") == true)
            #expect(try watchd.control("cancel", "open").code == 0)
        }
    }

    @Test func aUserThatIsGoneRunsNothingAfterARestart() throws {
        let name = "watchd-gone"
        guard try Program.run(["useradd", "--no-create-home", "--uid", "4712", name]).code == 0 else {
            print("SKIPPED: no user can be made here")
            return
        }
        defer { _ = try? Program.run(["userdel", name]) }
        try Lives.run(Self.queues, prepare: Self.program) { lives in
            try lives.watchd.suspend("kept")
            let end = try run(lives.folder, user: 4712, group: 4712, ["run", "--queue", "kept", "id"])
            #expect(end.text == "1\n", "\(end)")
            lives.kill()
            #expect(try Program.run(["userdel", name]).code == 0)
            try lives.start()
            try lives.watchd.resume("kept")
            try lives.watchd.waitUntilIdle()
            let summary = try lives.watchd.operation(1).summary
            #expect(summary.result == .failed && summary.reason == "there is no user 4712", "\(summary)")
        }
    }
}
