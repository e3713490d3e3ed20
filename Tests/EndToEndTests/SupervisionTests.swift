import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing

/// Processes that watchd starts and supervises.
@Suite("Supervised processes, end to end", .ownThread) struct SupervisionTests {
    /// It writes a line when it starts, and goes on until it is ended.
    private static let server = """
        #!/bin/sh
        echo "$$ $WATCHD_SOURCE $1" >>"${0%/*}/begun"
        trap 'exit 0' TERM
        while :; do sleep 0.1; done

        """

    private static func install(in folder: Folder) throws { try folder.write("server", server, mode: 0o755) }

    private static func text(_ word: String, _ more: String = "") -> String {
        "[Process web]\nCommand=@/server \(word)\nRestart=always\n\(more)\n"
    }

    private func process(_ watchd: Watchd, _ copy: Int = 1) throws -> SupervisedProcess {
        try #require(try watchd.source("web").processes?.first { $0.copy == copy })
    }

    private func waitUntil(_ state: SupervisedProcess.State, _ watchd: Watchd) throws -> SupervisedProcess {
        var found: SupervisedProcess?
        try wait(for: "it to be \(state), it is \(String(describing: found))") {
            found = try process(watchd)
            return found?.state == state
        }
        return try #require(found)
    }

    private func waitForStarts(_ count: Int, _ lives: Lives) throws {
        try wait(for: "\(count) starts, got \(lives.folder.lines("begun"))") {
            lives.folder.lines("begun").count >= count
        }
    }

    /// Each says that it is ready when the test lets it.
    private static let ready: [(key: String, saying: String)] = [
        ("ReadyLine=^listening on [0-9]+$", "echo starting; read x <@/gate; echo listening on 80"),
        ("ReadyPath=@/there", "read x <@/gate; : >@/there"),
        (
            "NotifyReady=yes",
            "read x <@/gate; exec python3 -c 'import os, socket, time; n = os.environ[\"NOTIFY_SOCKET\"]; "
                + "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); "
                + "s.sendto(b\"STATUS=up\\nREADY=1\", \"\\0\" + n[1:]); time.sleep(1000)'"
        ),
    ]

    @Test(arguments: 0..<3) func whoComesAfterItWaitsUntilItIsReady(_ kind: Int) throws {
        let (key, saying) = Self.ready[kind]
        let text = """
            [Process web]
            Command=@/web
            \(key)
            [Custom behind]
            Exec=/bin/sh -c 'echo behind >>@/ran'
            After=process/web

            """
        try Lives.run(text) { folder in
            let script = "#!/bin/sh\n\(saying.replacing("@", with: folder.path))\nsleep 1000\n"
            try folder.write("web", script, mode: 0o755)
            try Linux.mkfifo(folder["gate"], mode: 0o600)
        } body: { lives in
            _ = try waitUntil(.starting, lives.watchd)
            try lives.watchd.emit("behind")
            let waiting = try lives.watchd.status().waiting
            #expect(waiting.first?.waitingFor == "process/web, which is not ready (After=process/web)")
            // The watchd that others ask is ready: only this process is not.
            let explained = try lives.watchd.control("explain", "process/web").text
            #expect(explained.contains("not ready yet"), "\(explained)")
            #expect(lives.folder.lines("ran").isEmpty)
            try lives.folder.append("gate", "\n")
            try wait(for: "the one behind it") { lives.folder.lines("ran") == ["behind"] }
            _ = try waitUntil(.up, lives.watchd)
            // What an earlier watchd has started is taken to be ready.
            lives.kill()
            try lives.start()
            try lives.watchd.emit("behind")
            try wait(for: "the next one") { lives.folder.lines("ran").count == 2 }
        }
    }

    @Test func aProcessThatWasStoppedByHandIsPlainInStatus() throws {
        try Lives.run(Self.text("one"), prepare: Self.install) { lives in
            _ = try waitUntil(.up, lives.watchd)
            #expect(try lives.watchd.status().stopped.isEmpty)
            #expect(try lives.watchd.control("stop", "web").code == 0)
            let stopped = try lives.watchd.status().stopped
            #expect(stopped.map(\.object) == ["process/web"])
            let shown = try lives.watchd.control("status").text
            #expect(shown.contains("1 process stopped by hand"), "\(shown)")
            #expect(shown.contains("= process/web  stopped by \(stopped[0].by), "), "\(shown)")
            #expect(shown.contains("watchctl start web"), "\(shown)")
            #expect(try lives.watchd.control("start", "web").code == 0)
            #expect(try lives.watchd.status().stopped.isEmpty)
        }
    }

    @Test func aHandlerRestartsItAndSendsItSignals() throws {
        let handlers = """
            [Custom again]
            Process=web
            [Custom poke]
            Process=web
            ProcessAction=signal
            ProcessSignal=TERM

            """
        try Lives.run(Self.text("one") + handlers, prepare: Self.install) { lives in
            try waitForStarts(1, lives)
            let first = try waitUntil(.up, lives.watchd)
            try lives.watchd.emit("again")
            try lives.watchd.waitForEnded(1, of: "again")
            let second = try waitUntil(.up, lives.watchd)
            #expect(second.pid != first.pid && second.pid != nil)
            let shown = try lives.watchd.control("handlers").text
            #expect(shown.contains("Process=web, restart") && shown.contains("Process=web, signal"), "\(shown)")
            try waitForStarts(2, lives)
            try lives.watchd.emit("poke")
            try lives.watchd.waitForEnded(1, of: "poke")
            try waitForStarts(3, lives)
            let ended = try lives.watchd.call(ListHistory.self, .init()).operations
            #expect(ended.map(\.result) == [.done, .done])
        }
    }

    @Test func aCrashLoopBacksOffAndTellsEachEnd() throws {
        let text = """
            [Process web]
            Command=/bin/sh -c 'exit 3'
            Restart=on-failure
            RestartSec=50ms
            RestartMaxDelaySec=400ms
            Exec=@/record
            Queue=main

            """
        try Watchd.run(text) { watchd in
            let runs = try watchd.waitForRuns(5)
            #expect(runs.allSatisfy { $0["WATCHD_EXIT_STATUS"] == "3" && $0["WATCHD_SOURCE"] == "web" })
            #expect(runs[0].inputText.contains("\"run_usec\":"))
            #expect(Set(runs.compactMap { $0["WATCHD_PID"] }).count == runs.count)
            let problem = try watchd.status().problems.first { $0.object == "process/web" }
            if let problem { #expect(problem.problem.contains("exit 3"), "\(problem)") }
            #expect(try process(watchd).restarts >= 4)
            let stopped = try watchd.control("stop", "web")
            #expect(stopped.text.contains("process/web stopped"), "\(stopped)")
        }
    }

    @Test func itIsSteeredByStartStopAndRestart() throws {
        try Watchd.run(Self.text("a"), prepare: Self.install) { watchd in
            let first = try waitUntil(.up, watchd)
            let restarted = try watchd.call(Restart.self, .init(name: "web")).processes
            #expect(restarted.map(\.state) == [.up])
            #expect(restarted[0].pid != first.pid)
            let pid = Int32(try #require(restarted[0].pid))
            let stopped = try watchd.call(StopProcess.self, .init(name: "process/web")).processes
            #expect(stopped.map(\.state) == [.down])
            #expect(!stopped[0].wanted)
            #expect(Linux.place(of: pid) == nil, "it is gone when the answer comes")
            let started = try watchd.control("start", "web")
            #expect(started.code == 0 && started.text.contains("web running"), "\(started)")
            #expect(try watchd.control("restart", "nobody").code == 1)
            #expect(try watchd.control("explain", "web").text.contains("running for"))
            #expect(try watchd.control("sources", "web").text.contains("process/web running"))
        }
    }

    @Test func whatItIsGivenIsItsOwn() throws {
        let text = """
            [Process web]
            Command=/bin/sh -c 'cat /proc/self/environ >@/environment; pwd >@/folder; cat >@/input; sleep 100'
            WorkingDirectory=/usr
            Environment=COLOUR=green

            """
        try Watchd.run(text) { watchd in
            try wait(for: "its input to end") { watchd.folder.exists("input") }
            let environment = watchd.folder.text("environment").split(separator: "\0").map(String.init)
            #expect(environment.contains("COLOUR=green"))
            #expect(environment.contains("WATCHD_SOURCE=web"))
            #expect(!environment.contains { $0.hasPrefix("WATCHD_HANDLER=") || $0.hasPrefix("WATCHD_QUEUE=") })
            #expect(!environment.contains { $0.hasPrefix("A_VARIABLE_OF_THE_DAEMON=") })
            #expect(watchd.folder.text("folder") == "/usr\n")
            #expect(watchd.folder.text("input").isEmpty)
        }
    }

    @Test func aReloadReplacesWhatChangedAndStopsWhatIsGone() throws {
        try Lives.run(Self.text("a"), prepare: Self.install) { lives in
            let first = try waitUntil(.up, lives.watchd)
            try lives.write(Self.text("a", "RestartSec=1s\nWorkers=2"))
            try lives.watchd.call(Reload.self, .init())
            try waitForStarts(2, lives)
            #expect(try process(lives.watchd).pid == first.pid, "it was not asked to change")
            try lives.write(Self.text("b"))
            try lives.watchd.call(Reload.self, .init())
            try waitForStarts(3, lives)
            try wait(for: "one copy") { try lives.watchd.source("web").processes?.count == 1 }
            #expect(lives.folder.lines("begun").last?.hasSuffix(" web b") == true)
            try lives.write("[Custom other]\nLog=x\n")
            try lives.watchd.call(Reload.self, .init())
            try wait(for: "it to be gone") {
                Watchd.processes(of: lives.folder).allSatisfy { !$0.contains("/server") }
            }
        }
    }

    @Test func itOutlivesAKilledWatchdAndIsAdoptedOnce() throws {
        try Lives.run(Self.text("a", "Workers=2"), prepare: Self.install) { lives in
            try waitForStarts(2, lives)
            try wait(for: "both to be up") {
                try lives.watchd.source("web").processes?.allSatisfy { $0.state == .up } == true
            }
            let before = try lives.watchd.source("web").processes?.compactMap(\.pid)
            lives.kill()
            try lives.start()
            #expect(try lives.watchd.source("web").processes?.compactMap(\.pid) == before)
            #expect(lives.folder.lines("begun").count == 2, "no second copy was started")
            // It is steered like one of its own.
            let stopped = try lives.watchd.call(StopProcess.self, .init(name: "web"))
            #expect(stopped.processes.map(\.state) == [.down, .down])
            try lives.watchd.call(Start.self, .init(name: "web"))
            try waitForStarts(4, lives)
            // Nobody is there to see them end, and another command is to take their place.
            lives.kill()
            try lives.start(Self.text("b"))
            try wait(for: "the new one") { lives.folder.lines("begun").last?.hasSuffix(" web b") == true }
            try wait(for: "the old ones to be gone") {
                Watchd.processes(of: lives.folder).allSatisfy { !$0.contains("/server a") }
            }
        }
    }

    /// Whoever starts a set-user-ID program gives it the environment that he likes.
    @Test func aProcessThatOnlyClaimsToBeOneIsLeftAlone() throws {
        try Lives.run(Self.text("a"), prepare: Self.install) { lives in
            _ = try waitUntil(.up, lives.watchd)
            let before = try process(lives.watchd).pid
            let instance = "\(lives.folder.path)/state"
            let secret = try #require(lives.folder.lines("state/watchd.instance").first)
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            func impostor(_ instance: String, _ operation: String, part: String) throws -> Program {
                let claims = [
                    "INSTANCE=\(instance)", "KIND=process", "SOURCE=web", "ATTEMPT=1", "OPERATION=\(operation)",
                    "PART=\(part)",
                ]
                let program = try Program(
                    ["/bin/sleep", "1000"].map { Array($0.utf8) }, environment: claims.map { "WATCHD_\($0)" },
                    descriptors: [null, null, null])
                try wait(for: "its environment") {
                    Linux.environment("WATCHD_PART", of: program.processID) == Array(part.utf8)
                }
                return program
            }
            lives.kill()
            let impostors = [
                try impostor(instance, "1000", part: "1"), try impostor("\(instance):", "1000", part: "1"),
                try impostor("\(instance):\(secret)", "18446744073709551615", part: "1"),
                try impostor("\(instance):\(secret)", "1000", part: "-1"),
                try impostor("\(instance):\(secret)", "1000", part: "2000000000"),
            ]
            try lives.start()
            #expect(try process(lives.watchd).pid == before)
            #expect(try lives.watchd.source("web").processes?.count == 1)
            #expect(lives.folder.lines("state/watchd.instance") == [secret])
            for program in impostors { #expect(!program.hasEnded) }
            // One that knows the secret is a copy too many, and is ended.
            lives.kill()
            let known = try impostor("\(instance):\(secret)", "1000000", part: "1")
            try lives.start()
            try wait(for: "its end") { known.hasEnded }
            for program in impostors { #expect(!program.hasEnded) }
        }
    }

    @Test func anEndThatNobodySawIsToldAfterwards() throws {
        try Lives.run(Self.text("a", "Exec=/bin/sh -c 'cat >>@/told'"), prepare: Self.install) { lives in
            try waitForStarts(1, lives)
            // It is answered when the store has the process.
            let started = try lives.watchd.call(Restart.self, .init(name: "web"))
            let pid = try #require(started.processes.first?.pid)
            lives.kill()
            try Linux.kill(process: Int32(pid), signal: SIGKILL)
            try wait(for: "it to be gone") { Linux.place(of: Int32(pid)).map(\.isZombie) ?? true }
            try lives.start()
            try wait(for: "its end to be told") { lives.folder.text("told").contains("\"pid\":\(pid)") }
            try waitForStarts(3, lives)
        }
    }

    @Test func whatDoesNotEndIsKilledWhenWatchdStops() throws {
        let text = """
            [Process web]
            Command=/bin/sh -c 'trap "" TERM; echo up >@/up; while :; do sleep 0.1; done'
            TimeoutStopSec=300ms

            """
        try Watchd.run(text) { watchd in
            try wait(for: "it to be up") { watchd.folder.exists("up") }
        }
    }

    @Test func aHealthyProcessIsNotSilent() throws {
        let silence = "SilenceSec=300ms\nOnSilence=quiet\nOnSound=loud\n"
        // It is silent until it has started.
        let web = Self.text("one", silence.replacing("300ms", with: "3s"))
        let text =
            web + "[Process other]\nPIDFile=@/pid\n\(silence)[Timer beat]\nEverySec=300ms\n"
            + ["beat", "quiet", "loud"].map {
                "\($0 == "beat" ? "" : "[Handler \($0)]\n")Exec=/bin/echo %{source}\nStandardOutput=append:@/\($0)\n"
            }.joined()
        try Lives.run(text, prepare: Self.install) { lives in
            let folder = lives.folder
            func waitFor(_ lines: [String], in file: String) throws {
                try wait(for: "\(lines) in \(file), got \(folder.lines(file))") { folder.lines(file) == lines }
            }
            try waitForStarts(1, lives)
            // No such process runs yet.
            try waitFor(["other"], in: "quiet")
            let server = try #require(try process(lives.watchd).pid)
            try folder.write("pid", "\(server)\n")
            try waitFor(["other"], in: "loud")
            let beats = folder.lines("beat").count
            try wait(for: "some beats", seconds: 60) { folder.lines("beat").count >= beats + 12 }
            #expect(folder.lines("quiet") == ["other"])
            #expect(try !lives.watchd.control("explain", "process/web").text.contains("SilenceSec"))
            #expect(try lives.watchd.control("stop", "web").code == 0)
            try wait(for: "both to be silent") { folder.lines("quiet").count == 3 }
            #expect(Set(folder.lines("quiet").suffix(2)) == ["other", "web"])
            #expect(try lives.watchd.control("start", "web").code == 0)
            try waitFor(["other", "web"], in: "loud")
        }
    }
}
