import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// What becomes of lines when the file is rotated while nobody reads it.
@Suite("Rotation of a tail", .ownThread) struct TailRotationTests {
    private func open(
        _ rim: Rim, _ folder: Folder, linePatience: Int = 1_000_000
    ) -> QueueBound<any EventSource> {
        let path = folder["log"].pathBytes
        let trigger = DescriptorTrigger(listener: .tail(path), framing: .line, maxLength: 65_536)
        return rim.open { TailSource($0, path: path, trigger, $1, linePatience: linePatience) }
    }

    /// Runs `body` beside the source of an empty log.
    private func with(linePatience: Int = 1_000_000, _ body: (Rim, Folder) throws -> Void) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder, linePatience: linePatience)
            defer { rim.on(source) { $0.close() } }
            try rim.waitUntilArmed()
            try body(rim, folder)
        }
    }

    /// A log of which `read` has been read, and `body` says what happens while nobody does. The lines told after that.
    private func told(
        reading read: String = "begin\n", _ count: Int, _ body: (Folder) throws -> Void,
        then check: (Rim) -> Void = { #expect($0.gap == 0 && $0.warnings.isEmpty) }
    ) throws -> [String] {
        try Folder.with { folder in
            try folder.write("log", "")
            // One is enough for both: inotify instances are few.
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            if !read.isEmpty {
                try folder.append("log", read)
                try wait(for: "the beginning") { !rim.texts.isEmpty }
            }
            rim.on(source) { $0.close() }
            let before = rim.texts.count
            try body(folder)
            let again = open(rim, folder)
            defer { rim.on(again) { $0.close() } }
            try wait(for: "\(count) lines, got \(rim.texts), \(rim.warnings)") {
                rim.texts.count >= before + count
            }
            // What comes later comes behind.
            try folder.append("log", "end\n")
            try wait(for: "the end, got \(rim.texts)") { rim.texts.last == "end" }
            check(rim)
            return rim.texts.dropFirst(before).dropLast()
        }
    }

    /// A source that has read the beginning, and goes on.
    private func following(_ body: (Folder, Rim, QueueBound<any EventSource>) throws -> Void) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            defer { rim.on(source) { $0.close() } }
            try rim.waitUntilArmed()
            try folder.append("log", "begin\n")
            try wait(for: "the beginning") { !rim.texts.isEmpty }
            try body(folder, rim, source)
        }
    }

    /// Time stamps of files are as coarse as the kernel's tick: waits for the next one.
    private func tick(_ folder: Folder) throws {
        try folder.write("probe", "")
        let now = try Linux.stat(folder["probe"]).modified
        try wait(for: "another time stamp") {
            try folder.write("probe", "")
            return try Linux.stat(folder["probe"]).modified > now
        }
    }

    private func shift(_ folder: Folder, keeping count: Int = 9) throws {
        for number in (1..<count).reversed() where folder.exists("log.\(number)") {
            try Linux.rename(folder["log.\(number)"], to: folder["log.\(number + 1)"])
        }
        try Linux.rename(folder["log"], to: folder["log.1"])
    }

    @Test(arguments: [1, 2, 3, 5]) func rotatedManyTimesNothingIsLost(rounds: Int) throws {
        let expected = (0...rounds).map { "line \($0)" }
        let told = try told(rounds + 1) { folder in
            try folder.append("log", "line 0\n")
            for round in 1...rounds {
                try shift(folder)
                try folder.write("log", "line \(round)\n")
            }
        }
        #expect(told == expected)
    }

    /// The next file is written by another program, or another thread.
    @Test(arguments: [false, true]) func aLineInWhichTheFileIsRotatedIsWhole(isRestarted: Bool) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            var source = open(rim, folder, linePatience: 600_000_000)
            defer { rim.on(source) { $0.close() } }
            try rim.waitUntilArmed()
            try folder.append("log", "one\nha")
            try wait(for: "the first") { rim.texts == ["one"] }
            try shift(folder)
            try folder.write("log", "next\n")
            if isRestarted {
                rim.on(source) { $0.close() }
                source = open(rim, folder, linePatience: 600_000_000)
                try rim.waitUntilArmed()
            }
            try folder.append("log.1", "lf\n")
            try wait(for: "all, not \(rim.texts)") { rim.texts == ["one", "half", "next"] }
            #expect(rim.gap == 0 && rim.lines.allSatisfy { !$0.isIncomplete })
        }
    }

    @Test func aLineThatNobodyEndsHoldsUpTheNextFileForAMoment() throws {
        try with { rim, folder in
            try folder.append("log", "one\nha")
            try shift(folder)
            try folder.write("log", "next\n")
            try wait(for: "all, not \(rim.texts)") { rim.texts == ["one", "ha", "next"] }
            #expect(rim.gap == 0 && rim.lines.map(\.isIncomplete) == [false, true, false])
        }
    }

    @Test func aWriterThatNeverEndsALineHoldsUpTheNextFileNotForEver() throws {
        try with(linePatience: 200_000) { rim, folder in
            try folder.append("log", "one\nha")
            try shift(folder)
            try folder.write("log", "next\n")
            try wait(for: "the next file, not \(rim.texts)") {
                try folder.append("log.1", ".")
                return rim.texts.contains("next")
            }
        }
    }

    /// Its writer went on when the next file was there already, so that it looks newer than that.
    @Test func whatWasReadAndThenCompressedIsNotTakenForLost() throws {
        try with { rim, folder in
            func expect(_ texts: [String]) throws {
                try wait(for: "\(texts), not \(rim.texts)") { rim.texts == texts }
            }
            try folder.append("log", "one\n")
            try expect(["one"])
            try shift(folder)
            try folder.write("log", "two\n")
            try expect(["one", "two"])
            try tick(folder)
            try folder.append("log.1", "late\n")
            try expect(["one", "two", "late"])
            #expect(try Program.run(["/bin/gzip", folder["log.1"]]).code == 0)
            try Linux.rename(folder["log.1.gz"], to: folder["log.2.gz"])
            try shift(folder)
            try folder.write("log", "three\n")
            try expect(["one", "two", "late", "three"])
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
        }
    }

    @Test func datedNamesAreOlderPartsToo() throws {
        let told = try told(4) { folder in
            for (index, name) in ["log-20261120", "log-20261121", "log.2026-11-22_07:00"].enumerated() {
                try folder.append("log", "line \(index)\n")
                try Linux.rename(folder["log"], to: folder[name])
            }
            try folder.write("log", "line 3\n")
        }
        #expect(told == ["line 0", "line 1", "line 2", "line 3"])
    }

    @Test func aLogThatALinkLeadsToIsFoundWhereItStands() throws {
        try Folder.with { folder in
            try folder.makeFolder("real")
            func lead(_ name: String) throws {
                try folder.write("real/\(name)", "")
                try? Linux.unlink(folder["log"])
                try Linux.symlink(folder["log"], to: folder["real/\(name)"])
            }
            try lead("app-20261120.log")
            let first = try Rim()
            let source = open(first, folder)
            try first.waitUntilArmed()
            try folder.append("log", "begin\n")
            try wait(for: "the beginning") { !first.texts.isEmpty }
            first.on(source) { $0.close() }
            try folder.append("log", "one\n")
            try lead("app-20261121.log")
            try folder.append("log", "two\n")
            try lead("app-20261122.log")
            try folder.append("log", "three\n")
            let again = open(first, folder)
            try wait(for: "all of them, got \(first.texts)") { first.texts == ["begin", "one", "two", "three"] }
            #expect(first.gap == 0)
            first.on(again) { $0.close() }
        }
    }

    @Test(arguments: [1, 3]) func ofOneThatWasCopiedAndTruncatedTheCopyIsRead(rounds: Int) throws {
        let told = try told(rounds + 1) { folder in
            for round in 1...rounds {
                try folder.append("log", "line \(round)\n")
                for number in (1..<rounds).reversed() where folder.exists("log.\(number)") {
                    try Linux.rename(folder["log.\(number)"], to: folder["log.\(number + 1)"])
                }
                try folder.write("log.1", folder.text("log"))
                try folder.write("log", "")
            }
            try folder.write("log", "last\n")
        }
        #expect(told == (1...rounds).map { "line \($0)" } + ["last"])
    }

    @Test func whatWasTruncatedBeforeItWasReadIsRead() throws {
        let told = try told(reading: "", 2) { folder in
            try folder.write("log.1", "one\n")
            try folder.write("log", "two\n")
        }
        #expect(told == ["one", "two"])
    }

    @Test func otherLogsBesideItAreLeftAlone() throws {
        let told = try told(1) { folder in
            try shift(folder)
            for name in ["log-error", "log.conf", "log2", "log.1.orig", "other.1"] {
                try folder.write(name, "not this\n")
            }
            try folder.write("log", "line\n")
        }
        #expect(told == ["line"])
    }

    // MARK: What is lost

    @Test func whatWasDeletedIsCountedAndLogged() throws {
        let told = try told(1) { folder in
            try folder.append("log", "gone\n")
            try Linux.rename(folder["log"], to: folder["elsewhere"])
            try folder.write("log", "line\n")
            try Linux.unlink(folder["elsewhere"])
        } then: { rim in
            #expect(rim.gap == 1 && rim.warnings.count == 1, "\(rim.warnings)")
            #expect(rim.warnings.first?.contains("up to byte 6 is gone") == true)
        }
        #expect(told == ["line"])
    }

    @Test func whatWasTruncatedIsCountedAndLogged() throws {
        let told = try told(1) { folder in
            try folder.append("log", "gone\n")
            try folder.write("log", "line\n")
        } then: { rim in
            #expect(rim.gap == 1 && rim.warnings.count == 1, "\(rim.warnings)")
        }
        #expect(told == ["line"])
    }

    /// `isRead`: nothing was written to it after it had been read.
    @Test(arguments: [false, true]) func whatWasCompressedIsCountedAndLogged(isRead: Bool) throws {
        let told = try told(1) { folder in
            if !isRead { try folder.append("log", "gone\n") }
            try shift(folder)
            #expect(try Program.run(["/bin/gzip", folder["log.1"]]).code == 0)
            try folder.write("log", "between\n")
            if !isRead {
                try Linux.rename(folder["log.1.gz"], to: folder["log.2.gz"])
                try shift(folder)
                #expect(try Program.run(["/bin/gzip", folder["log.1"]]).code == 0)
                try folder.write("log", "line\n")
            }
        } then: { rim in
            #expect(rim.gap == (isRead ? 0 : 2) && rim.warnings.count == rim.gap, "\(rim.warnings)")
        }
        #expect(told == [isRead ? "between" : "line"])
    }

    /// A touch makes it look like a later one.
    @Test func whatWasReadTouchedAndCompressedIsNotLost() throws {
        let told = try told(1) { folder in
            try shift(folder)
            #expect(try Program.run(["/bin/touch", folder["log.1"]]).code == 0)
            #expect(try Program.run(["/bin/gzip", folder["log.1"]]).code == 0)
            try folder.write("log", "line\n")
        }
        #expect(told == ["line"])
    }

    @Test func aFileThatCameAndWasRotatedAwayIsReadBeforeAnotherComes() throws {
        try following { folder, rim, source in
            try tick(folder)
            // The source looks behind all of it.
            rim.on(source) { _ in
                try? Linux.rename(folder["log"], to: folder["log.1"])
                try? folder.write("log", "line\n")
                try? Linux.rename(folder["log"], to: folder["log.2"])
            }
            try wait(for: "the line") { rim.texts.last == "line" }
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
        }
    }

    /// Within one tick of the clock of the file system.
    @Test func aFileThatWasCopiedTruncatedWrittenAndMovedIsRead() throws {
        let told = try told(1) { folder in
            let script = "cp log log.1; truncate -s0 log; echo line >>log; mv log log.2; touch -r log.2 log.1"
            let end = try Program.run(["/bin/sh", "-c", script], folder: folder.path)
            #expect(end.code == 0)
        }
        #expect(told == ["line"])
    }

    /// Its writer has not made another one yet.
    @Test func whatIsUnreadInAFileThatWasRotatedAwayIsReadAtTheStart() throws {
        let told = try told(1) { folder in
            try folder.append("log", "line\n")
            try Linux.rename(folder["log"], to: folder["log.1"])
        }
        #expect(told == ["line"])
    }

    @Test func aFileThatIsGoneAtTheStartIsWaitedFor() throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            try folder.append("log", "begin\n")
            try wait(for: "the beginning") { !rim.texts.isEmpty }
            rim.on(source) { $0.close() }
            try Linux.unlink(folder["log"])
            let again = open(rim, folder)
            defer { rim.on(again) { $0.close() } }
            try wait(for: "its condition") {
                if case .waiting? = rim.condition { true } else { false }
            }
            try folder.write("log", "line\n")
            try wait(for: "the line") { rim.texts.last == "line" }
        }
    }

    /// Compressed beside watchd, by who gives it another time than gzip itself does.
    @Test(arguments: ["rm log.1", "rm log.1; : >log"])
    func whatWasReadAndCompressedIntoAnotherFileIsNotLost(_ rest: String) throws {
        try following { folder, rim, _ in
            let script = "mv log log.1; gzip -c log.1 >log.1.gz; \(rest)"
            #expect(try Program.run(["/bin/sh", "-c", script], folder: folder.path).code == 0)
            try folder.append("log", "line\n")
            try wait(for: "the line") { rim.texts.last == "line" }
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
        }
    }

    @Test func anotherFileWithTheSameInodeAndBeginningIsNotTakenForIt() throws {
        let header = String(repeating: "the same beginning\n", count: 20)
        try Folder.with { folder in
            try folder.write("log", "")
            let first = try Rim()
            let source = open(first, folder)
            try first.waitUntilArmed()
            try folder.append("log", header)
            try wait(for: "the beginning") { first.texts.count == 20 }
            first.on(source) { $0.close() }
            let path = folder["log"].pathBytes
            let progress = try #require(first.position.flatMap { TailProgress($0, of: path) })
            let position = try #require(progress.current)
            try Linux.unlink(folder["log"])
            try folder.write("log", header + "more\n")
            var same = position
            same.inode = try Linux.stat(folder["log"]).inode
            // Some file systems give an inode back at once, and some do not know when a file was made.
            if position.born == 0 { return }
            let next = try Rim(position: same.bytes)
            let again = open(next, folder)
            try wait(for: "all of it, got \(next.texts.count)") { next.texts.count == 21 }
            #expect(next.gap == 1)
            next.on(again) { $0.close() }
        }
    }

    // MARK: While watchd runs

    @Test func whatIsRotatedTwiceWhileItIsHeldIsRead() throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            try folder.append("log", "line 0\n")
            try wait(for: "the first") { rim.texts == ["line 0"] }
            rim.on(source) { $0.hold() }
            for round in 1...3 {
                try folder.append("log", "line \(round)\n")
                try shift(folder)
            }
            try folder.write("log", "line 4\n")
            rim.on(source) { $0.release() }
            try wait(for: "all, got \(rim.texts)") { rim.texts == (0...4).map { "line \($0)" } }
            #expect(rim.gap == 0)
            rim.on(source) { $0.close() }
        }
    }

    /// Of the log no line was told before it was held.
    @Test(arguments: ["", "old\n"]) func whatIsCopiedAndTruncatedWhileItIsHeldIsRead(before: String) throws {
        try Folder.with { folder in
            try folder.write("log", before)
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            rim.on(source) { $0.hold() }
            try folder.append("log", "one\n")
            try wait(for: "its beginning to be known") {
                var length = 0
                rim.on(source) { length = ($0 as? TailSource)?.file?.position.markLength ?? 0 }
                return length == before.utf8.count + 4
            }
            let copied = try Program.run(["sh", "-ec", "cp log log.1; : >log; echo two >>log"], folder: folder.path)
            #expect(copied.code == 0)
            rim.on(source) { $0.release() }
            try wait(for: "both, got \(rim.texts)") { rim.texts == ["one", "two"] }
            #expect(rim.gap == 0)
            rim.on(source) { $0.close() }
        }
    }

    /// Files come while the events of their coming wait to be read.
    @Test(arguments: [1, 2, 5]) func whatIsOverwrittenWhileNobodyLooksIsCountedAndLogged(rounds: Int) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            try folder.append("log", "begin\n")
            try wait(for: "the beginning") { rim.texts == ["begin"] }
            try rim.core.queue.sync {
                for round in 0...rounds {
                    try shift(folder, keeping: 1)
                    try folder.write("log", "line \(round)\n")
                }
            }
            let expected = ["begin", "line \(rounds - 1)", "line \(rounds)"]
            try wait(for: "the rest, got \(rim.texts)") { rim.texts == expected }
            try wait(for: "\(rounds - 1) lost") { rim.gap == rounds - 1 }
            // Neither does it come up again later, nor is it made up for by what comes later.
            try folder.append("log", "end\n")
            try wait(for: "the end") { rim.texts.last == "end" }
            #expect(rim.gap == rounds - 1 && rim.warnings.count == min(1, rounds - 1), "\(rim.warnings)")
            try rim.core.queue.sync {
                for round in 0...2 {
                    try shift(folder, keeping: 1)
                    try folder.write("log", "later \(round)\n")
                }
                // Nothing is read of it yet.
                try shift(folder, keeping: 1)
                try folder.write("log", "")
            }
            try folder.append("log", "last\n")
            try wait(for: "the rest, got \(rim.texts)") { rim.texts.suffix(2) == ["later 2", "last"] }
            try wait(for: "two more") { rim.gap == rounds + 1 }
            rim.on(source) { $0.close() }
        }
    }

    @Test func filesThatHaveNothingInThemOrComeBackAreNotMissed() throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            try rim.core.queue.sync {
                try Linux.rename(folder["log"], to: folder["log.1"])
                for _ in 0..<3 {
                    try folder.write("log", "")
                    try Linux.unlink(folder["log"])
                }
                try folder.write("new", "one\n")
                try Linux.rename(folder["new"], to: folder["log"])
            }
            try wait(for: "one, got \(rim.texts)") { rim.texts == ["one"] }
            try rim.core.queue.sync {
                for _ in 0..<3 {
                    try Linux.rename(folder["log"], to: folder["away"])
                    try Linux.rename(folder["away"], to: folder["log"])
                    try folder.append("log", "more\n")
                }
            }
            try wait(for: "more") { rim.texts.count == 4 }
            try rim.core.queue.sync {
                try Linux.unlink(folder["log"])
                try folder.write("log", "two\n")
            }
            try wait(for: "two") { rim.texts.last == "two" }
            rim.core.queue.sync {}
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
            rim.on(source) { $0.close() }
        }
    }

    @Test func ofALogThatIsTruncatedWhileItIsReadOnlyTheLogSpeaks() throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder)
            try rim.waitUntilArmed()
            try folder.append("log", "one\ntwo\n")
            try wait(for: "two") { rim.texts == ["one", "two"] }
            rim.on(source) { _ in }
            try folder.write("log", "three\n")
            try wait(for: "three") { rim.texts.last == "three" }
            rim.on(source) { $0.close() }
        }
    }

    /// The number of a line is its content, so that what is lost, repeated or out of its place shows.
    @Test(arguments: 1...UInt64(6)) func whateverIsRotatedWheneverEachLineComesOnce(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            var source = open(rim, folder)
            try rim.waitUntilArmed()
            var (written, isDown) = (0, false)
            for step in 0..<60 {
                switch random.upTo(9) {
                case 0...4:
                    for _ in 0..<(1 + random.upTo(2)) {
                        written += 1
                        try folder.append("log", "\(written)\n")
                    }
                case 5, 6:
                    try tick(folder)
                    try shift(folder, keeping: 99)
                    try folder.write("log", "")
                case 7 where isDown && written > 0:
                    try tick(folder)
                    // Copied and truncated; a log that is read meanwhile could not be told from one that was not
                    // copied.
                    for number in (1..<99).reversed() where folder.exists("log.\(number)") {
                        try Linux.rename(folder["log.\(number)"], to: folder["log.\(number + 1)"])
                    }
                    try folder.write("log.1", folder.text("log"))
                    try tick(folder)
                    try folder.write("log", "")
                case 8 where !isDown:
                    rim.on(source) { $0.close() }
                    isDown = true
                case 9 where isDown:
                    source = open(rim, folder)
                    isDown = false
                default:
                    if !isDown, step % 2 == 0 {
                        let expected = "\(written)"
                        try wait(for: "\(expected), got \(rim.texts.suffix(3))") {
                            written == 0 || rim.texts.last == expected
                        }
                    }
                }
            }
            if isDown { source = open(rim, folder) }
            written += 1
            try folder.append("log", "\(written)\n")
            try wait(for: "the last, got \(rim.texts.suffix(3)) seed \(seed)") { rim.texts.last == "\(written)" }
            rim.on(source) { $0.close() }
            #expect(rim.texts.compactMap { Int($0) } == Array(1...written), "seed \(seed)")
            #expect(rim.gap == 0, "seed \(seed): \(rim.warnings)")
        }
    }

    @Test func namesTellWhatIsAnOlderPart() {
        let older = [
            "app.log.1", "app.log.12", "app.log.old", "app.log-20261122", "app.log-20261122-1700000000",
            "app.log.2026-11-22_07:00", "app.log_20261122", "app.1.log", "app-20261122.log", "app.log.3.gz",
            "app-20261122.log.zst",
        ]
        let base = Array("app.log".utf8)
        for name in older { #expect(RotatedName(Array(name.utf8), of: base) != nil, "\(name)") }
        let others = [
            "app.log", "app-error.log", "app.log.gz", "app.log1", "app.log.", "app.log.swp", "app.log.1.orig",
            "app2.log",
            "application.log.1", ".log", "", "x", "app.log.1.tmp", "app.old2", "app.log.-", "app.log..",
        ]
        for name in others { #expect(RotatedName(Array(name.utf8), of: base) == nil, "\(name)") }
        #expect(RotatedName(Array("app.log.3.gz".utf8), of: base)?.number == 3)
        #expect(RotatedName(Array("app.log.3.gz".utf8), of: base)?.uncompressed == Array("app.log.3".utf8))
        #expect(RotatedName(Array("app-20261122.log".utf8), of: base)?.number == nil)
        let dated = Array("app-20261122.log".utf8)
        #expect(RotatedName(Array("app-20261121.log".utf8), of: dated) != nil)
        #expect(RotatedName(Array("worker-2.log".utf8), of: Array("worker-1.log".utf8)) == nil)
    }
}

/// Numbers of a seed (SplitMix64).
