import ControlInterface
import Glibc
import JSON
import LinuxSystem
import ProgramKit
import Testing
import Varlink

/// Full backlogs: nothing is lost, or every loss is counted; the sum is right at every moment that is looked at.
@Suite("Overflow, end to end", .ownThread) struct OverflowTests {
    private static func queue(_ overflow: String) -> String {
        """
        [Queue small]
        Backlog=10
        Overflow=\(overflow)
        Suspended=yes

        """
    }

    /// Looks at every counter there is, again and again, until nothing is on its way any more.
    private func watch(_ watchd: Watchd, _ source: String) throws -> Counters {
        var totals = Counters()
        try wait(for: "all to end: \(totals)") {
            totals = try watchd.status().totals
            _ = try watchd.source(source)
            _ = try watchd.queue("small")
            _ = try watchd.handler(source)
            return totals.held + totals.pending + totals.running == 0
        }
        return totals
    }

    @Test func aBlockedFifoIsNotReadItsWriterWaitsAndEveryLineArrives() throws {
        let text =
            Self.queue("block") + """
                [Descriptor in]
                ListenFIFO=@/fifo
                Key=one
                Coalesce=yes
                Exec=/bin/cat
                StandardInput=lines
                StandardOutput=append:@/copy
                Queue=small
                """
        try Watchd.run(text) { watchd in
            // A pipe holds 64 KiB and watchd reads as much at once.
            let script = "seq -f '%01000.0f' 400 >'\(watchd.folder["fifo"])'"
            let null = try Linux.open("/dev/null", .readingAndWriting).release()
            defer { FileDescriptor(owning: null).close() }
            let writer = try Program(
                ["sh", "-c", script].map(\.pathBytes), environment: Program.environment,
                descriptors: [null, null, null])
            try wait(for: "the source to be held") { try watchd.source("in").state == .held }
            let taken = try watchd.source("in").counters
            #expect(taken.pending == 10)
            #expect(taken.held > 0)
            #expect(taken.accepted < 200)
            #expect(!writer.hasEnded)
            #expect(try watchd.status().problems.contains { $0.object == "descriptor/in" })
            try watchd.resume("small")
            try wait(for: "all lines") { try watchd.source("in").counters.accepted == 400 }
            let totals = try watch(watchd, "in")
            #expect((totals.done, totals.dropped) == (400, 0))
            #expect(writer.wait() == .exited(0))
            #expect(watchd.folder.lines("copy").map { Int($0) } == Array(1...400))
        }
    }

    @Test func dropOldestKeepsTheNewestAndCountsTheRest() throws {
        try expectDropped("drop-oldest", kept: (91...100).map { "\($0)" })
    }

    @Test func dropNewestKeepsTheOldestAndCountsTheRest() throws {
        try expectDropped("drop-newest", kept: (1...10).map { "\($0)" })
    }

    private func expectDropped(_ overflow: String, kept: [String]) throws {
        let text =
            Self.queue(overflow) + """
                [Descriptor in]
                ListenFIFO=@/fifo
                Exec=/bin/cat
                StandardInput=lines
                StandardOutput=append:@/copy
                Queue=small
                """
        try Watchd.run(text) { watchd in
            _ = try Program.run(["sh", "-c", "seq 100 >'\(watchd.folder["fifo"])'"])
            try wait(for: "all lines") { try watchd.source("in").counters.accepted == 100 }
            #expect(try watchd.queue("small").counters.dropped == 90)
            #expect(try watchd.status().problems.contains { $0.object == "queue/small" })
            try watchd.resume("small")
            let totals = try watch(watchd, "in")
            #expect((totals.done, totals.dropped) == (10, 90))
            #expect(watchd.folder.lines("copy") == kept)
        }
    }

    @Test func aBlockedFolderLosesNoFileHoweverManyThereAre() throws {
        let text =
            Self.queue("block") + """
                [Path in]
                Path=@/in
                Key=%p
                Exec=/bin/cat
                StandardInput=paths
                StandardOutput=append:@/copy
                Queue=small
                """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            for number in 1...100 { try watchd.folder.write("in/\(number)", "") }
            try wait(for: "the source to be held") { try watchd.source("in").state == .held }
            #expect(try watchd.queue("small").entries == 10)
            try watchd.resume("small")
            let wanted = Set((1...100).map { watchd.folder["in/\($0)"] })
            try wait(for: "all files", seconds: 120) {
                _ = try watchd.source("in")
                return Set(watchd.folder.lines("copy")) == wanted
            }
            let totals = try watch(watchd, "in")
            #expect(totals.dropped == 0)
            #expect(totals.done == totals.accepted)
        }
    }

    @Test func aBlockedFolderLosesNoFileWhenAReloadChangesItsEvents() throws {
        let text =
            Self.queue("block") + """
                [Path in]
                Path=@/in
                Events=written
                Key=%p
                Exec=/bin/cat
                StandardInput=paths
                StandardOutput=append:@/copy
                Queue=small
                """
        try Watchd.run(text, prepare: { try $0.makeFolder("in") }) { watchd in
            let other = text.replacing("Events=written", with: "Events=written deleted")
            for (round, text) in [other, text, other].enumerated() {
                for number in 1...50 { try watchd.folder.write("in/\(round) \(number)", "") }
                try wait(for: "the source to be held") { try watchd.source("in").state == .held }
                try Watchd.write(text, to: watchd.folder)
                #expect(try watchd.call(Reload.self, .init()).changed == ["path/in"])
                try wait(for: "it to be held again") { try watchd.source("in").state == .held }
            }
            try watchd.folder.write("in/last", "")
            #expect(try watchd.queue("small").entries == 10)
            try watchd.resume("small")
            let names = (0..<3).flatMap { round in (1...50).map { "\(round) \($0)" } } + ["last"]
            let wanted = Set(names.map { watchd.folder["in/\($0)"] })
            try wait(for: "all files", seconds: 120) { Set(watchd.folder.lines("copy")) == wanted }
            let totals = try watch(watchd, "in")
            #expect(totals.dropped == 0 && totals.gap == 0)
            #expect(totals.done == totals.accepted)
        }
    }

    @Test func signalsAndTimersFoldWhileTheirQueueIsFull() throws {
        let text =
            Self.queue("block") + """
                [Signal in]
                Signal=RTMIN
                Log=%{count}
                Queue=small
                [Timer tick]
                EverySec=10ms
                Log=%{count}
                Queue=small
                """
        try Watchd.run(text) { watchd in
            for value in 0..<300 as Range<Int32> {
                #expect(sigqueue(watchd.processID, 34, sigval(sival_int: value)) == 0)
            }
            try wait(for: "all signals") { try watchd.source("in").counters.accepted == 300 }
            try wait(for: "some elapses") { try watchd.source("tick").counters.accepted > 20 }
            #expect(try watchd.queue("small").entries <= 10)
            #expect(try watchd.queue("small").counters.held > 0)
            try watchd.resume("small")
            try wait(for: "all to be done") { try watchd.source("in").counters.done == 300 }
            try wait(for: "no elapse to be held") { try watchd.source("tick").counters.held == 0 }
            #expect(try watchd.status().totals.dropped == 0)
        }
    }

    @Test func whatIsMoreThanASourceKeepsIsDroppedAndSaid() throws {
        let text = Self.queue("block") + "[Signal in]\nSignal=RTMIN\nCoalesce=no\nLog=x\nQueue=small\n"
        try Watchd.run(text) { watchd in
            func send(_ values: Range<Int32>) throws {
                for value in values { #expect(sigqueue(watchd.processID, 34, sigval(sival_int: value)) == 0) }
                try wait(for: "all signals") { try watchd.source("in").counters.accepted == Int(values.upperBound) }
            }
            func problem() throws -> GetStatus.Problem? {
                try watchd.status().problems.first { $0.object == "signal/in" }
            }
            try send(0..<20)
            #expect(try watchd.source("in").reason == "Backlog=10 of queue small is used up")
            #expect(try problem()?.action.hasSuffix("nothing is lost") == true)
            try send(20..<4200)
            let source = try watchd.source("in")
            #expect((source.counters.pending, source.counters.held, source.counters.dropped) == (10, 4096, 94))
            #expect(source.reason == "Backlog=10 of queue small is used up; 94 more than it can keep were dropped")
            #expect(try problem()?.action.contains("nothing is lost") == false)
            try watchd.resume("small")
            try wait(for: "the others to be done") { try watchd.source("in").counters.done == 4106 }
            #expect(try watchd.source("in").reason == nil)
        }
    }

    @Test func anEmitWaitsForRoomOrIsRefusedAsTheQueueSays() throws {
        let source = "[Custom in]\nLog=%{data}\nKey=none\nCoalesce=no\nQueue=small\n"
        try Watchd.run(Self.queue("block") + source) { watchd in
            for _ in 1...10 { try watchd.emit("in") }
            let waiting = try watchd.connect()
            #expect(throws: ClientError.self) {
                try waiting.call(Emit.fullName, Emit.Parameters(name: "in"), timeout: 200)
            }
            try watchd.resume("small")
            try wait(for: "the one that waited, too") { try watchd.status().totals.done == 11 }
            let many = EmitAll.Parameters(events: Array(repeating: .init(name: "in"), count: 11))
            #expect(try watchd.error(EmitAll.self, many)?.name == "io.watchd.Manager.QueueFull", "never fits")
        }
        try Watchd.run(Self.queue("drop-newest") + source) { watchd in
            for _ in 1...10 { try watchd.emit("in") }
            let error = try watchd.error(Emit.self, .init(name: "in"))
            #expect(error?.name == "io.watchd.Manager.QueueFull")
            #expect(error?.parameters["queue"] == .string("small"))
            let totals = try watchd.status().totals
            #expect((totals.accepted, totals.pending, totals.dropped) == (11, 10, 1))
        }
    }
}
