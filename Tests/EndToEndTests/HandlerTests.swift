import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import Varlink

/// Commands: how they start, what they get, how they end.
@Suite("Handlers, end to end", .ownThread) struct HandlerTests {
    @Test func aChildStartsCleanWithExactlyTheDocumentedEnvironment() throws {
        let text = """
            [Custom poke]
            Handler=record look
            [Handler record]
            Exec=@/record
            Environment=ONE=1 "TWO=a b" LANG=de_DE.UTF-8
            [Handler look]
            Exec=/bin/ls -x /proc/self/fd
            Exec=/bin/readlink /proc/self/cwd
            Exec=/bin/cat /proc/self/stat /proc/self/status
            """
        // Descriptors that watchd inherited, and signals that its parent had ignored, are no business of a handler.
        let launcher = ["sh", "-c", "trap '' USR2 PIPE; exec 7</dev/null 8</dev/null \"$@\"", "-"]
        try Watchd.run(text, launcher: launcher) { watchd in
            try watchd.emit("poke", data: 5)
            let run = try #require(try watchd.waitForRuns(1).first)
            // `PWD` and the like are the shell's own, set after it was started.
            let names = run.environment.map(\.name)
            #expect(
                names == [
                    "LANG", "ONE", "PATH", "TRACEPARENT", "TWO", "WATCHD_ATTEMPT", "WATCHD_COUNT", "WATCHD_DATA",
                    "WATCHD_EVENT", "WATCHD_HANDLER", "WATCHD_HOST", "WATCHD_INSTANCE", "WATCHD_KIND",
                    "WATCHD_OPERATION",
                    "WATCHD_PART",
                    "WATCHD_QUEUE", "WATCHD_SOURCE", "WATCHD_TIME",
                ])
            #expect(run["TWO"] == "a b")
            #expect(run["LANG"] == "de_DE.UTF-8")
            #expect(run["WATCHD_HANDLER"] == "record")
            #expect(run["WATCHD_SOURCE"] == "poke")
            #expect(run["WATCHD_DATA"] == "5")
            #expect(run["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            try watchd.waitUntilIdle()
            let look = try #require(try watchd.ended("look").first)
            let lines = try watchd.operation(look.id).output?.split(separator: "\n") ?? []
            // 3 is the folder that is being listed.
            #expect(lines.first?.split(separator: " ") == ["0", "1", "2", "3"])
            #expect(lines.dropFirst().first == "/")
            let state = try #require(lines.dropFirst(2).first).split(separator: " ")
            #expect(state[0] == state[4], "it leads its process group")
            #expect(lines.contains("Umask:\t0022"))
            for name in ["SigBlk", "SigIgn", "SigCgt"] {
                #expect(lines.contains("\(name):\t0000000000000000"))
            }
        }
    }

    @Test func commandsRunInOrderAndStopAtTheFirstFailure() throws {
        let text = """
            [Custom poke]
            Exec=/bin/sh -c 'echo one'
            Exec=/bin/sh -c 'echo two; exit 3'
            Exec=/bin/sh -c 'echo three; exit 4'
            Exec=/bin/sh -c 'echo four'
            SuccessExitStatus=3
            OnFailure=tell
            OnSuccess=never
            [Handler tell]
            Exec=@/record %{result} %{exit_status} %{data}
            [Handler never]
            Exec=@/record never
            [Handler output]
            Exec=@/record output
            StandardInput=output
            """
        try Watchd.run(text.replacing("OnFailure=tell", with: "OnFailure=tell output")) { watchd in
            try watchd.emit("poke", data: 9)
            let runs = try watchd.waitForRuns(2)
            try watchd.waitUntilIdle()
            #expect(try Recorded.all(in: watchd.folder).count == 2)
            let told = try #require(runs.first { $0.arguments[0] == "failed".pathBytes })
            #expect(told.arguments == ["failed", "4", "9"].map(\.pathBytes))
            #expect(told.inputText.contains("\"kind\":\"completion\""))
            #expect(told.inputText.contains("\"of\":1"))
            #expect(told.inputText.contains("\"output\":\"one\\ntwo\\nthree\\n\""))
            let output = try #require(runs.first { $0.arguments[0] == "output".pathBytes })
            #expect(output.inputText == "one\ntwo\nthree\n")
            let operation = try watchd.operation(1)
            #expect(operation.output == "one\ntwo\nthree\n")
            #expect(operation.summary.exitStatus == 4)
            #expect(operation.summary.result == .failed)
            #expect(Set(operation.startedOperations) == Set(runs.map(\.operation)))
        }
    }

    @Test func whatCannotBeStartedIsAFailedRunWithAReason() throws {
        let text = """
            [Handler missing]
            Exec=/nonexistent/program
            [Handler unfound]
            Exec=no-such-command-anywhere
            [Handler plain]
            Exec=@/plain
            [Handler text]
            Exec=@/text
            [Handler interpreter]
            Exec=@/interpreter
            [Handler workplace]
            Exec=/bin/true
            WorkingDirectory=/nonexistent
            [Handler output]
            Exec=/bin/true
            StandardOutput=file:/nonexistent/file
            [Handler long]
            Exec=/bin/true %{line}
            [Custom unused]
            Handler=missing unfound plain text interpreter workplace output long
            """
        let prepare: (Folder) throws -> Void = { folder in
            try folder.write("plain", "#!/bin/sh\n", mode: 0o644)
            try folder.write("text", "no program\n", mode: 0o755)
            try folder.write("interpreter", "#!/nonexistent/interpreter\n", mode: 0o755)
        }
        try Watchd.run(text, prepare: prepare) { watchd in
            let reasons = [
                "missing": "No such file", "unfound": "no such command in PATH", "plain": "Permission denied",
                "text": "Exec format error", "interpreter": "interpreter",
                "workplace": "chdir", "output": "/nonexistent/file", "long": "too long",
            ]
            for (name, reason) in reasons {
                let lines = name == "long" ? [String(repeating: "x", count: 200_000)] : nil
                let reply = try watchd.call(
                    ControlInterface.Run.self, .init(name: "handler/\(name)", lines: lines, wait: true))
                #expect(reply.result == .failed, "\(name)")
                #expect(reply.reason?.contains(reason) == true, "\(name): \(reply.reason ?? "")")
            }
            #expect(try watchd.waitUntilIdle().failed == 8)
            #expect(try watchd.status().problems.count == 8)
        }
    }

    @Test func outputGoesWhereTheHandlerSays() throws {
        let script = "'echo out; echo err >&2'"
        let text = """
            [Handler file]
            Exec=/bin/sh -c \(script)
            StandardOutput=file:@/file
            StandardError=append:@/append
            [Handler inherit]
            Exec=/bin/sh -c 'echo inherited; echo err >&2'
            StandardOutput=inherit
            StandardError=null
            [Handler journal]
            Exec=/bin/sh -c \(script)
            [Handler null]
            Exec=/bin/sh -c 'cat; echo $?; readlink /proc/self/fd/0'
            StandardInput=null
            WorkingDirectory=@/
            [Custom unused]
            Handler=file inherit journal null
            """
        let prepare: (Folder) throws -> Void = { folder in
            try folder.write("file", "a longer old text\n")
            try folder.write("append", "old\n")
        }
        try Watchd.run(text, prepare: prepare) { watchd in
            func run(_ name: String) throws -> OperationDetail {
                let reply = try watchd.call(
                    ControlInterface.Run.self, .init(name: "handler/\(name)", wait: true))
                #expect(reply.result == .done)
                return try watchd.operation(try #require(reply.operations.first))
            }
            #expect(try run("file").output == nil)
            #expect(watchd.folder.text("file").hasPrefix("out\n"))
            #expect(watchd.folder.text("append") == "old\nerr\n")
            #expect(try run("inherit").output == nil)
            #expect(watchd.folder.lines("log").contains("inherited"))
            #expect(try run("journal").output == "out\nerr\n")
            try wait(for: "the lines in the log") { watchd.logText.contains("journal| err") }
            #expect(try run("null").output == "0\n/dev/null\n")
        }
    }

    @Test func muchOutputCostsTheDaemonLittleAndItsEndIsKept() throws {
        let (size, bound) = (LongPart.count(64, long: 1024) << 20, LongPart.count(60, long: 100) << 20)
        let text = """
            [Handler flood]
            Exec=/bin/sh -c 'head -c \(size) /dev/zero | tr "\\\\0" "x"; echo; echo end'
            [Custom unused]
            Handler=flood
            """
        try Watchd.run(text, settings: "LogLevel=warning") { watchd in
            let reply = try watchd.call(
                ControlInterface.Run.self, .init(name: "handler/flood", wait: true), timeout: 300_000)
            #expect(reply.result == .done)
            let output = try #require(try watchd.operation(reply.operations[0]).output)
            #expect(output.hasSuffix("xx\nend\n"))
            #expect(output.utf8.count == 65_536)
            #expect(try watchd.status().memoryBytes < bound)
        }
    }

    @Test func aHandlerThatClosesItsInputOrIsFloodedWithItEndsAsItLikes() throws {
        let text = """
            [Handler closes]
            Exec=/bin/sh -c 'exec <&-; exit 0'
            [Custom unused]
            Handler=closes
            """
        try Watchd.run(text) { watchd in
            let lines = Array(repeating: String(repeating: "line", count: 1000), count: 100)
            let reply = try watchd.call(
                ControlInterface.Run.self, .init(name: "handler/closes", lines: lines, wait: true))
            #expect(reply.result == .done)
        }
    }

    @Test func aGrandchildThatKeepsTheOutputOpenDoesNotKeepTheRun() throws {
        let text = """
            [Handler leaves]
            Exec=/bin/sh -c 'sleep 1000 & echo $! >@/pid; echo said'
            [Custom unused]
            Handler=leaves
            """
        try Watchd.run(text) { watchd in
            let reply = try watchd.call(
                ControlInterface.Run.self, .init(name: "handler/leaves", wait: true))
            #expect(reply.result == .done)
            #expect(try watchd.operation(reply.operations[0]).output == "said\n")
            let pid = try #require(Int32(watchd.folder.lines("pid").first ?? ""))
            // It was not to be ended: only a run that is terminated takes its group with it.
            try Linux.kill(process: pid, signal: SIGKILL)
        }
    }

    @Test func aHandlerThatIgnoresItsSignalIsKilledWithItsGrandchildren() throws {
        let text = """
            [Handler stubborn]
            Exec=@/stubborn
            TimeoutSec=3s
            TimeoutStopSec=2s
            KillSignal=SIGUSR1
            OnFailure=tell
            [Handler tell]
            Exec=@/record %{result}
            [Custom unused]
            Handler=stubborn
            """
        let script = """
            #!/bin/sh
            folder=${0%/*}
            trap 'echo signal >>$folder/notes' USR1
            "$folder/sleep" 1000 &
            echo $! >$folder/pid
            while :; do wait; done

            """
        let prepare: (Folder) throws -> Void = { folder in
            try folder.write("stubborn", script, mode: 0o755)
            try Linux.symlink(folder["sleep"], to: "/bin/sleep")
        }
        try Watchd.run(text, prepare: prepare) { watchd in
            let started = Linux.now(.monotonic)
            let reply = try watchd.call(
                ControlInterface.Run.self, .init(name: "handler/stubborn", wait: true))
            #expect(reply.result == .failed)
            #expect(reply.reason?.contains("timed out after 3s") == true)
            #expect(reply.reason?.contains("killed") == true)
            #expect(Linux.now(.monotonic) - started >= 5_000_000)
            #expect(watchd.folder.lines("notes") == ["signal"])
            #expect(try watchd.waitForRuns(1).first?.arguments == ["failed".pathBytes])
            try wait(for: "the grandchild to be gone") { Watchd.processes(of: watchd.folder).count == 1 }
        }
    }

    @Test func aHandlerThatEndsAtItsSignalTakesItsGroupWithIt() throws {
        let text = """
            [Handler slow]
            Exec=/bin/sh -c '@/sleep 1000 & echo ready >>@/notes; wait'
            [Custom unused]
            Handler=slow
            """
        try Watchd.run(text, prepare: { try Linux.symlink($0["sleep"], to: "/bin/sleep") }) { watchd in
            let id = try watchd.call(ControlInterface.Run.self, .init(name: "handler/slow")).operations[0]
            _ = try watchd.waitForLines(1, in: "notes")
            try watchd.call(Cancel.self, .init(id: id))
            try wait(for: "its end") { try watchd.operation(id).summary.result == .cancelled }
            try wait(for: "the grandchild to be gone") { Watchd.processes(of: watchd.folder).count == 1 }
        }
    }

    @Test func logWritesALineThatCannotForgeAnother() throws {
        let text = "[Path in]\nPath=@/in\nKey=%p\nLog=got %f\n"
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            try watchd.folder.write("in/a\nforged line\u{1B}[31m".pathBytes, [])
            try wait(for: "the line") { watchd.logText.contains("in: got a\\x0aforged line\\x1b[31m") }
            #expect(!watchd.logText.contains("\nforged"))
        }
    }
}
