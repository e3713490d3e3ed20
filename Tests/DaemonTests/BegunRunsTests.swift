import Dispatch
import Engine
import EventSources
import LinuxSystem
import ProgramKit
import SeedKit
import Testing

@testable import Daemon

/// The notes of a watchd about its runs, for the one that comes after a kill.
@Suite("Runs that have begun") struct BegunRunsTests {
    private func operation(_ id: UInt64, attempt: Int = 1, event: Int64 = 1) -> StoredOperation {
        var operation = StoredOperation(id: id, handler: "h", queue: "q", origin: .run(handler: "h"), submitted: 7)
        operation.attempt = attempt
        operation.keys = [Array("key \(id)".utf8)]
        operation.events = [Event(id: id, time: 5, fact: .custom(CustomFact(data: event)))]
        return operation
    }

    private func read(_ folder: Folder) -> [UInt64: StoredOperation] { BegunRuns.read(folder: folder.path.pathBytes) }

    @Test func whatHasBegunAndNotEndedIsRead() throws {
        try Folder.with { folder in
            #expect(read(folder).isEmpty)
            let runs = BegunRuns(folder: folder.path.pathBytes)
            for id in 1...4 as ClosedRange<UInt64> { runs.began(operation(id)) }
            runs.ended(2)
            runs.began(operation(3, attempt: 2))
            runs.ended(4)
            runs.began(operation(4, attempt: 2))
            #expect(read(folder) == [1: operation(1), 3: operation(3, attempt: 2), 4: operation(4, attempt: 2)])
        }
    }

    @Test func theNextLifeBeginsAnew() throws {
        try Folder.with { folder in
            let first = BegunRuns(folder: folder.path.pathBytes)
            for id in 1...3 as ClosedRange<UInt64> { first.began(operation(id)) }
            let second = BegunRuns(folder: folder.path.pathBytes)
            #expect(read(folder).isEmpty)
            second.began(operation(9))
            #expect(read(folder) == [9: operation(9)])
        }
    }

    /// It may have an environment that is a secret.
    @Test func nothingIsLeftOfWhatHasEnded() throws {
        try Folder.with { folder in
            let runs = BegunRuns(folder: folder.path.pathBytes)
            for round in 0..<20 as Range<UInt64> {
                for id in 1...1000 as ClosedRange<UInt64> { runs.began(operation(round * 1000 + id)) }
                for id in 1...1000 as ClosedRange<UInt64> { runs.ended(round * 1000 + id) }
            }
            let bytes = try Linux.readFile(folder["watchd.begun"])
            #expect(bytes.allSatisfy { $0 == 0 })
        }
    }

    @Test func whatIsOldIsOverwrittenAndTheFileDoesNotGrow() throws {
        try Folder.with { folder in
            let runs = BegunRuns(folder: folder.path.pathBytes)
            for id in 1...20_000 as ClosedRange<UInt64> { runs.began(operation(id)) }
            let found = read(folder)
            #expect(found[20_000] == operation(20_000) && found[1] == nil)
            #expect(found.count > 5000)
            let size = try Linux.lstat(folder["watchd.begun"]).size
            #expect(size <= 1 << 20)
        }
    }

    @Test(arguments: Seeds.range(20, long: 2000)) func damagedEntriesAreLeftOut(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try Folder.with { folder in
            let runs = BegunRuns(folder: folder.path.pathBytes)
            for id in 1...20 as ClosedRange<UInt64> { runs.began(operation(id)) }
            var bytes = try Linux.readFile(folder["watchd.begun"])
            for _ in 0..<5 { bytes[random.upTo(bytes.count - 1)] ^= UInt8(1 + random.upTo(254)) }
            if random.chance(30) { bytes.removeLast(random.upTo(bytes.count)) }
            try folder.write("watchd.begun".pathBytes, bytes)
            for (id, found) in read(folder) { #expect(found == operation(id), "seed \(seed)") }
        }
    }

    @Test func aDiskThatHangsHoldsNothingUpAndGetsWhatStillRuns() throws {
        try Folder.with { folder in
            let context = Context("disk")
            let writer = BegunRunsWriter(folder: folder.path.pathBytes, context: context)
            for id in 1...4 as ClosedRange<UInt64> { writer.began(operation(id)) }
            context.sync {}
            #expect(read(folder).count == 4)
            context.queue.suspend()
            writer.ended(1)
            writer.ended(2)
            writer.began(operation(2, attempt: 2))
            writer.began(operation(5))
            writer.began(operation(6))
            writer.ended(6)
            writer.ended(7)
            #expect(read(folder).count == 4, "nothing is written")
            context.queue.resume()
            context.sync {}
            let attempts = read(folder).mapValues(\.attempt)
            #expect(attempts == [2: 2, 3: 1, 4: 1, 5: 1])
        }
    }

    @Test func whereNothingCanBeWrittenNothingIsKnown() {
        let runs = BegunRuns(folder: "/nowhere/at/all".pathBytes)
        runs.began(operation(1))
        #expect(BegunRuns.read(folder: "/nowhere/at/all".pathBytes).isEmpty)
    }
}
