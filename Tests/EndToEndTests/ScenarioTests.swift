import LinuxSystem
import ProgramKit
import Testing

/// Scenarios: a folder each, with
///
/// - `watch`: the watch file; `@/` stands for the folder of the run. `settings` holds further lines of `[Watchd]`.
/// - `steps`: the shell script that causes events, in the folder of the run, with the words of `Kit/ScenarioKit.swift`.
/// - `expected`: what handlers and steps must have noted in `ran` at the end (see `Outcome`).
/// - `wrong`: what a naive build would do instead, each told by a line that begins with `#`.
@Suite("Scenarios, end to end", .ownThread) struct ScenarioTests {
    private static let folder: String = {
        let file = #filePath
        return "\(file[..<(file.lastIndex(of: "/") ?? file.startIndex)])/Scenarios"
    }()

    static let names: [String] = ((try? Linux.readFolder(folder)) ?? [])
        .map { String(decoding: $0.name, as: UTF8.self) }.sorted()

    private static func text(_ name: String, _ file: String) throws -> String {
        String(decoding: try Linux.readFile("\(folder)/\(name)/\(file)"), as: UTF8.self)
    }

    @Test(arguments: names) func whatMustRunRunsAndNothingElse(_ name: String) throws {
        let expected = Outcome(try Self.text(name, "expected"))
        let settings = (try? Self.text(name, "settings")) ?? ""
        try Watchd.run(try Self.text(name, "watch"), settings: settings, prepare: ScenarioKit.install) { watchd in
            let end = try ScenarioKit.run(try Self.text(name, "steps"), in: watchd.folder)
            #expect(end.code == 0, "\(end) \(watchd.folder.text("steps.log"))")
            try wait(for: "\(expected.count) notes, got \(watchd.folder.text("ran"))") {
                watchd.folder.lines("ran").count >= expected.count
            }
            try watchd.waitUntilIdle()
            let ran = watchd.folder.lines("ran")
            #expect(expected.matches(ran), "\(ran.joined(separator: "\n"))")
        }
    }

    @Test(arguments: names) func whatANaiveBuildWouldDoIsRefused(_ name: String) throws {
        let expected = Outcome(try Self.text(name, "expected"))
        #expect(expected.matches(expected.notes), "the comparison knows what is right")
        let wrong = try Self.text(name, "wrong").split(separator: "\n").split { $0.hasPrefix("#") }
        #expect(!wrong.isEmpty)
        for outcome in wrong {
            #expect(!expected.matches(outcome.map(String.init)), "\(outcome.joined(separator: "\n"))")
        }
    }
}

/// What must have been noted, in this order: a line each; what may come in any order stands in one line, with ` & `.
private struct Outcome {
    private let moments: [[String]]

    init(_ text: String) {
        moments = text.split(separator: "\n").map { line in line.split(separator: " & ").map(String.init) }
    }

    var notes: [String] { moments.flatMap { $0 } }
    var count: Int { notes.count }

    func matches(_ notes: [String]) -> Bool {
        var rest = notes[...]
        for moment in moments {
            guard rest.prefix(moment.count).sorted() == moment.sorted() else { return false }
            rest = rest.dropFirst(moment.count)
        }
        return rest.isEmpty
    }
}
