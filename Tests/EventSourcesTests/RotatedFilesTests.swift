import Engine
import LinuxSystem
import ProgramKit
import SeedKit
import Testing
import WatchFile

@testable import EventSources

/// Who writes a log may go on in the file that was rotated away.
@Suite("Rotated files of a tail", .ownThread) struct RotatedFilesTests {
    private func open(_ rim: Rim, _ folder: Folder, patience: Int? = nil) -> QueueBound<any EventSource> {
        let path = folder["log"].pathBytes
        let trigger = DescriptorTrigger(listener: .tail(path), framing: .line, maxLength: 65_536)
        return rim.open { TailSource($0, path: path, trigger, $1, patience: patience) }
    }

    private func with(
        patience: Int? = nil, _ body: (Rim, Folder, QueueBound<any EventSource>) throws -> Void
    ) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            let source = open(rim, folder, patience: patience)
            defer { rim.on(source) { $0.close() } }
            try rim.waitUntilArmed()
            try body(rim, folder, source)
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
        }
    }

    private func told(_ rim: Rim, _ lines: String...) throws {
        try wait(for: "\(lines), got \(rim.texts)") { rim.texts == lines }
    }

    private func descriptors(_ rim: Rim, _ source: QueueBound<any EventSource>) -> Int {
        var count = 0
        rim.on(source) { count = $0.descriptorCount }
        return count
    }

    private func watches(_ rim: Rim, _ source: QueueBound<any EventSource>) -> Int {
        var count = 0
        rim.on(source) { count = $0.watchCount }
        return count
    }

    @Test(arguments: ["log.1", "old/log.1", "anything"]) func whatItsWriterAppendsLaterIsTold(name: String) throws {
        try with { rim, folder, source in
            try folder.makeFolder("old")
            let before = watches(rim, source)
            try folder.append("log", "one\n")
            try told(rim, "one")
            try Linux.rename(folder["log"], to: folder[name])
            try folder.append(name, "late 1\n")
            try folder.append("log", "new 1\n")
            try told(rim, "one", "late 1", "new 1")
            #expect(descriptors(rim, source) == 2 && watches(rim, source) == before + 1)
            try folder.append(name, "late 2\n")
            try told(rim, "one", "late 1", "new 1", "late 2")
            try folder.append("log", "new 2\n")
            try told(rim, "one", "late 1", "new 1", "late 2", "new 2")
            // Wherever it is moved.
            try Linux.rename(folder[name], to: folder["old/moved"])
            try folder.append("old/moved", "late 3\n")
            try told(rim, "one", "late 1", "new 1", "late 2", "new 2", "late 3")
            rim.on(source) { $0.hold() }
            try folder.append("old/moved", "late 4\n")
            rim.on(source) { $0.release() }
            try wait(for: "what came while it was held") { rim.texts.last == "late 4" }
        }
    }

    @Test func whatIsWrittenLateIsNotTakenForANewerFile() throws {
        try with { rim, folder, _ in
            try folder.append("log", "one\n")
            try told(rim, "one")
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "two\n")
            try told(rim, "one", "two")
            try folder.append("log.1", "three\n")
            try told(rim, "one", "two", "three")
            try Linux.rename(folder["log.1"], to: folder["log.2"])
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "four\n")
            try told(rim, "one", "two", "three", "four")
            try folder.append("log.2", "five\n")
            try told(rim, "one", "two", "three", "four", "five")
        }
    }

    /// It looks newer than the one that came after it.
    @Test func whatCameAfterOneThatIsStillWrittenIsRead() throws {
        try with { rim, folder, source in
            try folder.append("log", "one\n")
            try told(rim, "one")
            rim.on(source) { $0.hold() }
            try Linux.rename(folder["log"], to: folder["log.2"])
            try tick(folder)
            try folder.append("log.1", "two\n")
            try tick(folder)
            try folder.append("log.2", "three\n")
            try folder.append("log", "four\n")
            rim.on(source) { $0.release() }
            try told(rim, "one", "three", "two", "four")
            try folder.append("log", "five\n")
            try told(rim, "one", "three", "two", "four", "five")
        }
    }

    @Test func oneThatGetsItsNameBackIsReadOn() throws {
        try with { rim, folder, _ in
            try folder.append("log", "one\n")
            try told(rim, "one")
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "two\n")
            try told(rim, "one", "two")
            try Linux.rename(folder["log"], to: folder["log.2"])
            try Linux.rename(folder["log.1"], to: folder["log"])
            try folder.append("log", "three\n")
            try told(rim, "one", "two", "three")
            try folder.append("log.2", "four\n")
            try told(rim, "one", "two", "three", "four")
        }
    }

    @Test(arguments: ["log.1", "log.2", "old/log.1"]) func theNextDaemonReadsWhatCameMeanwhile(name: String) throws {
        try with { rim, folder, source in
            try folder.makeFolder("old")
            let isElsewhere = name.contains("/")
            let first = isElsewhere ? name : "log.1"
            try folder.append("log", "one\n")
            try told(rim, "one")
            try Linux.rename(folder["log"], to: folder[first])
            try folder.append("log", "two\n")
            try told(rim, "one", "two")
            rim.on(source) { $0.close() }
            try folder.append(first, "three\n")
            if name != first { try Linux.rename(folder[first], to: folder[name]) }
            let again = open(rim, folder)
            try told(rim, "one", "two", "three")
            try folder.append(name, "four\n")
            try told(rim, "one", "two", "three", "four")
            try folder.append("log", "five\n")
            try told(rim, "one", "two", "three", "four", "five")
            rim.on(again) { $0.close() }
        }
    }

    @Test func oneThatIsStillForLongIsLookedAtAtTheNextRotation() throws {
        try with(patience: 100_000) { rim, folder, source in
            try folder.append("log", "one\n")
            try told(rim, "one")
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "two\n")
            try told(rim, "one", "two")
            try wait(for: "it to be closed") { descriptors(rim, source) == 1 }
            try folder.append("log.1", "three\n")
            try folder.append("log", "four\n")
            try told(rim, "one", "two", "four")
            try Linux.rename(folder["log.1"], to: folder["log.2"])
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "five\n")
            try wait(for: "the rest, got \(rim.texts)") { rim.texts.count == 5 }
            #expect(Set(rim.texts) == ["one", "two", "three", "four", "five"])
        }
    }

    @Test func onlyTheNewestAreFollowedAndNoneThatIsDeleted() throws {
        try with { rim, folder, source in
            let rounds = RotatedFiles.limit + 3
            for round in 1...rounds {
                try folder.append("log", "\(round)\n")
                try wait(for: "\(round), got \(rim.texts)") { rim.texts.last == "\(round)" }
                try Linux.rename(folder["log"], to: folder["log-2026112\(round)"])
            }
            try folder.append("log", "end\n")
            try wait(for: "the end") { rim.texts.last == "end" }
            #expect(descriptors(rim, source) == 1 + RotatedFiles.limit)
            try folder.append("log-2026112\(rounds)", "late\n")
            try wait(for: "a late one") { rim.texts.last == "late" }
            for round in 1...rounds { try Linux.unlink(folder["log-2026112\(round)"]) }
            try wait(for: "them to be let go") { descriptors(rim, source) == 1 }
            #expect(rim.texts == (1...rounds).map(String.init) + ["end", "late"])
        }
    }

    /// The number of a line is its content, so that what is lost or repeated shows.
    @Test(arguments: 1...UInt64(6)) func whoeverWritesWhereEachLineComesOnce(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        try Folder.with { folder in
            try folder.write("log", "")
            let rim = try Rim()
            var source = open(rim, folder)
            try rim.waitUntilArmed()
            var (written, isDown) = (0, false)
            /// Of `log.1`, `log.2`, …: it was read.
            var known: [Bool] = []
            func append(_ name: String) throws {
                written += 1
                try folder.append(name, "\(written)\n")
            }
            func waitForAll() throws {
                try wait(for: "\(written) lines, got \(rim.texts) \(rim.warnings), seed \(seed)") {
                    rim.texts.count >= written
                }
            }
            for _ in 0..<80 {
                switch random.upTo(9) {
                case 0...2: try append("log")
                case 3...5:
                    let number = 1 + random.upTo(RotatedFiles.limit - 1)
                    try tick(folder)
                    if number <= known.count, known[number - 1] || isDown { try append("log.\(number)") }
                case 6, 7:
                    try append("log")
                    if !isDown { try waitForAll() }
                    try tick(folder)
                    for number in (0..<known.count).reversed() {
                        try Linux.rename(folder["log.\(number + 1)"], to: folder["log.\(number + 2)"])
                    }
                    try Linux.rename(folder["log"], to: folder["log.1"])
                    known.insert(!isDown, at: 0)
                    try append("log")
                    if !isDown { try waitForAll() }
                default:
                    if isDown { source = open(rim, folder) } else { rim.on(source) { $0.close() } }
                    isDown.toggle()
                    if !isDown {
                        try waitForAll()
                        known = known.map { _ in true }
                    }
                }
            }
            if isDown { source = open(rim, folder) }
            try waitForAll()
            rim.on(source) { $0.close() }
            #expect(rim.texts.compactMap { Int($0) }.sorted() == Array(1...written), "seed \(seed)")
            #expect(rim.gap == 0, "seed \(seed): \(rim.warnings)")
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

    @Test func whatIsKeptOfThemIsReadAgainAsItWas() {
        let position = TailPosition(device: 1, inode: 2, offset: 3)
        let places = (4...5).map { RotatedPlace(path: Array("/a \n\($0)".utf8), position: position) }
        let progress = TailProgress(of: Array("/a".utf8), position, rotated: places)
        #expect(TailProgress(progress.bytes, of: progress.path) == progress)
    }
}
