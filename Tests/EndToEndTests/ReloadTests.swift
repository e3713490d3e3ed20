import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// A new watch file takes the place of the old one at one moment, or not at all.
@Suite("Reload, end to end", .ownThread) struct ReloadTests {
    private static let job = """
        [Custom stays]
        Exec=/bin/sh -c 'echo begun >>@/notes; while [ ! -e @/go ]; do sleep 0.1; done; echo ended >>@/notes'
        Queue=q
        Coalesce=no
        [Queue q]

        """

    @Test func whatHasNotChangedGoesOnUntouched() throws {
        let text =
            Self.job + """
                [Descriptor lines]
                ListenFIFO=@/fifo
                Handler=note
                Queue=q2
                [Path in]
                Path=@/in
                Key=%p
                Handler=note
                Queue=q2
                [Handler note]
                Exec=@/record %{line}%f
                [Queue q2]
                """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            try watchd.emit("stays")
            try watchd.emit("stays")
            _ = try watchd.waitForLines(1, in: "notes")
            // The handler may speak before watchd has been told its number.
            try wait(for: "its process to be known") { try watchd.status().running.first?.pid != nil }
            let running = try #require(try watchd.status().running.first)
            let number = try Linux.lstat(watchd.folder["fifo"]).inode
            // One writer stays connected over all reloads, in the middle of a line.
            let writer = try Linux.open(watchd.folder["fifo"], .writing).release()
            defer { FileDescriptor(owning: writer).close() }
            try Linux.writeAll(writer, "first ha".utf8)
            for round in 1...5 {
                let more = "[Custom more\(round)]\nLog=more\n"
                try Watchd.write(text + "\n" + more, to: watchd.folder)
                try watchd.folder.write("in/\(round)", "")
                let reply = try watchd.call(Reload.self, .init())
                #expect(reply.added.sorted() == ["custom/more\(round)", "handler/more\(round)"])
                #expect(reply.removed.count == (round == 1 ? 0 : 2))
                #expect(reply.changed == [])
            }
            try Linux.writeAll(writer, "lf\n".utf8)
            let runs = try watchd.waitForRuns(6)
            #expect(
                Set(runs.map { String(decoding: $0.arguments[0], as: UTF8.self) }) == [
                    "first half", "1", "2", "3", "4", "5",
                ])
            #expect(try Linux.lstat(watchd.folder["fifo"]).inode == number)
            let still = try #require(try watchd.status().running.first)
            #expect((still.id, still.pid) == (running.id, running.pid))
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            #expect(watchd.folder.lines("notes") == ["begun", "ended", "begun", "ended"])
        }
    }

    @Test func aBrokenFileIsRefusedWithItsDiagnosticsAndTheOldStays() throws {
        try Watchd.run(Self.job) { watchd in
            try watchd.emit("stays")
            _ = try watchd.waitForLines(1, in: "notes")
            let good = watchd.folder.text("watch")
            try watchd.folder.write("watch", good + "[Custom x]\nHandler=nowhere\nExce=/bin/true\n")
            let reload = try watchd.control("reload")
            #expect(reload.code == 78, "\(reload)")
            #expect((reload.text + reload.errorText).contains(":9:"))
            #expect((reload.text + reload.errorText).contains("Exec"))
            let error = try #require(try watchd.error(Reload.self, .init()))
            #expect(error.name == "io.watchd.Manager.InvalidWatchFile")
            #expect(
                ManagerError(error).map { if case .invalidWatchFile(let all) = $0 { all.count } else { 0 } } ?? 0 >= 2)

            try wait(for: "the start and two reloads to be told") {
                watchd.readNotifications()
                return watchd.notifications.count { $0 == "READY=1" } == 3
            }
            watchd.forgetNotifications()
            watchd.send(SIGHUP)
            try watchd.waitForNotification("READY=1")
            try watchd.waitForNotification("STATUS=reload refused")
            #expect(watchd.notifications.contains("RELOADING=1"))
            #expect(watchd.notifications.contains { $0.hasPrefix("MONOTONIC_USEC=") })
            #expect(try watchd.status().running.count == 1)
            try watchd.folder.write("go", "")
            try watchd.waitUntilIdle()
            try watchd.emit("stays")
            #expect(try watchd.waitUntilIdle().done == 2)

            try watchd.folder.write("watch", good)
            watchd.forgetNotifications()
            watchd.send(SIGHUP)
            try watchd.waitForNotification("READY=1")
            try watchd.waitForLog("reloaded: nothing changed")
            try Linux.unlink(watchd.folder["watch"])
            #expect(try watchd.control("reload").code == 78)
            #expect(try watchd.status().state == .running)
        }
    }

    @Test func whatIsRemovedDrainsAndWhatRunsEndsAsItBegan() throws {
        try Watchd.run(Self.job) { watchd in
            try watchd.emit("stays")
            try watchd.emit("stays")
            _ = try watchd.waitForLines(1, in: "notes")
            try Watchd.write("[Custom other]\nLog=x\n", to: watchd.folder)
            let reply = try watchd.call(Reload.self, .init())
            #expect(reply.removed.sorted() == ["custom/stays", "handler/stays", "queue/q"])
            #expect(try watchd.error(Emit.self, .init(name: "stays"))?.name == "io.watchd.Manager.NoSuchName")
            let left = try watchd.call(ListOperations.self, .init()).operations
            #expect(left.map(\.handler) == ["stays", "stays"])
            try watchd.folder.write("go", "")
            let totals = try watchd.waitUntilIdle()
            #expect((totals.accepted, totals.done) == (2, 2))
            #expect(watchd.folder.lines("notes").count == 4)
            try wait(for: "the queue to be gone") {
                try watchd.call(ListQueues.self, .init()).queues.allSatisfy { $0.name != "q" }
            }
        }
    }

    @Test func whatWaitsTakesTheNewDefinition() throws {
        let text = "[Custom poke]\nExec=@/record old\nQueue=q\n[Queue q]\nSuspended=yes\n"
        try Watchd.run(text) { watchd in
            try watchd.emit("poke", data: 1)
            try Watchd.write(text.replacing("record old", with: "record new"), to: watchd.folder)
            let reply = try watchd.call(Reload.self, .init())
            #expect(reply.changed == ["handler/poke"])
            try watchd.emit("poke", data: 2)
            try watchd.resume("q")
            let runs = try watchd.waitForRuns(1)
            try watchd.waitUntilIdle()
            #expect(runs.map(\.arguments) == [["new".pathBytes]])
            #expect(runs.first?["WATCHD_DATA"] == "3")
        }
    }

    @Test func nothingIsLostWhileItIsReloadedAgainAndAgain() throws {
        let text = """
            [Path in]
            Path=@/in
            Key=one
            Exec=/bin/cat
            StandardInput=paths
            StandardOutput=append:@/copy
            [Descriptor lines]
            ListenFIFO=@/fifo
            Key=one
            Coalesce=yes
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:@/lines

            """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let script = """
                exec 3>fifo
                for n in $(seq 500); do : >in/$n; echo $n >&3; done
                """
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let writer = try Program(
                ["sh", "-c", script].map(\.pathBytes), environment: Program.environment,
                folder: watchd.folder.path, descriptors: [null, null, null])
            var round = 0
            while !writer.hasEnded || round < 5 {
                round += 1
                try Watchd.write(text + "[Custom more\(round)]\nLog=more\n", to: watchd.folder)
                try watchd.call(Reload.self, .init())
            }
            let names = Set((1...500).map { watchd.folder["in/\($0)"] })
            try wait(for: "all files") { Set(watchd.folder.lines("copy")) == names }
            try wait(for: "all lines") { watchd.folder.lines("lines").count == 500 }
            #expect(watchd.folder.lines("lines").map { Int($0) } == Array(1...500))
            let totals = try watchd.waitUntilIdle()
            #expect(totals.done == totals.accepted - totals.annulled)
        }
    }

    @Test func noFileIsLostWhileItsEventsChangeAgainAndAgain() throws {
        let text = """
            [Path in]
            Path=@/in
            Events=written
            Key=one
            Exec=/bin/cat
            StandardInput=paths
            StandardOutput=append:@/copy

            """
        let others = ["written deleted", "created written", "written modified", "written"]
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let script = "n=0; until [ -e stop ] || [ $n -eq 5000 ]; do n=$((n+1)); : >in/$n; echo $n >count; done"
            let writer = try Program(
                ["sh", "-c", script].map(\.pathBytes),
                environment: Program.environment, folder: watchd.folder.path, descriptors: [null, null, null])
            for round in 0..<50 {
                let changed = text.replacing("Events=written", with: "Events=\(others[round % others.count])")
                try Watchd.write(changed, to: watchd.folder)
                #expect(try watchd.call(Reload.self, .init()).changed == ["path/in"])
            }
            try watchd.folder.write("stop", "")
            #expect(writer.wait() == .exited(0))
            let count = try #require(Int(watchd.folder.text("count").dropLast()))
            let names = Set((1...count).map { watchd.folder["in/\($0)"] })
            try wait(for: "all \(count) files") { Set(watchd.folder.lines("copy")) == names }
            let totals = try watchd.waitUntilIdle()
            #expect(totals.gap == 0)
            print("\(count) files in 50 reloads, told \(watchd.folder.lines("copy").count) times")
        }
    }

    /// Meanwhile the path above it has told of what is below.
    @Test func aPathThatComesBackBelowAnotherKnowsWhatThatHasTold() throws {
        func text(_ paths: String) -> String {
            """
            [Queue q]
            [Path p]
            Path=\(paths)
            Recursive=yes
            Events=changed
            Queue=q
            Key=%p
            Exec=/bin/sh -c 'echo "$WATCHD_EVENT ${WATCHD_PATH##*/}"'
            StandardOutput=append:@/told

            """
        }
        let both = text("@/in/b @/in")
        let prepare: (Folder) throws -> Void = { for name in ["in", "in/b"] { try $0.makeFolder(name) } }
        try Watchd.run(both, prepare: prepare) { watchd in
            func reload(_ text: String) throws {
                try Watchd.write(text, to: watchd.folder)
                try watchd.call(Reload.self, .init())
                try wait(for: "it to be armed") { try watchd.source("p").state == .armed }
            }
            try reload(text("@/in"))
            try watchd.folder.write("in/b/f", "")
            try wait(for: "the file") { watchd.folder.lines("told") == ["written f"] }
            try watchd.waitUntilIdle()
            try reload(both)
            try watchd.suspend("queue/q")
            try Linux.unlink(watchd.folder["in/b/f"])
            try watchd.folder.write("in/b/last", "")
            try wait(for: "both") { try watchd.source("p").counters.pending >= 2 }
            try watchd.resume("queue/q")
            try watchd.waitUntilIdle()
            #expect(watchd.folder.lines("told") == ["written f", "deleted f", "written last"])
        }
    }

    @Test func aPlanMayBeOfFilesThatAreNotInstalled() throws {
        try Watchd.run("[Custom poke]\nLog=poked\n[Custom old]\nLog=old\n") { watchd in
            let new = Reload.File(name: "new.watch", text: "[Custom poke]\nLog=other\n")
            let dropIn = Reload.File(name: "x.watch", text: "[Custom more]\nLog=more\n", dropInOf: "new.watch")
            let plan = try watchd.call(Reload.self, .init(plan: true, files: [new, dropIn]))
            #expect(plan.added.sorted() == ["custom/more", "handler/more"])
            #expect(plan.changed == ["watchd", "handler/poke"], "it has no [Watchd]")
            #expect(plan.removed.sorted() == ["custom/old", "handler/old"])
            let wrong = Reload.File(name: "wrong.watch", text: "[Custom\n")
            let error = try watchd.error(Reload.self, .init(plan: true, files: [wrong]))
            guard case .invalidWatchFile(let diagnostics)? = error.flatMap({ ManagerError($0) }) else {
                Issue.record("a plan of what is wrong is refused: \(String(describing: error))")
                return
            }
            #expect(diagnostics.contains { $0.contains("wrong.watch") }, "\(diagnostics)")
            #expect(try watchd.error(Reload.self, .init(files: [new])) != nil, "only a plan")
            #expect(try watchd.call(ListSources.self, .init()).sources.count == 2, "nothing has changed")
        }
    }

    @Test func whatOnlyTheNextStartChangesIsSaid() throws {
        let text = "[Custom poke]\nLog=x\n"
        try Watchd.run(text) { watchd in
            let state = "StateDirectory= has changed: that takes effect when watchd is started anew"
            let socket = "ControlSocket= has changed: that takes effect when watchd is started anew"
            let old = watchd.folder.text("watch")
            try watchd.folder.write("watch", old.replacing("/state\n", with: "/state2\n"))
            #expect(try watchd.call(Reload.self, .init(plan: true)).warnings == [state])
            let screen = try watchd.control("reload")
            #expect(screen.code == 0 && screen.text.contains("! \(state)"), "\(screen)")
            try watchd.folder.write("watch", old.replacing("/socket\n", with: "/socket2\n"))
            #expect(try watchd.call(Reload.self, .init()).warnings == [socket])
            try watchd.folder.write("watch", old)
            #expect(try watchd.call(Reload.self, .init()).warnings == [])
        }
    }

    @Test func whoAsksWhileOneIsOnItsWayIsAnsweredByOneMore() throws {
        let text = "[Custom poke]\nLog=poked\n"
        try Watchd.run(text) { watchd in
            // It finds all of them at once when it goes on.
            watchd.send(SIGSTOP)
            let stat = "/proc/\(watchd.processID)/stat"
            try wait(for: "it to stop") { String(decoding: try Linux.readFile(stat), as: UTF8.self).contains(") T ") }
            // As many as the control socket hands over in one turn.
            let askers = try (0..<4).map { _ in
                let asker = try RawConnection(watchd.socket)
                try asker.send(message: #"{"method":"io.watchd.Manager.Reload"}"#)
                asker.endOfInput()
                return asker
            }
            // Long enough that all have asked before the first is answered.
            let more = (1...2_000).map { "[Custom more\($0)]\nLog=more\n" }.joined()
            try Watchd.write(text + more, to: watchd.folder)
            watchd.send(SIGCONT)
            let answers = try askers.map { String(decoding: try $0.readToEnd().dropLast(), as: UTF8.self) }
            #expect(answers.count { $0.contains("custom/more1\"") } == 1, "the first one's reload changes something")
            #expect(answers.allSatisfy { $0.hasPrefix(#"{"parameters":{"#) }, "\(answers)")
            try wait(for: "both to be logged") { watchd.logText.occurrences(of: "reloaded: ") >= 2 }
            #expect(watchd.logText.occurrences(of: "reloaded: ") == 2, "\(watchd.logText)")
        }
    }
}
