import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Waiting for operations and queues, and clients that go before what they wait for has come.
@Suite("Wait, end to end", .ownThread) struct WaitTests {
    /// Runs until a line comes from the FIFO `gate`; `fails` ends with 3.
    private static let text = """
        [Queue line]
        Target=disk
        [Queue disk]
        Type=concurrent
        [Custom job]
        Exec=/bin/sh -c 'read -r x <@/gate; exit "$x"'
        Queue=line
        [Queue off]
        Suspended=yes
        Backlog=1
        [Custom poke]
        Log=%{data}
        Key=none
        Coalesce=no
        Queue=off

        """

    private func withWatchd(_ body: (Watchd) throws -> Void) throws {
        try Watchd.run(Self.text, settings: "DrainSec=1", prepare: { try Linux.mkfifo($0["gate"]) }, body: body)
    }

    /// Starts the job and gives its operation.
    private func start(_ watchd: Watchd) throws -> Int {
        try watchd.emit("job")
        try wait(for: "the job to run") { try watchd.status().running.first?.pid != nil }
        return try #require(try watchd.status().running.first?.id)
    }

    private func letGo(_ watchd: Watchd, status: Int) throws { try watchd.folder.append("gate", "\(status)\n") }

    @Test func aWaitForAnOperationIsAnsweredWithItsEnd() throws {
        try withWatchd { watchd in
            for (status, result) in [(0, OperationSummary.Result.done), (3, .failed)] {
                let id = try start(watchd)
                let client = try watchd.connect()
                try client.start(Wait.fullName, Wait.Parameters(id: id))
                try letGo(watchd, status: status)
                let reply: Wait.Reply = try client.nextReply(timeout: 30_000).parameters()
                #expect(reply.operation?.id == id)
                #expect(reply.operation?.result == result)
                // It is remembered, so that nobody comes too late.
                #expect(try watchd.call(Wait.self, .init(id: id)).operation?.result == result)
                #expect(try watchd.control("wait", "\(id)").code == (status == 0 ? 0 : 1))
            }
            #expect(try watchd.error(Wait.self, .init(id: 999))?.name == "io.watchd.Manager.NoSuchOperation")
            #expect(try watchd.error(Wait.self, .init(name: "lien"))?.parameters["nearest"] == .string("line"))
        }
    }

    @Test func aQueueIsWaitedForUntilNothingWaitsOrRunsThere() throws {
        try withWatchd { watchd in
            #expect(try watchd.call(Wait.self, .init(name: "queue/line")).operation == nil)
            _ = try start(watchd)
            let error = try #require(try watchd.error(Wait.self, .init(name: "line", timeoutUsec: 0)))
            #expect(ManagerError(error) == .timedOut(what: "line", state: "0 waiting, 1 running"))
            // What runs through a queue by Target= is waited for too.
            let target = try #require(try watchd.error(Wait.self, .init(name: "disk", timeoutUsec: 0)))
            #expect(ManagerError(target) == .timedOut(what: "disk", state: "0 waiting, 1 running"))
            let end = try watchd.control("wait", "line", "--timeout", "10ms")
            #expect(end.code == 1)
            #expect(end.errorText.contains("timed out waiting for line: 0 waiting, 1 running"), "\(end)")
            let client = try watchd.connect()
            try client.start(Wait.fullName, Wait.Parameters(name: "line", timeoutUsec: 30_000_000))
            try letGo(watchd, status: 0)
            #expect(throws: Never.self) { try client.nextReply(timeout: 30_000) }
            #expect(try watchd.control("wait", "line").text == "line: nothing waits or runs\n")
        }
    }

    @Test func whatAClientWaitedForIsWithdrawnWhenItGoes() throws {
        try withWatchd { watchd in
            try watchd.emit("poke", data: 1)
            func message(_ data: Int) -> String {
                "{\"method\":\"io.watchd.Manager.Emit\",\"parameters\":{\"name\":\"poke\",\"data\":\(data)}}"
            }
            var gone: RawConnection? = try RawConnection(watchd.socket)
            try gone?.send(message: message(2))
            gone = nil
            let patient = try RawConnection(watchd.socket)
            try patient.send(message: message(3))
            // Its connection is served behind the one that has gone.
            #expect(try watchd.status().totals.accepted == 1)
            try watchd.resume("off")
            try wait(for: "both to be logged") { watchd.logText.occurrences(of: "poke: ") == 2 }
            try watchd.waitUntilIdle()
            try watchd.waitForLog("poke: 3")
            #expect(!watchd.logText.contains("poke: 2"))
            #expect(try watchd.status().totals.accepted == 2)
        }
    }

    @Test func aClientThatOnlyWritesNoMoreStillGetsItsAnswer() throws {
        try withWatchd { watchd in
            let client = try RawConnection(watchd.socket)
            try client.send(
                message: "{\"method\":\"io.watchd.Manager.Run\",\"parameters\":{\"name\":\"job\",\"wait\":true}}")
            client.endOfInput()
            try letGo(watchd, status: 3)
            let answer = String(decoding: try client.readToEnd(), as: UTF8.self)
            #expect(answer.contains("\"exit_status\":3"), "\(answer)")
        }
    }

    @Test func whoAcceptsMoreAndWritesNoMoreStillGetsItsAnswer() throws {
        try withWatchd { watchd in
            _ = try start(watchd)
            let client = try RawConnection(watchd.socket)
            try client.send(
                message: "{\"method\":\"io.watchd.Manager.Wait\",\"more\":true,\"parameters\":{\"name\":\"line\"}}")
            client.endOfInput()
            try letGo(watchd, status: 0)
            let answer = String(decoding: try client.readToEnd(), as: UTF8.self)
            #expect(answer.contains("parameters"), "\(answer)")
            #expect(!answer.contains("error"), "\(answer)")
        }
    }

    @Test func aRunGoesOnWithoutItsCaller() throws {
        try withWatchd { watchd in
            var client: RawConnection? = try RawConnection(watchd.socket)
            try client?.send(
                message: "{\"method\":\"io.watchd.Manager.Run\",\"parameters\":{\"name\":\"job\",\"wait\":true}}")
            try wait(for: "the job to run") { try watchd.status().running.count == 1 }
            client = nil
            try letGo(watchd, status: 0)
            #expect(try watchd.waitUntilIdle().done == 1)
            let descriptors = try Linux.readFolder("/proc/\(watchd.processID)/fd").count
            #expect(descriptors < 60)
        }
    }
}
