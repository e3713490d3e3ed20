import ControlInterface
import ControlKit
import JSON
import Schedule
import Synchronization
import Testing
import Varlink

@testable import ControlClient

@Suite("History")
struct HistoryTests: VerbTesting {
    private func screen(_ width: Int = 100) throws -> Screen {
        Screen(width: width, isColoured: false, now: try Timestamp(parsing: Samples.now), local: .utc)
    }

    private static func operation(
        _ id: Int, _ handler: String, _ result: OperationSummary.Result, at ended: String, source: String? = nil,
        cause: String, took: Int? = 1_000_000, attempt: Int = 1
    ) -> OperationSummary {
        var operation = OperationSummary(
            id: id, handler: handler, queue: "default", source: source, state: .finished, entries: 1, deliveries: 1,
            cause: cause, submitted: ended, attempt: attempt)
        operation.result = result
        operation.ended = ended
        operation.tookUsec = took
        return operation
    }

    @Test func runsByHandThatShareALineSaySo() throws {
        func shown(byHand: [Bool]) throws -> String {
            try text(
                byHand.enumerated().map { index, isByHand in
                    var operation = Self.operation(
                        9 - index, "long", .done, at: "2026-11-20T09:41:0\(9 - index).000000Z", source: "timer/long",
                        cause: "timer/long")
                    operation.byHand = isByHand ? true : nil
                    return operation
                }, width: 120)
        }
        #expect(try shown(byHand: [true, true]).contains("  timer/long, run by hand  (--all: each)\n"))
        #expect(
            try shown(byHand: [true, false, false]).contains("  timer/long, 3 events, 1 run by hand  (--all: each)\n"))
        #expect(try shown(byHand: [false, false]).contains("  timer/long, 2 events  (--all: each)\n"))
    }

    @Test func aCancelledCommandIsToldWithItsReason() throws {
        var operation = Self.operation(
            9, Submit.handlerName, .cancelled, at: "2026-11-20T09:41:00.000000Z", cause: "rsync -a /home backup:")
        operation.reason = "cancelled while it ran"
        #expect(try text([operation], width: 140).contains("  rsync -a /home backup:, cancelled while it ran\n"))
    }

    /// The example of the documentation.
    private static let operations: [OperationSummary] = {
        var operations = (0..<11).map { index in
            operation(
                4791 - index, "uploads", .done, at: "2026-11-20T09:41:\(String(20 - index)).000000Z",
                source: "path/uploads", cause: "/srv/uploads/\(index).jpg", took: 200_000)
        }
        var backup = operation(
            4711, "backup", .failed, at: "2026-11-20T02:32:30.570000Z", source: "timer/nightly",
            cause: "timer/nightly 02:30", took: 41_000_000, attempt: 3)
        (backup.exitStatus, backup.reason, backup.successor) = (12, "connection refused", 4713)
        var report = operation(
            4655, "report", .skipped, at: "2026-11-19T23:10:00.000000Z", cause: "timer/report", took: nil, attempt: 0)
        report.reason = "Overlap=skip: operation 4641 has not ended"
        var build = operation(
            4649, "build", .superseded, at: "2026-11-19T22:58:19.000000Z", source: "path/src", cause: "path/src",
            took: 8_000_000)
        build.successor = 4650
        var ingest = operation(
            4601, "ingest", .done, at: "2026-11-19T18:04:05.123456Z", source: "path/in", cause: "/srv/in/a.csv",
            attempt: 2)
        ingest.redelivered = true
        return operations + [backup, report, build, ingest]
    }()

    private func text(
        _ operations: [OperationSummary], next: String? = nil, width: Int = 100, isUnfolded: Bool = false
    ) throws -> String {
        let reply = ListHistory.Reply(operations: operations, next: next)
        let screen = try screen(width)
        return screen.rendered(HistoryScreen(history: reply, isUnfolded: isUnfolded, screen: screen).lines)
    }

    @Test func whatRunsHaveUsedIsToldWhereThereIsRoom() throws {
        let used = Self.operations.prefix(2).map { operation in
            var operation = operation
            operation.used = ResourcesUsed(.cgroup, cpuUsec: 700_000, peakMemoryBytes: 5_000_000 + operation.id)
            return operation
        }
        let wide = try text(used, width: 120)
        #expect(wide.contains("CPU") && wide.contains(" 1.4s ") && wide.contains("5.0 MB"), "\(wide)")
        #expect(try text(used, width: 60).contains("CPU") == false)
        #expect(try text(Array(Self.operations.prefix(2)), width: 120).contains("MEMORY") == false)
    }

    @Test func daysHaveHeadingsAndRunsThatWentWellShareALine() throws {
        let shown = try text(Self.operations, next: "x")
        #expect(
            shown == """
                FINISHED    ID     HANDLER  RESULT             TOOK  TRY  CAUSE
                today, Fri 20 Nov
                  09:41:20  4791…  uploads  done, 11 times       2s    1  path/uploads, 11 events  (--all: each)
                  02:32:30  4711   backup   FAILED exit 12      41s    3  timer/nightly 02:30 → 4713, connection
                                                                          refused
                yesterday, Thu 19 Nov
                  23:10:00  4655   report   skipped               -    -  Overlap=skip: operation 4641 has not ended
                  22:58:19  4649   build    superseded           8s    1  path/src → 4650
                  18:04:05  4601   ingest   done, redelivered    1s    2  /srv/in/a.csv
                1 failed of 15 · more: -n 30, --until "2026-11-19 18:04:06" · only failures: --failed
                details: show ID

                """)
    }

    @Test func itFitsATerminalOf80Columns() throws {
        let shown = try text(Self.operations, next: "x", width: 80)
        #expect(
            shown == """
                FINISHED    ID     HANDLER  RESULT             TOOK  TRY  CAUSE
                today, Fri 20 Nov
                  09:41:20  4791…  uploads  done, 11 times       2s    1  path/uploads, 11
                                                                          events  (--all: each)
                  02:32:30  4711   backup   FAILED exit 12      41s    3  timer/nightly 02:30 →
                                                                          4713, connection
                                                                          refused
                yesterday, Thu 19 Nov
                  23:10:00  4655   report   skipped               -    -  Overlap=skip:
                                                                          operation 4641 has not
                                                                          ended
                  22:58:19  4649   build    superseded           8s    1  path/src → 4650
                  18:04:05  4601   ingest   done, redelivered    1s    2  /srv/in/a.csv
                1 failed of 15 · more: -n 30, --until "2026-11-19 18:04:06"
                only failures: --failed · details: show ID

                """)
    }

    @Test func withAllEachRunHasItsLine() throws {
        let lines = try text(Self.operations, width: 120, isUnfolded: true).split(separator: "\n")
        #expect(lines.count == 1 + 2 + 15 + 1)
        #expect(lines[2].contains("4791   uploads") || lines[2].contains("4791  uploads"))
        #expect(lines[12].contains("4781"))
    }

    @Test func onlyRunsWithNothingToTellAreFolded() throws {
        var odd = Self.operations[1]
        odd.redelivered = true
        let pair = [Self.operations[0], odd, Self.operations[2], Self.operations[3]]
        let lines = try text(pair).split(separator: "\n")
        #expect(lines.count == 2 + 3 + 1)
        #expect(lines[3].contains("done, redelivered"))
        #expect(lines[4].contains("done, 2 times"))
        // Another day, another handler.
        var yesterday = Self.operations[1]
        yesterday.ended = "2026-11-19T09:41:00.000000Z"
        #expect(!(try text([Self.operations[0], yesterday]).contains("times")))
        var other = Self.operations[1]
        other.handler = "other"
        #expect(!(try text([Self.operations[0], other]).contains("times")))
    }

    @Test func theFooterSaysHowToSeeMore() throws {
        #expect(
            try text([Self.operations[0]], next: "x").hasSuffix(
                "\n0 failed of 1 · more: -n 2, --until 09:41:21 · details: show ID\n"))
        #expect(try text([Self.operations[14]], next: "x").contains(#"--until "2026-11-19 18:04:06""#))
        #expect(try text([Self.operations[11]]).hasSuffix("\n1 failed of 1 · details: show ID\n"))
        #expect(try text([]) == "Nothing of that kind has ended, or it is no longer kept.\n")
    }

    @Test func failuresComeWithTheirCommands() throws {
        var first = Self.operations[11]
        first.successor = nil
        var second = first
        (second.id, second.ended) = (4600, "2026-11-19T02:32:30.570000Z")
        var other = Self.operation(4500, "mail", .failed, at: "2026-11-18T02:00:00.000000Z", cause: "timer/mail")
        other.signal = "SIGKILL"
        let screen = try screen(80)
        let lines = FailedScreen(history: .init(operations: [first, second, other]), screen: screen).lines
        #expect(
            screen.rendered(lines) == """
                FAILED (3)
                  x backup  FAILED exit 12 after 3 tries: connection refused
                    2 times, the last 02:32, 7h ago · timer/nightly 02:30
                    watchctl output 4711 · watchctl retry 4711 · watchctl forget 4711
                    watchctl retry backup · watchctl forget backup

                  x mail  FAILED SIGKILL
                    Wed 02:00, 2d 7h ago · timer/mail
                    watchctl output 4500 · watchctl retry 4500 · watchctl forget 4500

                """)
        (first.retryObstacle, second.retryObstacle) = ("its descriptor is gone", "its descriptor is gone")
        let final = screen.rendered(FailedScreen(history: .init(operations: [first, second]), screen: screen).lines)
        let commands = "watchctl output 4711 · watchctl forget 4711 · watchctl forget backup"
        #expect(final.hasSuffix("\(commands)\n") && !final.contains("retry"), "\(final)")
        // The commands of others are hidden from the caller: nothing says that they are one.
        let hidden = [8, 9].map { number in
            Self.operation(number, "@command", .failed, at: "2026-11-18T02:00:00.000000Z", cause: "run/@command")
        }
        let foreign = screen.rendered(FailedScreen(history: .init(operations: hidden), screen: screen).lines)
        #expect(foreign.contains("x operation 8  FAILED") && foreign.contains("x operation 9  FAILED"), "\(foreign)")
        let none = FailedScreen(history: .init(operations: []), screen: screen).lines
        #expect(screen.rendered(none) == "Nothing has failed that was not tried again or forgotten.\n")
    }

    @Test func noLineIsWiderThanTheTerminal() throws {
        for width in [40, 55, 80, 100, 200] {
            let screen = try screen(width)
            let reply = ListHistory.Reply(operations: Self.operations, next: "x")
            let lines =
                HistoryScreen(history: reply, isUnfolded: false, screen: screen).lines
                + HistoryScreen(history: reply, isUnfolded: true, screen: screen).lines
                + FailedScreen(history: reply, screen: screen).lines
            for line in lines { #expect(line.width <= width, "\(line.rendered(coloured: false))") }
        }
    }

    // MARK: Verbs

    /// Answers pages of at most 10, and only what is asked for.
    private static func pages(_ expected: @escaping @Sendable (ListHistory.Parameters) -> Bool)
        -> @Sendable (Call) ->
        SampleServer.Answer
    {
        { call in
            guard let asked = try? call.parameters(as: ListHistory.Parameters.self), expected(asked) else {
                return .nothing
            }
            let start = asked.after.flatMap { Int($0) } ?? 0
            let end = min(start + min(asked.limit ?? 1000, 10), operations.count)
            return .reply(
                Sample.json(
                    ListHistory.Reply(
                        operations: Array(operations[start..<end]), next: end < operations.count ? "\(end)" : nil)))
        }
    }

    @Test func historyAsksForAsMuchAsIsWanted() throws {
        let all = try run(["history", "--json"], answer: Self.pages { $0.name == nil && ($0.limit ?? 0) <= 50 })
        let reply = try JSON.decode(ListHistory.Reply.self, from: Array(all.output.utf8))
        #expect(reply.operations == Self.operations)
        #expect(reply.next == nil)
        let some = try run(["history", "-n", "12", "--json"], answer: Self.pages { ($0.limit ?? 0) <= 12 })
        let page = try JSON.decode(ListHistory.Reply.self, from: Array(some.output.utf8))
        #expect(page.operations == Array(Self.operations.prefix(12)))
        #expect(page.next == "12")
        #expect(try run(["history", "-n12"], answer: Self.pages { _ in true }).output.contains("more: -n 24"))
    }

    @Test func historyPassesItsFiltersOn() throws {
        let outcome = try run(
            ["history", "--since", "yesterday", "--until", "09:00", "--failed", "path/uploads"],
            answer: Self.pages {
                $0.name == "path/uploads" && $0.result == .failed && $0.since == "2026-11-19T00:00:00.000000Z"
                    && $0.until == "2026-11-20T09:00:00.000000Z"
            })
        #expect(outcome.code == .done)
        let failed = try run(["failed", "backup"], answer: Self.pages { $0.name == "backup" && $0.unsettled == true })
        #expect(failed.code == .done)
        #expect(failed.output.hasPrefix("FAILED (15)\n"))
    }

    @Test func outputIsThatOfAnOperationOrOfTheLastOne() throws {
        let answer: @Sendable (Call) -> SampleServer.Answer = { call in
            let asked = try? call.parameters(as: GetOutput.Parameters.self)
            if asked?.name == "report" { return .reply(Sample.json(GetOutput.Reply())) }
            guard asked == .init(id: 4711) || asked == .init(name: "backup") else { return .nothing }
            var reply = GetOutput.Reply(operation: Samples.operation, attempt: Samples.operation.attempt)
            (reply.output, reply.outputBase64) = (Samples.detail.output, "/w==")
            return .reply(Sample.json(reply))
        }
        let expected = """
            backup 4711, FAILED SIGKILL, 02:32:30, 7h ago
            rsync: connection refused
            \\x1b[31mred

            """
        #expect(try run(["output", "4711"], answer: answer) == VerbOutcome(output: expected, code: .done))
        #expect(try run(["output", "backup"], answer: answer) == VerbOutcome(output: expected, code: .done))
        // A program reads it.
        let rest = expected.split(separator: "\n").dropFirst().joined(separator: "\n") + "\n"
        let piped = try run(["output", "4711"], isTerminal: false, answer: answer)
        #expect(piped == VerbOutcome(output: rest, code: .done))
        let raw = try run(["output", "4711", "--raw"], answer: answer)
        #expect(raw == VerbOutcome(output: "\u{FFFD}", code: .done), "the bytes, not the text")
        let none = try run(["output", "report"], answer: answer)
        #expect(none.code == .failed && none.output.isEmpty)
        #expect(none.remarks.hasPrefix("watchctl: nothing of “report” has run, or it is no longer kept"))
    }

    @Test func outputOfAnAttemptOrOfACopySaysWhoseItIs() throws {
        func outcome(_ arguments: [String], _ reply: GetOutput.Reply) throws -> VerbOutcome {
            try run(["output"] + arguments) { _ in .reply(Sample.json(reply)) }
        }
        var earlier = GetOutput.Reply(operation: Samples.completeOperation, attempt: 2)
        earlier.output = "again\n"
        #expect(try outcome(["4711", "--attempt", "2"], earlier).output == "backup 4711, attempt 2 of 3\nagain\n")
        let unknown = try outcome(["4711", "--attempt", "7"], GetOutput.Reply(operation: Samples.completeOperation))
        #expect(unknown.remarks == "watchctl: operation 4711 has had 3 attempts so far\n" && unknown.code == .failed)
        var process = GetOutput.Reply()
        (process.source, process.process, process.output) = ("process/web", Samples.process, "up\n")
        process.process?.copy = 2
        #expect(try outcome(["web"], process).output.hasPrefix("process/web, copy 2, "))
        (process.process, process.output) = (nil, nil)
        let missing = try outcome(["web", "--copy", "7"], process)
        #expect(missing.remarks == "watchctl: process/web has no copy 7\n" && missing.code == .failed)
    }

    @Test func outputSaysWhyThereIsNone() throws {
        func output(_ change: (inout GetOutput.Reply) -> Void) throws -> String {
            var reply = GetOutput.Reply(operation: Samples.operation, attempt: Samples.operation.attempt)
            change(&reply)
            let json = Sample.json(reply)
            return try run(["output", "4711"]) { _ in .reply(json) }.output
        }
        let elsewhere = ", but for what StandardOutput= or StandardError= sends elsewhere.\n"
        #expect(try output { _ in }.hasSuffix("\nIt wrote nothing\(elsewhere)"))
        #expect(try output { $0.forgotten = true }.hasSuffix("\nIts output is no longer kept.\n"))
        #expect(try output { $0.operation?.result = nil }.contains("nothing so far"))
        var cancelled = Samples.operation
        (cancelled.attempt, cancelled.result) = (0, .cancelled)
        let json = Sample.json(GetOutput.Reply(operation: cancelled))
        let never = try run(["output", "4711"]) { _ in .reply(json) }
        #expect(never.remarks == "watchctl: operation 4711 ended before its start: cancelled\n")
        #expect(try output { $0.source = "handler/backup" }.hasSuffix(": watchctl output backup\n"))
    }

    @Test func retryGoesOnUntilThereIsNoMore() throws {
        let outcome = try run(["retry", "backup", "17"]) { call in
            if call.name == "ListNames" { return .reply(Sample.json(ListNames.Reply(names: ["handler/backup"]))) }
            if call.name == "GetOperation" { return .reply(Sample.json(GetOperation.Reply(operation: Samples.detail))) }
            let target = try? call.parameters(as: FailedTarget.self)
            if target == FailedTarget(id: 17) { return .error(ManagerError.noSuchOperation(id: 17).reply) }
            let rest = Rest.take()
            return .reply(
                Sample.json(
                    Retry.Reply(operations: [.init(failed: rest, operation: rest + 100)], more: rest > 1)))
        }
        #expect(outcome.output == "3 runs again as 103\n2 runs again as 102\n1 runs again as 101\n")
        #expect(outcome.failure?.message.contains("no operation 17") == true)
    }

    @Test(arguments: ["retry", "forget"])
    func nothingToDoIsAFailure(verb: String) throws {
        let outcome = try run([verb, "backup"]) { _ in
            .reply(.object(["operations": .array([]), "more": .bool(true)]))
        }
        #expect(outcome.code == .failed)
        #expect(outcome.output.hasPrefix("nothing of backup to"))
        let two = try run([verb, "1", "2"]) { call in
            let id = (try? call.parameters(as: FailedTarget.self))?.id ?? 0
            return .error(ManagerError.notFailed(id: id, state: "done").reply)
        }
        #expect(two.failure?.details == ["operation 1 has not failed: done"])
        #expect(two.failure?.message == "operation 2 has not failed: done")
    }

    @Test func aPlanListsWhatStays() throws {
        let sample = try #require(Samples.full.first { $0.method == Reload.self })
        let outcome = try run(["reload", "--plan", "--verbose"]) { _ in .reply(sample.reply) }
        #expect(
            outcome.output == """
                a.watch:1:1: warning: unused
                ! queue/old still has 3 operations
                + path/new
                ~ queue/images
                - handler/old
                  timer/nightly
                a reload would change this: 1 added, 1 changed, 1 removed, 1 kept

                """)
    }
}

/// Counts down from 3.
private enum Rest {
    private static let left = Mutex(3)

    static func take() -> Int {
        left.withLock { left in
            defer { left -= 1 }
            return left
        }
    }
}
