import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

@Suite("Poll=", .ownThread) struct PollTests {
    private func with(
        _ path: String, polls: Bool = true, events: PathEvents = .changed, isRecursive: Bool = false,
        _ body: (Rim, QueueBound<any EventSource>) throws -> Void
    ) throws {
        var trigger = PathTrigger(paths: [path.pathBytes], events: events, isRecursive: isRecursive)
        trigger.polling = PathTrigger.Polling(isAlways: polls, interval: .milliseconds(20))
        try Rim.with {
            PathSource($0, trigger, $1)
        } then: { rim, source in
            try wait(for: "a state") { rim.condition != nil && rim.condition != .opening }
            try body(rim, source)
        }
    }

    private func said(_ rim: Rim) -> [String] {
        rim.paths.map { path in
            let name = String(decoding: path.path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
            return "\(path.change.rawValue) \(name)" + (path.isRecovered ? " recovered" : "")
        }
    }

    /// Puts a whole file there.
    private func place(_ name: String, _ text: String, in folder: Folder) throws {
        try folder.write("whole", text)
        try Linux.rename(folder["whole"], to: folder[name])
    }

    @Test(arguments: [false, true]) func aFolderIsComparedWithoutAnyWatch(isRecursive: Bool) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try folder.write("in/old", "1")
            try folder.write("in/same", "1")
            try with(folder["in"], isRecursive: isRecursive) { rim, source in
                try place("in/new", "1", in: folder)
                try wait(for: "the new file") { said(rim).contains("written new recovered") }
                try place("in/old", "22", in: folder)
                try wait(for: "the change") { said(rim).contains("written old recovered") }
                try Linux.unlink(folder["in/old"])
                try wait(for: "the end") { said(rim).contains("deleted old recovered") }
                #expect(said(rim).filter { !$0.hasPrefix("created") }.count == 3, "\(said(rim))")
                #expect(rim.on(source) { $0.watchCount } == 0)
            }
        }
    }

    @Test func aFileIsToldWhenNobodyWritesItAndTakesNoWatch() throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try with(folder["in"], events: [.created, .written]) { rim, source in
                let file = try Linux.open(folder["in/slow"], [.writing, .creating]).release()
                try wait(for: "its coming") { said(rim).contains("created slow recovered") }
                try folder.write("in/mark", "")
                try wait(for: "another one") { said(rim).contains("written mark recovered") }
                #expect(!said(rim).contains("written slow recovered"))
                #expect(rim.on(source) { $0.watchCount } == 0)
                FileDescriptor(owning: file).close()
                try wait(for: "the file") { said(rim).contains("written slow recovered") }
            }
        }
    }

    @Test(arguments: [false, true]) func whatDoesNotExistYetIsFound(isRecursive: Bool) throws {
        try Folder.with { folder in
            try with(folder["a/b"], isRecursive: isRecursive) { rim, _ in
                #expect(rim.condition == .waiting("\(folder["a/b"]) does not exist yet"))
                try folder.makeFolder("a")
                try place("a/b", "1", in: folder)
                try wait(for: "the file") { said(rim).contains("written b recovered") }
                try wait(for: "armed") { rim.condition == .armed }
            }
        }
    }

    @Test func aFolderInThePlaceOfAFileIsFound() throws {
        try Folder.with { folder in
            try folder.write("in", "")
            try with(folder["in"]) { rim, _ in
                try Linux.unlink(folder["in"])
                try folder.makeFolder("in")
                try place("in/f", "1", in: folder)
                try wait(for: "what is in it") { said(rim).contains("written f recovered") }
            }
        }
    }

    @Test(arguments: [false, true]) func whatIsHeldIsComparedAtItsRelease(isRecursive: Bool) throws {
        try Folder.with { folder in
            try folder.makeFolder("in")
            try with(folder["in"], isRecursive: isRecursive) { rim, source in
                rim.on(source) { $0.hold() }
                try place("in/new", "1", in: folder)
                rim.on(source) { $0.release() }
                try wait(for: "the file") { said(rim).contains("written new recovered") }
            }
        }
    }

    @Test(arguments: [false, true]) func aReloadMayChangeIt(isRecursive: Bool) throws {
        try Folder.with { folder in
            for name in ["in", "in/d"] { try folder.makeFolder(name) }
            try with(folder["in"], polls: false, isRecursive: isRecursive) { rim, source in
                try rim.waitUntilArmed()
                let watches = rim.on(source) { $0.watchCount }
                #expect(watches > 0)
                for (round, polls) in [true, false, true].enumerated() {
                    rim.core.queue.sync {
                        var trigger = PathTrigger(
                            paths: [folder["in"].pathBytes], events: .changed, isRecursive: isRecursive)
                        trigger.polling = PathTrigger.Polling(isAlways: polls, interval: .milliseconds(20))
                        (source.value as? PathSource)?.reopen(trigger)
                    }
                    try wait(for: "the watches, \(polls)") {
                        rim.on(source) { $0.watchCount } == (polls ? 0 : watches)
                    }
                    let name = isRecursive ? "in/d/\(round)" : "in/\(round)"
                    try place(name, "", in: folder)
                    // Where it is watched again a comparison may be the first to see it.
                    try wait(for: "the file, not \(said(rim))") {
                        said(rim).last?.hasPrefix("written \(round)") == true
                    }
                }
                #expect(said(rim).filter { !$0.hasPrefix("created") }.count == 3, "\(said(rim))")
            }
        }
    }

    @Test func aConditionIsLookedAtAgainAndAgain() throws {
        try Folder.with { folder in
            var trigger = PathTrigger(paths: [], events: .written)
            trigger.levels = PathLevels([.exists(folder["flag"].pathBytes)])
            trigger.polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(20))
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try rim.waitUntilArmed()
                #expect(rim.on(source) { $0.watchCount } == 0)
                try folder.write("flag", "")
                try wait(for: "it") { said(rim) == ["written flag"] }
            }
        }
    }

    // MARK: Poll=auto

    @Test func aFileOfTheKernelIsComparedByWhatIsInIt() throws {
        // Its times say nothing; its content changes with each read of the process.
        try with("/proc/\(Linux.processID)/io", polls: false) { rim, _ in
            try wait(for: "a change") { said(rim).contains("written io recovered") }
        }
    }

    @Test(arguments: [false, true]) func ofAFolderOfTheKernelEntriesComeAndGo(isRecursive: Bool) throws {
        try Folder.with { folder in
            let script = """
                until [ -e open ]; do sleep 0.1; done; exec 7</dev/null
                until [ -e close ]; do sleep 0.1; done; exec 7<&-
                until [ -e end ]; do sleep 0.1; done
                """
            let null = try Linux.open("/dev/null").release()
            defer { FileDescriptor(owning: null).close() }
            let program = try Program(
                ["sh", "-c", script].map { Array($0.utf8) }, environment: Program.environment, folder: folder.path,
                descriptors: [null, null, null])
            defer {
                try? folder.write("end", "")
                _ = program.wait(seconds: 30)
            }
            try with("/proc/\(program.processID)/fd", polls: false, isRecursive: isRecursive) { rim, _ in
                try folder.write("open", "")
                try wait(for: "a descriptor") { said(rim).contains("written 7 recovered") }
                try folder.write("close", "")
                try wait(for: "its end") { said(rim).contains("deleted 7 recovered") }
            }
        }
    }

    /// Each listing shows other times for them.
    @Test(arguments: [false, true]) func whatTheKernelMakesIsNotToldUnlessItChanges(isRecursive: Bool) throws {
        try with("/proc/sys/kernel/random", polls: false, isRecursive: isRecursive) { rim, source in
            let rounds = rim.on(source) { _ in Linux.now(.monotonic) }
            try wait(for: "some rounds") { Linux.now(.monotonic) - rounds > 200_000 }
            #expect(said(rim) == [])
        }
        try with("/proc/sys/kernel/ostype", polls: false) { rim, _ in
            let begin = Linux.now(.monotonic)
            try wait(for: "some rounds") { Linux.now(.monotonic) - begin > 200_000 }
            #expect(said(rim) == [])
        }
    }

    @Test(arguments: [("/proc/self", "/proc"), ("/sys/kernel", "/sys")])
    func whereTheKernelMakesWhatIsReadItIsKnown(path: String, name: String) throws {
        #expect(try FileSystemType(of: path).generatedName == name)
        #expect(FileSystemType.nearest(to: "\(path)/not/there".pathBytes)?.generatedName == name)
        #expect(FileSystemType(magic: 0x6969).remoteName == "NFS" && FileSystemType(magic: 0xEF53).silentName == nil)
    }

    @Test func aLinkIsOfTheFolderItStandsInOnlyWhereItLeadsNowhere() throws {
        try Folder.with { folder in
            try Linux.symlink(folder["l"], to: "/proc/self/io")
            #expect(try PathLook(folder["l"].pathBytes).fileSystem?.silentName == "/proc")
            try Linux.symlink(folder["m"], to: "/proc/not-there")
            #expect(try PathLook(folder["m"].pathBytes).fileSystem?.silentName == nil)
        }
    }
}
