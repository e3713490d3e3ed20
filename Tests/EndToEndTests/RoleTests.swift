import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What a user may do whom the watch file says nothing of.
@Suite("Roles, end to end", .ownThread, .enabled(if: Linux.effectiveUserID == 0, "needs root to become somebody else"))
struct RoleTests {
    private static let secret = "SECRET"

    private static func installClient(_ folder: Folder) throws {
        // Where the tree stands may be closed to others.
        let program = try Linux.readFile(try Products.path("watchctl"), limit: 256 << 20)
        try folder.write("watchctl".pathBytes, program)
        try Linux.chmod(folder["watchctl"], 0o755)
    }

    private static func asNobody(_ words: [String], _ watchd: Watchd) throws -> Finished {
        try Program.run(
            [
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", watchd.folder["watchctl"],
                "--socket", watchd.socket,
            ] + words)
    }

    /// Not those of the default folder, as where no watchd runs.
    @Test func whoMayNotAskIsShownNoWatchFiles() throws {
        try Watchd.run("[Custom mine]\nExec=/bin/true\n", prepare: Self.installClient) { watchd in
            try Linux.chmod(watchd.socket, 0o600)
            let answer = try Self.asNobody(["cat"], watchd)
            #expect(answer.code == 4 && answer.output.isEmpty, "\(answer)")
        }
    }

    @Test func everybodyMayReadNamesStatesAndCountsButNoContentAndChangeNothing() throws {
        let text = """
            [Path in]
            Path=@/SECRET
            Key=%p
            Exec=/bin/sh -c 'echo the SECRET output of "$WATCHD_PATH"; exit 3'
            [Descriptor lines]
            ListenFIFO=@/fifo-SECRET
            Log=%{line}
            [Queue off]
            Suspended=yes
            [Custom poke]
            Exec=/bin/echo SECRET
            Queue=off
            [Semaphore tokens]
            Value=1
            [Group work]
            Members=poke
            Log=SECRET
            """
        let prepare: (Folder) throws -> Void = { folder in
            try folder.makeFolder(Self.secret)
            try Self.installClient(folder)
        }
        try Watchd.run(text, prepare: prepare) { watchd in
            func asNobody(_ words: [String]) throws -> Finished { try Self.asNobody(["--json"] + words, watchd) }
            try watchd.folder.write("SECRET/file-SECRET", "")
            try watchd.folder.append("fifo-SECRET", "a SECRET line\n")
            try watchd.emit("poke", payload: .object(["a": .string(Self.secret)]))
            let ended = try watchd.waitForEnded(1, of: "in")
            let id = try #require(ended.first?.id)
            let waiting = try #require(try watchd.status().waiting.first?.id)
            #expect(try watchd.operation(id).output?.contains(Self.secret) == true, "root is told")

            let questions: [[String]] = [
                ["status"], ["sources"], ["queues"], ["handlers"], ["operations"], ["show", "\(id)"],
                ["show", "\(waiting)"], ["semaphores"], ["explain", "\(id)"], ["explain", "\(waiting)"],
                ["explain", "queue/off"], ["explain", "handler/in"], ["explain", "work"], ["wait", "main"],
                ["history"], ["history", "in"], ["failed"],
            ]
            for words in questions {
                let answer = try asNobody(words)
                #expect(answer.code == 0, "\(words): \(answer)")
                let names = ["poke", "\"in\"", "\"off\"", "tokens", "handler/in", "queue/off", "group/work"]
                #expect(words[0] == "wait" || names.contains(where: answer.text.contains), "\(words)")
                #expect(!answer.text.contains(Self.secret), "\(words): \(answer)")
                #expect(!answer.text.contains(watchd.folder.path), "\(words): \(answer)")
            }
            let file = watchd.folder["followed"]
            let follow = """
                "$@" >'\(file)' & until grep -q '"kind":"path"' '\(file)'; do sleep 0.1; done; kill $!; cat '\(file)'
                """
            let followed = try Program.run(
                [
                    "sh", "-c", follow, "-", "setpriv", "--reuid=65534", "--regid=65534",
                    "--clear-groups", "--", watchd.folder["watchctl"], "--socket", watchd.socket, "--json", "follow",
                    "--since", "0",
                ])
            #expect(followed.text.contains("\"kind\":\"path\""), "\(followed)")
            #expect(!followed.text.contains(Self.secret), "\(followed)")

            let output = try asNobody(["output", "\(id)"])
            #expect(output.code == 4, "\(output)")
            #expect(!output.text.contains(Self.secret), "\(output)")
            #expect(try asNobody(["follow", "--output"]).code == 4)
            let shown = try asNobody(["show", "\(id)"])
            #expect(shown.code == 0 && !shown.text.contains(Self.secret), "\(shown)")

            for words in [
                ["emit", "poke"], ["run", "poke"], ["suspend", "poke"], ["resume", "off"], ["cancel", "\(waiting)"],
                ["reload"], ["stop"], ["signal", "tokens"], ["group", "enter", "work"],
                ["group", "leave", "work", "1"], ["retry", "\(id)"], ["forget", "in"], ["reload", "--plan"],
            ] {
                let answer = try asNobody(words)
                #expect(answer.code == 4, "\(words): \(answer)")
            }
            let status = try watchd.status()
            #expect(status.totals.accepted == 3)
            #expect(status.totals.pending == 1)
        }
    }

    @Test func oneUserCannotTakeAllPlaces() throws {
        let script = """
            import socket, sys
            held = []
            for n in range(100):
                s = socket.socket(socket.AF_UNIX)
                s.connect(sys.argv[1])
                held.append(s)
            open_ones = 0
            for s in held:
                try:
                    s.sendall(b'{"method":"io.systemd.service.Ping"}\\0')
                    open_ones += bool(s.recv(100))
                except OSError:
                    pass
            print(open_ones)
            """
        guard try Program.run(["sh", "-c", "command -v python3"]).code == 0 else {
            print("SKIPPED: there is no python3")
            return
        }
        try Watchd.run("") { watchd in
            let end = try Program.run([
                "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--", "python3", "-c", script,
                watchd.socket,
            ])
            #expect(end.text == "32\n", "\(end)")
            #expect(try watchd.status().state == .running)
        }
    }
}
