import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// `watchctl run --queue`: any command on a queue.
@Suite("Commands of clients, end to end", .ownThread) struct SubmitTests {
    private static let queues = """
        [Queue con]
        Type=concurrent
        Width=4
        Environment=OF_QUEUE=1
        [Queue ser]
        [Queue kept]
        Durable=yes

        """

    /// The id that is printed, and nothing else.
    private func id(_ end: Finished, sourceLocation: SourceLocation = #_sourceLocation) throws -> Int {
        #expect(end.code == 0 && end.errorText == "", "\(end)", sourceLocation: sourceLocation)
        return try #require(
            Int(end.text.trimmingPrefix { $0 == " " }.prefix { $0.isNumber }), sourceLocation: sourceLocation)
    }

    private func submit(_ watchd: Watchd, _ words: String...) throws -> Int {
        try id(try control(watchd, ["run", "--queue"] + words))
    }

    private func control(_ watchd: Watchd, _ words: [String], folder: String = "/") throws -> Finished {
        try Program.run([try Products.path("watchctl"), "--socket", watchd.socket] + words, folder: folder)
    }

    @Test func itRunsWhereItWasTypedAsWhoTypedItAndIsFoundByItsNumber() throws {
        try Watchd.run(Self.queues) { watchd in
            let script = "pwd; umask; echo $OF_QUEUE $MINE $WATCHD_HANDLER $WATCHD_OPERATION $# \"$2\"; id -u; exit 3"
            let end = try control(
                watchd, ["run", "--queue", "con", "--env", "MINE=a b", "--", "sh", "-c", script, "-", "x", "y  z"],
                folder: watchd.folder.path)
            let id = try id(end)
            #expect(try watchd.control("wait", "\(id)").code == 1)
            let output = "\(watchd.folder.path)\n0022\n1 a b @command \(id) 2 y  z\n\(Linux.effectiveUserID)\n"
            #expect(try watchd.operation(id).output == output)
            #expect(try watchd.control("output", "\(id)").text == output)
            let shown = try watchd.control("show", "\(id)").text
            #expect(shown.contains("sh -c 'pwd; umask") && shown.contains("exit 3"), "\(shown)")
            #expect(try watchd.control("explain", "\(id)").text.contains("queue con: sh -c"))
            for words in [["history"], ["history", "@command"], ["failed"], ["operations", "--state", "finished"]] {
                let text = try control(watchd, words).text
                let isNamed = text.contains("@command") || text.contains("sh -c 'pwd; umask")
                #expect(isNamed && text.contains("\(id)"), "\(words): \(text)")
            }
            // It is a client's own business.
            let status = try watchd.control("status").text
            #expect(!status.contains("DEGRADED") && !status.contains("PROBLEMS"), "\(status)")
            let again = try watchd.control("retry", "\(id)")
            #expect(again.code == 0, "\(again)")
            try watchd.waitUntilIdle()
            #expect(try watchd.operation(id + 1).output?.contains("a b @command \(id + 1)") == true)
        }
    }

    @Test(arguments: ["--wait", "--output"]) func whatIsMissingOfALongOutputIsSaid(option: String) throws {
        try Watchd.run(Self.queues) { watchd in
            let script = "head -c 1000000 /dev/zero | tr '\\\\0' x"
            let run = try control(watchd, ["run", "--queue", "ser", option, "--", "sh", "-c", script])
            let words = run.errorText.split(separator: " ")
            let missing = zip(words, words.dropFirst()).compactMap { $1 == "bytes" ? Int($0) : nil }.reduce(0, +)
            #expect(run.code == 0 && missing > 0 && missing + run.text.utf8.count == 1_000_000, "\(run.errorText)")
        }
    }

    @Test func whoWaitsHasItsOutputAndItsStatus() throws {
        try Watchd.run(Self.queues) { watchd in
            let words = ["run", "--queue", "ser", "--name", "greeting"]
            let waited = try control(watchd, words + ["--wait", "--", "sh", "-c", "echo hello; exit 7"])
            #expect(waited.code == 7 && waited.text == "hello\n" && waited.errorText == "operation 1: FAILED exit 7\n")
            let followed = try control(watchd, words + ["--output", "--", "sh", "-c", "echo one; echo two"])
            #expect(followed.code == 0 && followed.text == "one\ntwo\n", "\(followed)")
            #expect(try watchd.control("history").text.contains("greeting"))
            let json = try control(watchd, ["--json"] + words + ["--wait", "false"])
            #expect(json.text == "{\"exit_status\":1,\"operation\":3,\"result\":\"failed\"}\n", "\(json)")
        }
    }

    @Test func theOutputOfAHandlerIsFollowed() throws {
        let handlers = ["one", "two"].map {
            "[Handler \($0)]\nExec=/bin/sh -c 'echo \($0) %{data}; exit $((%{data} - 1))'\n"
        }
        let text = Self.queues + "[Custom pair]\nHandler=one two\nQueue=ser\n" + handlers.joined()
        try Watchd.run(text) { watchd in
            let one = try control(watchd, ["run", "handler/one", "--output"])
            #expect(one.code == 0 && one.text == "one 1\n", "\(one)")
            #expect(one.errorText == "handler/one: operation 1\nhandler/one: operation 1: done\n")
            let pair = try control(watchd, ["run", "pair", "--data", "3", "--output"])
            #expect(pair.code == 2 && pair.text == "one 3\ntwo 3\n", "\(pair)")
            let both = try control(watchd, ["--json", "run", "pair", "--output"])
            #expect(both.code == 2 && both.errorText.contains("--output and --json exclude each other"))
        }
    }

    @Test func howItWasEndedIsSaidInTheSameWords() throws {
        try Watchd.run(Self.queues) { watchd in
            for command in [["--", "sh", "-c", "kill -9 $$"], ["--timeout", "50ms", "--", "sleep", "60"]] {
                let ends = try ["--wait", "--output"].map { option in
                    try control(watchd, ["run", "--queue", "ser", option] + command)
                }
                let words = ends.map { $0.errorText.split(separator: "FAILED ").last }
                #expect(words[0] == words[1] && words[0]?.contains("operation") == false, "\(ends)")
                #expect(ends.map(\.code) == [1, 1], "\(ends)")
            }
        }
    }

    @Test func whatCannotRunIsAFailedAttemptWithASentence() throws {
        try Watchd.run(Self.queues) { watchd in
            try watchd.folder.makeFolder("gone")
            try watchd.folder.write("text", "no program")
            try watchd.folder.write("script", "#!/no/such/interpreter\n", mode: 0o755)
            let gone = Submit.Parameters(queue: "con", command: ["true"])
            for (change, part) in [
                ({ $0.command = ["no-such-command"] }, "no such command in PATH="),
                ({ $0.command = ["/no/such"] }, "No such file"),
                ({ $0.command = [watchd.folder["text"]] }, "Permission denied"),
                ({ $0.command = [watchd.folder["script"]] }, "interpreter"),
                ({ $0.directory = watchd.folder["nowhere"] }, "chdir"),
                ({ $0.command = ["./true"] }, "No such file"),
            ] as [((inout Submit.Parameters) -> Void, String)] {
                var parameters = gone
                change(&parameters)
                parameters.wait = true
                let reply = try watchd.call(Submit.self, parameters)
                #expect(reply.result == .failed && reply.reason?.contains(part) == true, "\(reply)")
            }
            for words in [["history"], ["status"], ["operations", "--state", "finished"]] {
                let text = try control(watchd, words).text
                #expect(text.contains("no-such-command") && !text.contains("PATH="), "\(words): \(text)")
            }
            #expect(try watchd.control("show", "1").text.contains("no such command in PATH="))
        }
    }

    @Test func aPathThatLeadsThroughWhatIsNoFolderGoesOn() throws {
        try Watchd.run(Self.queues) { watchd in
            try watchd.folder.write("true", "no program")
            var parameters = Submit.Parameters(queue: "con", command: ["true"])
            parameters.environment = ["PATH=/no/such:/etc/passwd:\(watchd.folder.path):/usr/bin:/bin"]
            parameters.wait = true
            #expect(try watchd.call(Submit.self, parameters).result == .done)
        }
    }

    // MARK: What is refused

    @Test func whatCannotBeTakenInIsRefusedWithASentence() throws {
        try Watchd.run(Self.queues) { watchd in
            func refusal(_ change: (inout Submit.Parameters) -> Void) throws -> String {
                var parameters = Submit.Parameters(queue: "con", command: ["true"])
                change(&parameters)
                guard let error = try watchd.error(Submit.self, parameters) else { return "taken in" }
                return error.parameters["reason"]?.string ?? error.name
            }
            for (change, part) in [
                ({ $0.command = [] }, "no command"), ({ $0.command = [""] }, "no command"),
                ({ $0.command = ["a\0b"] }, "NUL"), ({ $0.environment = ["A=\0"] }, "NUL"),
                ({ $0.directory = "/a\0" }, "NUL"), ({ $0.directory = "a" }, "absolute"),
                ({ $0.environment = ["A"] }, "NAME=VALUE"), ({ $0.environment = ["1=2"] }, "NAME=VALUE"),
                ({ $0.environment = ["WATCHD_OPERATION=1"] }, "set by watchd"),
                ({ $0.command = [String(repeating: "x", count: Submit.stringLimit)] }, "\(Submit.stringLimit)"),
                ({ $0.command = Array(repeating: String(repeating: "x", count: 100_000), count: 3) }, "300000 bytes"),
                ({ $0.command = Array(repeating: "x", count: Submit.countLimit + 1) }, "arguments"),
                ({ $0.name = "" }, "name"), ({ $0.key = String(repeating: "x", count: 1001) }, "key"),
                ({ $0.umask = 512 }, "umask"), ({ $0.retry = -1 }, "attempts"), ({ $0.inUsec = -1 }, "negative"),
                ({ $0.timeoutUsec = 0 }, "time-out"), ({ $0.at = "soon" }, "time"), ({ $0.priority = "x" }, "priority"),
                ({ $0.after = Array(1...101) }, "operations"), ({ $0.after = [99] }, "NoSuchOperation"),
                ({ $0.after = [-1] }, "NoSuchOperation"), ({ $0.queue = "cno" }, "NoSuchName"),
                ({ ($0.base64, $0.command) = (true, ["?"]) }, "Base64"),
            ] as [((inout Submit.Parameters) -> Void, String)] {
                let said = try refusal(change)
                #expect(said.contains(part), "\(said)")
            }
            let unknown = try control(watchd, ["run", "--queue", "cno", "true"])
            #expect(unknown.code == 1 && unknown.errorText.contains("no queue “cno”; did you mean “con”?"))
            #expect(try watchd.status().totals.accepted == 0)
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func aDaemonThatIsNotRootRunsItsOwnUsersCommandsOnly() throws {
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        try Watchd.run(Self.queues, launcher: nobody, prepare: Self.give) { watchd in
            let refused = try control(watchd, ["run", "--queue", "con", "id"])
            #expect(refused.code == 1 && refused.errorText.contains("not as root"), "\(refused)")
            let program = watchd.folder["watchctl"]
            let own = try Program.run(
                nobody + [program, "--socket", watchd.socket, "run", "--queue", "con", "--wait", "id", "-u"])
            #expect(own.text == "65534\n" && own.code == 0, "\(own)")
            let other = try Program.run(
                nobody + [program, "--socket", watchd.socket, "run", "--queue", "con", "--user", "root", "id"])
            #expect(other.code == 1 && other.errorText.contains("not as root"), "\(other)")
        }
    }

    /// All of a folder is nobody's, and watchctl is there: where the tree stands may be closed to others.
    private static func give(_ folder: Folder) throws {
        for name in ["watchctl", "watchd"] {
            try folder.write(name.pathBytes, try Linux.readFile(try Products.path(name), limit: 256 << 20))
            try Linux.chmod(folder[name], 0o755)
        }
        try Program.run(["chown", "-R", "65534:65534", folder.path]).expectSuccess()
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func rootMayNameAUserWhoseGroupsTheDatabaseKnows() throws {
        try Watchd.run(Self.queues) { watchd in
            let told = "echo $(id -u) $(id -g) $HOME $USER"
            let end = try control(
                watchd, ["run", "--queue", "con", "--user", "daemon", "--wait", "--", "sh", "-c", told])
            #expect(end.text == "1 1 /usr/sbin daemon\n", "\(end)")
            let unknown = try control(watchd, ["run", "--queue", "con", "--user", "deamon", "id"])
            #expect(unknown.code == 2 && unknown.errorText.contains("did you mean “daemon”?"), "\(unknown)")
            var parameters = Submit.Parameters(queue: "con", command: ["id"])
            (parameters.user, parameters.wait) = ("no-such-user", true)
            #expect(try watchd.call(Submit.self, parameters).reason?.contains("no such user") == true)
        }
    }

    // MARK: Bytes

    @Test func anyBytesReachTheCommandAndNoTerminal() throws {
        try Watchd.run(Self.queues) { watchd in
            let odd: [[UInt8]] = [
                Array("a\nb".utf8), [0xFF, 0xFE], Array("\u{1b}[2J\u{9b}31m\u{202e}".utf8), [], Array("%p %@ %%".utf8),
            ]
            let program = try Program(
                ([try Products.path("watchctl"), "--socket", watchd.socket, "run", "--queue", "con", "printf", "[%s]"]
                    .map { Array($0.utf8) }) + odd, environment: Program.environment, descriptors: [0, 1, 2])
            #expect(program.wait() == .exited(0))
            try watchd.waitUntilIdle()
            let detail = try watchd.operation(1)
            let expected = odd.reduce(into: [UInt8]()) { $0 += [UInt8(ascii: "[")] + $1 + [UInt8(ascii: "]")] }
            let raw = try watchd.control("output", "--raw", "1")
            #expect(raw.output == expected, "\(raw)")
            #expect(detail.summary.cause.contains("\\xff"), "\(detail.summary.cause)")
            for words in [
                ["history"], ["show", "1"], ["explain", "1"], ["status"], ["operations", "--state", "finished"],
                ["--json", "history"], ["--json", "show", "1"],
            ] {
                let said = try control(watchd, words).output
                #expect(!said.contains(0x1B) && !said.contains(0xFF), "\(words)")
                #expect(!String(decoding: said, as: UTF8.self).unicodeScalars.contains("\u{9b}"), "\(words)")
            }
            #expect(!watchd.logText.utf8.contains(0x1B))
        }
    }

    @Test func theEnvironmentIsNobodysConcern() throws {
        // That of a run of more than a second is in the store, for the next watchd.
        try wait(for: "a short run", seconds: 120) {
            var isShort = false
            try Watchd.run(Self.queues) { isShort = try expectNoSecret($0) }
            return isShort
        }
    }

    /// - Returns: `false` without a look into the store, where the run was too long.
    private func expectNoSecret(_ watchd: Watchd) throws -> Bool {
        let id = try submit(watchd, "con", "--env", "TOKEN=very-secret", "--", "true")
        try watchd.waitUntilIdle()
        for words in [["--json", "show", "\(id)"], ["--json", "history"], ["--json", "explain", "\(id)"]] {
            #expect(try !control(watchd, words).text.contains("very-secret"), "\(words)")
        }
        #expect(!watchd.logText.contains("very-secret"))
        let took = try #require(try watchd.operation(id).summary.tookUsec)
        // The history of a success has no environment.
        try watchd.stop()
        guard took < 900_000 else { return false }
        for entry in try Linux.readFolder(watchd.folder["state"]) {
            let name = "state/" + String(decoding: entry.name, as: UTF8.self)
            let bytes = String(decoding: watchd.folder.bytes(name), as: UTF8.self)
            #expect(!bytes.contains("very-secret"), "\(name)")
            if name.hasSuffix(".db") { #expect(bytes.contains("@command")) }
        }
        return true
    }

    // MARK: When

    @Test func itWaitsForOthersAndForItsTime() throws {
        try Watchd.run(Self.queues) { watchd in
            let first = try submit(
                watchd, "con", "--", "sh", "-c", "until [ -e \(watchd.folder["go"]) ]; do sleep 0.1; done")
            let second = try submit(watchd, "con", "--after", "\(first)", "--", "true")
            let timed = try submit(watchd, "con", "--in", "1h", "--", "true")
            let line = try control(watchd, ["timers"]).text.split(separator: "\n").last ?? ""
            let planned = line.contains(" \(timed) ") && line.contains("in 1h") || line.contains("in 59min")
            #expect(planned && line.hasSuffix("true"), "\(line)")
            #expect(try watchd.operation(second).summary.dependencies == [first])
            let waiting = try watchd.operation(timed).summary
            #expect(waiting.waitingFor?.hasPrefix("its time, ") == true && waiting.durable == true, "\(waiting)")
            #expect(try watchd.control("cancel", "\(timed)").code == 0)
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            #expect(try watchd.operation(second).summary.result == .done)
            #expect(try watchd.operation(timed).summary.result == .cancelled)
        }
    }

    @Test func aClientThatGoesWhileItWaitsLeavesTheCommandBehind() throws {
        try Watchd.run(Self.queues) { watchd in
            let program = try Program(
                [
                    try Products.path("watchctl"), "--socket", watchd.socket, "run", "--queue", "ser", "--wait", "--",
                    "sh",
                    "-c",
                    "until [ -e \(watchd.folder["go"]) ]; do sleep 0.1; done; echo over >\(watchd.folder["over"])",
                ].map { Array($0.utf8) }, environment: Program.environment, descriptors: [0, 1, 2])
            try wait(for: "the command to run") { try watchd.status().totals.running == 1 }
            program.send(SIGKILL)
            program.wait()
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            #expect(watchd.folder.text("over") == "over\n")
            #expect(try watchd.operation(1).summary.result == .done)
        }
    }

    @Test func aCommandThatWaitsForItsOwnQueueIsRefused() throws {
        try Watchd.run(Self.queues) { watchd in
            let inner = "\(try Products.path("watchctl")) --socket \(watchd.socket) run --queue ser --wait true"
            let end = try control(watchd, ["run", "--queue", "ser", "--wait", "--", "sh", "-c", inner])
            #expect(end.code == 1 && end.text.contains("could only end after"), "\(end)")
        }
    }

    // MARK: Restart

    @Test func onADurableQueueItSurvivesAKillAndATimeDoesOnAny() throws {
        try Lives.run(Self.queues) { lives in
            try lives.watchd.suspend("kept")
            let folder = lives.folder
            func note(_ text: String) -> [String] { ["sh", "-c", "echo $MINE $PWD \(text) >>\(folder["noted"])"] }
            for number in 1...20 {
                let end = try control(
                    lives.watchd, ["run", "--queue", "kept", "--env", "MINE=own", "--"] + note("\(number)"),
                    folder: folder.path)
                #expect(end.text == "\(number)\n")
            }
            _ = try control(lives.watchd, ["run", "--queue", "con", "--in", "3s", "--"] + note("timed"), folder: "/")
            lives.kill()
            try lives.start()
            #expect(try lives.operations(of: "@command").count { $0.queue == "kept" } == 20)
            try lives.watchd.resume("kept")
            let expected = (1...20).map { "own \(folder.path) \($0)" }
            try wait(for: "all of them") { folder.lines("noted").filter { $0.hasPrefix("own") }.count >= 20 }
            #expect(folder.lines("noted").filter { $0.hasPrefix("own") } == expected)
            try wait(for: "the one with a time") {
                folder.lines("noted").contains(" / timed") || folder.lines("noted").contains("/ timed")
            }
            lives.stop()
            try lives.start()
            try lives.watchd.waitUntilIdle()
            #expect(folder.lines("noted").count == 21, "nothing runs twice")
        }
    }

    /// Whoever asked for it may be asleep; and of one that is waited for the client sees the end.
    @Test func aCommandWithATimeThatFailsIsAProblemUntilItIsForgotten() throws {
        try Lives.run(Self.queues) { lives in
            _ = try control(lives.watchd, ["run", "--wait", "--queue", "con", "--", "false"], folder: "/")
            let id = try submit(lives.watchd, "con", "--in", "1ms", "--", "sh", "-c", "exit 9")
            try lives.watchd.waitUntilIdle()
            func problems() throws -> [GetStatus.Problem] { try lives.watchd.status().problems }
            let sentence = "the command sh -c 'exit 9' failed, exit 9"
            #expect(try problems().map(\.object) == ["operation \(id)"] && problems().map(\.problem) == [sentence])
            let failed = try lives.watchd.control("failed").text
            #expect(failed.contains("x false") && failed.contains("x sh -c 'exit 9'"), "each by itself: \(failed)")
            lives.stop()
            try lives.start()
            try wait(for: "the problem of the earlier watchd") { try problems().map(\.problem) == [sentence] }
            #expect(try lives.watchd.control("forget", "\(id)").code == 0)
            #expect(try problems().isEmpty)
        }
    }

    @Test func whatRunsWhileWatchdIsKilledIsAdopted() throws {
        try Lives.run(Self.queues) { lives in
            let folder = lives.folder
            let script = "echo on >\(folder["on"]); until [ -e \(folder["go"]) ]; do sleep 0.1; done; exit 5"
            let id = try submit(lives.watchd, "con", "--in", "1ms", "--", "sh", "-c", script)
            try wait(for: "it to run") { folder.exists("on") }
            lives.kill()
            try lives.start()
            try folder.write("go", "")
            try lives.watchd.waitUntilIdle()
            let summary = try lives.watchd.operation(id).summary
            #expect([OperationSummary.Result.done, .failed].contains(summary.result), "\(summary)")
        }
    }

    @Test func tenThousandAreTakenInAndRun() throws {
        try Watchd.run("[Queue many]\nType=concurrent\nWidth=8\n") { watchd in
            try watchd.suspend("many")
            let client = try watchd.connect()
            for number in 1...10_000 {
                var parameters = Submit.Parameters(queue: "many", command: ["/bin/true", "\(number)"])
                parameters.key = "\(number % 7)"
                let reply: Submit.Reply = try client.call(Submit.fullName, parameters, timeout: 30_000).parameters()
                if reply.operation != number { Issue.record("\(reply)") }
            }
            #expect(
                try watchd.error(Submit.self, .init(queue: "many", command: ["true"]))?.name.hasSuffix("QueueFull")
                    == true)
            #expect(try watchd.status().totals.pending == 10_000)
            _ = try watchd.call(Cancel.self, .init(queue: "many"), timeout: 120_000)
            try watchd.resume("many")
            for number in 1...200 {
                _ = try watchd.call(Submit.self, .init(queue: "many", command: ["true", "\(number)"]))
            }
            let totals = try watchd.waitUntilIdle()
            #expect(totals.cancelled == 10_000 && totals.done == 200, "\(totals)")
        }
    }
}

extension Finished {
    fileprivate func expectSuccess() { #expect(code == 0, "\(self)") }
}
