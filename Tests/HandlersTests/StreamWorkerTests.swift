import EventSources
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import Engine
@testable import Handlers

/// Workers with real pipes.
@Suite("Stream workers", .ownThread) struct StreamWorkerTests {
    private static let worker = RunID(operation: 1_000_000, attempt: 1)

    /// Reads a line into `line` and its number into `id`.
    private static let read = "IFS= read -r line && id=${line#*\\\"id\\\":} && id=${id%%[,\\}]*}"

    private func request(_ run: RunID, _ script: String, isAcknowledged: Bool, events: [Event]) -> StartRequest {
        let words = ["/bin/sh", "-c", script].map { Command.Word.template(Template(literal: $0)) }
        let definition = HandlerDefinition(
            name: "h",
            action: .stream(
                StreamAction(command: Command(words: words), prefetch: 10_000, isAcknowledged: isAcknowledged)))
        return StartRequest(
            run: run, definition: SharedDefinition(definition), queue: events.isEmpty ? "" : "q", qos: .default,
            environment: [], origin: events.isEmpty ? .run(handler: "h") : .source(SourceID(.descriptor, "f")),
            events: events)
    }

    private func line(_ id: UInt64, _ text: String = "x", isAcknowledged: Bool = true) -> StartRequest {
        request(
            RunID(operation: id, attempt: 1), "", isAcknowledged: isAcknowledged,
            events: [Event(id: id, time: 0, fact: .line(LineFact(Array(text.utf8))))])
    }

    /// Starts a worker and waits until it runs.
    private func with(
        _ script: String, isAcknowledged: Bool = true, _ body: (Rim, RunID) throws -> Void
    ) throws {
        try Rim.with { rim in
            rim.startWorker(request(Self.worker, script, isAcknowledged: isAcknowledged, events: []))
            try wait(for: "the worker") { rim.started.contains(Self.worker) || !rim.notStarted.isEmpty }
            try body(rim, Self.worker)
            if rim.ended.isEmpty, rim.notStarted.isEmpty {
                rim.signal(Self.worker, 9)
                try wait(for: "its end") { !rim.ended.isEmpty }
            }
        }
    }

    // MARK: Lines and answers

    @Test func linesComeInOrderAndAnswersComeBack() throws {
        let script =
            "while \(Self.read); do echo \"got $id\"; echo \"{\\\"id\\\":$id,\\\"result\\\":\\\"ok\\\"}\" >&$WATCHD_ACK_FD; done"
        try with(script) { rim, worker in
            rim.hand((1...200).map { line($0) }, to: worker)
            try wait(for: "all answers") { rim.answers.count == 200 }
            #expect(rim.answers == (1...200).map { "\($0) ok" })
            rim.closeInput(of: worker)
            try wait(for: "its end") { rim.ended[worker] != nil }
            #expect(rim.ended[worker]?.exit == .exited(0))
            #expect(rim.output(of: worker) == (1...200).map { "got \($0)\n" }.joined())
        }
    }

    @Test func whatAnOperationTellsIsTheObjectThatACommandGets() throws {
        try with("\(Self.read); echo \"$line\"; cat", isAcknowledged: false) { rim, worker in
            let first = line(7, "a \"quoted\" text", isAcknowledged: false)
            rim.hand([first], to: worker)
            rim.closeInput(of: worker)
            try wait(for: "its end") { rim.ended[worker] != nil }
            let expected = EventMessage.line(RunContext(first, host: Linux.hostName))
            #expect(rim.ended[worker]?.output == expected)
            #expect(rim.answers == ["7 written", "end"])
        }
    }

    @Test func eachResultIsTold() throws {
        let script =
            "for r in ok retry fail; do \(Self.read); echo \"{ \\\"result\\\" : \\\"$r\\\", \\\"more\\\": [1], \\\"id\\\": $id }\" >&3; done; read x"
        try with(script) { rim, worker in
            rim.hand([line(1), line(2), line(3)], to: worker)
            try wait(for: "all answers") { rim.answers.count == 3 }
            #expect(rim.answers == ["1 ok", "2 retry", "3 fail"])
        }
    }

    @Test func aWorkerThatDoesNotReadHoldsWhatDoesNotFitIntoThePipe() throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            try with("read x <\(folder["gate"]); cat >/dev/null", isAcknowledged: false) { rim, worker in
                let text = String(repeating: "y", count: 1000)
                rim.hand((1...500).map { line($0, text, isAcknowledged: false) }, to: worker)
                try wait(for: "a full pipe") { rim.answers.count > 20 }
                let count = rim.answers.count
                #expect(count < 80, "about 64 KiB")
                #expect(rim.answers == (1...count).map { "\($0) written" })
                rim.takeBack(RunID(operation: 500, attempt: 1), from: worker)
                rim.takeBack(RunID(operation: 499, attempt: 1), from: worker)
                #expect(rim.answers.suffix(2) == ["500 withdrawn", "499 withdrawn"])
                // It stands in the pipe to its end.
                rim.takeBack(RunID(operation: 1, attempt: 1), from: worker)
                #expect(rim.answers.count == count + 2)
                try folder.append("gate", "\n")
                try wait(for: "the rest") { rim.answers.count == 500 }
                rim.closeInput(of: worker)
                try wait(for: "its end") { rim.ended[worker] != nil }
                #expect(rim.ended[worker]?.exit == .exited(0))
                #expect(rim.answers.filter { $0.hasSuffix("written") } == (1...498).map { "\($0) written" })
            }
        }
    }

    @Test func aLineLongerThanThePipeIsDoneWhenItsEndIsWritten() throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            try with("read x <\(folder["gate"]); wc -c", isAcknowledged: false) { rim, worker in
                let long = line(1, String(repeating: "z", count: 300_000), isAcknowledged: false)
                rim.hand([long, line(2, isAcknowledged: false)], to: worker)
                rim.takeBack(RunID(operation: 1, attempt: 1), from: worker)
                #expect(rim.answers.isEmpty, "its beginning is written")
                try folder.append("gate", "\n")
                try wait(for: "both") { rim.answers.count == 2 }
                rim.closeInput(of: worker)
                try wait(for: "its end") { rim.ended[worker] != nil }
                let size = [long, line(2, isAcknowledged: false)].reduce(0) {
                    $0 + EventMessage.line(RunContext($1, host: Linux.hostName)).count
                }
                #expect(rim.output(of: worker).contains("\(size)"))
            }
        }
    }

    @Test func aCancelIsALineForAWorkerThatHasTheLineAlready() throws {
        let script =
            "\(Self.read); \(Self.read.replacing("line", with: "next")); echo \"$next\"; echo \"{\\\"id\\\":9,\\\"result\\\":\\\"fail\\\"}\" >&3; cat"
        try with(script) { rim, worker in
            rim.hand([line(9)], to: worker)
            rim.takeBack(RunID(operation: 9, attempt: 1), from: worker)
            try wait(for: "its answer") { rim.answers == ["9 fail"] }
            rim.closeInput(of: worker)
            try wait(for: "its end") { rim.ended[worker] != nil }
            #expect(rim.output(of: worker) == "{\"cancel\":9}\n")
        }
    }

    // MARK: Bad workers

    @Test func anAnswerForAnotherOperationIsIgnored() throws {
        let script =
            "for id in 5 99 5 18446744073709551615; do echo \"{\\\"id\\\":$id,\\\"result\\\":\\\"ok\\\"}\" >&3; done; cat"
        try with("read x; \(script)") { rim, worker in
            rim.hand([line(5), line(6)], to: worker)
            try wait(for: "the answer") { !rim.answers.isEmpty }
            rim.closeInput(of: worker)
            try wait(for: "its end") { rim.ended[worker] != nil }
            #expect(rim.answers == ["5 ok", "end"] && rim.broken.isEmpty)
        }
    }

    @Test(arguments: [
        "echo nonsense", "echo '{\"id\":1}'", "echo '{\"id\":-1,\"result\":\"ok\"}'", "echo", "printf '\\0\\377\\n'",
        "echo '{\"id\":1,\"result\":\"maybe\"}'", "head -c 1048576 /dev/zero", "echo '[1]'",
    ])
    func nonsenseIsToldOnceAndWhatWasSaidBeforeCounts(said: String) throws {
        try with("read x; (echo '{\"id\":5,\"result\":\"ok\"}'; \(said)) >&3; cat") { rim, worker in
            rim.hand([line(5), line(6)], to: worker)
            try wait(for: "the verdict") { rim.broken[worker] != nil }
            #expect(rim.answers == ["5 ok"])
        }
    }

    @Test func halfAnAnswerAndDeathIsNone() throws {
        try with("read x; read y; printf '{\"id\":5,\"result\":\"ok\"}\\n{\"id\":6,\"resu' >&3; exit 3") {
            rim, worker in
            rim.hand([line(5), line(6)], to: worker)
            try wait(for: "its end") { rim.ended[worker] != nil }
            #expect(rim.answers == ["5 ok", "end"], "what it answered comes before its end")
            #expect(rim.ended[worker]?.exit == .exited(3) && rim.broken.isEmpty)
        }
    }

    @Test func oneThatClosesAPipeAndGoesOnIsTold() throws {
        for (script, what) in [
            ("exec 0<&-; sleep 60", "closed its standard input"), ("exec 3>&-; cat", "closed $WATCHD_ACK_FD"),
        ] {
            try with(script) { rim, worker in
                try wait(for: "the verdict") { rim.broken[worker] != nil }
                #expect(rim.broken[worker] == what)
            }
        }
    }

    @Test func aWorkerThatDiesWithAFullPipeTellsNothingOfTheRest() throws {
        try Folder.with { folder in
            try Linux.mkfifo(folder["gate"], mode: 0o600)
            try with("read x <\(folder["gate"]); exit 7", isAcknowledged: false) { rim, worker in
                let text = String(repeating: "y", count: 1000)
                rim.hand((1...500).map { line($0, text, isAcknowledged: false) }, to: worker)
                try wait(for: "a full pipe") { rim.answers.count > 20 }
                let count = rim.answers.count
                try folder.append("gate", "\n")
                try wait(for: "its end") { rim.ended[worker] != nil }
                #expect(rim.ended[worker]?.exit == .exited(7) && rim.answers.count == count + 1)
                rim.hand([line(501, isAcknowledged: false)], to: worker)
                #expect(rim.answers.count == count + 1, "there is no such worker any more")
            }
        }
    }

    @Test func oneThatCannotBeStartedIsToldWithTheReason() throws {
        try Rim.with { rim in
            var bad = request(Self.worker, "", isAcknowledged: true, events: [])
            let command = Command(words: [.template(Template(literal: "/nowhere/worker"))])
            bad.definition = SharedDefinition(
                HandlerDefinition(name: "h", action: .stream(StreamAction(command: command))))
            rim.startWorker(bad)
            try wait(for: "the refusal") { rim.notStarted[Self.worker] != nil }
            #expect(rim.notStarted[Self.worker]?.contains("/nowhere/worker") == true)
        }
    }

    // MARK: Its surroundings

    @Test func itHasItsDescriptorsAndNoEventsVariables() throws {
        for isAcknowledged in [true, false] {
            try with("ls /proc/$$/fd | tr '\\n' ' '; env | sort; cat", isAcknowledged: isAcknowledged) { rim, worker in
                rim.closeInput(of: worker)
                try wait(for: "its end") { rim.ended[worker] != nil }
                let output = rim.output(of: worker)
                #expect(output.hasPrefix(isAcknowledged ? "0 1 2 3 " : "0 1 2 "), "\(output)")
                #expect(output.contains("WATCHD_ACK_FD=3") == isAcknowledged)
                #expect(output.contains("WATCHD_HANDLER=h\n"))
                let names = output.split(separator: "\n").filter { $0.hasPrefix("WATCHD_") }.map {
                    $0.prefix { $0 != "=" }
                }
                let own = ["HANDLER", "HOST", "INSTANCE", "PART", "WORKER"].map { "WATCHD_\($0)"[...] }
                #expect(names == (isAcknowledged ? ["WATCHD_ACK_FD"] : []) + own, "\(output)")
            }
        }
    }

    @Test func aGrandchildThatKeepsThePipesDoesNotKeepTheWorker() throws {
        try with("sleep 60 & exit 4") { rim, worker in
            try wait(for: "its end") { rim.ended[worker] != nil }
            #expect(rim.ended[worker]?.exit == .exited(4))
        }
    }
}

@Suite("Answers of workers", .ownThread) struct WorkerAnswerTests {
    @Test(arguments: [
        "{\"id\":17,\"result\":\"ok\"}", "{ \"id\" : 17 , \"result\" : \"ok\" }\r", "{\"result\":\"ok\",\"id\":17}",
        "{\"id\":17,\"result\":\"ok\",\"reason\":\"none\"}", "{\"id\":17,\"result\":\"\\u006fk\"}",
    ])
    func theWayItIsWrittenDoesNotMatter(text: String) {
        #expect(WorkerAnswer(Array(text.utf8)) == WorkerAnswer(id: 17, outcome: .ok))
    }

    @Test(arguments: [
        "", "{}", "17", "null", "{\"id\":17}", "{\"id\":\"17\",\"result\":\"ok\"}", "{\"id\":17.5,\"result\":\"ok\"}",
        "{\"id\":18446744073709551616,\"result\":\"ok\"}", "{\"id\":17,\"result\":\"written\"}",
        "{\"id\":17,\"result\":\"withdrawn\"}", "{\"id\":17,\"result\":\"ok\"}}", "{\"id\":017,\"result\":\"ok\"}x",
        "{\"id\":17,\"result\":\"ok\"", "{\"cancel\":17}",
    ])
    func whatIsNoAnswerIsNone(text: String) { #expect(WorkerAnswer(Array(text.utf8)) == nil) }

    @Test func theLargestNumberIsOne() {
        let text = "{\"id\":18446744073709551615,\"result\":\"fail\"}"
        #expect(WorkerAnswer(Array(text.utf8)) == WorkerAnswer(id: .max, outcome: .fail))
    }
}
