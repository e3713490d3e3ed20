import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing

/// `TRACEPARENT` from a client through handlers to the history.
@Suite("Traces, end to end", .ownThread) struct TraceTests {
    private static let text = """
        [Queue kept]
        Durable=yes
        [Custom poke]
        Handler=first
        Queue=kept
        [Handler first]
        Exec=/bin/sh -c 'echo $TRACEPARENT'
        OnSuccess=second
        Environment=TRACEPARENT=mine
        [Handler second]
        Emit=more
        [Custom more]
        Exec=/bin/sh -c 'echo $TRACEPARENT'
        OnFinished=lines
        [Handler lines]
        Stream=/bin/sh -c 'while read line; do echo "$line"; done >>@/lines'
        [Handler chained]
        Exec=\(watchctl) --socket @/socket emit more

        """
    private static let watchctl = (try? Products.path("watchctl")) ?? "watchctl"
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let header = "00-\(trace)-00f067aa0ba902b7-00"

    private func control(_ watchd: Watchd, _ words: String..., traceparent: String) throws -> Finished {
        try Program.run(
            [Self.watchctl, "--socket", watchd.socket] + words,
            environment: Program.environment + ["TRACEPARENT=\(traceparent)"], folder: "/")
    }

    private func parent(_ operation: OperationDetail) throws -> [Substring] {
        let text = try #require(operation.output).split(separator: "\n").last ?? ""
        let fields = text.split(separator: "-")
        try #require(fields.count == 4 && fields[0] == "00", "\(text)")
        return fields
    }

    @Test func aClientsTraceReachesEveryRunThatFollows() throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            #expect(try control(lives.watchd, "emit", "poke", traceparent: Self.header).code == 0)
            try wait(for: "the line") { !folder.lines("lines").isEmpty }
            try lives.watchd.waitUntilIdle()
            let ended = try ["first", "second", "more", "lines"].map { try #require(try lives.watchd.ended($0).first) }
            #expect(ended.map(\.traceID) == Array(repeating: Self.trace, count: 4))
            #expect(Set(ended.map(\.spanID)).count == 4 && ended.allSatisfy { $0.spanID?.count == 16 })
            // Each is a child of the one before.
            #expect(ended.map(\.parentSpanID) == ["00f067aa0ba902b7"] + ended.dropLast().map(\.spanID))
            for index in [0, 2] {
                let fields = try parent(lives.watchd.operation(ended[index].id))
                #expect(fields[1...] == [Self.trace[...], ended[index].spanID?[...] ?? "", "00"])
            }
            let line = try JSON.decode([String: JSONValue].self, from: Array(folder.lines("lines")[0].utf8))
            #expect(line["traceparent"]?.string == "00-\(Self.trace)-\(ended[3].spanID ?? "")-00")
            let shown = try control(lives.watchd, "show", "\(ended[0].id)", traceparent: "").text
            #expect(shown.contains("\(Self.trace)-\(ended[0].spanID ?? "?")"), "\(shown)")
            // The history knows it, too.
            lives.stop()
            try lives.start()
            for operation in ended {
                let after = try lives.watchd.operation(operation.id)
                #expect(after.summary.traceID == Self.trace && after.summary.parentSpanID == operation.parentSpanID)
                #expect(after.runs.map(\.spanID) == [operation.spanID])
            }
        }
    }

    @Test(arguments: ["", "00-\(trace)-0000000000000000-01", "00-\(trace)", String(repeating: "0", count: 5000)])
    func whatIsNoParentIsPassedOver(_ header: String) throws {
        try Watchd.run(Self.text) { watchd in
            #expect(try control(watchd, "run", "first", traceparent: header).code == 0)
            try watchd.waitForEnded(1, of: "lines")
            let first = try #require(try watchd.ended("first").first)
            let fields = try parent(watchd.operation(first.id))
            #expect(fields[1].count == 32 && fields[1] != Self.trace && first.parentSpanID == nil)
            #expect(try watchd.ended("lines").map(\.traceID) == [first.traceID])
        }
    }

    @Test func aHandlerThatCallsWatchctlAndACommandAndAPlannedCallAreParts() throws {
        try Watchd.run(Self.text) { watchd in
            for words in [["run", "chained"], ["run", "first", "--in", "100ms"]] {
                let end = try Program.run(
                    [Self.watchctl, "--socket", watchd.socket] + words,
                    environment: Program.environment + ["TRACEPARENT=\(Self.header)"], folder: "/")
                #expect(end.code == 0, "\(end)")
            }
            let end = try control(
                watchd, "run", "--queue", "main", "--wait", "--", "sh", "-c", "echo $TRACEPARENT",
                traceparent: Self.header)
            #expect(end.text.hasPrefix("00-\(Self.trace)-") && !end.text.contains("00f067aa0ba902b7"), "\(end)")
            try watchd.waitForEnded(2, of: "more")
            try watchd.waitUntilIdle()
            let all = try watchd.ended()
            #expect(all.allSatisfy { $0.traceID == Self.trace }, "\(all.map { ($0.handler, $0.traceID ?? "") })")
            let chained = try #require(all.first { $0.handler == "chained" })
            #expect(all.contains { $0.handler == "more" && $0.parentSpanID == chained.spanID })
        }
    }
}
