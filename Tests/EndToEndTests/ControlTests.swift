import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// What clients may send, and that nobody else suffers from it.
@Suite("Control, end to end", .ownThread) struct ControlTests {
    private static let text = "[Custom poke]\nLog=%{data}\nQueue=main\n"

    @Test func halfAMessageHoldsUpNobody() throws {
        try Watchd.run(Self.text) { watchd in
            let half = try RawConnection(watchd.socket)
            try half.send("{\"method\":\"io.watchd.Mana".pathBytes)
            try watchd.emit("poke")
            #expect(try watchd.waitUntilIdle().done == 1)
            try half.send("ger.Stop2\"}\0".pathBytes)
            let other = try RawConnection(watchd.socket)
            try other.send("{\"met".pathBytes)
        }
    }

    @Test func halfAMessageKeepsNoConnection() throws {
        try Watchd.run(Self.text) { watchd in
            let half = try RawConnection(watchd.socket)
            try half.send("{\"method\":\"io.watchd.Mana".pathBytes)
            let silent = try RawConnection(watchd.socket)
            #expect(try half.readToEnd().isEmpty)
            try watchd.waitForLog("is cut off: half a message has come")
            try silent.send(message: "{\"method\":\"io.systemd.service.Ping\"}")
            #expect(try !silent.receive().isEmpty)
            let rubbish = try RawConnection(watchd.socket)
            try rubbish.send("rubbish\0".pathBytes)
            #expect(try rubbish.readToEnd().isEmpty)
            #expect(!watchd.logText.contains("rubbish") && !watchd.logText.contains("JSON"), "one in a minute")
        }
    }

    @Test func aMessageThatIsTooLargeOrTooDeepEndsItsConnectionOnly() throws {
        try Watchd.run(Self.text) { watchd in
            let deep = "{\"method\":\"io.watchd.Manager.Emit\",\"parameters\":{\"name\":\"poke\",\"payload\":{\"a\":"
            let bad: [[UInt8]] = [
                Array(repeating: UInt8(ascii: "x"), count: 2 << 20),
                "{\"method\":\"".pathBytes + Array(repeating: UInt8(ascii: "x"), count: 2 << 20),
                Array(repeating: UInt8(ascii: "["), count: 10_000) + [0],
                Array(repeating: UInt8(ascii: "["), count: 500_000) + [0],
                "rubbish\0".pathBytes, [0xFF, 0xFE, 0], "[]\0".pathBytes, "null\0".pathBytes, [0],
                "{\"method\":7}\0".pathBytes,
            ]
            for bytes in bad {
                let connection = try RawConnection(watchd.socket)
                try connection.send(bytes)
                _ = try connection.readToEnd()
                #expect(try watchd.status().state == .running)
            }
            let nested = String(repeating: "{\"a\":", count: 10_000) + "1" + String(repeating: "}", count: 10_000)
            let connection = try RawConnection(watchd.socket)
            try connection.send(message: deep + nested + "}}}")
            _ = try connection.readToEnd()
            let totals = try watchd.status().totals
            #expect(totals.accepted == 0)
            #expect(try watchd.status().memoryBytes < 150 << 20)
        }
    }

    @Test func threeHundredIdleClientsLeaveRoomAgain() throws {
        try Watchd.run(Self.text) { watchd in
            var clients: [RawConnection] = []
            for _ in 0..<300 { clients.append(try RawConnection(watchd.socket)) }
            let descriptors = { try Linux.readFolder("/proc/\(watchd.processID)/fd").count }
            try wait(for: "256 to be connected") { try descriptors() > 256 }
            #expect(try descriptors() < 256 + 40)
            _ = try watchd.folder.append("nothing", "")
            clients.removeAll()
            try wait(for: "room again") { (try? watchd.status().state) == .running }
            try wait(for: "their descriptors to be closed") { try descriptors() < 60 }
        }
    }

    @Test func aFollowerThatNeverReadsIsCutOffAndCostsLittle() throws {
        let text = Self.text + "[Queue off]\nSuspended=yes\n[Custom many]\nLog=%{data}\nQueue=off\n"
        try Watchd.run(text, settings: "LogLevel=warning") { watchd in
            let followers = try (1...2).map { _ in try RawConnection(watchd.socket) }
            for follower in followers {
                try follower.send(message: "{\"method\":\"io.watchd.Manager.Follow\",\"more\":true}")
            }
            let events = EmitAll.Parameters(events: Array(repeating: .init(name: "many"), count: 1000))
            for _ in 0..<40 { try watchd.call(EmitAll.self, events) }
            #expect(try watchd.status().memoryBytes < 200 << 20)
            let end = String(decoding: try followers[0].readToEnd().suffix(150), as: UTF8.self)
            #expect(end.contains("\"error\":\"io.watchd.Manager.TooSlow\""))
            try followers[1].waitForHangUp()
        }
    }

    @Test func aFollowerMissesNothingBetweenWhatWasAndWhatComes() throws {
        try Watchd.run(Self.text) { watchd in
            for data in 1...5 { try watchd.emit("poke", data: data) }
            try watchd.waitUntilIdle()
            let client = try watchd.connect()
            try client.start(Follow.fullName, Follow.Parameters(since: 0), timeout: 30_000)
            for data in 6...10 { try watchd.emit("poke", data: data) }
            var sequences: [Int] = []
            var data: [Int64] = []
            while data.count < 10 {
                let reply: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                sequences.append(reply.sequence)
                if let value = reply.event?.members?["data"]?.int { data.append(value) }
            }
            #expect(data == Array(1...10))
            #expect(sequences == Array(1...sequences.count))
        }
    }

    @Test func whatChangedWhileNobodyFollowedIsToldAfterwards() throws {
        try Watchd.run(Self.text) { watchd in
            try watchd.emit("poke", data: 7)
            try watchd.waitUntilIdle()
            let client = try watchd.connect()
            try client.start(Follow.fullName, Follow.Parameters(since: 0), timeout: 30_000)
            var told: [Follow.Reply] = []
            while told.last?.operation?.state.isEnded != true {
                told.append(try client.nextReply(timeout: 30_000).parameters())
            }
            #expect(told.map(\.sequence) == Array(1...told.count))
            let states = told.compactMap(\.operation)
            #expect(states.map(\.state).contains(.executing), "\(states)")
            for operation in states.dropLast() {
                #expect((operation.handler, operation.result, operation.ended) == ("poke", nil, nil))
            }
            #expect(states.last?.result == .done)
        }
    }

    @Test func aNumberOfADaemonBeforeIsAGap() throws {
        try Watchd.run(Self.text) { watchd in
            for isFirst in [true, false] {
                let client = try watchd.connect()
                try client.start(Follow.fullName, Follow.Parameters(since: 5000), timeout: 30_000)
                let gap: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                #expect(gap.gap == Follow.Gap(first: 5001, last: 0))
                if isFirst { try watchd.emit("poke", data: 1) }
                let next: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                #expect(next.sequence == 1)
            }
        }
    }

    @Test func anOperationWithADelayIsFollowedFromItsMaking() throws {
        try Watchd.run("[Custom later]\nLog=later\nDelaySec=1h\n") { watchd in
            let client = try watchd.connect()
            try client.start(Follow.fullName, Follow.Parameters(since: 0), timeout: 30_000)
            try watchd.emit("later")
            var told: Follow.Reply
            repeat { told = try client.nextReply(timeout: 30_000).parameters() } while told.operation == nil
            #expect(told.operation?.handler == "later")
            #expect(told.operation?.state == .pending)
            try watchd.call(Cancel.self, .init(id: try #require(told.operation?.id)))
        }
    }

    /// More operations than the hub looks up at once, and than fit unread into a socket.
    private static let many = 3000

    /// A follower that has not read anything, of many operations that wait and one that is younger than all of them.
    private func withManyWaiting(_ body: (Watchd, Client) throws -> Void) throws {
        let text = """
            [Queue off]
            Suspended=yes
            [Custom many]
            Log=%{data}
            Queue=off
            Key=none
            Coalesce=no
            [Queue held]
            Suspended=yes
            [Custom job]
            Exec=/bin/sh -c 'read -r x <@/gate'
            Queue=held

            """
        let prepare: (Folder) throws -> Void = { try Linux.mkfifo($0["gate"]) }
        try Watchd.run(Self.text + text, settings: "LogLevel=warning\nDrainSec=1", prepare: prepare) { watchd in
            let events = EmitAll.Parameters(events: Array(repeating: .init(name: "many"), count: Self.many))
            try watchd.call(EmitAll.self, events)
            try watchd.emit("job")
            let client = try watchd.connect()
            try client.start(Follow.fullName, Follow.Parameters(), timeout: 30_000)
            try body(watchd, client)
        }
    }

    @Test func aFollowerIsToldTheStateFirst() throws {
        try withManyWaiting { watchd, client in
            let ids = try watchd.status().operationsPending
            #expect(ids == Self.many + 1)
            var first: [Follow.Reply] = []
            for _ in 0..<ids { first.append(try client.nextReply(timeout: 30_000).parameters()) }
            #expect(first.allSatisfy { $0.initial == true })
            #expect(first.map(\.operation?.id) == Array(1...ids))
            #expect(Set(first.map(\.sequence)).count == 1)
            // Then what changes, without a gap in its numbers.
            try watchd.emit("poke", data: 5)
            let next: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
            #expect(next.initial == nil)
            #expect(next.sequence == (first.first?.sequence ?? 0) + 1)
            #expect(next.event?.members?["data"] == .int(5))
        }
    }

    @Test func whatChangesWhileTheStateIsToldIsToldOnce() throws {
        try withManyWaiting { watchd, client in
            try watchd.resume("off")
            try watchd.resume("held")
            try wait(for: "the job to run") { try watchd.status().running.first?.pid != nil }
            try wait(for: "all others to end") { try watchd.status().totals.done == Self.many }
            try watchd.folder.append("gate", "\n")
            var states: [Int: [OperationSummary.State]] = [:]
            var ended = 0
            while ended <= Self.many {
                let reply: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                guard let operation = reply.operation else { continue }
                #expect(reply.initial != true || states[operation.id] == nil, "\(operation)")
                states[operation.id, default: []].append(operation.state)
                if operation.state.isEnded { ended += 1 }
            }
            #expect(Set(states.keys) == Set(1...(Self.many + 1)))
            for (id, states) in states {
                #expect(zip(states, states.dropFirst()).allSatisfy { $0 != $1 }, "\(id): \(states)")
                #expect(states.last == .finished)
            }
        }
    }

    @Test func aChangeThatTheStateHasToldIsNotToldAgain() throws {
        try withManyWaiting { watchd, client in
            try watchd.resume("held")
            try wait(for: "the job to run") { try watchd.status().running.first?.pid != nil }
            let job = Self.many + 1
            var told: [Follow.Reply] = []
            while told.last?.operation?.state != .executing {
                let reply: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                if reply.operation?.id == job { told.append(reply) }
            }
            try watchd.folder.append("gate", "\n")
            while told.last?.operation?.state != .finished {
                let reply: Follow.Reply = try client.nextReply(timeout: 30_000).parameters()
                if reply.operation?.id == job { told.append(reply) }
            }
            #expect(told.map(\.initial) == [true, nil])
            #expect(told.map(\.operation?.state) == [.executing, .finished])
        }
    }

    @Test func onewayCallsGetNoReplyAndStreamsNeedMore() throws {
        try Watchd.run(Self.text) { watchd in
            let connection = try RawConnection(watchd.socket)
            try connection.send(
                message: "{\"method\":\"io.watchd.Manager.Emit\",\"oneway\":true,\"parameters\":{\"name\":\"poke\"}}")
            try connection.send(message: "{\"method\":\"io.watchd.Manager.Follow\"}")
            try connection.send(message: "{\"method\":\"io.systemd.service.Ping\"}")
            try connection.send(message: "{\"method\":\"io.watchd.Manager.Stop\",\"parameters\":null}")
            let replies = try connection.readToEnd().split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            #expect(replies.count == 3)
            #expect(replies.first?.contains("org.varlink.service.ExpectedMore") == true)
            #expect(replies.dropFirst().allSatisfy { !$0.contains("error") })
            #expect(watchd.waitForEnd() == .exited(0))
            try watchd.waitForLog("1 accepted")
        }
    }

    @Test func errorsSayWhatAPersonNeeds() throws {
        try Watchd.run(Self.text) { watchd in
            let error = try #require(try watchd.error(Emit.self, .init(name: "pkoe")))
            #expect(error.name == "io.watchd.Manager.NoSuchName")
            #expect(error.parameters["nearest"] == .string("poke"))
            #expect(try watchd.error(GetOperation.self, .init(id: 99))?.name == "io.watchd.Manager.NoSuchOperation")
            #expect(try watchd.error(Emit.self, .init(name: "handler/poke"))?.name == "io.watchd.Manager.NotCustom")
            #expect(try watchd.error(Resume.self, .init(name: "main"))?.name == "io.watchd.Manager.NotSuspended")
        }
    }
}
