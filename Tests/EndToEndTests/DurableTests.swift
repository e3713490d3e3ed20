import ControlInterface
import Glibc
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Durable queues with the real programs: `kill -9` and stop, then the next life on the same store.
@Suite("Durable queues, end to end", .ownThread) struct DurableTests {
    private static let kept = "[Queue kept]\nDurable=yes\n"

    /// Each event an operation of its own, one after the other.
    private static func jobs(_ command: String = "Exec=@/job", queue: String = kept) -> String {
        "\(queue)[Custom poke]\n\(command)\nQueue=kept\nKey=none\nCoalesce=no\n"
    }

    /// How a process ended that was no child of who asks can be told since Linux 6.15.
    static let kernelTellsTheEndOfAdopted: Bool = {
        let release = (try? Linux.readFile("/proc/sys/kernel/osrelease")) ?? []
        let numbers = String(decoding: release, as: UTF8.self).split(separator: ".").prefix(2).compactMap { Int($0) }
        return numbers.count == 2 && (numbers[0], numbers[1]) >= (6, 15)
    }()

    @Test func whatWasAcceptedOutlivesAKillAtOnceAndKeepsItsIdAndOrder() throws {
        let suspended = Self.jobs(queue: Self.kept + "Suspended=yes\n")
        try Lives.run(suspended) { lives in
            for data in 1...20 { try lives.watchd.emit("poke", data: data) }
            let ids = try lives.operations().map(\.id)
            try lives.watchd.emit("poke", data: 21)
            lives.kill()
            try lives.folder.write("go", "")
            try lives.start(Self.jobs())
            let begun = try lives.waitForBegun(21)
            let totals = try lives.watchd.waitUntilIdle()
            #expect(Array(begun.map(\.operation).dropLast()) == ids)
            #expect(begun.flatMap(\.told.tokens) == Array(1...21))
            #expect(begun.allSatisfy { $0.told.attempt == 1 && !$0.told.isRedelivered })
            #expect(totals.done == 21)
            #expect(try lives.begun().count == 21)
            try lives.watchd.emit("poke", data: 22)
            let next = try #require(try lives.waitForBegun(22).last)
            #expect(next.operation > begun[20].operation, "no id is given twice")
        }
    }

    @Test func aReplyThatCameIsKeptWheneverTheKillComes() throws {
        try Lives.run(Self.jobs(), prepare: { try $0.write("go", "") }) { lives in
            for data in 1...8 {
                try lives.watchd.emit("poke", data: data)
                lives.kill()
                try lives.start()
            }
            try lives.watchd.waitUntilIdle()
            let begun = try lives.begun()
            #expect(Set(begun.flatMap(\.told.tokens)) == Set(1...8))
            for (operation, runs) in Dictionary(grouping: begun, by: \.operation) {
                #expect(runs.count { !$0.told.isRedelivered } <= 1, "operation \(operation)")
                #expect(Set(runs.map(\.told.tokens)).count == 1, "operation \(operation)")
            }
            #expect(Set(begun.map(\.operation)).count == 8, "each event is one operation, however often it ran")
        }
    }

    @Test func whatWasRunningIsRedeliveredWhenItsProcessIsGone() throws {
        try Lives.run(Self.jobs()) { lives in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.emit("poke", data: 2)
            let first = try #require(try lives.waitForBegun(1).first)
            #expect(!first.told.isRedelivered)
            try lives.killAll()
            try lives.start()
            let again = try lives.waitForBegun(2)[1]
            #expect(again.told.isRedelivered)
            #expect((again.operation, again.told.attempt) == (first.operation, first.told.attempt))
            #expect(again.told.events == first.told.events)
            try lives.folder.write("go", "")
            try lives.watchd.waitUntilIdle()
            let all = try lives.begun()
            #expect(all.map(\.told.tokens) == [[1], [1], [2]])
            #expect(all.last?.told.isRedelivered == false, "only what may have run is redelivered")
        }
    }

    @Test func aHandlerThatLivesOnIsNotStartedTwiceAndKeepsItsQueueBusy() throws {
        try Lives.run(Self.jobs()) { lives in
            try lives.watchd.emit("poke", data: 1)
            try lives.watchd.emit("poke", data: 2)
            let first = try #require(try lives.waitForBegun(1).first)
            lives.kill()
            #expect(first.isAlive)
            try lives.start()
            let running = try lives.watchd.status().running
            #expect(running.map(\.id) == [first.operation])
            #expect(running.map(\.pid) == [Int(first.pid)])
            #expect(try lives.watchd.queue("kept").running == 1)
            try lives.watchd.emit("poke", data: 3)
            #expect(try lives.operations().map { $0.state == .executing } == [true, false, false])
            #expect(try lives.begun().count == 1)
            try lives.folder.write("go.\(first.operation)", "")
            let next = try lives.waitForBegun(2)
            guard Self.kernelTellsTheEndOfAdopted else {
                #expect(next[1].told.isRedelivered && next[1].operation == first.operation)
                return try finish(lives)
            }
            #expect(next[1].told.tokens == [2] && !next[1].told.isRedelivered)
            let ended = try #require(try lives.watchd.waitForEnded(1, of: "poke").first)
            #expect((ended.id, ended.result, ended.attempt) == (first.operation, .done, 1))
            try finish(lives)
            #expect(try lives.begun().map(\.told.tokens) == [[1], [2], [3]])
        }
    }

    private func finish(_ lives: Lives) throws {
        try lives.folder.write("go", "")
        try lives.watchd.waitUntilIdle()
    }

    @Test func anAdoptedRunWithMoreCommandsIsNotDoneAfterItsFirst() throws {
        let text = Self.jobs("Exec=@/job\nExec=@/second")
        let second = "#!/bin/sh\nprintf '%s\\n' \"$WATCHD_OPERATION\" >>\"${0%/*}/seconds\"\n"
        try Lives.run(text, prepare: { try $0.write("second", second, mode: 0o755) }) { lives in
            try lives.watchd.emit("poke")
            _ = try lives.waitForBegun(1)
            lives.kill()
            try lives.start()
            try finish(lives)
            #expect(lives.folder.lines("seconds").isEmpty == false, "its second command ran")
            #expect(try lives.watchd.ended("poke").map(\.result) == [.done])
            #expect(try lives.begun().dropFirst().allSatisfy { $0.told.isRedelivered })
        }
    }

    @Test func anAdoptedRunThatFailsIsTriedAgain() throws {
        guard Self.kernelTellsTheEndOfAdopted else { return print("SKIPPED: needs Linux 6.15") }
        try Lives.run(Self.jobs("Exec=@/job 1\nRetry=2\nRetrySec=10ms")) { lives in
            try lives.watchd.emit("poke")
            let first = try #require(try lives.waitForBegun(1).first)
            lives.kill()
            try lives.start()
            #expect(try lives.watchd.status().running.map(\.pid) == [Int(first.pid)])
            try finish(lives)
            let runs = try lives.begun().map { "\($0.told.attempt) \($0.told.isRedelivered)" }
            #expect(runs == ["1 false", "2 false"], "\(lives.watchd.logText.suffix(2000))")
            #expect(try lives.watchd.ended("poke").map(\.result) == [.done])
        }
    }

    @Test func anEndThatNobodySawIsRedelivered() throws {
        try Lives.run(Self.jobs()) { lives in
            try lives.watchd.emit("poke")
            let first = try #require(try lives.waitForBegun(1).first)
            lives.kill()
            try lives.folder.write("go", "")
            try wait(for: "the handler to end") { !first.isAlive }
            try lives.start()
            let again = try lives.waitForBegun(2)[1]
            #expect(again.told.isRedelivered)
            #expect((again.operation, again.told.attempt) == (first.operation, 1))
            try lives.watchd.waitUntilIdle()
            #expect(try lives.begun().count == 2)
        }
    }

    @Test func aLongRunOfAnotherQueueIsAdoptedToo() throws {
        let text = Self.jobs(queue: "[Queue kept]\n")
        try Lives.run(text) { lives in
            try lives.watchd.emit("poke", data: 1)
            let first = try #require(try lives.waitForBegun(1).first)
            // A run is worth to be kept in mind once it is older than a second.
            let begin = Linux.now(.monotonic)
            try wait(for: "two seconds") { Linux.now(.monotonic) > begin + 2_000_000 }
            lives.kill()
            try lives.start()
            #expect(try lives.watchd.status().running.map(\.pid) == [Int(first.pid)])
            try lives.watchd.emit("poke", data: 2)
            #expect(try lives.begun().count == 1, "it keeps its queue busy")
            try finish(lives)
            #expect(try lives.begun().map(\.told.tokens) == [[1], [2]])
            let ended = try #require(try lives.watchd.ended("poke").first)
            #expect(ended.result == (Self.kernelTellsTheEndOfAdopted ? .done : .failed))
        }
    }

    @Test func aStopKeepsWhatIsDurableAndCancelsTheRest() throws {
        let text = Self.jobs() + "[Queue plain]\n[Custom other]\nExec=@/job\nQueue=plain\nKey=none\nCoalesce=no\n"
        try Lives.run(text) { lives in
            for data in 1...3 { try lives.watchd.emit("poke", data: data) }
            for data in 11...13 { try lives.watchd.emit("other", data: data) }
            _ = try lives.waitForBegun(2)
            lives.watchd.send(SIGTERM)
            try lives.watchd.waitForNotification("STOPPING=1")
            let status = try lives.watchd.status()
            #expect(status.operationsPending == 0 && status.operationsKept == 2)
            let kept = try lives.operations().filter { $0.state == .pending }
            #expect(kept.map(\.waitingFor) == ["the next start of watchd", "the next start of watchd"])
            try lives.folder.write("go", "")
            #expect(lives.watchd.waitForEnd() == .exited(0))
            let lines = lives.watchd.logText.split(separator: "\n").filter { $0.contains("stopped:") }
            #expect(lines.count == 1)
            #expect(lines.first?.contains("2 operations kept for the next start") == true, "\(lines)")
            #expect(lines.first?.contains("2 cancelled") == true, "\(lines)")
            try lives.start()
            try lives.watchd.waitUntilIdle()
            let begun = try lives.begun()
            #expect(Set(begun.prefix(2).flatMap(\.told.tokens)) == [1, 11])
            #expect(begun.dropFirst(2).map(\.told.tokens) == [[2], [3]])
            #expect(begun.allSatisfy { !$0.told.isRedelivered })
        }
    }

    @Test func whatAStopHadToEndComesAgain() throws {
        try Lives.run(Self.jobs(), settings: "DrainSec=100ms") { lives in
            try lives.watchd.emit("poke")
            let first = try #require(try lives.waitForBegun(1).first)
            lives.stop()
            #expect(!first.isAlive, "a stop leaves no handler behind")
            try lives.start()
            let again = try lives.waitForBegun(2)[1]
            #expect(again.told.isRedelivered)
            #expect(again.operation == first.operation)
            try finish(lives)
        }
    }

    @Test func theAttemptAndThePauseBetweenTwoOutliveAKill() throws {
        try Lives.run(Self.jobs("Exec=@/job 1\nRetry=3\nRetrySec=10s")) { lives in
            try lives.folder.write("go", "")
            try lives.watchd.emit("poke")
            try wait(for: "the pause") {
                try lives.operations().first?.nextAttempt != nil
            }
            // Its reply comes after everything that was written before.
            try lives.watchd.suspend("kept")
            lives.kill()
            try lives.start()
            try lives.watchd.resume("kept")
            try lives.watchd.waitUntilIdle()
            let runs = try lives.begun().map { "\($0.operation) \($0.told.attempt) \($0.told.isRedelivered)" }
            let id = try #require(try lives.begun().first).operation
            #expect(runs == ["\(id) 1 false", "\(id) 2 false"])
        }
    }
}
