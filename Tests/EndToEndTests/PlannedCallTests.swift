import ControlInterface
import JSON
import ProgramKit
import Testing
import Varlink

/// `watchctl run NAME` and `watchctl emit NAME` at a time.
@Suite("Runs and events at a time, end to end", .ownThread) struct PlannedCallTests {
    private static let text = """
        [Queue con]
        Type=concurrent
        [Custom poke]
        Handler=note
        [Handler note]
        Exec=sh -c 'echo $WATCHD_DATA $WATCHD_PATH >>"$1"' - @/noted

        """

    private func control(_ watchd: Watchd, _ words: String...) throws -> Finished {
        try Program.run([try Products.path("watchctl"), "--socket", watchd.socket] + words, folder: "/")
    }

    /// The operation that waits for the time.
    private func planned(_ end: Finished, sourceLocation: SourceLocation = #_sourceLocation) throws -> Int {
        #expect(end.code == 0 && end.text.hasPrefix("operation "), "\(end)", sourceLocation: sourceLocation)
        return try #require(
            Int(end.text.dropFirst("operation ".count).prefix { $0.isNumber }), sourceLocation: sourceLocation)
    }

    @Test func theyAreListedExplainedAndCancelledByTheirNumber() throws {
        try Watchd.run(Self.text) { watchd in
            let run = try planned(control(watchd, "run", "note", "/a b", "--in", "2h"))
            let emit = try planned(control(watchd, "emit", "poke", "--data", "41", "--after", "1h 30min"))
            let later = try planned(control(watchd, "run", "note", "--at", "*-*-* 04:05:06"))
            let lines = try control(watchd, "timers").text.split(separator: "\n").map(String.init)
            for (id, words) in [(run, "run note '/a b'"), (emit, "emit --data 41 poke"), (later, "run note")] {
                let line = try #require(lines.first { $0.contains(" \(id) ") }, "\(lines)")
                #expect(line.hasSuffix(words), "\(line)")
            }
            #expect(lines.contains { $0.contains("04:05:06") }, "\(lines)")
            let json = try JSON.decode(
                [String: JSONValue].self, from: control(watchd, "--json", "timers").output.dropLast().map { $0 })
            guard case .array(let operations) = json["operations"] else {
                Issue.record("\(json)")
                return
            }
            #expect(operations.count == 3)
            #expect(try control(watchd, "show", "\(run)").text.contains("run note '/a b'"))
            let why = try control(watchd, "explain", "\(emit)").text
            #expect(why.contains("its time") && why.contains("emit --data 41 poke"), "\(why)")
            for id in [run, emit, later] { #expect(try control(watchd, "cancel", "\(id)").code == 0) }
            #expect(try !control(watchd, "timers").text.contains("run note"))
            try watchd.waitUntilIdle()
            #expect(try watchd.operation(run).summary.result == .cancelled)
            #expect(try watchd.ended("note").isEmpty)
        }
    }

    @Test func whatIsWrongIsRefusedWithASentence() throws {
        try Watchd.run(Self.text) { watchd in
            for (words, code, part) in [
                (["run", "note", "--in", "soon"], 2, "not a time span"),
                (["run", "note", "--in", "infinity"], 2, "a span that ends"),
                (["run", "note", "--after", "7"], 2, "--after takes a span here"),
                (["run", "note", "--after", "7s", "--after", "8s"], 2, "given twice"),
                (["run", "note", "--at", "2020-01-01"], 2, "has passed"),
                (["run", "note", "--at", "2020-01-01 *:*:*"], 2, "never comes again"),
                (["run", "note", "--at", "nonsense"], 2, "not a time"),
                (["run", "note", "--at", "23:00", "--in", "1h"], 2, "exclude each other"),
                (["emit", "poke", "--wait", "--in", "1h"], 2, "exclude each other"),
                (["run", "notes", "--in", "1h"], 1, "did you mean “note”?"),
                (["emit", "note", "--in", "1h"], 1, "note"),
                (["run", "note", "--requires", "--in", "1h"], 2, "--requires is for a command"),
            ] as [([String], Int32, String)] {
                let end = try Program.run([try Products.path("watchctl"), "--socket", watchd.socket] + words)
                #expect(end.code == code && end.errorText.contains(part), "\(words): \(end)")
            }
            for parameters in [
                Run.Parameters(name: "note", wait: true, inUsec: 5), .init(name: "note", at: "x"),
                .init(name: "note", inUsec: -1),
                .init(name: "note", at: "2030-01-01T00:00:00Z", inUsec: 5),
                .init(
                    name: "note", lines: [String](repeating: String(repeating: "x", count: 50_000), count: 6), inUsec: 5
                ),
            ] {
                let error = try watchd.error(Run.self, parameters)
                #expect(
                    error?.name.hasSuffix("Refused") == true, "\(parameters.inUsec ?? 0) \(String(describing: error))")
            }
            let far = try planned(control(watchd, "run", "note", "--in", "100y"))
            #expect(try control(watchd, "cancel", "\(far)").code == 0)
            let tooFar = try Program.run(
                [try Products.path("watchctl"), "--socket", watchd.socket, "run", "note", "--in", "100y 1s"])
            #expect(tooFar.code == 1 && tooFar.errorText.contains("at most 100 years"), "\(tooFar)")
            #expect(try watchd.ended("note").isEmpty)
        }
    }

    @Test func theySurviveAKillAndHappenOnce() throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            for number in 1...5 {
                _ = try planned(control(lives.watchd, "emit", "poke", "--data", "\(number * 10)", "--in", "10s"))
            }
            _ = try planned(control(lives.watchd, "run", "note", "/of a run", "--in", "10s"))
            let far = try planned(control(lives.watchd, "run", "note", "--in", "1h"))
            lives.kill()
            try lives.start()
            #expect(try control(lives.watchd, "timers").text.contains(" \(far) "))
            try wait(for: "all of them") {
                let lines = folder.lines("noted")
                let sum = lines.compactMap { Int($0.prefix { $0.isNumber }) }.reduce(0, +)
                return sum == 150 && lines.contains { $0.hasSuffix("/of a run") }
            }
            #expect(try control(lives.watchd, "cancel", "\(far)").code == 0)
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func aCommandRunsOnlyIfWhatItRequiresHasSucceeded() throws {
        try Watchd.run(Self.text) { watchd in
            func submit(_ words: String...) throws -> Finished {
                try Program.run(
                    [try Products.path("watchctl"), "--socket", watchd.socket, "run", "--queue", "con"] + words)
            }
            let gate = "until [ -e \(watchd.folder["go"]) ]; do sleep 0.1; done; exit 3"
            #expect(try submit("--", "sh", "-c", gate).text == "1\n")
            #expect(try submit("--after", "1", "--requires", "--", "true").text == "2\n")
            #expect(try submit("--after", "1", "--", "true").text == "3\n")
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            #expect(try watchd.operation(2).summary.result == .cancelled)
            #expect(try watchd.operation(2).summary.reason == "--requires: operation 1 failed")
            #expect(try watchd.operation(3).summary.result == .done)
            let refused = try submit("--after", "1", "--requires", "--", "true")
            #expect(refused.code == 1 && refused.text.contains("operation 1 failed"), "\(refused)")
            let taken = try submit("--after", "3", "--requires", "--wait", "--", "echo", "on")
            #expect(taken.code == 0 && taken.text == "on\n", "\(taken)")
            #expect(try submit("--requires", "true").code == 2)
            #expect(try submit("--after", "99", "--requires", "true").errorText.contains("99"))
        }
    }
}
