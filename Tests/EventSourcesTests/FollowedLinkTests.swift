import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Schedule
import Testing
import WatchFile

@testable import EventSources

/// `FollowSymlinks=`, and links that `Path=` names.
@Suite("Links that are followed", .ownThread) struct FollowedLinkTests {
    private struct Setup {
        let folder: Folder
        let rim: Rim
        let source: QueueBound<any EventSource>

        /// What was told of these names, each once as far as it is the same in a row.
        func told(_ names: String...) -> [String] {
            rim.paths.map { fact in
                let name = String(decoding: fact.path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
                return "\(fact.change.rawValue) \(name)"
            }.filter { said in names.contains { said.hasSuffix(" \($0)") } }
        }

        func shell(_ text: String) throws { try TreeSetup.shell(text, in: folder.path) }

        /// A later change is told after it.
        func settle() throws {
            try folder.write("whole", "")
            try Linux.rename(folder["whole"], to: folder["in/last"])
            try wait(for: "the last one") { told("last").contains("written last") }
            try Linux.unlink(folder["in/last"])
            try wait(for: "its end") { told("last").last == "deleted last" }
        }
    }

    private func with(
        _ path: String, _ events: PathEvents = [.written, .deleted], follows: Bool = true, polls: Bool = false,
        before: String = "", _ body: (Setup) throws -> Void
    ) throws {
        try Folder.with { folder in
            for name in ["in", "out"] { try folder.makeFolder(name) }
            try TreeSetup.shell(before, in: folder.path)
            var trigger = PathTrigger(paths: [folder[path].pathBytes], events: events)
            trigger.followsLinks = follows
            if polls { trigger.polling = PathTrigger.Polling(isAlways: true, interval: .milliseconds(20)) }
            try Rim.with {
                PathSource($0, trigger, $1)
            } then: { rim, source in
                try wait(for: "a state") { rim.condition == .armed || rim.condition?.isWaiting == true }
                try body(Setup(folder: folder, rim: rim, source: source))
            }
        }
    }

    // MARK: Entries

    /// As Kubernetes writes a ConfigMap: `key` leads through `..data`, which is switched.
    @Test(arguments: [false, true]) func whatIsReadThroughASwitchedLinkIsWritten(polls: Bool) throws {
        let before = """
            mkdir in/..1; echo a > in/..1/key; echo b > in/..1/same; ln -s ..1 in/..data
            ln -s ..data/key in/key; ln -s ..data/gone in/gone; echo > in/..1/gone
            """
        try with("in", polls: polls, before: before) { setup in
            for round in 2...4 {
                try setup.shell(
                    "mkdir in/..\(round); echo \(round) > in/..\(round)/key; ln -s ..\(round) in/..data_tmp; "
                        + "mv -T in/..data_tmp in/..data; rm -r in/..\(round - 1)")
                try wait(for: "the key, not \(setup.rim.paths)") {
                    setup.told("key") == Array(repeating: "written key", count: round - 1)
                }
                try setup.settle()
            }
            #expect(setup.told("key").count == 3)
            // It leads nowhere now, which is another thing, once.
            #expect(setup.told("gone") == ["written gone"])
        }
    }

    /// As certbot does it.
    @Test func aLinkThatIsReplacedIsWrittenOnce() throws {
        try with("in", before: "echo a > out/1; echo b > out/2; ln -s ../out/1 in/cert") { setup in
            try setup.shell("ln -s ../out/2 in/tmp; mv -T in/tmp in/cert")
            try wait(for: "the link") { setup.told("cert") == ["written cert"] }
            try setup.settle()
            #expect(setup.told("cert") == ["written cert"])
        }
    }

    @Test func aWriteAtTheEndOfALinkIsTold() throws {
        try with("in", before: "echo a > out/1; ln -s middle in/l; ln -s ../out/1 in/middle") { setup in
            try setup.folder.append("out/1", "more")
            try wait(for: "both") { setup.told("l", "middle").sorted() == ["written l", "written middle"] }
            try setup.shell("echo x > out/new; mv out/new out/1")
            try wait(for: "both again") { setup.told("l", "middle").count == 4 }
            try setup.settle()
            #expect(setup.told("l", "middle").count == 4)
        }
    }

    @Test(arguments: ["in", "in/l"]) func aWriteAtTheEndOfALinkIsModifiedBeforeItsClose(path: String) throws {
        try with(path, [.modified, .written, .deleted], before: "echo a > out/1; ln -s ../out/1 in/l") { setup in
            let file = try Linux.open(setup.folder["out/1"], [.writing])
            try Linux.writeAll(file.rawValue, [UInt8(ascii: "b")])
            try wait(for: "it, not \(setup.rim.paths)") { setup.told("l") == ["modified l"] }
            file.close()
            try wait(for: "its close") { setup.told("l") == ["modified l", "written l"] }
        }
    }

    @Test func whatALinkLeadsToMayComeLater() throws {
        try with("in", before: "ln -s ../out/later in/l") { setup in
            try setup.shell("echo x > out/part; mv out/part out/later")
            try wait(for: "it") { setup.told("l") == ["written l"] }
        }
    }

    @Test func newLinksAreFollowedAndOldOnesAreLeft() throws {
        try with("in", before: "echo a > out/1; ln -s ../out/1 in/old") { setup in
            let watches = setup.rim.on(setup.source) { $0.watchCount }
            try setup.shell("ln -s ../out/1 in/new")
            try wait(for: "the link") { setup.told("new") == ["written new"] }
            try setup.folder.append("out/1", "more")
            try wait(for: "both") { setup.told("old", "new").count == 3 }
            try setup.shell("rm in/new")
            try wait(for: "its end") { setup.told("new").last == "deleted new" }
            try setup.settle()
            #expect(setup.rim.on(setup.source) { $0.watchCount } == watches)
        }
    }

    @Test func aLinkToItselfOrToItsFolderIsHarmless() throws {
        try with("in", before: "ln -s self in/self; ln -s . in/here; ln -s a in/b; ln -s b in/a") { setup in
            try setup.settle()
            #expect(setup.told("self", "here", "a", "b") == [])
        }
    }

    @Test func withoutItALinkIsAFileOfItsOwn() throws {
        try with("in", follows: false, before: "echo a > out/1; ln -s ../out/1 in/l") { setup in
            try setup.folder.append("out/1", "more")
            try setup.settle()
            #expect(setup.told("l") == [])
        }
    }

    // MARK: The path itself

    @Test(arguments: [false, true]) func aPathThatIsALinkStandsForWhatItLeadsTo(polls: Bool) throws {
        let before = """
            mkdir out/1 out/2; echo a > out/1/f; echo b > out/2/f; echo > out/1/old; ln -s out/latest current
            ln -s 1 out/latest
            """
        try with("current", follows: false, polls: polls, before: before) { setup in
            try setup.shell("echo x > whole; mv whole out/1/new")
            try wait(for: "a file") { setup.told("new") == ["written new"] }
            // The second link on the way, and then the first.
            try setup.shell("ln -s 2 out/tmp; mv -T out/tmp out/latest")
            try wait(for: "what is there now") {
                setup.told("f", "old") == ["written f", "deleted old"]
            }
            try setup.shell("echo x > whole; mv whole out/2/more")
            try wait(for: "a file") { setup.told("more") == ["written more"] }
            try setup.shell("ln -s out/1 tmp; mv -T tmp current")
            try wait(for: "what was there") { setup.told("f", "old").count == 4 }
            #expect(setup.rim.paths.allSatisfy { $0.path.starts(with: setup.folder["current"].pathBytes) })
        }
    }

    @Test func aPathThatIsALinkToAFileIsThatFile() throws {
        try with("l", follows: false, before: "echo a > out/1; echo b > out/2; ln -s out/1 l") { setup in
            try setup.folder.append("out/1", "more")
            try wait(for: "a write") { setup.told("l") == ["written l"] }
            try setup.shell("ln -s out/2 tmp; mv -T tmp l")
            try wait(for: "the switch") { setup.told("l").count == 2 }
            try setup.folder.append("out/2", "more")
            try wait(for: "a write of the other") { setup.told("l").count == 3 }
        }
    }
}

extension SourceCondition {
    fileprivate var isWaiting: Bool { if case .waiting = self { true } else { false } }
}
