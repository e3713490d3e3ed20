import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Sources whose paths do not answer", .ownThread) struct SilentPathTests {
    private static let id = SourceID(.descriptor, "d")

    private struct Setup {
        let folder: Folder
        let hung: HungFolders
        let rim: Rim
        let set: QueueBound<SourceSet>

        func on(_ body: (SourceSet) -> Void) { rim.core.queue.sync { body(set.value) } }

        /// Opens it as the daemon does.
        func open(_ definition: SourceDefinition) throws {
            on { set in
                set.probe([definition]) { set.open(definition) }
            }
            try wait(for: "the source to say something") { rim.condition != nil }
        }

        func tail(_ name: String) -> SourceDefinition {
            let trigger = DescriptorTrigger(listener: .tail(folder[name].pathBytes), framing: .line)
            return SourceDefinition(id: SilentPathTests.id, routes: [], trigger: .descriptor(trigger))
        }

        func path(_ names: String...) -> SourceDefinition {
            let trigger = PathTrigger(paths: names.map { folder[$0].pathBytes })
            return SourceDefinition(id: SourceID(.path, "p"), routes: [], trigger: .path(trigger))
        }

        var isSilent: Bool {
            rim.condition == .failed("\(folder["mnt"]) does not answer (a hung file system?)")
        }

        func heal() { hung.heal(folder["mnt"]) }
    }

    /// With the folders `mnt`, which does not answer, and `ok`.
    private func with(_ body: (Setup) throws -> Void) throws {
        try Folder.with { folder in
            for name in ["mnt", "ok"] { try folder.makeFolder(name) }
            let hung = HungFolders([folder["mnt"]])
            defer { hung.healAll() }
            let rim = try Rim(probe: { hung.probe($0) })
            let set = try rim.core.queue.sync {
                QueueBound(try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }, to: rim.core)
            }
            let setup = Setup(folder: folder, hung: hung, rim: rim, set: set)
            defer {
                setup.on { set in
                    for id in [Self.id, SourceID(.path, "p")] { set.close(id) }
                }
            }
            try body(setup)
        }
    }

    @Test func oneIsArmedWhenItsPathAnswers() throws {
        try with { setup in
            try setup.folder.write("mnt/log", "before\n")
            try setup.open(setup.tail("mnt/log"))
            #expect(setup.isSilent, "\(setup.rim.inputs)")
            setup.on { #expect($0.watchCount(Self.id) == 0) }
            setup.heal()
            try setup.rim.waitUntilArmed()
            try setup.folder.append("mnt/log", "after\n")
            try wait(for: "the line") { setup.rim.texts == ["after"] }
        }
    }

    @Test func whatIsHeldMeanwhileStaysHeld() throws {
        try with { setup in
            try setup.folder.write("mnt/log", "")
            try setup.open(setup.tail("mnt/log"))
            setup.on { $0.hold(Self.id) }
            setup.heal()
            try setup.rim.waitUntilArmed()
            try setup.folder.append("mnt/log", "line\n")
            try wait(for: "all to be read") {
                setup.rim.core.queue.sync { setup.rim.parts.value.environment.inotify.isCaughtUp }
            }
            #expect(setup.rim.texts.isEmpty)
            setup.on { $0.release(Self.id) }
            try wait(for: "the line") { setup.rim.texts == ["line"] }
        }
    }

    @Test func theLateAnswerOfOneThatIsClosedIsIgnored() throws {
        try with { setup in
            try setup.open(setup.tail("mnt/log"))
            setup.on { $0.close(Self.id) }
            try setup.open(setup.tail("ok/log"))
            let waiting = SourceCondition.waiting("\(setup.folder["ok/log"]) does not exist yet")
            try wait(for: "the other one") { setup.rim.condition == waiting }
            setup.heal()
            try wait(for: "the answer") { setup.hung.count(setup.folder["mnt/log"]) > 0 }
            setup.on { _ in }
            #expect(setup.rim.condition == waiting)
            try setup.folder.write("ok/log", "line\n")
            try wait(for: "the line") { setup.rim.texts == ["line"] }
            #expect(setup.rim.condition == .armed)
        }
    }

    @Test func oneThatIsChangedByAReloadIsOpenedOnceForWhatItIsThen() throws {
        try with { setup in
            try setup.open(setup.path("ok"))
            try setup.rim.waitUntilArmed()
            setup.on { set in
                let both = setup.path("ok", "mnt")
                set.probe([both]) {
                    set.close(both.id)
                    set.open(both)
                }
            }
            try wait(for: "the reason") { setup.isSilent }
            try wait(for: "the one before to be closed") {
                setup.rim.core.queue.sync { setup.set.value.watchCount(SourceID(.path, "p")) } == 0
            }
            setup.heal()
            try setup.rim.waitUntilArmed()
            for name in ["ok/new", "mnt/new"] { try setup.folder.write(name, "") }
            try wait(for: "both") { setup.rim.paths.count == 2 }
            #expect(setup.rim.gap == 0)
        }
    }

    @Test func aTryThatComesLaterIsNoReasonToHang() throws {
        try with { setup in
            setup.heal()
            let path = setup.folder["ok/device"]
            let trigger = DescriptorTrigger(listener: .special(path.pathBytes), framing: .line)
            try setup.open(SourceDefinition(id: Self.id, routes: [], trigger: .descriptor(trigger)))
            guard case .failed(_, .some) = setup.rim.condition else { throw TimedOut(description: "no next try") }
            setup.hung.hang(path)
            try wait(for: "the next try") {
                setup.rim.condition == .failed("\(path) does not answer (a hung file system?)")
            }
            try Linux.mkfifo(path)
            setup.hung.heal(path)
            try setup.rim.waitUntilArmed()
        }
    }
}
