import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import SeedKit
import Testing

/// Workers of `Stream=`, with the real daemon.
@Suite("Workers, end to end", .ownThread) struct WorkerTests {
    /// Notes each line, and answers. The line `die` ends it once; while `gate` is there it answers nothing.
    private static let worker = #"""
        #!/bin/sh
        here=${0%/*}
        echo "$$ $1" >>"$here/begun"
        while IFS= read -r line; do
            echo "$line" >>"$here/lines"
            id=${line#*\"id\":} id=${id%%,*}
            case $line in
                *'"line":"die"'*) [ -e "$here/died" ] || { : >"$here/died"; exit 3; } ;;
                *'"line":"nonsense"'*) [ -e "$here/spoke" ] || { : >"$here/spoke"; echo what >&3; sleep 100; } ;;
            esac
            while [ -e "$here/gate" ]; do sleep 0.1; done
            echo "worker saw $id"
            [ -z "$WATCHD_ACK_FD" ] || echo "{\"id\":$id,\"result\":\"ok\"}" >&"$WATCHD_ACK_FD"
        done

        """#

    private static func install(in folder: Folder) throws { try folder.write("worker", worker, mode: 0o755) }

    private static func text(_ word: String = "a", _ more: String = "Ack=yes", queue: String = "") -> String {
        """
        [Queue jobs]
        Type=concurrent
        Width=4
        \(queue)

        [Descriptor in]
        ListenFIFO=@/fifo
        Handler=index
        Queue=jobs

        [Handler index]
        Stream=@/worker \(word)
        \(more)

        """
    }

    private func say(_ lines: String..., in folder: Folder) throws {
        try folder.append("fifo", lines.map { $0 + "\n" }.joined())
    }

    private func worker(_ watchd: Watchd) throws -> SupervisedProcess {
        try #require(try watchd.handler("index").workers?.first)
    }

    @Test(arguments: ["Ack=yes\nPrefetch=8", "Ack=yes", "Prefetch=64", ""])
    func linesOfAFIFOAreWorkOfOneProcess(keys: String) throws {
        try Watchd.run(Self.text("a", keys), prepare: Self.install) { watchd in
            for number in 1...30 { try say("line \(number)", in: watchd.folder) }
            try watchd.waitForEnded(30, of: "index")
            try wait(for: "all lines") { watchd.folder.lines("lines").count == 30 }
            let order = watchd.folder.lines("lines").compactMap { line in
                line.split(separator: "\"line\":\"").last?.prefix { $0 != "\"" }
            }
            #expect(order == (1...30).map { "line \($0)" })
            #expect(watchd.folder.lines("begun").count == 1, "one process for all of them")
            let worker = try worker(watchd)
            #expect(worker.state == .up && worker.lines == 0)
            #expect(try watchd.handler("index").counters.done == 30)
            let pid = try #require(worker.pid)
            #expect(try watchd.control("handlers").text.contains("\(pid)"))
            #expect(try watchd.control("status", "index").text.contains("(pid \(pid))"))
            #expect(try watchd.control("output", "index").text.contains("worker saw"))
        }
    }

    @Test func whatAWorkerHoldsIsShownAndCanBeCancelled() throws {
        try Watchd.run(Self.text("a", "Ack=yes\nPrefetch=2\nTimeoutStopSec=1s"), prepare: Self.install) { watchd in
            try watchd.folder.write("gate", "")
            try say("one", "two", "three", in: watchd.folder)
            try wait(for: "two lines with it") { try worker(watchd).lines == 2 }
            let held = try #require(try worker(watchd).operations)
            let status = try watchd.control("status", "index").text
            #expect(status.contains("holds 2 lines: operations \(held[0]), \(held[1])"), "\(status)")
            let third = try watchd.call(ListOperations.self, .init(handler: "index")).operations.last
            let waits = try watchd.control("explain", "\(try #require(third).id)").text
            #expect(waits.contains("a worker of index: it has the 2 lines of Prefetch="), "\(waits)")
            // It hears nothing of it, and is ended for that.
            #expect(try watchd.control("cancel", "\(held[0])").code == 0)
            try wait(for: "the cancel") { try watchd.ended("index").contains { $0.result == .cancelled } }
            try Linux.unlink(watchd.folder["gate"])
            try watchd.waitForEnded(3, of: "index")
            #expect(try watchd.handler("index").counters.done == 2)
            try watchd.waitForLog("did not answer the cancel")
        }
    }

    @Test func theLinesOfAWorkerThatDiesGoToTheNextOne() throws {
        try Watchd.run(Self.text("a", "Ack=yes\nPrefetch=4\nRestartSec=10ms"), prepare: Self.install) { watchd in
            try say("one", "die", "three", in: watchd.folder)
            try watchd.waitForEnded(3, of: "index")
            #expect(try watchd.handler("index").counters.done == 3)
            let lines = watchd.folder.lines("lines")
            #expect(lines.filter { $0.contains("\"line\":\"die\"") }.count == 2)
            #expect(lines.last { $0.contains("\"line\":\"die\"") }?.contains("\"redelivered\":true") == true)
            #expect(lines.filter { $0.contains("\"line\":\"one\"") }.count == 1)
            #expect(watchd.folder.lines("begun").count == 2)
            let died = try watchd.ended("index").first { $0.redelivered }
            let why = try watchd.control("explain", "\(try #require(died).id)").text
            #expect(why.contains("handed on again on queue jobs: its worker had ended"), "\(why)")
            try watchd.waitForLog("exit 3")
        }
    }

    @Test func oneThatWritesNonsenseIsReplaced() throws {
        try Watchd.run(Self.text("a", "Ack=yes\nRestartSec=10ms"), prepare: Self.install) { watchd in
            try say("nonsense", in: watchd.folder)
            try watchd.waitForEnded(1, of: "index")
            let id = try #require(try watchd.call(ListHistory.self, .init(name: "index")).operations.first?.id)
            #expect(try watchd.control("output", "\(id)").errorText.contains("watchctl output index"))
            #expect(try watchd.handler("index").counters.done == 1)
            try watchd.waitForLog("which is no answer")
        }
    }

    @Test func oneThatCannotBeStartedIsAProblemAndItsLinesWait() throws {
        let text = Self.text().replacing("@/worker a", with: "/nowhere/worker")
        try Watchd.run(text) { watchd in
            try say("one", in: watchd.folder)
            try wait(for: "the problem") {
                try watchd.status().problems.contains {
                    $0.object == "handler/index" && $0.problem.contains("/nowhere/worker")
                }
            }
            #expect(try watchd.handler("index").counters.pending == 1)
            #expect(try watchd.control("cancel", "queue/jobs").code == 0)
            try watchd.waitForEnded(1, of: "index")
        }
    }

    @Test func aReloadThatChangesTheCommandLosesNoLine() throws {
        try Lives.run(Self.text("a", "Ack=yes\nPrefetch=3"), prepare: Self.install) { lives in
            try lives.folder.write("gate", "")
            try say("1", "2", "3", "4", "5", in: lives.folder)
            try wait(for: "lines with it") { try worker(lives.watchd).lines == 3 }
            try lives.write(Self.text("b", "Ack=yes\nPrefetch=3"))
            try lives.watchd.call(Reload.self, .init())
            #expect(try worker(lives.watchd).state == .stopping)
            try Linux.unlink(lives.folder["gate"])
            try lives.watchd.waitForEnded(5, of: "index")
            #expect(try lives.watchd.handler("index").counters.done == 5)
            #expect(lives.folder.lines("lines").count == 5, "each line once")
            let words = lives.folder.lines("begun").compactMap { $0.split(separator: " ").last }
            #expect(words == ["a", "b"])
        }
    }

    @Test func afterKillMinus9DurableLinesRunAgain() throws {
        let text = Self.text("a", "Ack=yes\nPrefetch=2", queue: "Durable=yes")
        try Lives.run(text, prepare: Self.install) { lives in
            try lives.folder.write("gate", "")
            try say("one", "two", "three", in: lives.folder)
            try wait(for: "lines with it") { lives.folder.lines("lines").count == 1 }
            try wait(for: "all accepted") { try lives.watchd.handler("index").counters.accepted == 3 }
            lives.kill()
            try Linux.unlink(lives.folder["gate"])
            try lives.start()
            try wait(for: "all to be done") { try lives.watchd.handler("index").counters.done == 3 }
            let again = lives.folder.lines("lines").filter { $0.contains("\"redelivered\":true") }
            #expect(again.contains { $0.contains("\"line\":\"one\"") })
            #expect(!again.contains { $0.contains("\"line\":\"three\"") })
        }
    }

    /// The worker waits for the end of `gate`, and its watchd is the next one.
    private func leaveAWorkerWithALine(_ lives: Lives) throws {
        try lives.folder.write("gate", "")
        try say("one", in: lives.folder)
        try wait(for: "the line with it") { lives.folder.lines("lines").count == 1 }
        lives.kill()
        try lives.start()
    }

    @Test func afterKillMinus9NoWorkerBeginsBeforeTheOneThatWasLeftHasEnded() throws {
        let text = Self.text("a", "Ack=yes", queue: "Durable=yes")
        try Lives.run(text, prepare: Self.install) { lives in
            try leaveAWorkerWithALine(lives)
            try lives.watchd.waitForLog("handler/index: worker still runs, process ")
            try wait(for: "it to be known") { try worker(lives.watchd).state == .stopping }
            let id = try #require(try lives.watchd.call(ListOperations.self, .init()).operations.first?.id)
            let waits = try lives.watchd.control("explain", "\(id)").text
            #expect(waits.contains("the one of the watchd before (process "), "\(waits)")
            #expect(lives.folder.lines("begun").count == 1)
            try Linux.unlink(lives.folder["gate"])
            try lives.watchd.waitForEnded(1, of: "index")
            #expect(lives.folder.lines("begun").count == 2 && lives.folder.lines("lines").count == 2)
        }
    }

    /// It failed once in five runs of all tests, on a machine with much else to do: nobody knows why yet.
    @Test(.enabled(if: LongPart.isAsked, "waited in vain once, and says more if it does again"))
    func aWorkerThatWasLeftAndDoesNotEndIsEnded() throws {
        let text = Self.text("a", "Ack=yes\nTimeoutStopSec=100ms", queue: "Durable=yes")
        try Lives.run(text, prepare: Self.install) { lives in
            try leaveAWorkerWithALine(lives)
            do {
                try wait(for: "the next one") { lives.folder.lines("begun").count == 2 }
            } catch {
                let pid = try #require(lives.folder.lines("begun").first?.split(separator: " ").first)
                let stands = (try? Linux.readFile("/proc/\(pid)/status", limit: 4096)) ?? []
                let text = try lives.watchd.control("handlers").text
                Issue.record("\(text)\n\(String(decoding: stands, as: UTF8.self))")
                throw error
            }
            try Linux.unlink(lives.folder["gate"])
            try lives.watchd.waitForEnded(1, of: "index")
        }
    }

    @Test func aStopLetsAWorkerFinishWhatItHas() throws {
        try Watchd.run(Self.text("a", "Ack=yes\nPrefetch=2"), prepare: Self.install) { watchd in
            try watchd.folder.write("gate", "")
            try say("one", "two", in: watchd.folder)
            try wait(for: "lines with it") { try worker(watchd).lines == 2 }
            watchd.send(SIGTERM)
            try watchd.waitForLog("stopping")
            try Linux.unlink(watchd.folder["gate"])
            #expect(watchd.waitForEnd() == .exited(0))
            #expect(watchd.folder.lines("lines").count == 2)
            #expect(watchd.logText.contains("2 done"), "\(watchd.logText)")
        }
    }

    @Test func idleWorkersEndAndComeBack() throws {
        try Watchd.run(Self.text("a", "Ack=yes\nIdleSec=200ms"), prepare: Self.install) { watchd in
            #expect(try worker(watchd).state == .down)
            for count in 1...2 {
                try say("line \(count)", in: watchd.folder)
                try watchd.waitForEnded(count, of: "index")
                try wait(for: "it to be gone") { try worker(watchd).state == .down }
                #expect(watchd.folder.lines("begun").count == count)
            }
            #expect(try watchd.control("status", "index").text.contains("idle: started with the next line"))
        }
    }
}
