import ControlInterface
import LinuxSystem
import ProgramKit
import Testing

/// `Credential=`: credentials of watchd's service reach the runs that ask for them, and no others.
@Suite("Credentials, end to end", .ownThread) struct CredentialTests {
    /// A folder as the service manager makes it: the text of each file.
    private static func with(
        _ credentials: [String: String], _ text: String, body: (Watchd, Folder) throws -> Void
    ) throws {
        try Folder.with { source in
            for (name, text) in credentials { try source.write(name, text) }
            try Watchd.run(
                text, launcher: ["/usr/bin/env", "CREDENTIALS_DIRECTORY=\(source.path)"],
                prepare: { try Linux.mkfifo($0["gate"]) }
            ) { watchd in try body(watchd, source) }
        }
    }

    private static func runs(_ folder: Folder) -> [String] {
        ((try? Linux.readFolder(folder["socket.credentials"])) ?? []).map {
            String(decoding: $0.name, as: UTF8.self)
        }
    }

    private static func openGate(_ folder: Folder) throws {
        try Linux.open(folder["gate"], [.writing]).use { number in try Linux.writeAll(number, "go\n".utf8) }
    }

    private static let script =
        "cd $CREDENTIALS_DIRECTORY; stat -c \"%%n %%a %%u\" . *; cat db; touch x 2>/dev/null && rm -f x"

    @Test func aRunHasThoseItAsksForInAPrivateFolderThatGoesWithIt() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c '\(Self.script)'
            Exec=/bin/sh -c '\(Self.script)'
            Credential=db
            [Custom other]
            Exec=/bin/sh -c 'echo [$CREDENTIALS_DIRECTORY]'
            """
        try Self.with(["db": "secret\n", "tls": "key\n"], text) { watchd, _ in
            for name in ["poke", "other"] { try watchd.emit(name) }
            try watchd.waitUntilIdle()
            let own = Linux.effectiveUserID
            let poke = try watchd.operation(#require(try watchd.ended("poke").first).id)
            let once = ". 500 \(own)\ndb 400 \(own)\nsecret\n"
            #expect(poke.output == once + once, "\(poke)")
            #expect(try watchd.operation(#require(try watchd.ended("other").first).id).output == "[]\n")
            #expect(Self.runs(watchd.folder).isEmpty)
        }
    }

    @Test(.enabled(if: Linux.effectiveUserID == 0, "only root can become somebody else"))
    func itIsOfTheUserOfTheRunAndOfNobodyElse() throws {
        let text = """
            [Handler]
            User=daemon
            [Custom poke]
            Exec=/bin/sh -c '\(Self.script); chmod 700 .; mkdir deep; ln -s /etc/passwd deep/link; ln -s /etc/passwd l'
            Credential=db tls
            OnFinished=thief
            [Custom hold]
            Exec=/bin/sh -c 'read x <@/gate'
            Credential=db
            [Handler thief]
            User=nobody
            Exec=/bin/sh -c 'ls @/socket.credentials; cat @/socket.credentials/run-*/db @/socket.credentials/$0/db' %{operation}
            SuccessExitStatus=1
            """
        try Self.with(["db": "secret\n", "tls": "key\n"], text) { watchd, source in
            try Linux.chmod(watchd.folder.path, 0o777)
            try watchd.emit("hold")
            try wait(for: "its folder") { !Self.runs(watchd.folder).isEmpty }
            try watchd.emit("poke")
            try watchd.waitForEnded(1, of: "thief")
            let poke = try watchd.operation(#require(try watchd.ended("poke").first).id)
            #expect(poke.output?.hasPrefix(". 500 1\ndb 400 1\ntls 400 1\nsecret\n") == true, "\(poke)")
            let thief = try watchd.operation(#require(try watchd.ended("thief").first).id)
            #expect(thief.output?.contains("secret") == false, "\(thief)")
            // The files are gone; a folder that the run has made is left, and told.
            let left = Self.runs(watchd.folder).filter {
                $0.contains("-\(poke.summary.id)") || $0.contains("run-\(poke.summary.id)-")
            }
            for name in left {
                let entries = try Linux.readFolder(watchd.folder["socket.credentials/\(name)"]).map {
                    String(decoding: $0.name, as: UTF8.self)
                }
                #expect(entries == ["deep"])
            }
            try watchd.waitForLog("is left there")
            #expect(source.text("db") == "secret\n")
            try Self.openGate(watchd.folder)
            try watchd.waitUntilIdle()
        }
    }

    @Test func whatIsNotThereFailsTheAttemptWithASentence() throws {
        let text = """
            [Custom poke]
            Exec=/bin/true
            Credential=db nothing
            [Custom more]
            Exec=/bin/true
            """
        try Self.with(["db": "x"], text) { watchd, source in
            for name in ["poke", "more"] { try watchd.emit(name) }
            try watchd.waitUntilIdle()
            let poke = try #require(try watchd.ended("poke").first)
            #expect(poke.reason?.contains("no such credential; its unit needs LoadCredential=nothing:PATH") == true)
            #expect(try watchd.ended("more").map(\.result) == [.done])
            #expect(Self.runs(watchd.folder).isEmpty)
            // A folder instead of a file.
            try Linux.mkdir(source["nothing"])
            try watchd.emit("poke")
            try watchd.waitForEnded(2, of: "poke")
            #expect(try watchd.ended("poke").last?.reason?.hasPrefix("Credential=nothing: ") == true)
        }
        try Watchd.run(text) { watchd in
            try watchd.emit("poke")
            try watchd.waitUntilIdle()
            let reason = try watchd.ended("poke").first?.reason ?? ""
            #expect(reason.contains("has no credentials; its unit needs LoadCredential=db:PATH"), "\(reason)")
        }
    }

    @Test func aKilledWatchdLeavesNothingBeyondTheNextStart() throws {
        let text = """
            [Custom dies]
            Exec=/bin/sh -c 'exec sleep 1000'
            Credential=db
            [Custom lives]
            Exec=/bin/sh -c 'read x <@/gate'
            Credential=db
            """
        try Folder.with { source in
            try source.write("db", "secret")
            try Folder.with { folder in
                try Recorded.install(in: folder)
                try Linux.mkfifo(folder["gate"])
                let launcher = ["/usr/bin/env", "CREDENTIALS_DIRECTORY=\(source.path)"]
                let first = try Watchd(folder, text, launcher: launcher)
                try first.waitUntilReady()
                for name in ["dies", "lives"] { try first.emit(name) }
                try wait(for: "both") { try first.status().running.filter { $0.pid != nil }.count == 2 }
                #expect(Self.runs(folder).count == 2)
                let pids = Dictionary(
                    try first.status().running.map { ($0.handler, Int32($0.pid ?? 0)) }, uniquingKeysWith: { $1 })
                first.send(9)
                first.waitForEnd()
                try Linux.kill(process: #require(pids["dies"]), signal: 9)
                let next = try Watchd(folder, text, launcher: launcher)
                try next.waitUntilReady()
                try wait(for: "that of the dead to go") { Self.runs(folder).count <= 1 }
                try Self.openGate(folder)
                try wait(for: "that of the living to go") { Self.runs(folder).isEmpty }
                try next.stop()
            }
        }
    }
}
