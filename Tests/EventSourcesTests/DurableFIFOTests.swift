import Dispatch
import Engine
import Glibc
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

/// What a FIFO says stays in it until it is stored.
@Suite("Durable FIFOs", .ownThread) struct DurableFIFOTests {
    /// A FIFO with a durable source, and both its ends in the test's hands.
    private struct Setup {
        let rim: Rim
        let path: [UInt8]
        let source: QueueBound<any EventSource>
        let reader: Int32
        let writer: Int32

        func write(_ text: String) throws { try Linux.writeAll(writer, text.utf8) }
        var waiting: Int { get throws { try Linux.bytesAvailable(reader) } }
        func open(_ rim: Rim, maxLength: Int = 65_536) -> QueueBound<any EventSource> {
            let (path, trigger) = (path, DescriptorTrigger(listener: .fifo(path), framing: .line, maxLength: maxLength))
            return rim.open { FIFOSource($0, path: path, trigger, $1, isDurable: true) }
        }
    }

    private func with(maxLength: Int = 65_536, isByHand: Bool = true, _ body: (Setup) throws -> Void) throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            try Linux.mkfifo(path, mode: 0o600)
            let reader = try Linux.open(path, [.reading, .nonBlocking]).release()
            let writer = try Linux.open(path, .writing).release()
            let rim = try Rim(isCommittedByHand: isByHand)
            let trigger = DescriptorTrigger(listener: .fifo(path), framing: .line, maxLength: maxLength)
            let source = rim.open { FIFOSource($0, path: path, trigger, $1, isDurable: true) }
            defer {
                rim.on(source) { $0.close() }
                rim.commit()
                for end in [reader, writer] { FileDescriptor(owning: end).close() }
            }
            try body(Setup(rim: rim, path: path, source: source, reader: reader, writer: writer))
        }
    }

    @Test func bytesAreConsumedWhenTheirLinesAreSafeAndNotBefore() throws {
        try with { setup in
            try setup.write("one\ntwo\nhal")
            try wait(for: "two lines") { setup.rim.lines.count == 2 }
            try setup.write("f\nmore\n")
            setup.rim.on(setup.source) { _ in }
            #expect(try setup.waiting == 18)
            #expect(setup.rim.texts == ["one", "two"], "nothing is looked at before the batch is safe")
            setup.rim.commit()
            try wait(for: "the next batch") { setup.rim.lines.count == 4 }
            #expect(try setup.waiting == 10)
            setup.rim.commit()
            try wait(for: "the end") { try setup.waiting == 0 }
            try setup.write("unfinished")
            setup.rim.on(setup.source) { _ in }
            #expect(setup.rim.texts == ["one", "two", "half", "more"])
            #expect(try setup.waiting == 10)
        }
    }

    @Test func whatWasToldAndNotSafeIsToldAgainByTheNextDaemonOnly() throws {
        try with { setup in
            try setup.write("one\ntwo\n")
            try wait(for: "two lines") { setup.rim.lines.count == 2 }
            // The daemon is killed: nothing of it is done any more. The next one:
            let next = try Rim(position: setup.rim.position)
            let source = setup.open(next)
            try wait(for: "both again") { next.texts == ["one", "two"] }
            #expect(next.lines.map(\.isRepeated) == [true, true])
            try wait(for: "them to be consumed") { try setup.waiting == 0 }
            try setup.write("three\n")
            try wait(for: "the third") { next.texts == ["one", "two", "three"] }
            #expect(next.lines.map(\.isRepeated) == [true, true, false])
            next.on(source) { $0.close() }
        }
    }

    /// Of a daemon that is killed at any moment.
    @Test func whatWasNotToldOrWasTakenOutIsNoRepeat() throws {
        for (committed, after, isRepeated) in [
            (false, "three\nfour\n", [true, true, false, false]), (true, "three\nfour\n", [false, false]),
            (true, "one\ntwo\n", [true, true]), (true, "one\n", [false]),
        ] {
            try with { setup in
                try setup.write("one\ntwo\n")
                try wait(for: "two lines") { setup.rim.lines.count == 2 }
                let note = setup.rim.position
                // It looks no more.
                setup.rim.on(setup.source) { $0.hold() }
                if committed { setup.rim.commit() }
                try setup.write(after)
                let next = try Rim(position: note)
                let source = setup.open(next)
                try wait(for: "all of it") { next.lines.count == isRepeated.count }
                #expect(next.lines.map(\.isRepeated) == isRepeated, "\(committed) \(after)")
                next.on(source) { $0.close() }
            }
        }
    }

    /// The second daemon is killed before it has told all of it again.
    @Test func aRepeatStaysOneOverSeveralKills() throws {
        try with { setup in
            try setup.write("one\ntwo\nthree\n")
            try wait(for: "three lines") { setup.rim.lines.count == 3 }
            let second = try Rim(isCommittedByHand: true, position: setup.rim.position)
            let source = setup.open(second)
            second.core.queue.sync {
                let (safety, source) = (second.parts.value.safety, source.value)
                safety.onEvent = { if $0 == 1 { source.hold() } }
            }
            try wait(for: "the first again") { !second.lines.isEmpty }
            second.on(source) { $0.hold() }
            let count = second.lines.count
            try setup.write("four\n")
            for isCommitted in [false, true] {
                if isCommitted { second.commit() }
                let third = try Rim(isCommittedByHand: true, position: second.position)
                let next = setup.open(third)
                let expected = (isCommitted ? count : 0)..<4
                try wait(for: "the rest") { third.lines.count == expected.count }
                #expect(third.lines.map(\.isRepeated) == expected.map { $0 < 3 }, "\(isCommitted)")
                third.on(next) { $0.hold() }
            }
        }
    }

    /// Lines are the same again, as those of a heartbeat are.
    @Test func whatComesIntoAPipeThatWasEmptyAtTheStartIsNew() throws {
        try with { setup in
            try setup.write("one\n")
            try wait(for: "the line") { setup.rim.lines.count == 1 }
            let note = setup.rim.position
            setup.rim.commit()
            #expect(try setup.waiting == 0)
            let next = try Rim(position: note)
            let source = setup.open(next)
            try next.waitUntilArmed()
            next.on(source) { _ in }
            setup.rim.on(setup.source) { $0.hold() }
            try setup.write("one\n")
            try wait(for: "it again") { next.lines.count == 1 }
            #expect(next.lines.map(\.isRepeated) == [false])
            next.on(source) { $0.close() }
        }
    }

    /// The note of a stop is made when everything that was told is safe, and taken out.
    @Test(arguments: [true, false]) func theNoteOfAStopTellsOfWhatStandsThere(isSafe: Bool) throws {
        try with { setup in
            try setup.write("one\n")
            try wait(for: "the line") { setup.rim.lines.count == 1 }
            setup.rim.on(setup.source) { $0.rest() }
            if isSafe { setup.rim.commit() }
            let note = try #require(setup.rim.notes.first)
            if isSafe { try setup.write("one\n") }
            let next = try Rim(position: note)
            let source = setup.open(next)
            try wait(for: "it again") { next.lines.count == 1 }
            #expect(next.lines.map(\.isRepeated) == [!isSafe])
            next.on(source) { $0.close() }
        }
    }

    /// The note of the daemon before counts for the next one, too.
    @Test func aSourceThatHasToldNothingHasNoNote() throws {
        try with { setup in
            try setup.write("one\n")
            try wait(for: "the line") { setup.rim.lines.count == 1 }
            let next = try Rim(position: setup.rim.position, positionsMissing: { "the disk is not there" })
            let source = setup.open(next)
            try next.waitUntilArmed()
            next.on(source) { $0.rest() }
            #expect(next.notes.isEmpty)
        }
    }

    @Test func ofASourceThatIsOpenedAgainTheRestOfARepeatStaysOne() throws {
        try with { setup in
            try setup.write("one\ntwo\nthree\n")
            try wait(for: "three lines") { setup.rim.lines.count == 3 }
            let next = try Rim(isCommittedByHand: true, position: setup.rim.position)
            let first = setup.open(next)
            next.core.queue.sync {
                let (safety, source) = (next.parts.value.safety, first.value)
                safety.onEvent = { if $0 == 1 { source.hold() } }
            }
            try wait(for: "the first again") { !next.lines.isEmpty }
            next.on(first) { $0.close() }
            next.commit()
            try setup.write("two\n")
            let second = setup.open(next)
            try wait(for: "the rest, and a new one") { next.lines.count == 4 }
            #expect(next.lines.map(\.isRepeated) == [true, true, true, false])
            next.on(second) { $0.close() }
        }
    }

    @Test func nothingIsReadWhileItIsNotKnownWhatTheDaemonBeforeHadTold() throws {
        try with { setup in
            try setup.write("one\n")
            try wait(for: "the line") { setup.rim.lines.count == 1 }
            let note = setup.rim.position
            let missing = Mutex(true)
            let next = try Rim(
                position: note, positionsMissing: { missing.withLock { $0 } ? "the disk is not there" : nil })
            let source = setup.open(next)
            try next.waitUntilArmed()
            next.on(source) { _ in }
            #expect(next.lines.isEmpty)
            missing.withLock { $0 = false }
            next.on(source) { $0.positionsCame() }
            try wait(for: "the line again") { next.lines.map(\.isRepeated) == [true] }
            next.on(source) { $0.close() }
        }
    }

    @Test func heldInTheMiddleOfABatchOnlyWhatWasToldIsConsumed() throws {
        try with { setup in
            setup.rim.core.queue.sync {
                let (safety, source) = (setup.rim.parts.value.safety, setup.source.value)
                safety.onEvent = { if $0 == 2 { source.hold() } }
            }
            try setup.write("1\n2\n3\n4\n")
            try wait(for: "two lines") { setup.rim.lines.count == 2 }
            setup.rim.commit()
            #expect(try setup.waiting == 4)
            #expect(setup.rim.texts == ["1", "2"])
            try setup.write("5\n")
            setup.rim.on(setup.source) { $0.release() }
            try wait(for: "the rest of the batch") { setup.rim.texts == ["1", "2", "3", "4"] }
            setup.rim.commit()
            try wait(for: "what came while it was held") { setup.rim.texts == ["1", "2", "3", "4", "5"] }
            setup.rim.commit()
            #expect(try setup.waiting == 0)
        }
    }

    @Test func theRestAtTheEndOfTheWriterIsConsumedLastAndTheNextWriterIsHeard() throws {
        try Folder.with { folder in
            let path = folder["fifo"].pathBytes
            let trigger = DescriptorTrigger(listener: .fifo(path), framing: .line)
            let rim = try Rim(isCommittedByHand: true)
            let source = rim.open { FIFOSource($0, path: path, trigger, $1, isDurable: true) }
            for round in 1...3 {
                // Seen together: else the first line would have to be safe before the second is looked at.
                rim.on(source) { $0.hold() }
                try folder.append("fifo", "whole\nhalf \(round)")
                rim.on(source) { $0.release() }
                try wait(for: "both") { rim.lines.count == 2 * round }
                #expect(rim.lines.last?.isIncomplete == true)
                try Linux.open(path, [.reading, .nonBlocking]).use { reader throws in
                    #expect(try Linux.bytesAvailable(reader) == 12)
                    rim.commit()
                    #expect(try Linux.bytesAvailable(reader) == 0)
                }
            }
            #expect(rim.texts == ["whole", "half 1", "whole", "half 2", "whole", "half 3"])
            // Any end of the pipe keeps what is in it.
            #expect(rim.kept == ["keep fifo-test true"])
            rim.on(source) { $0.close() }
        }
    }

    @Test func aLineThatIsTooLongIsCutAndItsRestThrownAway() throws {
        try with(maxLength: 10) { setup in
            try setup.write("0123456789abcdefghijABC")
            try wait(for: "its beginning") { setup.rim.texts == ["0123456789"] }
            #expect(try setup.waiting == 23, "nothing is consumed before it is safe")
            setup.rim.commit()
            try wait(for: "all that is seen of it to be consumed") { try setup.waiting == 0 }
            try setup.write("DEF")
            try wait(for: "more of it") { try setup.waiting == 0 }
            try setup.write("GHI\nnext\n")
            try wait(for: "the next line") { setup.rim.texts.last == "next" }
            #expect(setup.rim.lines.map(\.isIncomplete) == [true, false])
            #expect(setup.rim.gap == 1)
        }
    }

    @Test func aLineThatFillsThePipeIsWhole() throws {
        try with(isByHand: false) { setup in
            // Each write is a packet that fills a place of its own (O_DIRECT), so that few bytes make it full.
            #expect(fcntl(setup.writer, F_SETFL, 0o40000) == 0)
            for _ in 0..<1000 { try setup.write("x") }
            // Of a packet that is read in part the rest would be gone.
            try setup.write("\n")
            try setup.write("next\n")
            try wait(for: "the next line") { setup.rim.texts.last == "next" }
            #expect(setup.rim.texts == [String(repeating: "x", count: 1000), "next"])
            #expect(setup.rim.lines.map(\.isIncomplete) == [false, false])
        }
    }

    /// The kernel tells nobody of bytes that fill a pipe in which others stand already.
    @Test func aWriterThatWaitsForRoomBehindAnUnfinishedLineIsSeen() throws {
        try with(isByHand: false) { setup in
            try setup.write("unfini")
            setup.rim.on(setup.source) { _ in }
            let (writer, line) = (setup.writer, String(repeating: "x", count: 99))
            let text = "shed\n" + String(repeating: line + "\n", count: 10_000) + "last\n"
            Context("test.writer").async { try? Linux.writeAll(writer, text.utf8) }
            try wait(for: "the last") { setup.rim.texts.last == "last" }
            #expect(setup.rim.texts.count == 10_002 && setup.rim.texts[0] == "unfinished")
        }
    }

    /// Longer than the kernel lets a pipe be for most users.
    @Test func aLineThatIsLongerThanThePipeIsWholeUpToMaxLength() throws {
        try with(maxLength: 3 << 20, isByHand: false) { setup in
            let (writer, long) = (setup.writer, String(repeating: "x", count: 3 << 20))
            Context("test.writer").async {
                for text in ["first\n", long, "\nnext\n", long, "y\nlast\n"] { try? Linux.writeAll(writer, text.utf8) }
            }
            try wait(for: "the last") { setup.rim.texts.last == "last" }
            #expect(setup.rim.texts == ["first", long, "next", long, "last"])
            #expect(setup.rim.lines.map(\.isIncomplete) == [false, false, false, true, false])
        }
    }

    @Test func whateverIsHeldCommittedAndWrittenWhenEveryLineComesOnce() throws {
        let seed = UInt64(truncatingIfNeeded: Linux.now(.realtime))
        var state = seed
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        try with(maxLength: 5000) { setup in
            var expected: [String] = []
            var text = ""
            for index in 0..<400 {
                let line = "\(index) " + String(repeating: "x", count: random(10) == 0 ? random(3000) : random(20))
                expected.append(line)
                text += line + "\n"
                if random(3) == 0 {
                    let cut = text.utf8.index(text.startIndex, offsetBy: random(text.utf8.count + 1))
                    try setup.write(String(text[..<cut]))
                    text = String(text[cut...])
                    // The pipe must not get full: nobody else empties it.
                    if try setup.waiting > 32_768 {
                        setup.rim.on(setup.source) { $0.release() }
                        try wait(for: "room, seed \(seed)") {
                            setup.rim.commit()
                            return try setup.waiting < 5000
                        }
                    }
                }
                switch random(8) {
                case 0: setup.rim.on(setup.source) { $0.hold() }
                case 1, 2: setup.rim.on(setup.source) { $0.release() }
                case 3, 4: setup.rim.commit()
                default: break
                }
            }
            try setup.write(text)
            setup.rim.on(setup.source) { $0.release() }
            try wait(for: "all, seed \(seed)") {
                setup.rim.commit()
                return setup.rim.lines.count >= expected.count
            }
            setup.rim.commit()
            #expect(setup.rim.texts == expected, "seed \(seed)")
            #expect(try setup.waiting == 0)
        }
    }

    @Test(.enabled(if: Linux.environment("WATCHD_MEASURE") != nil)) func linesPerSecond() throws {
        for isDurable in [false, true, false, true] {
            try Folder.with { folder in
                let path = folder["fifo"].pathBytes
                let trigger = DescriptorTrigger(listener: .fifo(path), framing: .line)
                let rim = try Rim()
                let count = 1_000_000
                let source = rim.open { FIFOSource($0, path: path, trigger, $1, isDurable: isDurable) }
                let before = Linux.now(.monotonic)
                _ = try Program.run(["sh", "-c", "seq 1000001 \(1_000_000 + count) >'\(folder["fifo"])'"])
                var seen = 0
                try wait(for: "all") {
                    seen = rim.lines.count
                    return seen == count
                }
                let time = Linux.now(.monotonic) - before
                print("durable \(isDurable): \(Int64(count) * 1_000_000 / time) lines/s")
                rim.on(source) { $0.close() }
            }
        }
    }
}
