import ControlInterface
import ProgramKit
import Testing

/// Files that come and go while it settles, with all kinds of `Events=`.
@Suite("Temporary files, end to end", .ownThread) struct TemporaryFileTests {
    private static let events = [
        "modified deleted", "deleted attributes", "changed attributes", "changed modified", "modified", "attributes",
        "deleted", "renamed", "created", "created modified",
    ]

    private static func text(_ isRecursive: Bool) -> String {
        events.enumerated().map { number, events in
            """
            [Path p\(number)]
            Path=@/in
            Recursive=\(isRecursive ? "yes" : "no")
            Events=\(events)
            SettleSec=300ms
            MaxSettleSec=1h
            Exec=/bin/sh -c 'cat >> "$0"' @/told\(number)
            StandardInput=event

            """
        }.joined()
    }

    /// A save by exchange, and names that are taken by another file before they go, faster than they are read.
    private static let program = """
        import ctypes, os
        open('passing6', 'w').write('x')
        ctypes.CDLL(None).renameat2(-100, b'passing6', -100, b'g', 2)
        os.unlink('passing6')
        os.link('mode', 'passing7')
        os.rename('../other', 'passing7')
        os.unlink('passing7')
        os.symlink('a', 'passing8')
        os.symlink('b', 'passing9')
        os.rename('passing9', 'passing8')
        os.unlink('passing8')
        """

    @Test(arguments: [false, true]) func nobodyIsToldOfThem(isRecursive: Bool) throws {
        try Watchd.run(
            Self.text(isRecursive),
            prepare: { folder in
                try folder.makeFolder("in")
                try folder.makeFolder("in/old")
                for name in ["in/g", "in/end", "in/mode", "other"] { try folder.write(name, "0\n") }
            }
        ) { watchd in
            let script = """
                cd in; echo 1 > passing1; rm passing1; sed -i s/0/1/ g; echo 1 > passing2; mv passing2 g
                mkfifo passing3; chmod 600 passing3; rm passing3; echo > passing4; mv passing4 passing5; rm passing5
                echo >> end; chmod 600 mode; mv end last; mkdir folder
                """
            let made = try Program.run(["sh", "-ec", script], folder: watchd.folder.path)
            #expect(made.code == 0)
            let inside = watchd.folder["in"]
            #expect(try Program.run(["python3", "-c", Self.program], folder: inside).code == 0)
            // Another folder has taken its name for a while.
            for verb in ["rmdir", "mkdir", "rmdir"] {
                let isThere = watchd.folder.exists("in/old")
                #expect(try Program.run([verb, "old"], folder: inside).code == 0 && isThere == (verb == "rmdir"))
            }
            for number in Self.events.indices {
                let isAsked = ["deleted", "changed"].contains(where: Self.events[number].contains)
                let end = "\"path\":\"\(inside)/old\""
                try wait(for: "p\(number) to have told") {
                    isAsked ? watchd.folder.text("told\(number)").contains(end) : watchd.folder.exists("told\(number)")
                }
                try wait(for: "all of it") { try watchd.status().operationsPending == 0 }
                let told = watchd.folder.text("told\(number)")
                #expect(!told.contains("passing") && !told.contains("/sed"), "\(Self.events[number]): \(told)")
                #expect(told.contains(end) == isAsked, "\(Self.events[number]): \(told)")
            }
        }
    }
}
