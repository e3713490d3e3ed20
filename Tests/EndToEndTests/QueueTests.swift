import ControlInterface
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Order, width and suspension of queues, with real processes.
@Suite("Queues, end to end", .ownThread) struct QueueTests {
    /// Each run says when it begins and ends, and waits in between until it is let go.
    private static let job = """
        #!/bin/sh
        echo "begin $1" >>"${0%/*}/notes"
        [ "$2" = free ] || read -r x <"${0%/*}/gate$1"
        echo "end $1" >>"${0%/*}/notes"

        """

    private func prepare(_ folder: Folder) throws {
        try folder.write("job", Self.job, mode: 0o755)
        for number in 1...20 { try Linux.mkfifo(folder["gate\(number)"]) }
    }

    /// Lets a run go.
    private func letGo(_ number: Int, _ watchd: Watchd) throws {
        try wait(for: "run \(number) to be at its gate") {
            guard let gate = try? Linux.open(watchd.folder["gate\(number)"], [.writing, .nonBlocking]) else {
                return false
            }
            return gate.use { (try? Linux.writeAll($0, "\n".utf8)) != nil }
        }
    }

    @Test func aSerialQueueRunsOneAfterTheOtherInTheOrderOfTheEvents() throws {
        let text = """
            [Custom poke]
            Exec=@/job %{data} free
            Key=none
            Coalesce=no
            Queue=main
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            for number in 1...50 { try watchd.emit("poke", data: number) }
            let lines = try watchd.waitForLines(100, in: "notes")
            #expect(lines == (1...50).flatMap { ["begin \($0)", "end \($0)"] })
        }
    }

    @Test func aConcurrentQueueRunsAsManyAsItIsWideAndStartsInOrder() throws {
        let text = """
            [Queue wide]
            Type=concurrent
            Width=3
            [Custom poke]
            Exec=@/job %{data}
            Key=none
            Coalesce=no
            Queue=wide
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            for number in 1...7 { try watchd.emit("poke", data: number) }
            for number in 1...7 {
                let expected = min(3, 8 - number)
                try wait(for: "\(expected) to run") {
                    let queue = try watchd.queue("wide")
                    #expect(queue.running <= 3)
                    let begun = watchd.folder.lines("notes").count { $0.hasPrefix("begin") }
                    return queue.running == expected && begun == number - 1 + expected
                }
                try letGo(number, watchd)
            }
            #expect(try watchd.waitUntilIdle().done == 7)
            let begun = watchd.folder.lines("notes").filter { $0.hasPrefix("begin") }
            #expect(Set(begun.prefix(3)) == ["begin 1", "begin 2", "begin 3"])
        }
    }

    @Test func oneKeyRunsOneAtATimeAndMergesWhatComesMeanwhile() throws {
        let text = """
            [Custom poke]
            Exec=@/job %{data}
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            try watchd.emit("poke", data: 1)
            _ = try watchd.waitForLines(1, in: "notes")
            for number in 2...5 { try watchd.emit("poke", data: number) }
            #expect(try watchd.status().totals.coalesced == 3)
            #expect(try watchd.status().totals.running == 1)
            try letGo(1, watchd)
            _ = try watchd.waitForLines(3, in: "notes")
            try letGo(14, watchd)
            try watchd.waitUntilIdle()
            #expect(watchd.folder.lines("notes") == ["begin 1", "end 1", "begin 14", "end 14"])
        }
    }

    @Test func overlapSkipEndsTheDeliveryWhileItsKeyRuns() throws {
        let text = """
            [Custom poke]
            Exec=@/job %{data}
            Overlap=skip
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            try watchd.emit("poke", data: 1)
            _ = try watchd.waitForLines(1, in: "notes")
            try watchd.emit("poke", data: 2)
            #expect(try watchd.handler("poke").counters.skipped == 1)
            try letGo(1, watchd)
            let totals = try watchd.waitUntilIdle()
            #expect((totals.done, totals.skipped, totals.accepted) == (1, 1, 2))
        }
    }

    @Test func suspensionsAreCountedAndWhatComesMeanwhileIsKept() throws {
        let text = """
            [Queue off]
            Suspended=yes
            [Custom poke]
            Exec=@/job %{data} free
            Queue=off
            Key=none
            Coalesce=no
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            try watchd.suspend("off")
            for number in 1...3 { try watchd.emit("poke", data: number) }
            #expect(try watchd.queue("off").suspended == 2)
            try watchd.resume("queue/off")
            #expect(try watchd.queue("off").counters.pending == 3)
            #expect(try watchd.status().pauses.map(\.object) == ["queue/off"])
            try watchd.resume("off")
            #expect(try watchd.waitUntilIdle().done == 3)
            #expect(watchd.folder.lines("notes").count == 6)
            let error = try watchd.error(Resume.self, .init(name: "off"))
            #expect(error?.name == "io.watchd.Manager.NotSuspended")

            try watchd.suspend("poke")
            try watchd.emit("poke", data: 4)
            #expect(try watchd.source("poke").counters.held == 1)
            try watchd.resume("poke")
            #expect(try watchd.waitUntilIdle().done == 4)
        }
    }

    @Test func maxProcessesHoldsForAllQueuesTogether() throws {
        let text = """
            [Queue wide]
            Type=concurrent
            Width=50
            [Custom poke]
            Exec=@/job %{data}
            Key=none
            Coalesce=no
            Queue=wide
            """
        try Watchd.run(text, settings: "MaxProcesses=3", prepare: prepare) { watchd in
            // One of them is kept for user-interactive.
            for number in 1...5 { try watchd.emit("poke", data: number) }
            for round in 1...5 {
                try wait(for: "two at most, \(round)") {
                    let status = try watchd.status()
                    #expect(status.processes <= 2)
                    #expect(status.maxProcesses == 3)
                    return watchd.folder.lines("notes").count { $0.hasPrefix("begin") } == min(5, round + 1)
                }
                try letGo(round, watchd)
            }
            #expect(try watchd.waitUntilIdle().done == 5)
        }
    }

    @Test func cancelEndsWhatWaitsAndWhatRuns() throws {
        let text = """
            [Custom poke]
            Exec=@/job %{data}
            Key=none
            Coalesce=no
            Queue=main
            OnFinished=tell
            [Handler tell]
            Exec=@/record %{result}
            """
        try Watchd.run(text, prepare: prepare) { watchd in
            for number in 1...4 { try watchd.emit("poke", data: number) }
            _ = try watchd.waitForLines(1, in: "notes")
            let waiting = try watchd.call(ListOperations.self, .init(queue: "main")).operations
            #expect(waiting.map(\.state) == [.executing, .ready, .ready, .ready] || waiting.count == 4)
            let last = try #require(waiting.last?.id)
            #expect(try watchd.call(Cancel.self, .init(id: last)).cancelled == 1)
            #expect(try watchd.operation(last).summary.state == .cancelled)
            #expect(try watchd.call(Cancel.self, .init(queue: "main")).cancelled == 3)
            try wait(for: "all four to be told") {
                // Those that wait for the same handler are told in one run.
                let runs = try Recorded.all(in: watchd.folder)
                return runs.reduce(0) { $0 + $1.inputText.occurrences(of: "\"kind\":\"completion\"") } == 4
            }
            let totals = try watchd.waitUntilIdle()
            #expect((totals.cancelled, totals.done) == (4, 4))
            #expect(try Recorded.all(in: watchd.folder).allSatisfy { $0.arguments == ["cancelled".pathBytes] })
            #expect(watchd.folder.lines("notes") == ["begin 1"])
            let error = try watchd.error(Cancel.self, .init(id: last))
            guard case .hasEnded(last, "cancelled", _)? = error.flatMap({ ManagerError($0) }) else {
                Issue.record("what has ended is cancelled no more: \(String(describing: error))")
                return
            }
        }
    }
}
