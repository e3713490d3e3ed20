import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What a handler is told of files, from the real kernel.
@Suite("Paths, end to end", .ownThread) struct PathTests {
    /// Names that have broken other programs.
    private static let names: [[UInt8]] = [
        "a line\nand another".pathBytes, "'single' \"double\" `back`".pathBytes, "%p %% %{path} %@".pathBytes,
        "-rf".pathBytes, "$HOME;&|<>*?[]".pathBytes, "\\x41\\".pathBytes, " spaces ".pathBytes,
        "\u{FEFF}ä\u{202E}日本".pathBytes, [0xFF, 0xFE, 0x80, UInt8(ascii: "x")], [0x01, 0x1B, 0x7F],
        Array(repeating: UInt8(ascii: "n"), count: 255), Array(repeating: 0xE4, count: 255),
    ]

    @Test func namesOfAnyBytesReachArgumentsEnvironmentAndMessage() throws {
        let text = "[Path in]\nPath=@/in\nKey=%p\nExec=@/record %p x%fx %r --path=%{path} %{folder}\n"
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let folder = watchd.folder
            for name in Self.names { try folder.write("in/".pathBytes + name, []) }
            let runs = try watchd.waitForRuns(Self.names.count)
            #expect(runs.count == Self.names.count)
            for name in Self.names {
                let path = folder["in/".pathBytes + name]
                let run = try #require(runs.first { $0.arguments.first == path }, "\(name.printable)")
                #expect(
                    run.arguments == [
                        path, "x".pathBytes + name + "x".pathBytes, name, "--path=".pathBytes + path,
                        folder["in"].pathBytes,
                    ])
                #expect(run.bytes("WATCHD_PATH") == path)
                try expectMessage(run, path: path)
            }
        }
    }

    private func expectMessage(_ run: Recorded, path: [UInt8]) throws {
        #expect(run.input.last == UInt8(ascii: "\n"))
        #expect(run.input.count { $0 == UInt8(ascii: "\n") } == 1, "one line")
        let message = try JSON.decode(JSONValue.self, from: run.input)
        guard case .array(let events) = message.members?["events"], let event = events.first?.members else {
            Issue.record("no event in \(run.inputText)")
            return
        }
        #expect(event["kind"] == .string("path"))
        #expect(event["event"] == .string("written"))
        #expect(event["path"] == .string(String(decoding: path, as: UTF8.self)))
        if String(validating: path, as: UTF8.self) == nil {
            let encoded = try #require(event["path_base64"]?.string)
            let decoded = try Program.run(["base64", "-d"], input: encoded)
            #expect(decoded.output == path)
        } else {
            #expect(event["path_base64"] == nil)
        }
    }

    @Test func onlyWhatTheGlobsLetThroughReachesAHandler() throws {
        let text = """
            [Path in]
            Path=@/in
            Events=changed
            Include=*.jpg "with \\x2a*"
            Exclude=.*
            Key=%p
            Exec=@/record %{event} %f
            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let folder = watchd.folder
            for name in ["a.txt", ".hidden.jpg", "with star", "with *"] { try folder.write("in/\(name)", "") }
            try folder.write("in/b.part", "")
            try Linux.rename(folder["in/b.part"], to: folder["in/b.jpg"])
            let runs = try watchd.waitForRuns(2)
            let told = runs.map { $0.arguments.map { String(decoding: $0, as: UTF8.self) } }
            #expect(Set(told) == [["written", "with *"], ["written", "b.jpg"]])
            try Linux.rename(folder["in/b.jpg"], to: folder["in/b.old"])
            #expect(try watchd.waitForRuns(3).last?.arguments == ["deleted", "b.jpg"].map(\.pathBytes))
        }
    }

    @Test func everyPathOfAnOperationIsOneWordOrOneRecord() throws {
        let text = """
            [Path words]
            Path=@/in
            Handler=words paths paths0
            [Handler words]
            Exec=@/record -- %@
            [Handler paths]
            Exec=@/record paths
            StandardInput=paths
            [Handler paths0]
            Exec=@/record paths0
            StandardInput=paths0
            [Custom unused]
            Handler=words
            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let folder = watchd.folder
            try watchd.suspend("queue/default")
            let names = ["one\n2", "two"].map(\.pathBytes)
            for name in names { try folder.write("in/".pathBytes + name, []) }
            try wait(for: "both changes") { try watchd.source("words").counters.accepted == 6 }
            try watchd.resume("queue/default")
            let runs = try watchd.waitForRuns(3)
            let paths = names.map { folder["in/".pathBytes + $0] }
            let byName = Dictionary(uniqueKeysWithValues: runs.map { ($0["WATCHD_HANDLER"] ?? "", $0) })
            #expect(byName["words"]?.arguments == ["--".pathBytes] + paths)
            #expect(byName["paths"]?.input == paths.flatMap { $0 + [0x0A] })
            #expect(byName["paths0"]?.input == paths.flatMap { $0 + [0] })
        }
    }

    @Test func everyEventOfAFolderIsToldInItsWords() throws {
        let text = """
            [Path all]
            Path=@/in
            Events=written renamed deleted created modified attributes
            Key=none
            Coalesce=no
            Handler=note
            Queue=main
            [Handler note]
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT ${WATCHD_OLD_PATH##*/} ${WATCHD_PATH##*/}"'
            StandardOutput=append:@/notes
            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let folder = watchd.folder
            var expected: [String] = []
            func expect(_ lines: String...) throws {
                expected += lines
                _ = try watchd.waitForLines(expected.count, in: "notes")
            }
            try Linux.open(folder["in/a"], [.writing, .creating]).use { file in
                try expect("created  a")
                try Linux.writeAll(file, "x".utf8)
                try expect("modified  a")
            }
            try expect("written  a")
            try Linux.chmod(folder["in/a"], 0o600)
            try expect("attributes  a")
            try Linux.rename(folder["in/a"], to: folder["in/b"])
            try expect("renamed a b")
            try Linux.rename(folder["in/b"], to: folder["away"])
            try expect("deleted  b")
            try Linux.rename(folder["away"], to: folder["in/c"])
            try expect("written  c")
            try Linux.link(folder["in/c"], to: folder["in/d"])
            try expect("created  d", "written  d")
            try Linux.symlink(folder["in/e"], to: "nowhere")
            try expect("created  e", "written  e")
            try Linux.unlink(folder["in/e"])
            try expect("deleted  e")
            #expect(folder.lines("notes").sorted() == expected.sorted())
            try watchd.waitUntilIdle()
        }
    }

    /// As Kubernetes writes a ConfigMap, and as certbot does.
    @Test func whatIsReadThroughTheLinksOfATreeIsTold() throws {
        let text = """
            [Path all]
            Path=@/in
            Recursive=yes
            FollowSymlinks=yes
            Events=changed
            Prune=..*
            Key=%p
            SettleSec=100ms
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT ${WATCHD_PATH#@/in/}"'
            StandardOutput=append:@/notes
            """
        func shell(_ text: String, _ folder: Folder) throws {
            let made = try Program.run(["sh", "-ec", text], folder: folder.path)
            #expect(made.status == .exited(0), "\(made)")
        }
        let before = """
            mkdir -p in/config/..1 in/live archive; echo 1 > in/config/..1/key; ln -s ..1 in/config/..data
            ln -s ..data/key in/config/key; echo 1 > archive/1; ln -s ../../archive/1 in/live/cert; ln -s . in/loop
            """
        try Watchd.run(text, prepare: { try shell(before, $0) }) { watchd in
            let folder = watchd.folder
            try shell(
                """
                cd in/config; mkdir ..2; echo 2 > ..2/key; ln -s ..2 ..data_tmp; mv -T ..data_tmp ..data; rm -r ..1
                cd ../live; echo 2 > ../../archive/2; ln -s ../../archive/2 ../../tmp; mv -T ../../tmp cert
                """, folder)
            let told = try watchd.waitForLines(2, in: "notes")
            #expect(told.sorted() == ["written config/key", "written live/cert"])
            try watchd.waitUntilIdle()
        }
    }

    @Test func aFileIsFollowedThroughComingReplacementAndFoldersThatMove() throws {
        let text = """
            [Path file]
            Path=@/etc/app/config
            Events=changed
            Coalesce=no
            Key=none
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT $(cat "$WATCHD_PATH" 2>/dev/null)"'
            StandardOutput=append:@/notes
            Queue=main
            """
        try Watchd.run(text) { watchd in
            let folder = watchd.folder
            #expect(try watchd.source("file").state == .waiting)
            try folder.makeFolder("etc")
            try folder.makeFolder("etc/app")
            try folder.write("etc/app/config", "1")
            try wait(for: "the new file") { folder.lines("notes").contains("written 1") }
            try wait(for: "the source to be armed") { try watchd.source("file").state == .armed }
            let before = folder.lines("notes").count
            try folder.write("etc/app/new", "2")
            try Linux.rename(folder["etc/app/new"], to: folder["etc/app/config"])
            try wait(for: "the replaced file") { folder.lines("notes").contains("written 2") }
            try Linux.rename(folder["etc/app"], to: folder["etc/gone"])
            try wait(for: "the loss of the file") { folder.lines("notes").contains { $0.hasPrefix("deleted") } }
            #expect(try watchd.source("file").state == .waiting)
            try folder.makeFolder("etc/app")
            try folder.write("etc/app/config", "3")
            try wait(for: "the file in the new folder") { folder.lines("notes").contains("written 3") }
            try folder.append("etc/gone/config", "not watched any more")
            try folder.append("etc/app/config", "4")
            try wait(for: "the appended file") { folder.lines("notes").contains("written 34") }
            #expect(folder.lines("notes").count >= before + 4)
            #expect(!folder.text("notes").contains("any more"))
        }
    }

    @Test func aFolderThatIsReplacedIsWatchedAgain() throws {
        let text = """
            [Path in]
            Path=@/in
            Events=written
            Coalesce=no
            Key=none
            Exec=/bin/sh -c 'echo "${WATCHD_PATH##*/}"'
            StandardOutput=append:@/notes
            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let folder = watchd.folder
            try folder.write("in/one", "")
            try wait(for: "one") { folder.lines("notes").contains("one") }
            try Linux.rename(folder["in"], to: folder["old"])
            try folder.makeFolder("in")
            try folder.write("in/two", "")
            try wait(for: "two") { folder.lines("notes").contains("two") }
            try folder.write("old/three", "")
            try folder.write("in/four", "")
            try wait(for: "four") { folder.lines("notes").contains("four") }
            #expect(!folder.lines("notes").contains("three"))
        }
    }

    @Test func theNetEffectOfWhatHappenedWhileItWaitedIsTold() throws {
        let text = """
            [Path in]
            Path=@/in
            Events=created written renamed deleted
            Key=%p
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT ${WATCHD_OLD_PATH##*/} ${WATCHD_PATH##*/}"'
            StandardOutput=append:@/notes
            Queue=main
            """
        try Watchd.run(
            text,
            prepare: { folder in
                try folder.makeFolder("in")
                for name in ["b", "c", "d"] { try folder.write("in/\(name)", "") }
            }
        ) { watchd in
            let folder = watchd.folder
            try watchd.suspend("main")
            try folder.write("in/a", "created and written")
            try folder.write("in/gone", "created and deleted")
            try Linux.unlink(folder["in/gone"])
            try folder.append("in/b", "written and deleted")
            try Linux.unlink(folder["in/b"])
            try Linux.rename(folder["in/c"], to: folder["in/c2"])
            try Linux.rename(folder["in/c2"], to: folder["in/c3"])
            try Linux.unlink(folder["in/d"])
            try folder.write("in/d", "deleted and created")
            try wait(for: "the changes") { try watchd.status().operationsPending >= 4 }
            try wait(for: "the last change") {
                // a: 2, gone: 3, b: 2, c: 2, d: 3
                try watchd.source("in").counters.accepted == 12
            }
            try watchd.resume("main")
            let totals = try watchd.waitUntilIdle()
            #expect(folder.lines("notes").sorted() == ["created  a", "deleted  b", "renamed c c3", "written  d"])
            #expect(totals.annulled == 3)
            #expect(totals.done == 9)
        }
    }
}
