import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

@testable import EventSources

@Suite("Tail", .ownThread) struct TailTests {
    private func with(
        _ prepare: (Folder) throws -> Void = { _ in }, _ body: (Rim, Folder, QueueBound<any EventSource>) throws -> Void
    ) throws {
        try Folder.with { folder in
            try prepare(folder)
            let rim = try Rim()
            let source = open(rim, folder)
            defer { rim.on(source) { $0.close() } }
            try body(rim, folder, source)
        }
    }

    private func open(
        _ rim: Rim, _ folder: Folder, _ name: String = "log", maxLength: Int = 65_536
    ) -> QueueBound<any EventSource> {
        let path = folder[name].pathBytes
        let trigger = DescriptorTrigger(listener: .tail(path), framing: .line, maxLength: maxLength)
        return rim.open { TailSource($0, path: path, trigger, $1, linePatience: 50_000) }
    }

    @Test func whatIsAppendedIsToldAndWhatStoodThereIsNot() throws {
        try with({ try $0.write("log", "old\n") }) { rim, folder, _ in
            try rim.waitUntilArmed()
            try folder.append("log", "one\ntw")
            try wait(for: "one") { rim.texts == ["one"] }
            try folder.append("log", "o\n")
            try wait(for: "two") { rim.texts == ["one", "two"] }
        }
    }

    @Test func aFileThatComesLaterIsReadFromItsStart() throws {
        try with { rim, folder, _ in
            try wait(for: "it to say so") { if case .waiting = rim.condition { true } else { false } }
            try folder.write("log", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            #expect(rim.condition == .armed)
        }
    }

    @Test func aFileThatTheKernelMakesAsItIsReadIsNoLog() throws {
        let rim = try Rim()
        let trigger = DescriptorTrigger(listener: .tail("/proc/loadavg".pathBytes), framing: .line)
        let source = rim.open { TailSource($0, path: "/proc/loadavg".pathBytes, trigger, $1) }
        defer { rim.on(source) { $0.close() } }
        let sentence = "/proc/loadavg, a file of /proc, which is made as it is read: Command= reads it"
        try wait(for: "it to be refused, not \(String(describing: rim.condition))") {
            if case .failed(let reason, _) = rim.condition { reason.contains(sentence) } else { false }
        }
        #expect(rim.texts == [])
    }

    @Test func acrossRotationTheOldFileIsReadToItsEndFirst() throws {
        try with({ try $0.write("log", "") }) { rim, folder, _ in
            try rim.waitUntilArmed()
            for round in 1...5 {
                try folder.append("log", "a\(round)\n")
                try Linux.rename(folder["log"], to: folder["log.\(round)"])
                // Who writes has it open still.
                try folder.append("log.\(round)", "b\(round)\nrest")
                try folder.write("log", "c\(round)\n")
                let expected = ["a\(round)", "b\(round)", "rest", "c\(round)"]
                try wait(for: "round \(round), got \(rim.texts.suffix(4))") { rim.texts.suffix(4) == expected[...] }
            }
            #expect(rim.lines.count == 20)
            #expect(rim.lines.count { $0.isIncomplete } == 5)
        }
    }

    @Test func aFileThatIsTruncatedBeginsAgain() throws {
        try with({ try $0.write("log", "") }) { rim, folder, _ in
            try rim.waitUntilArmed()
            try folder.append("log", "one\ntwo\n")
            try wait(for: "two") { rim.lines.count == 2 }
            try folder.write("log", "three\n")
            try wait(for: "three") { rim.texts == ["one", "two", "three"] }
        }
    }

    @Test func aLinkIsFollowed() throws {
        try with({
            try $0.makeFolder("real")
            try $0.write("real/file", "")
            try Linux.symlink($0["log"], to: $0["real/file"])
        }) { rim, folder, _ in
            try rim.waitUntilArmed()
            try folder.append("real/file", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
        }
    }

    @Test func whereALinkLeadsToTheFileMayBeRotated() throws {
        try with({
            try $0.makeFolder("real")
            try $0.write("real/file", "")
            try Linux.symlink($0["log"], to: $0["real/file"])
        }) { rim, folder, _ in
            try rim.waitUntilArmed()
            for round in 1...3 {
                try folder.append("real/file", "\(round)\n")
                try wait(for: "\(round), got \(rim.texts)") { rim.texts.last == "\(round)" }
                try Linux.rename(folder["real/file"], to: folder["real/file.\(round)"])
                try folder.append("real/file.\(round)", "late\n")
                try wait(for: "a late one") { rim.texts.last == "late" }
            }
            #expect(rim.texts == ["1", "late", "2", "late", "3", "late"])
        }
    }

    @Test(arguments: [false, true]) func whatIsAppendedByAnotherNameIsTold(isNamedLater: Bool) throws {
        try with({
            try $0.write("log", "")
            try $0.makeFolder("other")
            if !isNamedLater { try Linux.link($0["log"], to: $0["other/name"]) }
        }) { rim, folder, source in
            try rim.waitUntilArmed()
            if isNamedLater { try Linux.link(folder["log"], to: folder["other/name"]) }
            try folder.append("other/name", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            try folder.append("log", "two\n")
            try folder.append("other/name", "three\n")
            try wait(for: "three") { rim.texts == ["one", "two", "three"] }
            try Linux.unlink(folder["other/name"])
            try folder.append("log", "four\n")
            try wait(for: "four") { rim.texts == ["one", "two", "three", "four"] }
        }
    }

    // MARK: What cannot be read

    @Test func itIsTriedWhenSomethingHappensAndThePausesGetNoLongerByThat() throws {
        try with({ try Linux.mkfifo($0["log"]) }) { rim, folder, _ in
            func failures() -> [Int64?] {
                rim.inputs.compactMap { if case .source(_, .failed(_, let retryAt)) = $0 { retryAt } else { nil } }
            }
            for round in 1...20 {
                try Linux.chmod(folder["log"], round % 2 == 0 ? 0o644 : 0o600)
                try wait(for: "another try") { failures().count > round }
            }
            let retryAt = try #require(failures().last ?? nil)
            #expect(retryAt - Linux.now(.realtime) < 10_000_000)
            try folder.write("new", "one\n")
            try Linux.rename(folder["new"], to: folder["log"])
            try wait(for: "it to be armed") { rim.condition == .armed }
        }
    }

    @Test func theNextDaemonGoesOnWhereThisOneWas() throws {
        try with({ try $0.write("log", "") }) { rim, folder, source in
            try rim.waitUntilArmed()
            try folder.append("log", "one\nhal")
            try wait(for: "one") { rim.texts == ["one"] }
            rim.on(source) { $0.close() }
            try folder.append("log", "f\ntwo\n")
            let position = try #require(rim.position)
            for isRotated in [false, true] {
                if isRotated {
                    try Linux.rename(folder["log"], to: folder["log.1"])
                    try folder.write("log", "three\n")
                }
                let next = try Rim(position: position)
                let again = open(next, folder)
                let expected = ["half", "two"] + (isRotated ? ["three"] : [])
                try wait(for: "the rest, got \(next.texts)") { next.texts == expected }
                next.on(again) { $0.close() }
            }
            // Another file that has been given the inode, or was written anew: it begins differently.
            try folder.write("log.1", "something else that is longer\n")
            try Linux.rename(folder["log.1"], to: folder["log"])
            let next = try Rim(position: position)
            let again = open(next, folder)
            try wait(for: "all of it") { next.texts == ["something else that is longer"] }
            next.on(again) { $0.close() }
        }
    }

    @Test func whileItIsHeldNothingIsRead() throws {
        try with({ try $0.write("log", "") }) { rim, folder, source in
            try rim.waitUntilArmed()
            rim.on(source) { $0.hold() }
            try folder.append("log", "one\n")
            rim.on(source) { _ in }
            #expect(rim.lines.isEmpty)
            rim.on(source) { $0.release() }
            try wait(for: "one") { rim.texts == ["one"] }
        }
    }

    @Test func aLineThatIsTooLongIsCut() throws {
        try with { rim, folder, source in
            rim.on(source) { $0.close() }
            try folder.write("log", "")
            let short = open(rim, folder, maxLength: 4)
            try rim.waitUntilArmed()
            try folder.append("log", "abcdefg")
            try wait(for: "the beginning") { rim.texts == ["abcd"] }
            try folder.append("log", "hij\nnext\n")
            try wait(for: "the next") { rim.texts == ["abcd", "next"] }
            rim.on(short) { $0.close() }
        }
    }

    // MARK: Another path

    @Test func anotherPathIsReadFromItsEndAndSoIsTheFirstOneAgain() throws {
        try with({
            try $0.write("log", "")
            try $0.write("other", "old 1\nold 2\nold 3\n")
        }) { rim, folder, source in
            try rim.waitUntilArmed()
            try folder.append("log", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            rim.on(source) { $0.close() }
            let other = open(rim, folder, "other")
            try folder.append("other", "two\n")
            try wait(for: "two, got \(rim.texts)") { rim.texts.last == "two" }
            rim.on(other) { $0.close() }
            try folder.append("log", "of nobody\n")
            let again = open(rim, folder)
            try folder.append("log", "three\n")
            try wait(for: "three, got \(rim.texts)") { rim.texts.last == "three" }
            #expect(rim.texts == ["one", "two", "three"])
            #expect(rim.gap == 0 && rim.warnings.isEmpty, "\(rim.warnings)")
            rim.on(again) { $0.close() }
        }
    }

    @Test func whileNothingStandsAtAnotherPathTheFirstOneIsNotRead() throws {
        try with({ try $0.write("log", "") }) { rim, folder, source in
            try rim.waitUntilArmed()
            try folder.append("log", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            rim.on(source) { $0.close() }
            let other = open(rim, folder, "other")
            try wait(for: "it to say so") { if case .waiting = rim.condition { true } else { false } }
            try folder.append("log", "of nobody\n")
            // What comes while nobody looks is as new.
            rim.on(other) { $0.close() }
            try folder.write("other", "two\n")
            let again = open(rim, folder, "other")
            try wait(for: "two, got \(rim.texts)") { rim.texts.last == "two" }
            #expect(rim.texts == ["one", "two"])
            rim.on(again) { $0.close() }
        }
    }

    @Test func whatIsStoredIsOfItsPath() {
        let (path, other) = (Array("/var/log/a b".utf8), Array("/var/log/a".utf8))
        let position = TailPosition(device: 1, inode: 2, offset: 3)
        for progress in [TailProgress(of: path, position), TailProgress(of: path, nil)] {
            #expect(TailProgress(progress.bytes, of: path) == progress)
            #expect(TailProgress(progress.bytes, of: other) == nil)
        }
        #expect(TailProgress(position.bytes, of: other) == TailProgress(of: other, position))
        #expect(TailProgress([], of: path) == nil)
    }

    // MARK: Without a store

    /// `isNew`: nothing stands in the store, as it turns out.
    @Test(arguments: [false, true]) func whileNobodyKnowsHowFarItWasReadItWaits(isNew: Bool) throws {
        try Folder.with { folder in
            try folder.write("log", "")
            let first = try Rim()
            let source = open(first, folder)
            try first.waitUntilArmed()
            try folder.append("log", "one\n")
            try wait(for: "one") { first.texts == ["one"] }
            first.on(source) { $0.close() }
            try folder.append("log", "two\n")
            let reason = Flag("no space left")
            let next = try Rim(position: isNew ? nil : first.position, positionsMissing: { reason.value })
            let again = open(next, folder)
            try wait(for: "it to say so") {
                if case .waiting(let text) = next.condition { text.contains("no space left") } else { false }
            }
            try folder.append("log", "three\n")
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.append("log", "four\n")
            next.on(again) { _ in }
            #expect(next.texts.isEmpty)
            reason.value = nil
            next.on(again) { $0.positionsCame() }
            let expected = (isNew ? [] : ["two"]) + ["three", "four"]
            try wait(for: "the rest, got \(next.texts)") { next.texts == expected }
            #expect(next.condition == .armed && next.gap == 0 && next.warnings.isEmpty)
            next.on(again) { $0.close() }
        }
    }

    @Test func whatComesWhileNobodyKnowsIsReadFromItsStart() throws {
        try Folder.with { folder in
            let reason = Flag("no space left")
            let rim = try Rim(positionsMissing: { reason.value })
            let source = open(rim, folder)
            try folder.write("log", "one\n")
            reason.value = nil
            rim.on(source) { $0.positionsCame() }
            try wait(for: "one, got \(rim.texts)") { rim.texts == ["one"] }
            rim.on(source) { $0.close() }
        }
    }

    private final class Flag: Sendable {
        private let text: Mutex<String?>

        init(_ text: String?) { self.text = Mutex(text) }

        var value: String? {
            get { text.withLock { $0 } }
            set { text.withLock { $0 = newValue } }
        }
    }
}
