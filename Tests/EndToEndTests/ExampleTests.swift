import LinuxSystem
import ProgramKit
import Testing

/// Each file of `config/examples` and `config/dispatch` does what the comment at its top says (`Transcript`).
@Suite("Examples, end to end", .ownThread) struct ExampleTests {
    private static let root: String = {
        // …/Tests/EndToEndTests/ExampleTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

    static let files = files(below: "examples") + files(below: "dispatch")

    private static func files(below folder: String) -> [String] {
        let entries = (try? Linux.readFolder("\(root)/config/\(folder)")) ?? []
        return entries.flatMap { entry -> [String] in
            let path = "\(folder)/\(String(decoding: entry.name, as: UTF8.self))"
            return entry.kind == .folder ? files(below: path) : path.hasSuffix(".watch") ? [path] : []
        }.sorted()
    }

    private static func text(_ file: String) throws -> String {
        String(decoding: try Linux.readFile("\(root)/config/\(file)"), as: UTF8.self)
    }

    /// Places of the machine are folders of the test, and its server is that of the test.
    private static func moved(_ text: String, to folder: Folder) -> String {
        let place = folder.lines("place")
        let text = place.count == 2 ? text.replacing(place[0], with: place[1]) : text
        return text.replacing("/srv/", with: folder["srv/"]).replacing("/run/", with: folder["run/"])
            .replacing("/var/backups/", with: folder["backups/"])
            // For as long as two commands may take here.
            .replacing("DelaySec=1s", with: "DelaySec=5s")
    }

    /// The lines of its `[Watchd]`, which the daemon of a test has already, and everything else.
    private static func parts(of text: String) -> (settings: String, rest: String) {
        var (settings, rest): ([Substring], [Substring]) = ([], [])
        var isOfWatchd = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("[") { isOfWatchd = line == "[Watchd]" }
            if !isOfWatchd { rest.append(line) } else if line != "[Watchd]" { settings.append(line) }
        }
        return (settings.joined(separator: "\n"), rest.joined(separator: "\n"))
    }

    /// A daemon that reads this file of `config`, until `body` has ended; afterwards it is stopped. The server that the
    /// example speaks to runs beside it.
    static func run(
        _ file: String, sourceLocation: SourceLocation = #_sourceLocation, body: (Watchd, Sleepers) throws -> Void
    ) throws {
        let text = try Self.text(file)
        // In a folder of its own: nothing of that of the daemon is to be left when it stops.
        try Folder.with { place in
            do {
                let server = try Server.start(for: text, in: place)
                defer { server?.stop() }
                try run(text, beside: server, sourceLocation, body)
            } catch let missing as Server.Missing {
                print("SKIPPED: \(file): \(missing)")
            }
        }
    }

    private static func run(
        _ text: String, beside server: Server?, _ sourceLocation: SourceLocation,
        _ body: (Watchd, Sleepers) throws -> Void
    ) throws {
        try Folder.with { folder in
            let sleepers = try Sleepers.install(in: folder)
            for name in ["backups", "run", "srv", "srv/uploads", "srv/archive"] { try folder.makeFolder(name) }
            if let place = server?.place { try folder.write("place", "\(place.words)\n\(place.meant)\n") }
            let parts = Self.parts(of: moved(text, to: folder))
            let watchd = try Watchd(
                folder, "\(parts.rest)\n[Handler]\nEnvironment=\(Sleepers.path(ofHandlersIn: folder))\n",
                settings: parts.settings)
            do {
                try watchd.waitUntilReady()
                try body(watchd, sleepers)
                try watchd.stop()
            } catch {
                Issue.record(error, log: watchd.logText, sourceLocation: sourceLocation)
            }
        }
    }

    /// Runs a line as a person types it, beside such a daemon.
    @discardableResult static func type(_ command: String, _ watchd: Watchd) throws -> Finished {
        let end = try Program.run(
            ["/bin/sh", "-euc", moved(command, to: watchd.folder)],
            environment: [Sleepers.path(ofStepsIn: watchd.folder), "LANG=C.UTF-8"], folder: watchd.folder.path)
        #expect(end.code == 0, "\(command): \(end)")
        return end
    }

    @Test(arguments: files) func anExampleDoesWhatItsCommentSays(_ file: String) throws {
        let text = try Self.text(file)
        let transcript = Transcript(text)
        #expect(!transcript.steps.isEmpty, "\(file) has a transcript")
        try Self.run(file) { watchd, sleepers in
            try Self.play(transcript, watchd, sleepers)
            try watchd.stop()
            let lines = transcript.lines(ofLog: watchd.logText)
            if let problem = transcript.problem(lines) { Issue.record("\(file): \(problem)") }
            let mail = watchd.folder.text("mail")
            #expect(mail.contains("Subject: ") == text.contains("\nMail="), "\(mail)")
        }
    }

    private static func play(_ transcript: Transcript, _ watchd: Watchd, _ sleepers: Sleepers) throws {
        for (index, step) in transcript.steps.enumerated() {
            switch step {
            case .command(let command): try type(command, watchd)
            case .lines(let block) where block.isEmpty: break
            case .lines:
                let count = transcript.count(upTo: index + 1)
                var lines: [String] = []
                try wait(for: "\(count) lines, got\n\(lines.joined(separator: "\n"))") {
                    lines = transcript.lines(ofLog: watchd.logText)
                    return lines.count >= count
                }
                if let problem = transcript.problem(lines, upTo: index + 1) { throw TimedOut(description: problem) }
            case .later:
                try sleepers.wake(watchd) {
                    let lines = transcript.lines(ofLog: watchd.logText)
                    #expect(lines.count == transcript.count(upTo: index), "nothing comes early: \(lines)")
                }
            case .andSoOn: return
            }
        }
    }

    @Test func theExamplesAreFound() {
        #expect(Self.files.count { $0.hasPrefix("dispatch/") } >= 40)
        #expect(Self.files.count { $0.hasPrefix("examples/") } >= 5)
    }

    @Test func aStepSleepsForItself() throws {
        try Self.run("examples/stream.watch") { watchd, _ in try Self.type("sleep 0.01", watchd) }
    }

    @Test func aTranscriptKnowsWhatIsRight() {
        let transcript = Transcript(
            "# x\n#     $ go\n#     a| 1\n#     a| 2\n#     then\n#     b: 3\n[Custom a]\n[Handler b]\n")
        #expect(transcript.steps == [.command("go"), .lines(["a| 1", "a| 2"]), .lines(["b: 3"])])
        #expect(transcript.lines(ofLog: "10:00  a| 1\nx\n10:01  ready: c\n10:02  b: 3\n") == ["a| 1", "b: 3"])
        #expect(transcript.problem(["a| 2", "a| 1", "b: 3"]) == nil)
        for wrong in [["a| 1", "b: 3", "a| 2"], ["a| 1", "a| 2"], ["a| 1", "a| 2", "b: 3", "b: 3"]] {
            #expect(transcript.problem(wrong) != nil)
        }
    }
}
