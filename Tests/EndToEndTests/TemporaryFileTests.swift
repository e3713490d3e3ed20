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

    @Test(arguments: [false, true]) func nobodyIsToldOfThem(isRecursive: Bool) throws {
        try Watchd.run(
            Self.text(isRecursive),
            prepare: { folder in
                try folder.makeFolder("in")
                for name in ["g", "end", "mode"] { try folder.write("in/\(name)", "0\n") }
            }
        ) { watchd in
            let script = """
                cd in; echo 1 > passing1; rm passing1; sed -i s/0/1/ g; echo 1 > passing2; mv passing2 g
                mkfifo passing3; chmod 600 passing3; rm passing3; echo > passing4; mv passing4 passing5; rm passing5
                echo >> end; chmod 600 mode; mv end last; mkdir folder
                """
            let made = try Program.run(["sh", "-ec", script], folder: watchd.folder.path)
            #expect(made.code == 0)
            for number in Self.events.indices {
                try wait(for: "p\(number) to have told") { watchd.folder.exists("told\(number)") }
                try wait(for: "all of it") { try watchd.status().operationsPending == 0 }
                let told = watchd.folder.text("told\(number)")
                #expect(!told.contains("passing") && !told.contains("/sed"), "\(Self.events[number]): \(told)")
            }
        }
    }
}
