import Testing
import WatchFile

@testable import Engine

@Suite("What a handler is told")
struct RunContextTests {
    private func context(_ facts: Fact..., origin: Origin = .source(SourceID(.path, "src"))) -> RunContext {
        let events = facts.enumerated().map { index, fact in
            Event(id: UInt64(index + 1), time: 1_800_000_000_123_456, count: index + 1, fact: fact)
        }
        return RunContext(handler: "h", queue: "q", operation: 7, attempt: 1, origin: origin, events: events)
    }

    private func text(_ context: RunContext, _ specifiers: Specifier...) -> [String] {
        specifiers.map { String(decoding: context.value($0), as: UTF8.self) }
    }

    private func path(_ path: String, from old: String? = nil) -> Fact {
        .path(PathFact(.written, path: Array(path.utf8), oldPath: old.map { Array($0.utf8) }, root: Array("/srv".utf8)))
    }

    @Test func ofTheOperation() {
        let context = context(path("/srv/a"), path("/srv/b"))
        #expect(
            text(context, .handler, .queue, .operation, .attempt, .count, .source, .kind, .event)
                == ["h", "q", "7", "1", "2", "src", "path", "written"])
    }

    @Test func scalarsAreThoseOfTheNewestEntry() {
        let context = context(path("/srv/a"), path("/srv/sub/b.txt", from: "/srv/c"))
        #expect(
            text(context, .path, .lastComponent, .relativePath, .folder, .oldPath)
                == ["/srv/sub/b.txt", "b.txt", "sub/b.txt", "/srv/sub", "/srv/c"])
        #expect(context.words == [Array("/srv/a".utf8), Array("/srv/sub/b.txt".utf8)])
    }

    @Test func ofAFileInTheRootFolderAndOfTheRootItself() {
        #expect(text(context(path("/a")), .folder, .lastComponent) == ["/", "a"])
        #expect(text(context(path("/srv")), .relativePath, .folder) == ["", "/"])
    }

    @Test func bytesAreNotChanged() {
        let bytes: [UInt8] = [47, 0xff, 10, 37, 0xc3]
        let context = context(.path(PathFact(.written, path: bytes)))
        #expect(context.value(.path) == bytes && context.value(.lastComponent) == Array(bytes.dropFirst()))
    }

    @Test func ofSignalsLinesProcessesAndData() {
        let signal = SignalFact(number: 36, senderPID: 5, senderUID: 0)
        #expect(text(context(.signal(signal)), .signal, .pid, .path) == ["SIGRTMIN+2", "5", ""])
        #expect(text(context(.line(LineFact([104, 105], peer: "me"))), .line, .peer, .event) == ["hi", "me", "line"])
        let exit = ProcessFact(pid: 9, exit: .signaled(9))
        #expect(text(context(.process(exit)), .pid, .signal, .exitStatus) == ["9", "SIGKILL", ""])
        #expect(text(context(.custom(CustomFact(data: -1))), .data, .kind) == ["-1", "custom"])
        #expect(text(context(.timer(scheduled: 0)), .scheduled) == ["1970-01-01T00:00:00.000000Z"])
    }

    @Test func ofUnitsEndsAndTheMachine() {
        let unit = UnitFact(unit: "a.service", change: .failed, result: "timeout")
        #expect(text(context(.unit(unit)), .unit, .unitState, .result) == ["a.service", "failed", "timeout"])
        #expect(text(context(.process(ProcessFact(pid: 9, exit: .exited(3)))), .outcome) == ["exit 3"])
        #expect(text(context(.process(ProcessFact(.exec, pid: 9))), .outcome, .ofHandler) == ["", ""])
        var named = context(path("/srv/a"))
        named.host = Array("router".utf8)
        #expect(text(named, .host, .unit) == ["router", ""])
    }

    private static let endings: [(result: Result, reason: String?, exit: Exit?, outcome: String)] = [
        (.done, nil, .exited(0), "done"), (.failed, nil, .exited(3), "exit 3"),
        (.failed, "timed out after 1min 30s, killed", .signaled(9), "timed out after 1min 30s"),
        (.failed, "/x: no such file", nil, "/x: no such file"),
        (.stopped, "ended because watchd stopped", .signaled(15), "stopped"),
        (.cancelled, "by hand", nil, "cancelled"),
    ]

    @Test(arguments: endings) func aCompletionTellsWhichHandlerEndedAndHow(
        _ result: Result, _ reason: String?, _ exit: Exit?, _ outcome: String
    ) {
        let fact = CompletionFact(
            outcome: .finished, operation: 4, result: result, reason: reason, exit: exit, output: [],
            cause: Event(id: 1, time: 0, fact: path("/srv/a")), causeOrigin: .source(SourceID(.path, "src")))
        let context = context(.completion(fact), origin: .completion(handler: "backup"))
        #expect(text(context, .ofHandler, .outcome, .path, .handler) == ["backup", outcome, "/srv/a", "h"])
    }

    @Test func aCompletionTellsOfItsCauseAllTheWayDown() {
        func completion(of cause: Fact, from origin: Origin, _ result: Result, _ exit: Exit) -> Fact {
            let event = Event(id: 1, time: 0, fact: cause)
            return .completion(
                CompletionFact(
                    outcome: .finished, operation: 1, result: result, exit: exit, output: [], cause: event,
                    causeOrigin: origin))
        }
        let inner = completion(of: path("/srv/a"), from: .source(SourceID(.path, "uploads")), .failed, .exited(3))
        let outer = completion(of: inner, from: .completion(handler: "first"), .done, .exited(0))
        let context = context(outer, origin: .completion(handler: "second"))
        #expect(
            text(context, .result, .exitStatus, .path, .source, .kind, .event)
                == ["done", "0", "/srv/a", "uploads", "completion", "finished"])
        #expect(context.words == [Array("/srv/a".utf8)])
    }
}
