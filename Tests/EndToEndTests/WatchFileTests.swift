import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing

/// Watch files that cannot be used: told at start, by `watchd --check` and by `watchctl check` alike.
@Suite("Watch files, end to end", .ownThread) struct WatchFileTests {
    /// - Returns: what is written to standard error by all three, which end with status 78.
    private func refusal(_ path: String, launcher: [String] = []) throws -> String {
        let watchd = try Products.path("watchd")
        let start = try Program.run(launcher + [watchd, path])
        let check = try Program.run(launcher + [watchd, "--check", path])
        let client = try Program.run(launcher + [try Products.path("watchctl"), "check", path])
        for end in [start, check, client] { #expect(end.code == 78, "\(path): \(end)") }
        #expect(start.errorText == check.errorText)
        func sentences(_ text: String) -> [Substring] {
            text.split(separator: "\n").filter { $0.contains(": error: ") }
        }
        #expect(sentences(client.text + client.errorText) == sentences(start.errorText))
        return start.errorText
    }

    private func expectRefusal(
        _ pieces: String..., launcher: [String] = [], prepare: (Folder) throws -> String
    ) throws {
        try Folder.with { folder in
            let text = try refusal(try prepare(folder), launcher: launcher)
            for piece in pieces { #expect(text.contains(piece), "\(text)") }
        }
    }

    @Test func whatIsWrongIsToldAllAtOnceWithPlaceAndSuggestion() throws {
        try expectRefusal(
            ":1:2: error: ", ":5:1: error: ", "Handler", "^", "did you mean", "nowhere", "TimeoutSec", "forever"
        ) { folder in
            try folder.write(
                "watch",
                """
                [Handlers a]
                Exec=/bin/true

                [Custom b]
                Handlr=a
                Handler=nowhere
                [Handler c]
                Exec=/bin/true
                TimeoutSec=forever
                """)
            return folder["watch"]
        }
    }

    @Test func whatCannotWorkTogetherIsToldWithTheChain() throws {
        try expectRefusal(
            ":4:8: error: ", "these queues target each other: a → b → a",
            ":7:7: error: ", "a barrier on a global queue", ":9:9: error: ", "Value=2",
            "a handler cannot wait for itself", "[Group g] starts its own member h"
        ) { folder in
            try folder.write(
                "watch",
                """
                [Queue a]
                Target=b
                [Queue b]
                Target=a
                [Handler h]
                Log=x
                Queue=low
                Barrier=yes
                Acquire=s:3
                After=h
                [Semaphore s]
                Value=2
                [Group g]
                Members=h
                Handler=h
                """)
            return folder["watch"]
        }
    }

    @Test func aWarningIsToldAndStopsNothing() throws {
        let text = "[Queue q]\n[Custom c]\nLog=x\nQueue=q\nBarrier=yes\n"
        let warning = ":8:7: warning: a barrier on a serial queue"
        try Watchd.run(text) { watchd in
            let file = watchd.folder["watch"]
            let check = try Program.run([Products.path("watchd"), "--check", file])
            let client = try Program.run([Products.path("watchctl"), "check", file])
            for end in [check, client] { #expect(end.code == 0, "\(end)") }
            try watchd.waitForLog(warning)
            #expect(check.errorText.contains(warning))
            #expect(client.text.contains(warning))
            let good = watchd.folder.text("watch")
            try watchd.folder.write("watch", good + "[Custom more]\nLog=x\nQueue=q\nBarrier=yes\n")
            let reload = try watchd.control("reload")
            #expect(reload.code == 0, "\(reload)")
            try wait(for: "the warning in the log") { watchd.logText.contains(":12:7: warning: a barrier") }
        }
    }

    @Test func aPathThatIsNoReadableFileIsRefused() throws {
        try expectRefusal("No such file") { $0["missing"] }
        try expectRefusal("FIFO") { folder in
            try Linux.mkfifo(folder["fifo.watch"])
            return folder["fifo.watch"]
        }
        try expectRefusal("symbolic links") { folder in
            try Linux.symlink(folder["loop.watch"], to: "loop.watch")
            return folder["loop.watch"]
        }
        try expectRefusal("No such file") { folder in
            try Linux.symlink(folder["dangling.watch"], to: "nowhere")
            return folder["dangling.watch"]
        }
    }

    @Test func aFolderMeansItsWatchFiles() throws {
        try Folder.with { folder in
            try folder.makeFolder("conf")
            try folder.write("conf/a.watch", "[Custom a]\nLog=a\n")
            try folder.write("conf/a.watch~", "rubbish")
            try folder.makeFolder("conf/a.watch.d")
            try folder.write("conf/a.watch.d/b.watch", "[Custom a]\nLog=b\n")
            let end = try Program.run([Products.path("watchd"), "--check", folder["conf"]])
            #expect(end.code == 0, "\(end)")
            try folder.makeFolder("conf/folder.watch")
            let text = try refusal(folder["conf"])
            #expect(text.contains("folder.watch"))
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root"))
    func asRootAFileThatOthersMayWriteIsRefused() throws {
        for mode: UInt32 in [0o666, 0o664, 0o646] {
            try expectRefusal("may write") { folder in
                try folder.write("watch", "[Custom a]\nLog=a\n", mode: mode)
                if mode == 0o664 { try Linux.chown(folder["watch"], user: nil, group: 65534) }
                return folder["watch"]
            }
        }
        try expectRefusal("belongs to user 65534") { folder in
            try folder.write("watch", "[Custom a]\nLog=a\n")
            try Linux.chown(folder["watch"], user: 65534, group: nil)
            return folder["watch"]
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "needs root to become somebody else"))
    func anUnreadableFileIsRefused() throws {
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"]
        try expectRefusal("Permission denied", launcher: nobody) { folder in
            try folder.write("watch", "[Custom a]\nLog=a\n", mode: 0o600)
            return folder["watch"]
        }
    }

    @Test func bytesThatAreNoWatchFileAreRefusedAndNeverCrash() throws {
        var texts: [[UInt8]] = [
            "[Custom a]\nLog=a\0b\n".pathBytes, [0x5B, 0xFF, 0x5D, 0x0A],
            (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ ($0 >> 3)) },
            Array(repeating: UInt8(ascii: "#"), count: (1 << 20) + 1),
            "[Custom a]\nLog=".pathBytes + Array(repeating: UInt8(ascii: "x"), count: 1 << 20),
        ]
        // Too many sections (`tooManySectionsAreToldOnce`) cost each of three debug programs three seconds.
        if LongPart.isAsked { texts.append((0...10_000).flatMap { "[Custom s\($0)]\nLog=x\n".pathBytes }) }
        for bytes in texts {
            try expectRefusal(": error: ") { folder in
                try folder.write("watch".pathBytes, bytes)
                return folder["watch"]
            }
        }
    }

    @Test func carriageReturnsAndAByteOrderMarkAreNoMystery() throws {
        for bytes in ["[Custom a]\r\nLog=a\r\n".pathBytes, [0xEF, 0xBB, 0xBF] + "[Custom a]\nLog=a\n".pathBytes] {
            try Folder.with { folder in
                try folder.write("watch".pathBytes, bytes)
                let end = try Program.run([Products.path("watchd"), "--check", folder["watch"]])
                #expect(end.code == 0 || end.code == 78 && end.errorText.contains(":1:"), "\(end)")
            }
        }
    }

    @Test func wrongUsageIsStatusTwo() throws {
        let end = try Program.run([Products.path("watchd"), "--chek"])
        #expect(end.code == 2)
        #expect(end.errorText.contains("did you mean --check?"))
        #expect(try Program.run([Products.path("watchd"), "--version"]).code == 0)
        #expect(try Program.run([Products.path("watchctl"), "no-such-verb"]).code == 2)
    }
}
