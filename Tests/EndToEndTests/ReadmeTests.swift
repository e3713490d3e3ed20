import LinuxSystem
import ProgramKit
import Testing

/// README is short, and each block in it is run. Its installation is run under a real manager, in `SystemdTests`.
@Suite("README, end to end", .ownThread) struct ReadmeTests {
    private static let root: String = {
        // …/Tests/EndToEndTests/ReadmeTests.swift
        var folder = #filePath[...]
        for _ in 0..<3 { folder = folder[..<(folder.lastIndex(of: "/") ?? folder.startIndex)] }
        return String(folder)
    }()

    private static let job = "The first job of your own"

    @Test func itHasAtMost1200Words() throws {
        #expect(try Readme(root: Self.root).text.split(whereSeparator: \.isWhitespace).count <= 1200)
    }

    @Test func noBlockIsLeftToChance() throws {
        let expected = ["Set up": 3, "Install": 1, Self.job: 2, "Three recipes": 3, "Asking why": 2]
        #expect(try Readme(root: Self.root).counts == expected)
    }

    @Test func theDemoShowsWhatItIsSaidToShow() throws {
        let readme = try Readme(root: Self.root)
        let setUp = try readme.block("Set up")
        #expect(setUp.count == 1 && setUp[0].hasSuffix(" && .build/release/watchd config/demo.watch"))
        #expect(try readme.block("Set up", 1) == ["swift test"])
        let demo = String(decoding: try Linux.readFile("\(Self.root)/config/demo.watch"), as: UTF8.self)
        try Folder.with { folder in
            try folder.write("demo.watch", demo.replacing("/tmp/watchd-demo", with: folder["demo"]))
            try Self.withDaemon(folder["demo.watch"], folder) {
                for line in try readme.block("Set up", 2) {
                    let text = Self.masked(line.replacing("/tmp/watchd-demo", with: folder["demo"]))
                    try wait(for: "“\(text)” in\n\(folder.text("log"))") {
                        // A file that comes before its new folder is watched is found by a listing.
                        folder.lines("log").contains { Self.masked($0.replacing(", recovered", with: "")) == text }
                    }
                }
            }
        }
    }

    @Test func theFirstJobRunsAndIsExplained() throws {
        let readme = try Readme(root: Self.root)
        try Folder.with { folder in
            for name in ["etc", "etc/watchd", "bin"] { try folder.makeFolder(name) }
            let settings = "[Watchd]\nControlSocket=\(folder["socket"])\nStateDirectory=\(folder["state"])\n"
            try folder.write("etc/watchd/settings.watch", settings)
            let control = "#!/bin/sh\nexec \(try Products.path("watchctl")) --socket \(folder["socket"]) \"$@\"\n"
            try folder.write("bin/watchctl", control, mode: 0o755)
            let manager = "#!/bin/sh\n[ \"$*\" = 'reload watchd' ] && exec watchctl reload\n"
            try folder.write("bin/systemctl", manager, mode: 0o755)
            try Self.withDaemon(folder["etc/watchd"], folder) {
                try wait(for: "the daemon") { try Self.type("watchctl", folder).code == 0 }
                for line in try readme.block(Self.job) + readme.block("Asking why") {
                    let end = try Self.type(line, folder)
                    #expect(end.code == 0, "\(line): \(end)")
                }
                #expect(try Self.type("watchctl output disk", folder).text.contains("Filesystem"))
                let explained = try Self.type("watchctl explain disk", folder).text.split(separator: "\n")
                let shown = try readme.block("Asking why", 1)
                #expect(explained.prefix(shown.count).map { Self.masked(String($0)) } == shown.map(Self.masked))
            }
        }
    }

    @Test func theMistakeIsToldAsItIsShown() throws {
        let shown = try Readme(root: Self.root).block(Self.job, 1)
        try Folder.with { folder in
            try folder.write("disk.watch", "[Timer disk]\n\(shown[1])\nExec=/bin/df -h /\n")
            let end = try Program.run([try Products.path("watchctl"), "check", "disk.watch"], folder: folder.path)
            #expect(end.code == 78 && end.text.split(separator: "\n").prefix(3).map(String.init) == shown, "\(end)")
        }
    }

    @Test func everyRecipeIsPartOfAnExample() throws {
        let readme = try Readme(root: Self.root)
        for (index, name) in ["nightly", "folder", "unit-failed"].enumerated() {
            let file = "config/examples/\(name).watch"
            let text = String(decoding: try Linux.readFile("\(Self.root)/\(file)"), as: UTF8.self)
            #expect(text.contains(try readme.block("Three recipes", index).joined(separator: "\n")), "\(file)")
            #expect(readme.text.contains("`\(file)`") && ExampleTests.files.contains("examples/\(name).watch"))
        }
    }

    // MARK: A machine for README

    private static func withDaemon(
        _ files: String, _ folder: Folder, sourceLocation: SourceLocation = #_sourceLocation, body: () throws -> Void
    ) throws {
        let log = try Linux.open(folder["log"], [.writing, .creating, .appending]).release()
        let null = try Linux.open("/dev/null").release()
        defer { for number in [log, null] { FileDescriptor(owning: number).close() } }
        let words = [try Products.path("watchd"), files].map { Array($0.utf8) }
        let daemon = try Program(words, environment: Program.environment, descriptors: [null, log, log])
        do {
            try body()
        } catch {
            Issue.record(error, log: folder.text("log"), sourceLocation: sourceLocation)
        }
        daemon.send(15)
        #expect(daemon.wait() == .exited(0), sourceLocation: sourceLocation)
    }

    /// Places of the machine are those of the test.
    private static func type(_ command: String, _ folder: Folder) throws -> Finished {
        try Program.run(
            ["/bin/sh", "-euc", command.replacing("/etc/watchd", with: folder["etc/watchd"])],
            environment: ["PATH=\(folder["bin"]):/usr/bin:/bin", "LANG=C.UTF-8"], folder: folder.path)
    }

    /// Numbers and the width of columns differ from run to run.
    private static func masked(_ line: String) -> String {
        line.replacing(/[0-9]+/, with: "N").split(separator: " ").joined(separator: " ")
    }
}
