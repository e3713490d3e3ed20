import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

@Suite("Connections, end to end", .ownThread) struct ConnectionTests {
    private func connect(_ path: String) throws -> Int32 {
        let socket = try Linux.socket(for: .unix(path.pathBytes), .stream, nonBlocking: false).release()
        try Linux.connect(socket, .unix(path.pathBytes))
        return socket
    }

    private func readToEnd(_ socket: Int32) throws -> String {
        String(decoding: try Linux.readToEnd(socket, limit: 1 << 20), as: UTF8.self)
    }

    /// What its descriptors are, sorted.
    private func descriptors(_ watchd: Watchd) throws -> [String] {
        let folder = "/proc/\(watchd.processID)/fd"
        return try Linux.readFolder(folder).compactMap { entry in
            (try? Linux.readlink("\(folder)/\(String(decoding: entry.name, as: UTF8.self))")).map {
                String(decoding: $0, as: UTF8.self)
            }
        }.sorted()
    }

    @Test func aConnectionIsTheHandlersInputAndOutput() throws {
        let text = """
            [Descriptor shout]
            ListenStream=@/socket-of-handler
            Accept=yes
            MaxConnections=2
            Exec=/usr/bin/tr a-z A-Z
            """
        try Watchd.run(text) { watchd in
            // The history is open for reading from its first question on.
            #expect(try watchd.control("history").code == 0)
            let before = try descriptors(watchd)
            for round in 1...20 {
                let socket = try connect(watchd.folder["socket-of-handler"])
                try Linux.writeAll(socket, "hello \(round)\n".utf8)
                _ = shutdown(socket, Int32(SHUT_WR))
                #expect(try readToEnd(socket) == "HELLO \(round)\n")
                FileDescriptor(owning: socket).close()
            }
            try watchd.waitUntilIdle()
            try wait(for: "nothing to be left open of \((try? descriptors(watchd)) ?? []), before \(before)") {
                try descriptors(watchd).count <= before.count
            }
            #expect(try watchd.source("shout").counters.done == 20)
        }
    }

    @Test func aConnectionThatNobodyIsStartedForIsClosed() throws {
        let text = """
            [Queue small]
            Backlog=1
            Overflow=drop-newest
            [Descriptor slow]
            ListenStream=@/in
            Accept=yes
            Exec=/bin/sleep 1000
            TimeoutStopSec=1s
            Queue=small
            """
        try Watchd.run(text) { watchd in
            let one = try connect(watchd.folder["in"])
            try wait(for: "it to run") { try watchd.queue("small").running == 1 }
            let two = try connect(watchd.folder["in"])
            try wait(for: "it to wait") { try watchd.queue("small").operations == 1 }
            let three = try connect(watchd.folder["in"])
            #expect(try readToEnd(three) == "", "dropped and closed")
            let waiting = try #require(try watchd.call(ListOperations.self, .init(state: .ready)).operations.first)
            try watchd.call(Cancel.self, .init(id: waiting.id))
            #expect(try readToEnd(two) == "", "cancelled and closed")
            let running = try #require(try watchd.call(ListOperations.self, .init(state: .executing)).operations.first)
            try watchd.call(Cancel.self, .init(id: running.id))
            #expect(try readToEnd(one) == "", "ended and closed")
            for socket in [one, two, three] { FileDescriptor(owning: socket).close() }
        }
    }

    @Test func aConnectionThatIsGoneIsNotServedAgain() throws {
        let text = """
            [Descriptor talk]
            ListenStream=@/in
            Accept=yes
            Exec=/bin/false
            [Descriptor ready]
            ListenFIFO=@/fifo
            Framing=ready
            Exec=/bin/false
            """
        try Watchd.run(text) { watchd in
            FileDescriptor(owning: try connect(watchd.folder["in"])).close()
            try watchd.waitUntilIdle()
            try wait(for: "its end") { try watchd.status().recent.first?.result == .failed }
            let failed = try #require(try watchd.status().recent.first)
            #expect(throws: ClientError.remote(ManagerError.needsDescriptor(handler: "talk").reply)) {
                try watchd.call(Retry.self, .init(id: failed.id))
            }
            for name in ["talk", "ready"] {
                #expect(throws: ClientError.remote(ManagerError.needsDescriptor(handler: name).reply)) {
                    try watchd.call(Run.self, .init(name: name))
                }
            }
            let status = try watchd.status()
            #expect(status.recent.count == 1, "nothing was started")
            let help = "watchctl output \(failed.id) · watchctl forget \(failed.id)"
            #expect(status.problems.map(\.help) == [help], "nor is it offered")
            let shown = try watchd.control("show", "\(failed.id)").text
            #expect(shown.contains("watchctl forget \(failed.id)") && !shown.contains("watchctl retry"), "\(shown)")
            let list = try watchd.control("failed").text
            #expect(list.contains("watchctl forget \(failed.id)") && !list.contains("watchctl retry"), "\(list)")
        }
    }

    @Test func whoWaitsForMaxConnectionsIsNamed() throws {
        let text = """
            [Descriptor talk]
            ListenStream=@/in
            MaxConnections=2
            Log=%{line}
            """
        try Watchd.run(text) { watchd in
            func reason() throws -> String? { try watchd.source("talk").reason }
            var all = try (1...2).map { _ in try connect(watchd.folder["in"]) }
            try wait(for: "two") {
                try reason() == "2 of 2 connections (MaxConnections=): further clients wait until one of these ends"
            }
            #expect(try watchd.status().problems.isEmpty, "nobody waits")
            all.append(try connect(watchd.folder["in"]))
            let sentence = "2 of 2 connections (MaxConnections=): clients wait until one of these ends"
            #expect(try reason() == sentence)
            let problem = try #require(try watchd.status().problems.first)
            #expect(problem.object == "descriptor/talk" && problem.problem == sentence)
            let steps = try watchd.call(Explain.self, .init(name: "descriptor/talk")).steps
            #expect(steps.last?.sentence == "armed; \(sentence)")
            for socket in all { FileDescriptor(owning: socket).close() }
            try wait(for: "room") { try reason() == nil }
            #expect(try watchd.status().problems.isEmpty)
        }
    }

    @Test func aFullBacklogMakesTheWriterWaitAndNothingIsLost() throws {
        let text = """
            [Queue small]
            Backlog=5
            [Descriptor lines]
            ListenStream=@/in
            Exec=/bin/cat
            StandardInput=lines
            StandardOutput=append:@/copy
            Queue=small
            """
        try Watchd.run(text) { watchd in
            try watchd.suspend("queue/small")
            let socket = try connect(watchd.folder["in"])
            try Linux.setNonBlocking(socket)
            var sent = 0
            var isFull = false
            while !isFull, sent < 1_000_000 {
                let line = Array("\(sent) \(String(repeating: "x", count: 1000))\n".utf8)
                let taken = try? line.withUnsafeBytes { try Linux.send(socket, $0) }
                if taken == nil { isFull = true } else { sent += 1 }
            }
            #expect(isFull, "the writer waits")
            try watchd.resume("queue/small")
            FileDescriptor(owning: socket).close()
            try wait(for: "all \(sent) lines", seconds: 60) { watchd.folder.lines("copy").count >= sent }
            let numbers = watchd.folder.lines("copy").compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
            // The last may have been taken in part.
            #expect(numbers.prefix(sent) == (0..<sent).map { $0 }[...])
        }
    }

    @Test func readyHandsTheDescriptorOverAndIsArmedAgain() throws {
        let text = """
            [Descriptor ready]
            ListenFIFO=@/fifo
            Framing=ready
            Exec=/bin/sh -c "read line; echo $line >>@/copy"
            StandardOutput=null
            """
        try Watchd.run(text) { watchd in
            let writer = try Linux.open(watchd.folder["fifo"], .writing).release()
            for round in 1...3 {
                try Linux.writeAll(writer, "line \(round)\n".utf8)
                try wait(for: "line \(round)") { watchd.folder.lines("copy").last == "line \(round)" }
            }
            FileDescriptor(owning: writer).close()
            try watchd.waitUntilIdle()
            #expect(try watchd.source("ready").counters.done == 3)
        }
    }

    /// Each run fills a page, and there are so many of them in a pipe.
    @Test func aHandlerWritesIntoAFifoUntilItIsFullAndAgainWhenItIsRead() throws {
        let text = """
            [Descriptor ready]
            ListenFIFO=@/fifo
            Framing=ready
            Ready=writable
            Exec=/bin/dd if=/dev/zero bs=4096 count=1 status=none
            """
        try Watchd.run(text) { watchd in
            let reader = try Linux.open(watchd.folder["fifo"], [.reading, .nonBlocking]).release()
            defer { FileDescriptor(owning: reader).close() }
            let pages = try Linux.pipeSize(reader) / 4096
            func waitForRuns(_ count: Int) throws {
                try wait(for: "\(count) runs") { try watchd.source("ready").counters.done >= count }
                try watchd.waitUntilIdle()
                let source = try watchd.source("ready")
                #expect(source.counters.done == count && source.state == .armed)
            }
            try waitForRuns(pages)
            for _ in 0..<3 { #expect(try Linux.read(reader, atMost: 4096).count == 4096) }
            try waitForRuns(pages + 3)
            #expect(try Linux.bytesAvailable(reader) == pages * 4096)
        }
    }
}
