import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

@Suite("Tail, end to end") struct TailTests {
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
}
