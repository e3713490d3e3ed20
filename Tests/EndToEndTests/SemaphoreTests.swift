import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Semaphores as clients see and steer them.
@Suite("Semaphores, end to end", .ownThread) struct SemaphoreTests {
    private static let text = """
        [Semaphore tokens]
        Value=0
        [Semaphore spare]
        Value=3
        [Custom job]
        Log=ran with %{data}
        Consume=tokens:2
        Key=none
        Coalesce=no

        """

    @Test func whoWaitsStartsWhenEnoughIsGiven() throws {
        try Watchd.run(Self.text) { watchd in
            try watchd.emit("job", data: 1)
            try watchd.emit("job", data: 2)
            let waiting = try watchd.status().waiting
            #expect(waiting.map(\.waitReason) == ["semaphore", "semaphore"])
            #expect(waiting.first?.waitingFor?.contains("tokens") == true)
            #expect(try watchd.status().semaphores == [.init(name: "tokens", value: 0, available: 0, waiting: 2)])
            #expect(try watchd.call(Signal.self, .init(name: "tokens")).available == 1)
            #expect(try watchd.status().totals.done == 0)
            #expect(try watchd.control("signal", "semaphore/tokens").text.hasPrefix("semaphore/tokens: "))
            try watchd.waitForEnded(1, of: "job")
            try watchd.waitForLog("job: ran with 1")
            #expect(try watchd.call(Signal.self, .init(name: "tokens", count: 2)).available == 0)
            #expect(try watchd.waitUntilIdle().done == 2)
            let all = try watchd.call(ListSemaphores.self, .init()).semaphores
            #expect(all.map(\.name) == ["spare", "tokens"])
            #expect(all.map(\.value) == [3, 0] && all.map(\.available) == [3, 0])
        }
    }

    @Test func nothingLessThanOneIsGiven() throws {
        try Watchd.run(Self.text) { watchd in
            for count in [0, -1, Int.max] {
                let error = try watchd.error(Signal.self, .init(name: "spare", count: count))
                #expect(error == .invalidParameter("count"), "\(count)")
            }
            #expect(try watchd.error(Signal.self, .init(name: "spaer"))?.parameters["nearest"] == .string("spare"))
            #expect(try watchd.control("signal", "spare", "0").code == 2)
            #expect(try watchd.control("signal", "spare", "4").text == "spare: 7 free\n")
            #expect(try watchd.error(ListSemaphores.self, .init(name: "x"))?.name == "io.watchd.Manager.NoSuchName")
        }
    }

    // MARK: Members

    private static func lending(_ members: String) -> String {
        """
        [Semaphore card]
        Members=\(members)
        [Queue q]
        Type=concurrent
        Width=4
        [Custom one]
        Exec=/bin/sh -c 'echo "$0 $WATCHD_ACQUIRED_CARD" >>@/ran; read x <@/gate' %{acquired:card}
        Queue=q
        Key=none
        Coalesce=no
        Acquire=card

        """
    }

    private func held(_ watchd: Watchd) throws -> [[String]] {
        try watchd.call(ListSemaphores.self, .init()).semaphores.first?.holders.map { $0.members ?? [] } ?? []
    }

    /// Where a run is too young to be stored, its environment says what it holds.
    @Test func whoWasLentAMemberKeepsItOverAKill() throws {
        try Lives.run(Self.lending("c a b"), prepare: { try Linux.mkfifo($0["gate"], mode: 0o600) }) { lives in
            try lives.watchd.emit("one")
            try wait(for: "the first one") { lives.folder.lines("ran").count == 1 }
            try lives.watchd.emit("one")
            try wait(for: "the second one") { lives.folder.lines("ran").count == 2 }
            #expect(lives.folder.lines("ran") == ["c c", "a a"])
            lives.kill()
            try lives.start()
            #expect(try held(lives.watchd) == [["c"], ["a"]])
            try lives.watchd.emit("one")
            try wait(for: "the third one") { lives.folder.lines("ran").count == 3 }
            #expect(lives.folder.lines("ran").last == "b b")
            let screen = try lives.watchd.control("semaphores").text
            #expect(screen.contains("one: c") && screen.contains("one: b"), "\(screen)")
            #expect(try lives.watchd.control("show", "1").text.contains("Holds      card c"))
            #expect(try lives.watchd.control("explain", "semaphore/card").text.contains("c held by operation 1 (one)"))
            #expect(try lives.watchd.control("signal", "card").errorText.contains("whose Members= are lent"))
            let gate = try Linux.open(lives.folder["gate"], .writing).release()
            defer { FileDescriptor(owning: gate).close() }
            try Linux.writeAll(gate, "\n\n\n".utf8)
            try wait(for: "all to be back") { try held(lives.watchd).isEmpty }
        }
    }

    /// A command that holds units waits for others that need them; without the refusal it would wait for ever.
    @Test func aWaitThatOnlyItsOwnHolderCouldEndIsRefused() throws {
        let text = """
            [Semaphore card]
            Value=1
            [Custom blocked]
            Exec=/bin/true
            Acquire=card

            """
        try Watchd.run(text) { watchd in
            let watchctl = [try Products.path("watchctl"), "--socket", watchd.socket]
            for words in [["acquire", "card", "true"], ["run", "--wait", "blocked"]] {
                let end = try Program.run(watchctl + ["acquire", "card"] + watchctl + words)
                #expect(end.code == 1 && end.errorText.contains("card"), "\(end)")
            }
            let other = try Program.run(watchctl + ["acquire", "card"] + watchctl + ["run", "blocked"])
            #expect(other.code == 0, "nobody waits for it: \(other)")
        }
    }

    /// `watchctl acquire`: the process is no child of watchd's, and goes on beside it.
    @Test(arguments: [false, true]) func whatAClientHoldsIsHeldOverAnEnd(isKilled: Bool) throws {
        try Lives.run("[Semaphore card]\nMembers=a b\n") { lives in
            let pipe = try Linux.pipe().ends()
            defer { FileDescriptor(owning: pipe.read).close() }
            let holder = try Program(
                ["cat".pathBytes], environment: Program.environment, descriptors: [pipe.read, pipe.write, pipe.write])
            FileDescriptor(owning: pipe.write).close()
            let pid = Int(holder.processID)
            let reply = try lives.watchd.call(Acquire.self, .init(name: "card", pid: pid, command: ["cat"]))
            #expect(reply.members == ["a"])
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            #expect(try held(lives.watchd) == [["a"]])
            let other = try lives.watchd.call(Acquire.self, .init(name: "card", pid: Int(Linux.processID)))
            #expect(other.members == ["b"])
            holder.send(9)
            holder.wait()
            try wait(for: "the unit to be back") { try held(lives.watchd) == [["b"]] }
        }
    }
}
