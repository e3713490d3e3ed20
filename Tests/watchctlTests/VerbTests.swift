import ControlInterface
import ControlKit
import Schedule
import Synchronization
import Testing
import Varlink

@testable import watchctl

@Suite("Verbs")
struct VerbTests {
    /// What a verb printed, and how it ended.
    private struct Outcome: Equatable {
        var output = ""
        var code: ExitCode?
        var failure: Failure?
    }

    private func run(
        _ arguments: [String], answer: @escaping @Sendable (Call) -> SampleServer.Answer
    ) throws -> Outcome {
        let server = try SampleServer(interfaces: [Manager.interface], answer: answer)
        defer { server.stop() }
        return try run(arguments, socket: server.path)
    }

    private func run(_ arguments: [String], socket: String) throws -> Outcome {
        let output = TextBox()
        let screen = Screen(width: 100, isColoured: false, now: try Timestamp(parsing: Samples.now), local: .utc)
        do throws(Failure) {
            let invocation = try Invocation(arguments: arguments)
            let session = Session(
                socketPath: socket, isJSON: invocation.has(.json), screen: screen, write: { output.append($0) })
            let code = try invocation.verb.run(invocation, session)
            return Outcome(output: output.text, code: code)
        } catch {
            return Outcome(output: output.text, failure: error)
        }
    }

    private final class TextBox: Sendable {
        private let box = Mutex("")
        var text: String { box.withLock { $0 } }
        func append(_ text: String) { box.withLock { $0 += text } }
    }

    /// The sample whose parameters are those of the call.
    private static let anySample: @Sendable (Call) -> SampleServer.Answer = { call in
        let answers = (Samples.full + Samples.minimal).filter { $0.method.name == call.name }.map { $0.answer(call) }
        return answers.first { if case .reply = $0 { true } else { false } } ?? .error(.invalidParameter("all"))
    }

    @Test(arguments: [
        (["emit", "poke", "--data", "41", "--payload", #"{"a":[1,null]}"#], "event 90210\n"),
        (["emit", "poke"], "event 90210\n"),
        (["run", "thumbnail"], "thumbnail: operation 5\n"),
        (["suspend", "images"], "queue/images is suspended\n"),
        (["resume", "images"], "queue/images goes on\n"),
        (["cancel", "4711"], "3 operations cancelled\n"),
        (["cancel", "images"], "3 operations cancelled\n"),
        (["reload"], "a.watch:1:1: warning: unused\n+ path/new\n~ queue/images\n- handler/old\n"),
        (["stop"], "watchd drains and stops\n"),
    ])
    func eachVerbCallsItsMethod(arguments: [String], output: String) throws {
        #expect(try run(arguments, answer: Self.anySample) == Outcome(output: output, code: .done))
    }

    @Test(arguments: [
        (["status"], "GetStatus"), (["sources"], "ListSources"), (["queues"], "ListQueues"),
        (["handlers"], "ListHandlers"), (["operations"], "ListOperations"), (["show", "4711"], "GetOperation"),
    ])
    func withJSONTheReplyIsPrinted(arguments: [String], method: String) throws {
        let outcome = try run(arguments + ["--json"]) { call in
            if case .reply(let reply) = Self.anySample(call), var members = reply.members {
                if call.name.hasPrefix("List") { members["next"] = nil }
                members["from_the_future"] = .bool(true)
                return .reply(.object(members))
            }
            return .error(.invalidParameter("all"))
        }
        #expect(outcome.code == .done)
        #expect(outcome.output.split(separator: "\n").count == 1)
        let printed = try JSON.decode(JSONValue.self, from: Array(outcome.output.utf8))
        #expect(printed.members?["from_the_future"] == .bool(true))
        let human = try run(arguments, answer: Self.anySample)
        #expect(human.output.split(separator: "\n").count > 1 || human.output.contains("There"))
    }

    @Test func jsonIsSafeForATerminal() throws {
        let outcome = try run(["resume", "x", "--json"]) { _ in
            .reply(Sample.json(SuspensionCount(name: "\u{1b}\u{9b}\u{7f}ä", suspended: 0)))
        }
        #expect(outcome.output == #"{"name":"\u001b\u009b\u007fä","suspended":0}"# + "\n")
    }

    @Test func allPagesOfAListAreOneReply() throws {
        let outcome = try run(["operations", "--json", "--queue", "q"]) { call in
            guard let parameters = try? call.parameters(as: ListOperations.Parameters.self) else { return .nothing }
            var operation = Samples.waitingOperation
            operation.id = (parameters.after ?? 0) + 1
            let reply = ListOperations.Reply(operations: [operation], next: operation.id < 5 ? operation.id : nil)
            return parameters.queue == "q" ? .reply(Sample.json(reply)) : .nothing
        }
        let reply = try JSON.decode(ListOperations.Reply.self, from: Array(outcome.output.utf8))
        #expect(reply.operations.map(\.id) == [1, 2, 3, 4, 5])
        #expect(reply.next == nil)
    }

    @Test func followPrintsUntilTheEnd() throws {
        let records = Samples.followed.dropFirst().map(Sample.json)
        let human = try run(["follow"]) { _ in .stream(records) }
        #expect(human.output.split(separator: "\n").count == records.count)
        let machine = try run(["follow", "--json", "--since", "7"]) { call in
            let since = try? call.parameters(as: Follow.Parameters.self).since
            return since == 7 ? .stream(records) : .nothing
        }
        let lines = try machine.output.split(separator: "\n").map {
            try JSON.decode(JSONValue.self, from: Array($0.utf8))
        }
        #expect(lines == records)
        #expect(machine.code == .done)
    }

    @Test func runTellsHowItEnded() throws {
        for (result, code) in [(OperationSummary.Result.done, ExitCode.done), (.failed, .failed), (.skipped, .failed)] {
            let reply = Run.Reply(operations: [5, 6], result: result, exitStatus: result == .failed ? 12 : nil)
            let outcome = try run(["run", "--wait", "x"]) { _ in .reply(Sample.json(reply)) }
            #expect(outcome.code == code)
            let end = [.done: "ok", .failed: "FAILED exit 12"][result] ?? result.rawValue
            #expect(outcome.output == "x: operations 5, 6: \(end)\n")
        }
    }

    @Test func relativePathsAreMadeAbsolute() throws {
        let outcome = try run(["run", "x", "/a", "b"]) { call in
            let paths = (try? call.parameters(as: Run.Parameters.self).paths) ?? []
            let isGood = paths.count == 2 && paths[0] == "/a" && paths[1].hasPrefix("/") && paths[1].hasSuffix("/b")
            return isGood ? .reply(Sample.json(Run.Reply(operations: [1]))) : .nothing
        }
        #expect(outcome.code == .done)
    }

    @Test func aSuspensionEndsAfterItsSpan() throws {
        let outcome = try run(["suspend", "images", "--for", "1h 12min", "--reason", "pg"]) { call in
            let parameters = try? call.parameters(as: Suspend.Parameters.self)
            let expected = Suspend.Parameters(name: "images", reason: "pg", until: "2026-11-20T11:00:02.000000Z")
            return parameters == expected
                ? .reply(Sample.json(SuspensionCount(name: "queue/images", suspended: 2))) : .nothing
        }
        #expect(outcome.output == "queue/images is suspended 2 times until 11:00\n")
        let never = try run(["suspend", "images", "--for", "infinity"], answer: Self.anySample)
        #expect(never.output == "queue/images is suspended\n")
    }

    @Test(arguments: [
        ["suspend", "x", "--for", "soon"], ["suspend", "x", "--for", "0"], ["suspend", "x", "--for", "20000y"],
        ["emit", "x", "--payload", "[1]"], ["emit", "x", "--payload", "{"], ["emit", "x", "--data", "1.5"],
        ["show", "x"], ["operations", "--state", "done"], ["follow", "--since", "x"], ["help", "me"],
    ])
    func valuesAreCheckedBeforeTheCall(arguments: [String]) throws {
        let outcome = try run(arguments, socket: "/nonexistent/socket")
        #expect(outcome.failure?.exitCode == .usage, "\(String(describing: outcome.failure))")
    }

    @Test(
        arguments: [
            (ErrorReply.permissionDenied, ExitCode.permissionDenied, "permission denied", "group watchd"),
            (.methodNotFound("x"), .failed, "this watchd cannot do it", "one version"),
            (.invalidParameter("until"), .failed, "watchd refuses the value of “until”", nil),
            (ErrorReply("a.b.New", ["x": .int(1)]), .failed, #"watchd answered a.b.New {"x":1}"#, "one version"),
            (ManagerError.noSuchName(name: "a", nearest: "b").reply, .failed, "there is no “a”", "did you mean “b”?"),
            (
                ManagerError.ambiguousName(name: "a", candidates: ["path/a", "queue/a"]).reply, .failed,
                "more than one", "path/a, queue/a"
            ),
            (ManagerError.noSuchOperation(id: 7).reply, .failed, "no operation 7", "watchctl operations"),
            (ManagerError.queueFull(queue: "q", backlog: 10).reply, .failed, "full (Backlog=10)", "--queue q"),
            (ManagerError.invalidWatchFile(diagnostics: ["x"]).reply, .badWatchFile, "nothing was changed", nil),
            (ManagerError.draining.reply, .failed, "is stopping", nil),
        ] as [(ErrorReply, ExitCode, String, String?)])
    func errorsSayWhatHappenedAndWhatHelps(error: ErrorReply, code: ExitCode, message: String, help: String?) throws {
        let failure = try #require(try run(["reload"]) { _ in .error(error) }.failure)
        #expect(failure.exitCode == code)
        #expect(failure.message.contains(message))
        #expect(help.map { failure.help?.contains($0) == true } ?? true)
    }

    @Test func aDaemonThatIsNotThereIsExplained() throws {
        let missing = try run(["status"], socket: "/nonexistent/socket").failure
        #expect(missing?.message == "watchd is not running (no socket at /nonexistent/socket)")
        #expect(missing?.help?.contains("systemctl start watchd") == true)
        #expect(missing?.exitCode == .unreachable)
        let mute = try run(["status"]) { _ in .nothing }.failure
        #expect(mute?.exitCode == .unreachable)
    }
}
