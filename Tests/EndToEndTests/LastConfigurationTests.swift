import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// A service that is started on watch files with an error runs what was last in force.
@Suite("Last configuration, end to end", .ownThread) struct LastConfigurationTests {
    private static let good = "[Custom poke]\nExec=@/job\n"
    private static let bad = good + "Exac=1\n[Timr t]\n"
    private static let kept = "state/watchd.configuration"

    private func waitUntilKept(_ text: String, _ folder: Folder) throws {
        try wait(for: "\(text) to be kept") { folder.text(Self.kept).contains(text) }
    }

    /// A service that ends by itself.
    private func start(_ folder: Folder, _ words: String..., isService: Bool = true) throws -> Finished {
        let environment = isService ? ["env", "STATE_DIRECTORY=/nowhere"] : []
        return try Program.run(environment + [Products.path("watchd")] + words + [folder["watch"]])
    }

    private func refusal(_ watchd: Watchd) throws -> GetStatus.Problem? {
        let problem = try watchd.status().problems.first
        return problem?.object == "watch files" ? problem : nil
    }

    @Test func jobsRunOnUntilTheFilesAreMended() throws {
        try Lives.run(Self.good) { lives in
            try waitUntilKept("[Custom poke]", lives.folder)
            lives.kill()
            try lives.start(Self.bad)
            try lives.watchd.waitForNotification("STATUS=watch files refused, the last good configuration runs: ")
            try lives.watchd.waitForLog("the last configuration that was in force runs:")
            for line in ["watch:7:1: error: unknown key Exac=", "watch:8:2: error: unknown kind of section [Timr]"] {
                try lives.watchd.waitForLog(line)
            }
            let problem = try #require(try refusal(lives.watchd))
            #expect(problem.problem.contains("watch:7:1: error: unknown key Exac="), "\(problem)")
            #expect(problem.problem.hasSuffix("(and 1 more)"), "\(problem)")
            #expect(try lives.watchd.control("status").text.contains("DEGRADED"))
            try lives.watchd.emit("poke", data: 1)
            try lives.folder.write("go", "")
            try lives.waitForBegun(1)
            try lives.watchd.waitUntilIdle()

            let refused = try lives.watchd.control("reload")
            #expect(refused.code == 78, "\(refused)")
            #expect(try refusal(lives.watchd)?.problem.hasPrefix("refused at the start") == true)
            try lives.write(Self.good + "[Custom other]\nLog=x\n")
            #expect(try lives.watchd.control("reload").code == 0)
            #expect(try lives.watchd.status().problems.isEmpty)
            try waitUntilKept("[Custom other]", lives.folder)
            lives.stop()
            try lives.start(Self.bad)
            try lives.watchd.emit("other", data: 1)
            #expect(try refusal(lives.watchd) != nil)
        }
    }

    @Test func itIsForServicesThatAreNotStrict() throws {
        try Lives.run(Self.good) { lives in
            try waitUntilKept("[Custom poke]", lives.folder)
            lives.stop()
            try lives.write(Self.bad)
            for end in [try start(lives.folder, "--strict"), try start(lives.folder, isService: false)] {
                #expect(end.code == 78, "\(end)")
                #expect(!end.errorText.contains("in force"), "\(end)")
            }
            // A trial by hand changes nothing.
            try lives.start()
            #expect(try refusal(lives.watchd) != nil)
        }
    }

    @Test func withoutOneThatCanRunItEndsAndSaysWhy() throws {
        try Lives.run(Self.good) { lives in
            try waitUntilKept("[Custom poke]", lives.folder)
            lives.stop()
            let bytes = lives.folder.bytes(Self.kept)
            try lives.write(Self.bad)
            func expectEnd(_ piece: String, at place: SourceLocation = #_sourceLocation) throws {
                let end = try start(lives.folder)
                #expect(end.code == 78, "\(end)", sourceLocation: place)
                #expect(end.errorText.contains("unknown key Exac="), "\(end)", sourceLocation: place)
                #expect(end.errorText.contains(piece), "\(end)", sourceLocation: place)
            }
            try lives.folder.write(Self.kept.pathBytes, Array(bytes.dropLast()))
            try expectEnd("is damaged, or of another version")
            // Of a version that knew other keys.
            let older = bytes.replacing("[Custom poke]".utf8, with: "[Cystom poke]".utf8)
            try lives.folder.write(Self.kept.pathBytes, older)
            try expectEnd("unknown kind of section [Cystom]")
            let other = lives.folder["wetch"]
            let others = bytes.replacing(lives.folder["watch"].utf8, with: other.utf8)
            try lives.folder.write(Self.kept.pathBytes, others)
            try expectEnd("keeps the one of \(other)")
            try Linux.chmod(lives.folder[Self.kept], 0o666)
            try expectEnd("may be written by others")
            try Linux.unlink(lives.folder[Self.kept])
            try expectEnd("there is no \(lives.folder[Self.kept])")
            try lives.start(Self.good)
        }
    }

    @Test func onAFullDiskItIsKeptLater() throws {
        try Lives.run(Self.good, onSmallDisk: true) { lives in
            guard let disk = lives.disk else {
                return print("not tested: no file system in memory can be mounted here")
            }
            try waitUntilKept("[Custom poke]", lives.folder)
            try disk.fill()
            try lives.write(Self.good + "[Custom other]\nLog=\(String(repeating: "x", count: 20_000))\n")
            #expect(try lives.watchd.control("reload").code == 0)
            try wait(for: "the status to say so") {
                try lives.watchd.status().problems.contains { $0.problem.hasPrefix("not kept for the next start: no") }
            }
            try waitUntilKept("[Custom poke]", lives.folder)
            #expect(!lives.folder.text(Self.kept).contains("[Custom other]"), "the older one is whole")
            try disk.free()
            try waitUntilKept("[Custom other]", lives.folder)
            try wait(for: "the status to say nothing") { try lives.watchd.status().problems.isEmpty }
        }
    }
}
