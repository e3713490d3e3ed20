import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// `watchctl run NAME --changed`.
@Suite("Comparisons on demand, end to end", .ownThread) struct ChangedTests {
    private static let text = """
        [Path tree]
        Path=@/in
        Recursive=yes
        Key=%p
        Exec=/bin/sh -c 'echo "$WATCHD_EVENT $WATCHD_PATH" >>@/ran'
        [Custom poke]
        Exec=/bin/true

        """

    @Test func whatNoWatchTellsIsFoundAndHandled() throws {
        try Watchd.run(
            Self.text,
            prepare: { folder in
                try folder.makeFolder("in")
                try folder.makeFolder("in/d")
                for name in ["in/d/a", "in/d/b"] { try folder.write(name, "text") }
            }
        ) { watchd in
            try wait(for: "it to be armed") {
                try watchd.source("tree").state == .armed
            }
            let none = try watchd.control("run", "tree", "--changed")
            #expect(none.code == 0 && none.text == "tree: nothing found that was not told yet\n", "\(none)")
            for name in ["in/d/a", "in/d/b"] {
                // Of a truncate(2) by path no close is reported.
                let made = try Program.run(
                    ["python3", "-c", "import os, sys; os.truncate(sys.argv[1], 1)", watchd.folder[name]])
                #expect(made.status == .exited(0), "\(made)")
            }
            let two = try watchd.control("run", "path/tree", "--changed")
            #expect(two.code == 0 && two.text == "path/tree: 2 changes found that were not told yet\n", "\(two)")
            try wait(for: "both to be handled") { watchd.folder.lines("ran").count == 2 }
            #expect(
                Set(watchd.folder.lines("ran")) == [
                    "written \(watchd.folder["in/d/a"])", "written \(watchd.folder["in/d/b"])",
                ])
            #expect(try watchd.call(Run.self, .init(name: "tree", changed: true)).changes == 0)
        }
    }

    @Test func whatHasNoFilesIsRefusedByName() throws {
        try Watchd.run(Self.text, prepare: { try $0.makeFolder("in") }) { watchd in
            let other = try watchd.control("run", "--changed", "poke")
            #expect(other.code == 1 && other.errorText.contains("no path “poke”"), "\(other)")
            let missing = try watchd.control("run", "--changed", "three")
            #expect(missing.code == 1 && missing.errorText.contains("tree"), "\(missing)")
            let usage = try watchd.control("run", "--changed", "--wait", "tree")
            #expect(usage.code == 2, "\(usage)")
            #expect(throws: ClientError.self) { try watchd.call(Run.self, .init(name: "tree", data: 1, changed: true)) }
        }
    }
}
