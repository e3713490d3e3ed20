import ControlInterface
import ControlKit
import JSON
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import Varlink

@testable import ControlClient

@Suite("Verbs")
struct VerbTests: VerbTesting {
    @Test(arguments: [
        (
            ["priority", "4711", "high"],
            "operation 4711 has priority high; not stored yet: no; after a crash it has its former one\n"
        ),
        (["emit", "poke"], "event 90210\n"),
        (["run", "thumbnail"], "thumbnail: operation 5\n"),
        (["suspend", "images"], "queue/images is suspended\n"),
        (
            ["drain", "images", "--reason", "a disk", "--timeout", "5s"],
            "1 queue drained and suspended; 3 operations left where it was suspended before\nwatchctl resume queue/images\n"
        ),
        (["drain"], "1 queue drained and suspended\nwatchctl resume queue/images\n"),
        (
            ["resume", "images"],
            "queue/images goes on; not stored yet: no space left on device; after a crash it is suspended as before\n"
        ),
        (["signal", "archive", "2"], "archive: 2 free\n"), (["signal", "archive"], "archive: 2 free\n"),
        (["group", "enter", "deploy", "--pid", "4242"], "17\n"),
        (["group", "leave", "deploy", "17"], "left deploy\n"),
        (["wait", "images"], "images: nothing waits or runs\n"),
        (
            ["cancel", "4711"],
            "3 operations cancelled; not stored yet: no space left on device; after a crash it may come back\n"
        ),
        (["cancel", "images"], "3 operations cancelled\n"),
        (
            ["reload"],
            "a.watch:1:1: warning: unused\n! queue/old still has 3 operations\n+ path/new\n~ queue/images\n- handler/old\n"
        ),
        (["retry", "4711"], "4711 runs again as 4713\n"), (["retry", "backup"], "4711 runs again as 4713\n"),
        (["forget", "4711"], "1 failure of 4711 forgotten\n"),
        (["forget", "backup"], "1 failure of backup forgotten\n"),
        (["stop"], "watchd drains and stops\n"),
    ])
    func eachVerbCallsItsMethod(arguments: [String], output: String) throws {
        let code = output.contains("exit 3") ? ExitCode(rawValue: 3) : .done
        #expect(try run(arguments, answer: Self.anySample) == VerbOutcome(output: output, code: code))
    }

    @Test(arguments: [
        (["status"], "GetStatus"), (["sources"], "ListSources"), (["queues"], "ListQueues"),
        (["handlers"], "ListHandlers"), (["semaphores"], "ListSemaphores"), (["explain", "4711"], "Explain"),
        (["operations"], "ListOperations"), (["show", "4711"], "GetOperation"),
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

    @Test func timersAreAllThatIsListed() throws {
        var timer = Samples.plainSource
        (timer.name, timer.kind, timer.handlers) = ("timer/report", "timer", ["report"])
        let all = ListSources.Reply(sources: [Samples.source, timer])
        let answer: @Sendable (Call) -> SampleServer.Answer = { call in
            let name = (try? call.parameters(as: NamedListParameters.self))?.name
            return name == nil || name == "timer/report" ? .reply(Sample.json(all)) : .nothing
        }
        let json = try run(["timers", "--json"], answer: answer)
        let reply = try JSON.decode(ListSources.Reply.self, from: Array(json.output.utf8))
        #expect(reply == ListSources.Reply(sources: [timer]))
        #expect(try run(["timers", "report"], answer: answer).output.split(separator: "\n").count == 2)
        #expect(try run(["timers", "path/uploads"], answer: answer).failure?.exitCode == .usage)
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
        #expect(human.output.split(separator: "\n").count == records.count + 1, "one has two lines")
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
        for (result, code) in [
            (OperationSummary.Result.done, ExitCode.done), (.failed, .init(rawValue: 12)), (.skipped, .failed),
        ] {
            let reply = Run.Reply(operations: [5, 6], result: result, exitStatus: result == .failed ? 12 : nil)
            var detail = Samples.detail
            (detail.output, detail.outputBase64) = ("said\n", nil)
            detail.summary.foundAgain = result == .skipped ? true : nil
            let shown = Sample.json(GetOperation.Reply(operation: detail))
            let outcome = try run(["run", "--wait", "x"]) {
                $0.name == "Run" ? .reply(Sample.json(reply)) : .reply(shown)
            }
            #expect(outcome.code == code)
            #expect(outcome.output == "said\nsaid\n")
            let end = [.done: "done", .failed: "FAILED exit 12"][result] ?? result.rawValue
            let lacks = "watchctl: \(RunText.lacksBeginning)\n"
            let before = result == .skipped ? lacks + lacks : ""
            #expect(outcome.remarks == before + "x: operations 5, 6: \(end)\n")
        }
    }

    @Test func waitEndsAsTheOperationEnded() throws {
        for (result, code) in [
            (OperationSummary.Result.done, ExitCode.done), (.failed, .failed), (.cancelled, .failed),
        ] {
            let outcome = try run(["wait", "4601", "--timeout", "1min 30s"]) { call in
                var operation = Samples.yesterdaysOperation
                operation.result = result
                let isAskedFor =
                    (try? call.parameters(as: Wait.Parameters.self)) == .init(id: 4601, timeoutUsec: 90_000_000)
                return isAskedFor ? .reply(Sample.json(Wait.Reply(operation: operation))) : .nothing
            }
            #expect(outcome.code == code)
            #expect(
                outcome.output.hasPrefix(
                    "ingest 4601: \(result == .done ? "done" : result == .failed ? "FAILED" : "cancelled")"))
        }
        let endless = try run(["wait", "images", "--timeout", "infinity"], answer: Self.anySample)
        #expect(endless.code == .done)
    }

    @Test func whatIsNotForTheCallerIsNoSuccess() throws {
        let failure = try run(["output", "4711"]) { _ in .error(.permissionDenied) }.failure
        #expect(failure?.exitCode == .permissionDenied)
    }

    @Test func aPlanCountsWhatIsKeptAndNamesItWhenAsked() throws {
        let reply = Reload.Reply(
            added: ["queue/new"], changed: [], removed: [], kept: (1...40).map { "path/p\($0)" }, warnings: [])
        let short = try run(["reload", "--plan"]) { _ in .reply(Sample.json(reply)) }
        #expect(short.output == "+ queue/new\na reload would change this: 1 added, 0 changed, 0 removed, 40 kept\n")
        let long = try run(["reload", "--plan", "--verbose"]) { _ in .reply(Sample.json(reply)) }
        #expect(long.output.split(separator: "\n").count == 42)
        let machine = try run(["reload", "--plan", "--json"]) { _ in .reply(Sample.json(reply)) }
        #expect(machine.output.contains("path/p40"))
    }

    @Test func aPlanOfWhatCannotBeReadIsRefused() throws {
        let missing = try run(["reload", "--plan", "/nowhere/new.watch"], answer: Self.anySample)
        #expect(missing.failure?.exitCode == .failed)
        #expect(missing.failure?.details.joined().contains("/nowhere/new.watch") == true)
    }

    @Test func aDeadlockIsToldLinkByLink() throws {
        let chain = ["operation 5 waits for its turn on main", "main runs operation 4", "operation 4 waits for 5"]
        let outcome = try run(["run", "--wait", "x"]) { _ in .error(ManagerError.wouldDeadlock(chain: chain).reply) }
        #expect(outcome.failure?.details == chain)
        #expect(outcome.failure?.exitCode == .failed)
    }

    @Test func aTicketLastsAsLongAsTheCallerUnlessToldOtherwise() throws {
        let parent = Int(Linux.parentProcessID)
        let outcome = try run(["group", "enter", "deploy"]) { call in
            let pid = (try? call.parameters(as: EnterGroup.Parameters.self))?.pid
            return pid == parent ? .reply(Sample.json(EnterGroup.Reply(ticket: 3))) : .nothing
        }
        #expect(outcome.output == "3\n")
    }

    @Test func aCallerThatHasEndedIsNoEndOfATicket() throws {
        let outcome = try run(["group", "enter", "deploy"]) { _ in
            .error(ManagerError.noSuchProcess(pid: 77).reply)
        }
        #expect(outcome.failure?.message == "there is no process 77")
        #expect(outcome.failure?.exitCode == .failed)
        #expect(Verb.group.helpText().contains("--pid $$"))
    }

    @Test(arguments: [[], ["--wait"]])
    func aRunThatStartsNothingFailsAndSaysWhy(options: [String]) throws {
        let reply = Run.Reply(operations: [], result: .skipped, reason: "Overlap=skip: operation 4 has not ended")
        let outcome = try run(["run", "sk"] + options) { _ in .reply(Sample.json(reply)) }
        let said = options.isEmpty ? \VerbOutcome.output : \.remarks
        #expect(outcome[keyPath: said] == "sk: skipped, Overlap=skip: operation 4 has not ended\n")
        #expect(outcome.code == .failed)
        let nothing = try run(["run", "sk"] + options) { _ in .reply(Sample.json(Run.Reply(operations: []))) }
        #expect(nothing[keyPath: said] == "sk: nothing was started\n")
        #expect(nothing.code == .failed)
    }

    @Test(
        arguments: [
            // The daemon has a time of its own to say that it is over.
            (["wait", "images", "--timeout", "20ms"], "Wait", "50ms"),
            (["run", "x", "--wait", "--timeout", "20ms"], "Run", "20ms"),
            (["emit", "x", "--timeout", "20ms"], "Emit", "20ms"),
            (["sources", "--timeout", "20ms"], "ListSources", "20ms"),
            (["follow", "--timeout", "20ms"], "Follow", "20ms"), (["sources"], "ListSources", "30ms"),
        ])
    func itGivesUpOnADaemonThatDoesNotAnswer(words: [String], awaited: String, span: String) throws {
        try withTemporaryFolder { folder in
            let path = folder + "/socket"
            let listener = try Linux.socket(for: .unix(path.pathBytes), .stream)
            try Linux.bind(listener.rawValue, .unix(path.pathBytes))
            try Linux.listen(listener.rawValue)
            let outcome = try run(words, socket: path, patience: 30)
            listener.close()
            #expect(outcome.failure?.message == "watchd at \(path) has not answered \(awaited) for \(span)")
            #expect(outcome.failure?.exitCode == .unreachable)
        }
    }

    /// A wait that was looked at in between is told as a whole.
    @Test func theSpanThatIsToldIsThatOfTheCommandLine() throws {
        try withTemporaryFolder { folder in
            let path = folder + "/socket"
            let listener = try Linux.socket(for: .unix(path.pathBytes), .stream)
            try Linux.bind(listener.rawValue, .unix(path.pathBytes))
            try Linux.listen(listener.rawValue)
            let outcome = try run(["emit", "x", "--timeout", "1100ms"], socket: path)
            listener.close()
            #expect(outcome.failure?.message == "watchd at \(path) has not answered Emit for 1s")
            #expect(outcome.remarks.contains("watchd does not answer; waiting"), "\(outcome.remarks)")
        }
    }

    @Test func aTimeoutIsASpanThatIsNotNothing() throws {
        #expect(
            try run(["status", "--timeout", "0"], socket: "/").failure == .usage("--timeout takes a span longer than 0")
        )
        #expect(try run(["status", "--timeout", "x"], socket: "/").failure?.exitCode == .usage)
    }

    @Test(
        arguments: [
            (0, 1000, nil, true), (1000, 1000, nil, true), (1001, 1000, nil, false), (1001, 1000, 1001, true),
            (1001, 0, nil, false), (1001, 0, 1000, false),
        ] as [(UInt32, UInt32, UInt32?, Bool)])
    func onlyRootAndTheOwnUserAreTrusted(listener: UInt32, user: UInt32, owner: UInt32?, isTrusted: Bool) {
        #expect(Session.trusts(listener, user: user, folderOwner: owner) == isTrusted)
    }

    @Test(
        arguments: [
            (0, 0, true, nil), (990, 0, true, nil), (0, 1000, true, "of the system"), (1000, 1000, false, nil),
            (1001, 1000, false, "of user 1001"), (0, 1000, false, "of root"), (1000, 0, false, "of user 1000"),
            (0, 0, false, nil),
        ] as [(UInt32, UInt32, Bool, String?)])
    func theHeaderSaysWhoseWatchdAnswers(listener: UInt32, user: UInt32, isSystem: Bool, owner: String?) throws {
        #expect(Session.owner(listener, user: user, isSystem: isSystem) == owner)
        let screen = Screen(width: 100, isColoured: false, now: try Timestamp(parsing: Samples.now), local: .utc)
        let lines = StatusScreen(status: Samples.status, screen: screen, owner: owner).lines
        let head = "watchd 1.0\(owner.map { " \($0)" } ?? "") on db1"
        #expect(lines.first?.rendered(coloured: false).hasPrefix(head) == true)
    }

    @Test func verbsThatChangeSomethingAreMarked() {
        let changing = [
            "emit", "run", "signal", "acquire", "group", "suspend", "resume", "drain", "priority",
            "cancel", "retry", "forget",
            "reload", "start",
            "stop", "restart",
        ]
        #expect(Verb.all.filter(\.changes).map(\.name) == changing)
    }

    @Test func whatATerminalActsOnIsEscapedInJSON() throws {
        let reply = Run.Reply(operations: [], result: .skipped, reason: "a\u{202e}b\u{2028}c\u{9b}d\u{e0041}e\u{1F600}")
        let outcome = try run(["run", "x", "--json"]) { _ in .reply(Sample.json(reply)) }
        #expect(outcome.output.contains(#""reason":"a\u202eb\u2028c\u009bd\udb40\udc41e😀""#), "\(outcome)")
    }

    @Test func whoEmitsAndWaitsEndsAsItEnds() throws {
        let words = ["emit", "poke", "--data", "41", "--payload", #"{"a":[1,null]}"#, "--wait"]
        let outcome = try run(words) { call in
            let parameters = try? call.parameters(as: Emit.Parameters.self)
            let expected = Emit.Parameters(name: "poke", data: 41, payload: Samples.payload, wait: true)
            let reply = Emit.Reply(event: 90_210, operation: 4711, result: .failed, exitStatus: 3, reason: "no")
            return parameters == expected ? .reply(Sample.json(reply)) : .nothing
        }
        #expect(outcome.output.hasPrefix("event 90210, operation 4711: FAILED exit 3"), "\(outcome)")
        #expect(outcome.code == ExitCode(rawValue: 3))
    }

    @Test func whatHasATimeIsAskedForThen() throws {
        let outcome = try run(["run", "x", "--in", "2h"]) { call in
            let parameters = try? call.parameters(as: Run.Parameters.self)
            return parameters == Run.Parameters(name: "x", inUsec: 7_200_000_000)
                ? .reply(Sample.json(Run.Reply(operations: [7]))) : .nothing
        }
        #expect(outcome.output.hasPrefix("operation 7: run x, ") && outcome.code == .done, "\(outcome)")
        let event = try run(["emit", "x", "--at", "2100-01-01 08:00"]) { call in
            let parameters = try? call.parameters(as: Emit.Parameters.self)
            return parameters == Emit.Parameters(name: "x", at: "2100-01-01T08:00:00.000000Z")
                ? .reply(Sample.json(Emit.Reply(event: 0, operation: 8))) : .nothing
        }
        #expect(event.output.hasPrefix("operation 8: emit x, "), "\(event)")
    }

    @Test func aRunBringsLinesOrANumber() throws {
        let lines = try run(["run", "x", "--line", "a b", "--line", ""]) { call in
            let parameters = try? call.parameters(as: Run.Parameters.self)
            return parameters == Run.Parameters(name: "x", lines: ["a b", ""])
                ? .reply(Sample.json(Run.Reply(operations: [1]))) : .nothing
        }
        let number = try run(["run", "x", "--data", "-5"]) { call in
            let parameters = try? call.parameters(as: Run.Parameters.self)
            return parameters == Run.Parameters(name: "x", data: -5)
                ? .reply(Sample.json(Run.Reply(operations: [1]))) : .nothing
        }
        #expect(lines.code == .done && number.code == .done)
    }

    @Test func relativePathsAreMadeAbsolute() throws {
        let outcome = try run(["run", "x", "/a", "b"]) { call in
            let paths = (try? call.parameters(as: Run.Parameters.self).paths) ?? []
            let isGood = paths.count == 2 && paths[0] == "/a" && paths[1].hasPrefix("/") && paths[1].hasSuffix("/b")
            return isGood ? .reply(Sample.json(Run.Reply(operations: [1]))) : .nothing
        }
        #expect(outcome.code == .done)
    }

    @Test(
        arguments: [
            (
                #"{"id":18446744073709551615}"#,
                "“id” is 18446744073709551615, and whole numbers have 64 bits with their sign: write it as a string"
            ), (#"{"a":1,"a":2}"#, "it has “a” twice"),
            (#"{"y":1e400}"#, "“y” is 1e400, which no number of 64 bits comes near: write it as a string"),
            (#"{"s":"\ud800"}"#, #"“s” has \ud800, which is half of a character"#),
        ])
    func aPayloadThatCannotBeKeptIsRefused(payload: String, reason: String) throws {
        let outcome = try run(["emit", "x", "--payload", payload], answer: Self.anySample)
        #expect(outcome.failure?.message == "--payload cannot be kept as it is written: \(reason)")
        #expect(outcome.failure?.exitCode == .usage)
    }

    @Test func anEventThatIsNoneIsSaidToBeNone() throws {
        let outcome = try run(["emit", "poke", "--data", "0"]) { _ in .reply(Sample.json(Emit.Reply(event: 0))) }
        #expect(outcome.output == "no event: data 0 is none\n")
        #expect(outcome.code == .done)
    }

    @Test func aNearEndOfASuspensionHasItsSeconds() throws {
        let outcome = try run(["suspend", "images", "--for", "20s"]) { _ in
            .reply(Sample.json(SuspensionCount(name: "queue/images", suspended: 1)))
        }
        #expect(outcome.output == "queue/images is suspended until 09:48:22\n")
    }

    @Test func aSuspensionEndsAfterItsSpan() throws {
        let outcome = try run(["suspend", "images", "--for", "1h 12min", "--reason", "pg"]) { call in
            let parameters = try? call.parameters(as: Suspend.Parameters.self)
            let expected = Suspend.Parameters(name: "images", reason: "pg", until: "2026-11-20T11:00:02.000000Z")
            return parameters == expected
                ? .reply(Sample.json(SuspensionCount(name: "queue/images", suspended: 2))) : .nothing
        }
        #expect(outcome.output == "queue/images is suspended 2 times until 11:00\n")
        let waiting = try run(["suspend", "images", "--wait", "--timeout", "5s"]) { call in
            let parameters = try? call.parameters(as: Suspend.Parameters.self)
            return parameters == Suspend.Parameters(name: "images", wait: true, timeoutUsec: 5_000_000)
                ? .reply(Sample.json(SuspensionCount(name: "queue/images", suspended: 1))) : .nothing
        }
        #expect(waiting.output == "queue/images is suspended\n")
        let never = try run(["suspend", "images", "--for", "infinity"], answer: Self.anySample)
        #expect(never.output == "queue/images is suspended\n")
    }

    @Test(arguments: [
        ["suspend", "x", "--for", "soon"], ["suspend", "x", "--for", "0"], ["suspend", "x", "--for", "20000y"],
        ["emit", "x", "--payload", "[1]"], ["emit", "x", "--payload", "{"], ["emit", "x", "--data", "1.5"],
        ["signal", "x", "0"], ["signal", "x", "much"], ["signal", "x", "1000000001"],
        ["wait", "x", "--timeout", "soon"],
        ["priority", "x", "high"], ["priority", "1", "highest"], ["run", "x", "--data", "1", "--line", "a"],
        ["run", "--queue", "q", "--line", "a", "true"],
        ["drain", "x", "y"], ["drain", "--timeout", "soon"], ["acquire", "x"], ["acquire", "x:0", "true"],
        ["acquire", "x:y", "true"],
        ["group", "enter"],
        ["group", "join", "x"], ["group", "leave", "x"], ["group", "leave", "x", "y"], ["group", "run", "x"],
        ["group", "enter", "x", "--pid", "me"], ["group", "leave", "x", "1", "--pid", "1"],
        ["history", "--since", "soon"], ["history", "-n", "0"], ["history", "-n", "x"],
        ["history", "--until", "25:00"],
        ["output", "-f", "--json", "x"], ["reload", "a.watch"],
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
                ManagerError.noSuchName(
                    name: "a", nearest: nil, kinds: ["queue", "group", "operation"], others: ["handler/a"]
                ).reply,
                .failed, "“a” is a handler; this takes a queue, a group or the id of an operation",
                "watchctl operations --handler a shows the ids"
            ),
            (
                ManagerError.noSuchName(name: "a", nearest: nil, kinds: ["queue", "group"], others: ["path/a"])
                    .reply,
                .failed, "there is no queue or group “a”", "of that name there is path/a"
            ),
            (
                ManagerError.noSuchName(name: "a", nearest: nil, kinds: ["queue"], others: ["queue/a"]).reply,
                .failed, "queue/a is in no watch file any more, and goes when its operations have ended", nil
            ),
            (.invalidParameter("count"), .failed, "“count”", "from 1 to 1000000000"),
            (
                ManagerError.ambiguousName(name: "a", candidates: ["path/a", "queue/a"]).reply, .failed,
                "more than one", "path/a, queue/a"
            ),
            (ManagerError.noSuchOperation(id: 7).reply, .failed, "no operation 7", "watchctl operations"),
            (
                ManagerError.hasEnded(id: 7, result: "done", ended: "2026-11-20T09:48:02Z").reply, .failed,
                "operation 7 has ended: done, 09:48:02, now", "watchctl show 7"
            ),
            (ManagerError.notFailed(id: 7, state: "done").reply, .failed, "7 has not failed: done", "watchctl failed"),
            (ManagerError.notFailed(id: 7, state: "executing").reply, .failed, "7 has not ended", "cancel 7"),
            (
                ManagerError.notFailed(id: 7, state: "retried", successor: 9).reply, .failed, "already, as operation 9",
                "show 9"
            ),
            (
                ManagerError.notFailed(id: 7, state: "forgotten").reply, .failed,
                "was forgotten or tried again already", "watchctl failed"
            ),
            (ManagerError.storeFailing(reason: "disk full").reply, .failed, "now: disk full", "by itself"),
            (ManagerError.queueFull(queue: "q", backlog: 10).reply, .failed, "full (Backlog=10)", "--queue q"),
            (ManagerError.invalidWatchFile(diagnostics: ["x"]).reply, .badWatchFile, "nothing was changed", nil),
            (ManagerError.noSuchTicket(group: "group/g", ticket: 3).reply, .failed, "group/g with ticket 3", "ended"),
            (
                ManagerError.noSuchTicket(group: "group/g", ticket: 3, isEarlier: true).reply, .failed,
                "group/g with ticket 3", "never gave it out"
            ),
            (ManagerError.noSuchProcess(pid: 77).reply, .failed, "no process 77", nil),
            (ManagerError.tooManyTickets(limit: 512).reply, .failed, "512 clients", "status"),
            (
                ManagerError.timedOut(what: "images", state: "3 wait").reply, .failed,
                "timed out waiting for images: 3 wait", "explain images"
            ),
            (ManagerError.wouldDeadlock(chain: ["a"]).reply, .failed, "refused", "another queue"),
            (ManagerError.draining.reply, .failed, "is stopping", nil),
            (ManagerError.refused(reason: "a NUL").reply, .failed, "a NUL", nil),
            (ManagerError.notPermitted(reason: "only root").reply, .permissionDenied, "only root", nil),
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
