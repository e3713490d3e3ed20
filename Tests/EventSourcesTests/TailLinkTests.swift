import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Tail of a link", .ownThread) struct TailLinkTests {
    private func with(
        maxLength: Int = 65_536, _ prepare: (Folder) throws -> Void, _ body: (Rim, Folder) throws -> Void
    ) throws {
        try Folder.with { folder in
            try prepare(folder)
            let rim = try Rim()
            let path = folder["log"].pathBytes
            let trigger = DescriptorTrigger(listener: .tail(path), framing: .line, maxLength: maxLength)
            let source = rim.open { TailSource($0, path: path, trigger, $1) }
            defer { rim.on(source) { $0.close() } }
            try body(rim, folder)
        }
    }

    /// Replaces a link at once, and waits until that was seen.
    private func lead(_ link: String, to target: String, in folder: Folder, _ rim: Rim) throws {
        try Linux.symlink(folder["new"], to: target)
        try Linux.rename(folder["new"], to: folder[link])
        try waitUntilSeen(rim)
    }

    private func waitUntilSeen(_ rim: Rim) throws {
        try wait(for: "it to be seen") { rim.core.queue.sync { rim.parts.value.environment.inotify.isCaughtUp } }
    }

    @Test(arguments: [false, true], [false, true])
    func whatALinkIsMadeToLeadToMayBeEmptyOrComeLater(isAbsolute: Bool, isThere: Bool) throws {
        try with({
            try $0.makeFolder("days")
            try $0.write("a", "old\n")
            try Linux.symlink($0["log"], to: "a")
        }) { rim, folder in
            try rim.waitUntilArmed()
            try folder.append("log", "a\n")
            try wait(for: "a") { rim.texts == ["a"] }
            for name in ["b", "days/c", "d"] {
                if isThere { try folder.write(name, "") }
                try lead("log", to: isAbsolute ? folder[name] : name, in: folder, rim)
                try folder.append("a", "late \(name)\n")
                try wait(for: "what is still written to the first one") { rim.texts.last == "late \(name)" }
                try folder.append(name, "\(name)\n")
                try wait(for: "\(name), got \(rim.texts)") { rim.texts.last == name }
                #expect(rim.condition == .armed)
            }
            #expect(rim.texts == ["a", "late b", "b", "late days/c", "days/c", "late d", "d"])
            #expect(rim.gap == 0)
        }
    }

    @Test(arguments: [false, true]) func aLinkOnTheWayMayBeMadeToLeadElsewhere(isFolder: Bool) throws {
        try with({
            for name in ["one", "two", "other"] { try $0.makeFolder(name) }
            try $0.write("one/file", "")
            try Linux.symlink($0["other/way"], to: isFolder ? "../one" : "../one/file")
            try Linux.symlink($0["log"], to: isFolder ? "other/way/file" : "other/way")
        }) { rim, folder in
            try rim.waitUntilArmed()
            try lead("other/way", to: isFolder ? "../two" : "../two/file", in: folder, rim)
            try folder.write("two/file", "")
            try waitUntilSeen(rim)
            try folder.append("two/file", "two\n")
            try wait(for: "two, got \(rim.texts)") { rim.texts == ["two"] }
        }
    }

    @Test func whatALinkLeadsToMayComeAfterTheStart() throws {
        try with({ try Linux.symlink($0["log"], to: "days/a") }) { rim, folder in
            let days = SourceCondition.waiting("\(folder["log"]) leads to \(folder["days"]), which does not exist yet")
            try wait(for: "it to say so, got \(rim.condition as Any)") { rim.condition == days }
            try folder.makeFolder("days")
            let file = SourceCondition.waiting(
                "\(folder["log"]) leads to \(folder["days/a"]), which does not exist yet")
            try wait(for: "it to say so, got \(rim.condition as Any)") { rim.condition == file }
            try folder.write("days/a", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            #expect(rim.condition == .armed)
        }
    }

    @Test func aLinkMayComeInThePlaceOfAFile() throws {
        try with({ try $0.write("log", "") }) { rim, folder in
            try rim.waitUntilArmed()
            try folder.append("log", "one\n")
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.write("real", "")
            try Linux.symlink(folder["log"], to: "real")
            try waitUntilSeen(rim)
            try folder.append("real", "two\n")
            try wait(for: "two, got \(rim.texts)") { rim.texts == ["one", "two"] }
        }
    }

    @Test func thatAFolderStandsAtThePathIsSaid() throws {
        try with({ try $0.write("log", "") }) { rim, folder in
            try rim.waitUntilArmed()
            try Linux.rename(folder["log"], to: folder["log.1"])
            try folder.makeFolder("log")
            let sentence = SourceCondition.failed("\(folder["log"]) is a folder, and no regular file")
            try wait(for: "it to say so, got \(rim.condition as Any)") { rim.condition == sentence }
            try folder.append("log.1", "one\n")
            try wait(for: "one") { rim.texts == ["one"] }
            #expect(rim.condition == sentence)
            try Linux.rename(folder["log"], to: folder["folder"])
            try wait(for: "it to be armed, got \(rim.condition as Any)") { rim.condition == .armed }
            try folder.write("log", "two\n")
            try wait(for: "two") { rim.texts == ["one", "two"] }
        }
    }

    /// A look that reads much may begin before the log is renamed, and end after it: rounds try several moments.
    @Test func aFileThatIsRenamedWhileItIsReadIsFollowedBesideAFolder() throws {
        let size = 4 << 20
        for round in 0..<10 {
            try with(maxLength: 2 * size, { try $0.write("log", "") }) { rim, folder in
                try rim.waitUntilArmed()
                try waitUntilSeen(rim)
                try folder.append("log", String(repeating: "x", count: size))
                let moment = Linux.now(.monotonic) + Int64(round * 100)
                while Linux.now(.monotonic) < moment {}
                try Linux.rename(folder["log"], to: folder["log.1"])
                try folder.makeFolder("log")
                let sentence = SourceCondition.failed("\(folder["log"]) is a folder, and no regular file")
                try wait(for: "it to say so, got \(rim.condition as Any)") { rim.condition == sentence }
                try folder.append("log.1", "\n")
                try wait(for: "the line in round \(round)") { rim.lines.map(\.bytes.count) == [size] }
            }
        }
    }
}
