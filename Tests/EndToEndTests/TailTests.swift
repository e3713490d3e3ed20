import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("Tail, end to end", .ownThread) struct TailTests {
    private static let text = """
        [Queue kept]
        Durable=yes
        [Descriptor log]
        Tail=@/app
        Include=^([a-z]+)([0-9]+)$
        Exec=/bin/sh -c "echo $1.$2 >>@/copy" sh %1 %2
        Queue=kept

        """

    @Test(arguments: [false, true]) func nothingIsLostAcrossRotationTruncationAndRestart(isKilled: Bool) throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            try wait(for: "it to say so") { try lives.watchd.source("log").state == .waiting }
            try folder.write("app", "a1\nnoise\n")
            try wait(for: "the first") { folder.lines("copy") == ["a.1"] }
            try folder.append("app", "b2\nhal")
            try Linux.rename(folder["app"], to: folder["app.1"])
            try folder.write("app", "c3\n")
            try wait(for: "the new file") { folder.lines("copy") == ["a.1", "b.2", "c.3"] }
            try lives.watchd.waitUntilIdle()
            // They answer when all before them is stored: an end that is not yet would be repeated after a kill.
            try lives.watchd.suspend("kept")
            try lives.watchd.resume("kept")
            if isKilled { lives.kill() } else { try lives.watchd.stop() }
            try folder.append("app", "d4\n")
            try Linux.rename(folder["app"], to: folder["app.2"])
            try folder.write("app", "e5\n")
            try lives.start()
            try wait(for: "what came meanwhile") { folder.lines("copy").last == "e.5" }
            try folder.write("app", "f6\n")
            try wait(for: "the truncated file") { folder.lines("copy").last == "f.6" }
            try lives.watchd.waitUntilIdle()
            #expect(folder.lines("copy") == ["a.1", "b.2", "c.3", "d.4", "e.5", "f.6"])
        }
    }

    /// What came while watchd was down stands before what comes while the store cannot be opened.
    @Test func withoutAStoreItWaitsUntilThatIsThere() throws {
        let text =
            Self.text.replacing("Queue=kept", with: "") + """
                [Descriptor durable]
                Tail=@/app
                Exec=/bin/sh -c "echo $1 >>@/durable" sh %{line}
                Queue=kept

                """
        try Lives.run(text, onSmallDisk: true) { lives in
            guard let disk = lives.disk else { return print("SKIPPED: no file system can be mounted") }
            let folder = lives.folder
            try folder.write("app", "a1\n")
            try wait(for: "the first") { folder.lines("copy") == ["a.1"] && folder.lines("durable") == ["a1"] }
            try lives.watchd.waitUntilIdle()
            try lives.watchd.stop()
            try folder.append("app", "b2\nc3\n")
            try disk.fill()
            try lives.start()
            try folder.append("app", "d4\n")
            try wait(for: "both to say so") {
                try ["log", "durable"].allSatisfy { try lives.watchd.source($0).state == .waiting }
            }
            try disk.free()
            let expected = ["a1", "b2", "c3", "d4"]
            try wait(for: "all, got \(folder.lines("durable"))", seconds: 90) { folder.lines("durable") == expected }
            // On the default queue they run at once.
            try wait(for: "all, got \(folder.lines("copy"))") {
                folder.lines("copy").sorted() == ["a.1", "b.2", "c.3", "d.4"]
            }
            try lives.watchd.waitUntilIdle()
        }
    }

    @Test func whatIsAppendedToTheRotatedFileIsTold() throws {
        try Lives.run(Self.text) { lives in
            let folder = lives.folder
            try wait(for: "it to say so") { try lives.watchd.source("log").state == .waiting }
            try folder.write("app", "a1\n")
            try wait(for: "the first") { folder.lines("copy") == ["a.1"] }
            try Linux.rename(folder["app"], to: folder["app.1"])
            try folder.write("app", "b2\n")
            try wait(for: "the new file") { folder.lines("copy") == ["a.1", "b.2"] }
            try folder.append("app.1", "c3\n")
            try wait(for: "the late line") { folder.lines("copy") == ["a.1", "b.2", "c.3"] }
            try lives.watchd.waitUntilIdle()
            // When this is answered, all that came before it is stored.
            try lives.watchd.suspend("kept")
            try lives.watchd.resume("kept")
            lives.kill()
            try folder.append("app.1", "d4\n")
            try lives.start()
            try wait(for: "what came meanwhile") { folder.lines("copy").last == "d.4" }
            try lives.watchd.waitUntilIdle()
            #expect(folder.lines("copy") == ["a.1", "b.2", "c.3", "d.4"])
        }
    }
}
