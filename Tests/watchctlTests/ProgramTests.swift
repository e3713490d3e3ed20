import ControlInterface
import ControlKit
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// The program itself, as a shell sees it.
@Suite("watchctl", .ownThread)
struct ProgramTests {
    private struct Outcome {
        var status: Int32
        var output: String
        var error: String
    }

    private func watchctl(_ arguments: [String]) throws -> Outcome {
        let finished = try Program.run([Products.path("watchctl")] + arguments, environment: ["TZ=UTC"])
        return Outcome(status: finished.code ?? -1, output: finished.text, error: finished.errorText)
    }

    @Test func itsExitStatusSaysHowItWent() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { call in
            switch call.name {
            case "GetStatus": .reply(Sample.json(Samples.status))
            case "Stop": .error(.permissionDenied)
            case "Reload": .error(ManagerError.invalidWatchFile(diagnostics: ["a:1:1: error: no\n\tx\n\t^"]).reply)
            default: .error(ManagerError.noSuchName(name: "x\u{1b}", nearest: nil).reply)
            }
        }
        defer { server.stop() }
        let socket = ["--socket", server.path]
        #expect(try watchctl(socket).status == 0)
        #expect(try watchctl(socket + ["resume", "x"]).status == 1)
        #expect(try watchctl(socket + ["resume", "x"]).error.hasPrefix("watchctl: there is no “x\\x1b”; "))
        #expect(try watchctl(["nonsense"]).status == 2)
        #expect(try watchctl(["--socket", "/nonexistent/socket"]).status == 3)
        let file = try watchctl(["--socket", "/etc/passwd"])
        #expect((file.status, file.error.contains("/etc/passwd is no socket")) == (3, true))
        #expect(try watchctl(socket + ["stop"]).status == 4)
        let reload = try watchctl(socket + ["reload"])
        #expect(reload.status == 78)
        #expect(
            reload.error
                == "a:1:1: error: no\n    x\n    ^\nwatchctl: the watch file has errors; nothing was changed\n")
        #expect(reload.output.isEmpty)
    }

    @Test func withoutATerminalThereAreNoColours() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { _ in .reply(Sample.json(Samples.status)) }
        defer { server.stop() }
        let outcome = try watchctl(["--socket", server.path])
        #expect(outcome.output.contains("DEGRADED: 1 problem, 1 pause"))
        #expect(!outcome.output.contains("\u{1b}"))
    }

    @Test func acquireEndsAsItsCommandEndsAndTellsItsMembers() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { call in
            let parameters = try? call.parameters(as: Acquire.Parameters.self)
            return parameters?.name == "gpu-a" && parameters?.count == 2
                ? .reply(Sample.json(Acquire.Reply(operation: 1, name: "gpu-a", members: ["0", "2"])))
                : .error(ManagerError.timedOut(what: "semaphore x", state: "0 free").reply)
        }
        defer { server.stop() }
        func acquire(_ words: String...) throws -> Outcome {
            try watchctl(["--socket", server.path, "acquire"] + words)
        }
        let outcome = try acquire("gpu-a:2", "/bin/sh", "-c", "echo $WATCHD_ACQUIRED_GPU_A; exit 7")
        #expect(outcome.status == 7 && outcome.output == "0 2\n")
        #expect(try acquire("gpu-a:2", "--", "/nonexistent").status == 127)
        let refused = try acquire("--timeout", "1s", "x", "/bin/echo", "ran")
        #expect(refused.status == 1 && refused.output.isEmpty)
    }

    @Test func groupRunEndsAsItsCommandEnds() throws {
        let server = try SampleServer(interfaces: [Manager.interface]) { call in
            let name = (try? call.parameters(as: EnterGroup.Parameters.self))?.name
            return name == "deploy"
                ? .reply(Sample.json(EnterGroup.Reply(ticket: 1)))
                : .error(ManagerError.noSuchName(name: "x", nearest: nil).reply)
        }
        defer { server.stop() }
        func group(_ words: String...) throws -> Outcome {
            try watchctl(["--socket", server.path, "group", "run"] + words)
        }
        let outcome = try group("deploy", "/bin/sh", "-c", "echo ran; exit 7")
        #expect(outcome.status == 7)
        #expect(outcome.output == "ran\n")
        #expect(try group("deploy", "/nonexistent").status == 127)
        #expect(try group("deploy", "/etc/passwd").status == 126)
        let refused = try group("nobody", "/bin/echo", "ran")
        #expect(refused.status == 1)
        #expect(refused.output.isEmpty)
    }

    @Test func helpAndVersionNeedNoDaemon() throws {
        #expect(try watchctl(["--help"]).output.contains("Exit status"))
        #expect(try watchctl(["emit", "--help"]).output.hasPrefix("watchctl emit "))
        #expect(try watchctl(["--version"]).output == "watchctl \(Manager.softwareVersion)\n")
    }

    @Test func withJSONAnErrorIsAnObject() throws {
        let outcomes = try [["--json", "nonsense"], ["status", "--json", "--socket", "/nonexistent/socket"]]
            .map(watchctl)
        for (outcome, status) in zip(outcomes, [2, 3] as [Int32]) {
            #expect(outcome.status == status)
            #expect(outcome.output.isEmpty)
            let error = try JSON.decode(JSONValue.self, from: Array(outcome.error.utf8)).members
            #expect(error?["exit_status"]?.int == Int64(status))
            #expect(error?["error"]?.string?.hasPrefix("there is no verb") == (status == 2))
            #expect(error?["help"]?.string != nil)
        }
    }

    @Test func whatIsPipedIsNeverCut() throws {
        var source = Samples.source
        source.name = "path/" + String(repeating: "long-", count: 60)
        source.handlers = [String(repeating: "handler-", count: 60)]
        let reply = Sample.json(ListSources.Reply(sources: [source]))
        let server = try SampleServer(interfaces: [Manager.interface]) { _ in .reply(reply) }
        defer { server.stop() }
        let outcome = try watchctl(["--socket", server.path, "sources"])
        #expect(outcome.output.contains(source.name))
        #expect(outcome.output.contains(source.handlers[0]))
        #expect(!outcome.output.contains("…"))
    }

    @Test func aCheckReadsTheStandardInputAndTheDefaultFolder() throws {
        try withTemporaryFolder { folder in
            func check(_ text: String, _ words: [String]) throws -> Finished {
                try Program.run(
                    [try Products.path("watchctl"), "check"] + words,
                    environment: ["CONFIGURATION_DIRECTORY=\(folder)"], input: text)
            }
            #expect(try check("[Custom a]\nLog=a\n", ["-"]).text == "1 file, no errors\n")
            let doubtful = try check("[Custom a]\nExec=true # b\n", ["-"])
            #expect(doubtful.text.hasSuffix("\n1 file, no errors, 1 warning\n"), "\(doubtful)")
            let faulty = try check("[Custom a]\nLgo=a\n", ["-"])
            #expect(faulty.code == 78)
            #expect(faulty.text.contains("standard input:2:1: error: "))
            try Linux.writeFile(folder + "/a.watch", "[Custom b]\nLog=b\n")
            #expect(try check("", []).text == "\(folder): 1 file, no errors\n")
        }
    }

    @Test func aMissingWatchFileIsADiagnostic() throws {
        let outcome = try watchctl(["check", "/nonexistent/a.watch"])
        #expect(outcome.status == 78)
        #expect(outcome.output.contains("/nonexistent/a.watch: error: "))
    }
}
