import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Every verb of watchctl against the real daemon, for people and for programs.
@Suite("watchctl, end to end", .ownThread) struct WatchctlTests {
    private static let text = """
        [Queue off]
        Suspended=yes
        [Custom poke]
        Exec=/bin/sh -c 'echo said "$WATCHD_DATA"'
        [Custom later]
        Log=later
        Queue=off
        [Handler fails]
        Exec=/bin/sh -c 'echo why >&2; exit 7'
        [Custom unused]
        Handler=fails
        [Path in]
        Path=@/in
        Key=%p
        Exec=/bin/echo %p

        """

    private func json(_ watchd: Watchd, _ words: [String]) throws -> JSONValue {
        let end = try Program.run(
            [try Products.path("watchctl"), "--socket", watchd.socket, "--json"] + words)
        #expect(end.code == 0, "\(words): \(end)")
        return try JSON.decode(JSONValue.self, from: end.output)
    }

    /// As the package has it.
    @Test func aLinkToWatchdIsWatchctl() throws {
        try withTemporaryFolder { folder in
            try Linux.symlink("\(folder)/watchctl", to: try Products.path("watchd"))
            let end = try Program.run(["\(folder)/watchctl", "timespan", "90s"])
            #expect(end.code == 0)
            #expect(try end.text == Program.run([try Products.path("watchctl"), "timespan", "90s"]).text)
        }
    }

    @Test func everyVerbDoesWhatItSaysWithItsExitStatus() throws {
        try Watchd.run(Self.text) { watchd in
            func code(_ words: String..., contains: String = "") throws -> Int32? {
                let end = try Program.run([try Products.path("watchctl"), "--socket", watchd.socket] + words)
                #expect((end.text + end.errorText).contains(contains), "\(words): \(end)")
                return end.code
            }
            var codes: [String: Int32?] = [:]
            codes["emit"] = try code("emit", "poke", "--data", "5", contains: "event")
            try watchd.waitForEnded(1, of: "poke")
            codes["show"] = try code("show", "1", contains: "said 5")
            codes["run"] = try code("run", "handler/poke", "--wait")
            codes["run path"] = try code("run", "in", "/etc/passwd", "--wait")
            codes["suspend"] = try code("suspend", "queue/off", "--reason", "lunch", "--for", "1h")
            codes["status"] = try code("status", contains: "lunch")
            codes["resume"] = try code("resume", "queue/off")
            codes["emit later"] = try code("emit", "later", "--payload", "{\"a\":1}")
            codes["operations"] = try code("operations", contains: "later")
            codes["cancel"] = try code("cancel", "off")
            for list in ["sources", "queues", "handlers", "operations"] { codes[list] = try code(list) }
            codes["reload"] = try code("reload", contains: "nothing changed")
            for (verb, code) in codes { #expect(code == 0, "\(verb)") }

            #expect(try code("run", "fails", "--wait", contains: "7") == 7)
            #expect(try code("emit", "pkoe", contains: "poke") == 1)
            let nothing = "there is no queue, handler, source, group, semaphore or process"
            #expect(try code("explain", "path/no", contains: nothing) == 1)
            #expect(try code("explain", "path/in", contains: "in does not exist yet") == 0)
            #expect(try code("status", "path/in", contains: "in does not exist yet") == 0)
            #expect(try code("explain", "nothing", contains: "watchctl sources") == 1)
            #expect(
                try code("wait", "fails", contains: "“fails” is a handler; this takes a queue, a group or the id") == 1)
            #expect(try code("cancel", "fails", contains: "watchctl operations --handler fails shows the ids") == 1)
            #expect(try code("suspend", "fails", contains: "there is no source or queue “fails”") == 1)
            #expect(try code("run", "off", contains: "of that name there is queue/off") == 1)
            #expect(try code("signal", "off", contains: "there is no semaphore “off”") == 1)
            #expect(try code("operations", "--queue", "in", contains: "there is no queue “in”") == 1)
            #expect(try code("operations", "--handler", "fials", contains: "did you mean “fails”?") == 1)
            #expect(try code("operations", "--state", "finished", "--queue", "queue/default") == 0)
            #expect(try watchd.error(Cancel.self, .init(id: -1)) == .invalidParameter("id"))
            #expect(try code("show", "999") == 1)
            #expect(try code("resume", "main") == 1)
            #expect(try code("emit") == 2)
            #expect(try code("emit", "poke", "--data", "x") == 2)
            #expect(try code("emit", "poke", "--payload", "[1]") == 2)
            #expect(try code("nonsense") == 2)
            #expect(
                try Program.run([try Products.path("watchctl"), "--socket", watchd.folder["none"], "status"]).code == 3)
        }
    }

    @Test func jsonIsTheReplyItself() throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try json(watchd, ["emit", "poke"]).members?["event"]?.int != nil)
            try watchd.waitForEnded(1, of: "poke")
            #expect(try json(watchd, ["status"]).members?["state"] == .string("running"))
            #expect(try json(watchd, ["show", "1"]).members?["operation"]?.members?["output"] == .string("said 1\n"))
            for (verb, list) in [
                ("sources", "sources"), ("queues", "queues"), ("handlers", "handlers"), ("operations", "operations"),
            ] {
                let reply = try json(watchd, [verb])
                guard case .array = reply.members?[list] else {
                    Issue.record("\(verb): \(reply)")
                    continue
                }
            }
            #expect(try json(watchd, ["suspend", "poke"]).members?["suspended"] == .int(1))
            #expect(try json(watchd, ["resume", "poke"]).members?["suspended"] == .int(0))
            #expect(try json(watchd, ["reload"]).members != nil)
            #expect(try json(watchd, ["stop"]).members != nil)
            #expect(watchd.waitForEnd() == .exited(0))
        }
    }

    @Test func followShowsWhatHappensUntilItIsEnded() throws {
        try Watchd.run(Self.text) { watchd in
            let output = try Linux.open(watchd.folder["followed"], [.writing, .creating]).release()
            defer { FileDescriptor(owning: output).close() }
            let follow = try Program(
                [try Products.path("watchctl"), "--socket", watchd.socket, "--json", "follow", "--since", "0"]
                    .map(\.pathBytes), environment: Program.environment, descriptors: [output, output, output])
            try watchd.emit("poke", data: 77)
            try wait(for: "the event") { watchd.folder.text("followed").contains("\"data\":77") }
            try wait(for: "the end of its run") { watchd.folder.text("followed").contains("\"result\":\"done\"") }
            for line in watchd.folder.lines("followed") {
                #expect(throws: Never.self) { try JSON.decode(JSONValue.self, from: line.pathBytes) }
            }
            follow.send(15)
            #expect(follow.wait() != nil)
        }
    }
}
