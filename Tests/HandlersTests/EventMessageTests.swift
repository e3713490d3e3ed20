import Engine
import ProgramKit
import Testing
import WatchFile

@testable import Handlers

@Suite("What a handler is told", .ownThread) struct EventMessageTests {
    private let origin = Origin.source(SourceID(.custom, "it"))

    private func object(_ fact: Fact) throws -> String {
        String(
            decoding: EventMessage.object(Event(id: 7, time: 1_000_000, fact: fact), origin: origin), as: UTF8.self)
    }

    private func expect(_ fact: Fact, _ members: String, kind: String, event: String) throws {
        let text = try object(fact)
        #expect(text.contains("\"kind\":\"\(kind)\""))
        #expect(text.contains("\"event\":\"\(event)\""))
        #expect(text.contains("\"time\":\"1970-01-01T00:00:01.000000Z\""), "\(text)")
        for member in members.split(separator: " ") { #expect(text.contains(member), "\(text)") }
    }

    @Test func everyKindHasItsFields() throws {
        try expect(
            .timer(scheduled: 0), "\"scheduled\":\"1970-01-01T00:00:00.000000Z\"", kind: "timer", event: "elapsed")
        try expect(
            .signal(SignalFact(number: 10, senderPID: 5, senderUID: 6, value: -1)),
            "\"signal\":\"SIGUSR1\" \"number\":10 \"sender_pid\":5 \"sender_uid\":6 \"value\":-1", kind: "signal",
            event: "received")
        try expect(
            .path(PathFact(.renamed, path: [0xFF], oldPath: Array("/a".utf8), hasReplaced: true)),
            "\"path\":\"\u{FFFD}\" \"path_base64\":\"/w==\" \"old_path\":\"/a\" \"replaced\":true", kind: "path",
            event: "renamed")
        try expect(
            .line(LineFact(Array("a\"\n\u{1}".utf8), isIncomplete: true, peer: "/p")),
            "\"line\":\"a\\\"\\n\\u0001\" \"incomplete\":true \"peer\":\"/p\"", kind: "descriptor", event: "line")
        try expect(
            .process(ProcessFact(pid: 5, exit: .signaled(9), runTime: 3)),
            "\"pid\":5 \"signal\":\"SIGKILL\" \"outcome\":\"SIGKILL\" \"run_usec\":3", kind: "process", event: "exit")
        try expect(
            .line(LineFact([], form: .connection, peer: "[::1]:5", captures: [], handover: 7)), "\"peer\":\"[::1]:5\"",
            kind: "descriptor", event: "connection")
        try expect(
            .line(LineFact(Array("a=b".utf8), captures: [[0x61], [0x62]])),
            "\"line\":\"a=b\" \"captures\":[\"a\",\"b\"]", kind: "descriptor", event: "line")
        try expect(
            .process(ProcessFact(.exec, pid: 5, executable: Array("/bin/sh".utf8))),
            "\"pid\":5 \"executable\":\"/bin/sh\"", kind: "process", event: "exec")
        try expect(
            .unit(UnitFact(unit: "a.service", change: .failed, result: "exit-code")),
            "\"unit\":\"a.service\" \"unit_state\":\"failed\" \"result\":\"exit-code\"", kind: "unit", event: "failed")
        try expect(
            .silence(SilenceFact(silent: 1_000_000)), "\"silent_usec\":1000000", kind: "silence", event: "silence")
        try expect(
            .custom(CustomFact(data: 3, payload: Array("{\"b\":1.50,\"a\":[]}".utf8))),
            "\"data\":3 \"payload\":{\"b\":1.50,\"a\":[]}", kind: "custom", event: "emitted")
        try expect(
            .group(GroupFact(ran: 3, failed: 1, cancelled: 0)), "\"ran\":3 \"failed\":1 \"cancelled\":0", kind: "group",
            event: "finished")
        let failure = GroupFact.Failure(handler: "h", operation: 4, reason: "exit 3")
        try expect(
            .group(GroupFact(ran: 1, failed: 1, failures: [failure])),
            "\"failures\":[{\"handler\":\"h\",\"of\":4,\"reason\":\"exit", kind: "group", event: "finished")
        var command = CommandFact(
            ["ls", "-l"].map { Array($0.utf8) }, environment: [.init(name: "SECRET", value: [1])], folder: [0x2F],
            user: .credentials(UserCredentials(user: 7, group: 8)))
        command.name = "list"
        try expect(
            .command(command), "\"command\":[\"ls\",\"-l\"] \"name\":\"list\" \"directory\":\"/\" \"user\":\"7\"",
            kind: "command", event: "submitted")
        #expect(try !object(.command(command)).contains("SECRET"))
        command.arguments.append([0xFF])
        try expect(
            .command(command), "\"command_base64\":[\"bHM=\",\"LWw=\",\"/w==\"]", kind: "command", event: "submitted")
        try expect(.finalizer, "\"source\":\"it\"", kind: "finalizer", event: "finished")
    }

    @Test(arguments: [CompletionFact.Outcome.success, .failure, .retry, .change, .finished, .late, .slow])
    func aCompletionIsToldUnderItsNameWithTheRunAndItsCause(_ outcome: CompletionFact.Outcome) throws {
        let fact = CompletionFact(
            outcome: outcome, operation: 4, result: .failed, reason: "late", exit: .exited(3),
            output: Array("why".utf8),
            cause: Event(id: 1, time: 0, fact: .group(GroupFact(ran: 2))), causeOrigin: .source(SourceID(.group, "g")))
        try expect(
            .completion(fact),
            "\"of\":4 \"result\":\"failed\" \"reason\":\"late\" \"exit_status\":3 \"output\":\"why\" \"ran\":2 \"source\":\"g\"",
            kind: "completion", event: outcome.rawValue)
    }

    @Test func theMessageIsOneLineWithEveryEvent() throws {
        let events = [1, 2].map { Event(id: $0, time: 0, fact: .line(LineFact(Array("x\ny".utf8)))) }
        let context = RunContext(
            handler: "h", queue: "q", operation: 9, attempt: 1, origin: origin, events: events)
        let line = EventMessage.line(context)
        #expect(line.count { $0 == 0x0A } == 1)
        #expect(line.last == 0x0A)
        let text = String(decoding: line, as: UTF8.self)
        #expect(
            text.hasPrefix(
                "{\"attempt\":1,\"handler\":\"h\",\"id\":9,\"queue\":\"q\",\"redelivered\":false,\"events\":[{"))
        #expect(text.contains("},{"))
    }

    @Test func whatCannotBeInTheEnvironmentIsAbsent() {
        let definition = HandlerDefinition(
            name: "h", action: .exec([]), environment: [EnvironmentVariable(name: "PATH", value: Array("/bin".utf8))])
        func variables(_ line: [UInt8], handover: UInt64? = nil) -> [String] {
            var fact = LineFact(line)
            fact.handover = handover
            let event = Event(id: 1, time: 0, fact: .line(fact))
            let context = RunContext(
                handler: "h", queue: "q", operation: 9, attempt: 1, origin: origin, events: [event])
            return ChildEnvironment.variables(context, definition, queue: [])
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(variables([]).contains("WATCHD_LINE="), "an empty line is a line")
        #expect(!variables([], handover: 1).contains { $0.hasPrefix("WATCHD_LINE") }, "a descriptor is none")
        #expect(variables(Array("x".utf8)).contains("WATCHD_LINE=x"))
        #expect(!variables([1, 0, 1]).contains { $0.hasPrefix("WATCHD_LINE=") })
        #expect(!variables(Array(repeating: 1, count: 100_001)).contains { $0.hasPrefix("WATCHD_LINE=") })
        #expect(variables([]).filter { $0.hasPrefix("PATH=") } == ["PATH=/bin"])
        #expect(!variables([]).contains { $0.hasPrefix("WATCHD_PATH=") })
    }

    @Test(arguments: [
        ("[::1]:80", ["WATCHD_PEER=[::1]:80", "REMOTE_ADDR=::1", "REMOTE_PORT=80"]),
        ("10.0.0.7:4711", ["WATCHD_PEER=10.0.0.7:4711", "REMOTE_ADDR=10.0.0.7", "REMOTE_PORT=4711"]),
        ("pid=1,uid=2,gid=3", ["REMOTE_PORT=0", "WATCHD_PEER=pid=1,uid=2,gid=3"]),
    ]) func aConnectionTellsWhoConnected(_ peer: String, _ wanted: [String]) {
        let definition = HandlerDefinition(
            name: "h", action: .exec([]),
            environment: [EnvironmentVariable(name: "REMOTE_PORT", value: Array("0".utf8))])
        let fact = LineFact([], form: .connection, peer: peer, handover: 1)
        let context = RunContext(
            handler: "h", queue: "q", operation: 9, attempt: 1, origin: origin,
            events: [Event(id: 1, time: 0, fact: .line(fact))])
        let variables = ChildEnvironment.variables(context, definition, queue: [])
            .map { String(decoding: $0, as: UTF8.self) }
        let told = variables.filter { $0.hasPrefix("WATCHD_PEER=") || $0.hasPrefix("REMOTE_") }
        #expect(told == wanted)
    }

    @Test func aProcessThatIsToBeFoundAgainKnowsItsInstanceAndPart() {
        let context = RunContext(
            handler: "h", queue: "q", operation: 9, attempt: 3, origin: origin,
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 5)))])
        func variables(_ instance: String) -> [String] {
            let definition = HandlerDefinition(name: "h", action: .exec([]))
            return ChildEnvironment.variables(context, definition, queue: [], part: 2, instance: instance)
                .map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(variables("i-1").contains("WATCHD_INSTANCE=i-1") && variables("i-1").contains("WATCHD_PART=2"))
        #expect(variables("i-1").count == variables("").count + 1 && variables("").contains("WATCHD_PART=2"))
    }

    @Test func aHandlersOwnVariableIsAboveThatOfItsQueueAndWatchdsAboveBoth() {
        func set(_ name: String, _ value: String) -> EnvironmentVariable {
            EnvironmentVariable(name: name, value: Array(value.utf8))
        }
        let definition = HandlerDefinition(name: "h", action: .exec([]), environment: [set("B", "handler")])
        let context = RunContext(
            handler: "h", queue: "q", operation: 9, attempt: 3, origin: origin,
            events: [Event(id: 1, time: 0, fact: .custom(CustomFact(data: 5)))])
        let variables = ChildEnvironment.variables(
            context, definition, queue: [set("A", "target"), set("B", "queue"), set("A", "queue"), set("PATH", "/q")]
        ).map { String(decoding: $0, as: UTF8.self) }
        #expect(variables.filter { $0.hasPrefix("A=") } == ["A=queue"])
        #expect(variables.filter { $0.hasPrefix("B=") } == ["B=handler"])
        #expect(variables.filter { $0.hasPrefix("PATH=") } == ["PATH=/q"])
        #expect(variables.contains("WATCHD_QUEUE=q") && variables.contains("WATCHD_ATTEMPT=3"))
    }
}
