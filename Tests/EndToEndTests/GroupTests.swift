import ControlInterface
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Groups that clients enter and leave, or leave behind.
@Suite("Groups, end to end", .ownThread) struct GroupTests {
    private static let text = """
        [Custom member]
        Log=member
        [Group work]
        Members=member
        Log=all have left

        """

    private func entered(_ watchd: Watchd) throws -> Int { try watchd.source("work").group?.entered ?? -1 }

    /// A process that waits for itself.
    private func endless() throws -> Program {
        let pipe = try Linux.pipe().ends()
        defer { for end in [pipe.read, pipe.write] { FileDescriptor(owning: end).close() } }
        return try Program(
            ["cat".pathBytes], environment: Program.environment, descriptors: [pipe.read, pipe.write, pipe.write])
    }

    @Test func aTicketLastsAsLongAsItsConnection() throws {
        try Watchd.run(Self.text) { watchd in
            var client: Client? = try watchd.connect()
            let ticket: EnterGroup.Reply? = try client?.call(
                EnterGroup.fullName, EnterGroup.Parameters(name: "work"), timeout: 30_000
            ).parameters()
            #expect(ticket != nil)
            #expect(try entered(watchd) == 1)
            #expect(try watchd.status().groups == [.init(name: "group/work", outstanding: 0, entered: 1)])
            let error = try #require(try watchd.error(Wait.self, .init(name: "work", timeoutUsec: 1000)))
            #expect(error.parameters["state"]?.string?.contains("1 client inside") == true)
            let waiting = try watchd.connect()
            try waiting.start(Wait.fullName, Wait.Parameters(name: "work"))
            client = nil
            #expect(throws: Never.self) { try waiting.nextReply(timeout: 30_000) }
            #expect(try entered(watchd) == 0)
            try wait(for: "the group to fire") { watchd.logText.contains("work: all have left") }
            try watchd.waitForLog("its connection is closed")
        }
    }

    @Test func aTicketLastsAsLongAsItsProcess() throws {
        try Watchd.run(Self.text) { watchd in
            let process = try endless()
            let reply = try watchd.control("group", "enter", "work", "--pid", "\(process.processID)")
            #expect(Int(reply.text.dropLast()) != nil, "\(reply)")
            #expect(try entered(watchd) == 1)
            let explained = try watchd.control("explain", "group/work").text
            #expect(explained.contains("of process \(process.processID)"), "\(explained)")
            process.send(9)
            // Nobody has waited for it yet: a process that is only a zombie has ended.
            try wait(for: "the group to be left") { try entered(watchd) == 0 }
            process.wait()
        }
    }

    @Test func aTicketIsGivenBackOnce() throws {
        try Watchd.run(Self.text) { watchd in
            let client = try watchd.connect()
            let ticket: EnterGroup.Reply = try client.call(
                EnterGroup.fullName, EnterGroup.Parameters(name: "group/work"), timeout: 30_000
            ).parameters()
            try watchd.call(LeaveGroup.self, .init(name: "work", ticket: ticket.ticket))
            #expect(try entered(watchd) == 0)
            for ticket in [ticket.ticket, 12345, -1] {
                let error = try watchd.error(LeaveGroup.self, .init(name: "work", ticket: ticket))
                #expect(error?.name == "io.watchd.Manager.NoSuchTicket")
            }
        }
    }

    @Test func aTicketOfAWatchdThatWasKilledIsToldApart() throws {
        try Lives.run(Self.text) { lives in
            // It lasts as long as its connection.
            let client = try lives.watchd.connect()
            let earlier: EnterGroup.Reply = try client.call(
                EnterGroup.fullName, EnterGroup.Parameters(name: "work"), timeout: 30_000
            ).parameters()
            lives.kill()
            try lives.start()
            _ = try lives.watchd.control("group", "enter", "work", "--pid", "\(Linux.processID)")
            let left = try lives.watchd.control("group", "leave", "work", "\(earlier.ticket)")
            #expect(left.errorText.contains("this watchd never gave it out"), "\(left)")
            #expect(try entered(lives.watchd) == 1, "nobody else has left")
        }
    }

    /// Of two processes one ends while watchd is down.
    @Test(arguments: [true, false]) func aTicketOfAProcessOutlivesWatchd(isKilled: Bool) throws {
        try Lives.run(Self.text) { lives in
            let processes = try (0..<2).map { _ in try endless() }
            let tickets = try processes.map {
                try lives.watchd.control("group", "enter", "work", "--pid", "\($0.processID)").text.dropLast()
            }
            if isKilled { lives.kill() } else { lives.stop() }
            processes[0].send(9)
            processes[0].wait()
            try lives.start()
            try lives.watchd.waitForLog(
                "ticket \(tickets[0]): left, process \(processes[0].processID) has ended while watchd was down")
            #expect(try entered(lives.watchd) == 1)
            #expect(!lives.watchd.logText.contains("all have left"))
            if isKilled {
                processes[1].send(9)
            } else {
                #expect(try lives.watchd.control("group", "leave", "work", String(tickets[1])).code == 0)
            }
            try lives.watchd.waitForLog("all have left")
        }
    }

    @Test func nobodyEntersWithoutAnEnd() throws {
        try Watchd.run(Self.text) { watchd in
            let absent = try watchd.error(EnterGroup.self, .init(name: "work", pid: Int(Int32.max)))
            #expect(absent?.name == "io.watchd.Manager.NoSuchProcess")
            for pid in [0, -1, 1 << 40, Int(watchd.processID)] {
                let error = try watchd.error(EnterGroup.self, .init(name: "work", pid: pid))
                #expect(error == .invalidParameter("pid"), "\(pid)")
            }
            let wrong = try watchd.error(EnterGroup.self, .init(name: "wrok"))
            #expect(wrong?.parameters["nearest"] == .string("group/work"))
            #expect(try entered(watchd) == 0)
        }
    }

    @Test func theStartUpTextDoesNotAskForAGroup() throws {
        try Watchd.run(Self.text) { watchd in
            try watchd.waitForLog("Stop: Ctrl-C")
            let hints = watchd.logText.split(separator: "\n").filter { $0.hasPrefix("    ") }
            #expect(hints.contains { $0.contains("custom/member") }, "\(watchd.logText)")
            #expect(!hints.contains { $0.contains("group/work") }, "\(watchd.logText)")
        }
    }

    @Test func aProcessThatHasEndedEntersNothing() throws {
        try Watchd.run(Self.text) { watchd in
            let null = try Linux.open("/dev/null").release()
            defer { FileDescriptor(owning: null).close() }
            let process = try Program(
                ["true".pathBytes], environment: Program.environment, descriptors: [null, null, null])
            // Nobody waits for it: it stays as a zombie.
            let stat = "/proc/\(process.processID)/stat"
            try wait(for: "its end") { String(decoding: try Linux.readFile(stat), as: UTF8.self).contains(") Z ") }
            let error = try watchd.error(EnterGroup.self, .init(name: "work", pid: Int(process.processID)))
            #expect(error.flatMap { ManagerError($0) } == .noSuchProcess(pid: Int(process.processID)))
            #expect(try entered(watchd) == 0)
            process.wait()
        }
    }

    @Test func thereAreOnlySoManyTickets() throws {
        try Watchd.run(Self.text) { watchd in
            var client: Client? = try watchd.connect()
            var count = 0
            while count < 10_000 {
                do throws(ClientError) {
                    _ = try client?.call(EnterGroup.fullName, EnterGroup.Parameters(name: "work"), timeout: 30_000)
                    count += 1
                } catch {
                    guard case .remote(let reply) = error else { throw error }
                    #expect(ManagerError(reply) == .tooManyTickets(limit: count))
                    break
                }
            }
            #expect(count == 512)
            client = nil
            try wait(for: "all to have left") { try entered(watchd) == 0 }
        }
    }

    @Test func aCommandRunsInsideAGroup() throws {
        try Watchd.run(Self.text) { watchd in
            let status = [try Products.path("watchctl"), "--socket", watchd.socket, "status"]
            let inside = try watchd.control("group", "run", "work", "--", status[0], status[1], status[2], status[3])
            #expect(inside.code == 0)
            #expect(inside.text.contains("GROUPS"), "\(inside)")
            #expect(try watchd.control("group", "run", "work", "/bin/sh", "-c", "exit 7").code == 7)
            #expect(
                try watchd.control("group", "run", "work", "/bin/sh", "-c", "kill -9 $$").status
                    == .signaled(9, core: false))
            try wait(for: "all to have left") { try entered(watchd) == 0 }
            #expect(try watchd.control("group", "run", "wrok", "/bin/echo", "ran").text.isEmpty)
        }
    }

    @Test func afterACrashTheGroupTellsHowManyMembersWereLost() throws {
        let text = """
            [Queue slow]
            Suspended=yes
            [Custom member]
            Log=member
            Queue=slow
            Key=none
            Coalesce=no
            [Group work]
            Members=member
            Exec=/bin/sh -c 'cat >>@/told'

            """
        try Lives.run(text) { lives in
            for _ in 1...5 { try lives.watchd.emit("member") }
            // It is written after a second: nothing else tells when.
            let end = Linux.now(.monotonic) + 3_500_000
            try wait(for: "the number to be written") { Linux.now(.monotonic) >= end }
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("main")
            try lives.watchd.resume("main")
            lives.kill()
            try lives.start()
            try wait(for: "the group to fire") { lives.folder.text("told").contains("\"lost\":5") }
            try lives.watchd.waitForLog("group/work  0 ran, 0 failed, 0 cancelled, 5 lost")
            try lives.watchd.waitUntilIdle()
            // A stop cancels, which is told after the next start: nothing is lost.
            try lives.watchd.emit("member")
            lives.stop()
            try lives.start()
            try wait(for: "the group to fire") { lives.folder.lines("told").count == 2 }
            let told = lives.folder.lines("told")[1]
            #expect(told.contains("\"cancelled\":1") && !told.contains("lost"), "\(told)")
        }
    }

    @Test(arguments: [true, false]) func whatHadEndedBeforeARestartIsToldWithTheRest(isKilled: Bool) throws {
        let text = """
            [Queue kept]
            Durable=yes
            [Custom part]
            Queue=kept
            Key=none
            Coalesce=no
            Exec=/bin/sh -c 'echo $WATCHD_DATA >>@/begun; [ $WATCHD_DATA = 1 ] && exit 3; until [ -e @/go ]; do sleep 0.1; done'
            [Group all]
            Members=part
            Queue=kept
            Exec=/bin/sh -c 'cat >>@/told'

            """
        try Lives.run(text, settings: "DrainSec=0\n") { lives in
            try lives.watchd.suspend("kept")
            for data in 1...3 { try lives.watchd.emit("part", data: data) }
            try lives.watchd.resume("kept")
            try wait(for: "the second to run") { lives.folder.lines("begun").contains("2") }
            if isKilled { lives.kill() } else { lives.stop() }
            try lives.start()
            try lives.folder.write("go", "")
            try wait(for: "the group to fire") { lives.folder.text("told").contains("ran") }
            let told = lives.folder.text("told")
            #expect(told.contains("\"ran\":3") && told.contains("\"failed\":1,") && told.contains("exit 3"), "\(told)")
        }
    }
}
