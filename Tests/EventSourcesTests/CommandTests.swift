import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

import struct WatchFile.Command

@testable import EventSources

@Suite("Commands of sources", .ownThread) struct CommandTests {
    private func command(_ script: String) -> DescriptorTrigger {
        let words = ["/bin/bash", "-c", script]
        let command = Command(
            words: words.map { .template(Template(parts: [.literal(Array($0.utf8))])) })
        return DescriptorTrigger(listener: .command(command), framing: .line)
    }

    /// The only source of a set, which is closed in the end.
    private func with(
        _ script: String, isDurable: Bool = false,
        _ body: (Rim, QueueBound<SourceSet>, SourceDefinition) throws -> Void
    ) throws {
        let definition = SourceDefinition(
            id: SourceID(.descriptor, "command"), routes: [], trigger: .descriptor(command(script)))
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }
            set.open(definition, isDurable: isDurable)
            return QueueBound(set, to: rim.core)
        }
        defer {
            rim.core.queue.sync {
                set.value.close(definition.id)
                set.value.killCommands()
            }
        }
        try body(rim, set, definition)
    }

    private func failures(_ rim: Rim) -> [String] {
        rim.inputs.compactMap { if case .source(_, .failed(let reason, _)) = $0 { reason } else { nil } }
    }

    @Test func whoHasClosedItsOutputIsLeftToItsEnd() throws {
        try Folder.with { folder in
            let script = """
                trap 'echo cleaned >>\(folder["clean"])' EXIT; echo hi; exec 1>&-
                until [ -e \(folder["go"]) ]; do sleep 0.1; done; echo over >>\(folder["clean"]); exit 3
                """
            try with(script) { rim, _, _ in
                try wait(for: "its line") { rim.texts == ["hi"] }
                let said = "it has closed its output; it is started again when it has ended"
                try wait(for: "it to be said") { rim.condition == .waiting(said) }
                #expect(failures(rim).isEmpty)
                try folder.write("go", "")
                try wait(for: "its end") { !failures(rim).isEmpty }
                #expect(failures(rim).first == "it has ended (exit 3)")
                #expect(folder.lines("clean").prefix(2) == ["over", "cleaned"])
            }
        }
    }

    /// Its output has ended before it has, or the other way round.
    @Test func theEndThatIsToldIsItsOwn() throws {
        try with("exec cat") { rim, _, _ in
            try wait(for: "a few ends") { failures(rim).count >= 4 }
            #expect(Set(failures(rim)) == ["it has ended (exit 0)"])
        }
    }

    @Test func closedItIsAskedToEndAndWaitedFor() throws {
        try Folder.with { folder in
            // It says more than a pipe takes.
            let script = """
                trap 'head -c 200000 /dev/zero; echo cleaned >\(folder["clean"]); exit' TERM
                echo up; while :; do sleep 0.1; done
                """
            try with(script) { rim, set, definition in
                try wait(for: "its line") { rim.texts == ["up"] }
                let ended = Flag()
                rim.core.queue.sync {
                    set.value.close(definition.id)
                    set.value.whenCommandsHaveEnded {
                        #expect($0.isEmpty)
                        ended.set()
                    }
                    #expect(set.value.hasCommands)
                }
                try wait(for: "its end") { ended.isSet }
                #expect(folder.lines("clean") == ["cleaned"])
                #expect(rim.texts == ["up"])
            }
        }
    }

    @Test func closedAllOfAPipelineMayEndByItself() throws {
        try Folder.with { folder in
            try folder.write(
                "inner",
                "trap 'sleep 0.2; echo cleaned >\(folder["clean"]); exit' TERM; echo up; while :; do sleep 0.1; done")
            try with("/bin/bash \(folder["inner"]) | cat; true") { rim, set, definition in
                try wait(for: "its line") { rim.texts == ["up"] }
                let ended = Flag()
                rim.core.queue.sync {
                    set.value.close(definition.id)
                    set.value.whenCommandsHaveEnded { _ in ended.set() }
                }
                try wait(for: "its end") { ended.isSet }
                #expect(folder.lines("clean") == ["cleaned"])
            }
        }
    }

    @Test func whoDoesNotEndIsKilledAndToldOfWhereThatTakesTooLong() throws {
        try with("trap '' TERM; echo up; while :; do sleep 0.1; done") { rim, set, definition in
            try wait(for: "its line") { rim.texts == ["up"] }
            let (late, ended) = (Flag(), Flag())
            rim.core.queue.sync {
                set.value.close(definition.id)
                set.value.whenCommandsHaveEnded(within: 50_000) {
                    #expect($0 == [definition.id])
                    late.set()
                }
                set.value.whenCommandsHaveEnded { _ in ended.set() }
            }
            try wait(for: "the patience to be over") { late.isSet }
            #expect(!ended.isSet)
            rim.core.queue.sync { set.value.killCommands() }
            try wait(for: "its end") { ended.isSet }
        }
    }

    @Test func openedAnewItIsStartedWhenTheOneBeforeHasEnded() throws {
        try Folder.with { folder in
            let script = """
                [ -e \(folder["up"]) ] && echo twice; touch \(folder["up"])
                trap 'until [ -e \(folder["go"]) ]; do sleep 0.1; done; rm \(folder["up"]); exit' TERM
                echo up; while :; do sleep 0.1; done
                """
            try with(script) { rim, set, definition in
                try wait(for: "its line") { rim.texts == ["up"] }
                rim.core.queue.sync {
                    set.value.close(definition.id)
                    set.value.open(definition)
                }
                #expect(rim.condition == .waiting("its command is being ended"))
                try folder.write("go", "")
                try wait(for: "the other one") { rim.texts == ["up", "up"] }
            }
        }
    }

    // MARK: What it says while it ends

    private func reopen(_ set: QueueBound<SourceSet>, _ id: SourceID, _ script: String, isDurable: Bool) {
        let next = SourceDefinition(id: id, routes: [], trigger: .descriptor(command(script)))
        set.context.queue.sync {
            set.value.close(id)
            set.value.open(next, isDurable: isDurable)
        }
    }

    /// What stands in its pipe, as nobody is told anything, and what it says when it is asked to end.
    @Test(arguments: [false, true]) func aReloadTellsEverythingItHasSaid(isDurable: Bool) throws {
        try Folder.with { folder in
            let script = """
                trap 'echo -trapped; echo cleaned; printf rest; exit' TERM
                echo up; until [ -e \(folder["go"]) ]; do sleep 0.1; done
                echo held; printf half; touch \(folder["said"]); while :; do sleep 0.1; done
                """
            try with(script, isDurable: isDurable) { rim, set, definition in
                try wait(for: "its line") { rim.texts == ["up"] }
                rim.core.queue.sync { set.value.hold(definition.id) }
                try folder.write("go", "")
                try wait(for: "it to be said") { folder.exists("said") }
                #expect(rim.texts == ["up"])
                reopen(set, definition.id, "echo next; sleep 1000", isDurable: isDurable)
                try wait(for: "all") { rim.texts == ["up", "held", "half-trapped", "cleaned", "rest", "next"] }
                #expect(rim.lines.map(\.isIncomplete) == [false, false, false, false, true, false])
                #expect(rim.gap == 0)
                #expect(rim.warnings == [])
            }
        }
    }

    @Test(arguments: [false, true]) func aLineThatItHadBegunIsToldAtAReload(isKilled: Bool) throws {
        // Written at once, which bash's own does not.
        let script = "/usr/bin/printf 'up\\nhalf'; exec sleep 1000"
        try with(isKilled ? "trap '' TERM; " + script : script) { rim, set, definition in
            try wait(for: "its line") { rim.texts == ["up"] }
            reopen(set, definition.id, "echo next; exec sleep 1000", isDurable: false)
            if isKilled { rim.core.queue.sync { set.value.killCommands() } }
            try wait(for: "both") { rim.texts == ["up", "half", "next"] }
            #expect(rim.lines.map(\.isIncomplete) == [false, true, false])
            #expect(rim.gap == 0)
        }
    }

    @Test func whatNobodyIsToldOfItIsNamed() throws {
        try with("/usr/bin/printf 'up\\nhalf'; exec sleep 1000") { rim, set, definition in
            try wait(for: "its line") { rim.texts == ["up"] }
            rim.core.queue.sync { set.value.close(definition.id) }
            try wait(for: "it to be named") { !rim.warnings.isEmpty }
            #expect(rim.warnings == ["lines that were read are lost (4 bytes): no source reads it any more"])
            #expect(rim.gap == 1)
        }
    }

    @Test func whatItSaysBeyondMeasureIsCountedAsLost() throws {
        try with("trap 'yes | head -c 1000000; exit' TERM; echo up; while :; do sleep 0.1; done") {
            rim, set, definition in
            try wait(for: "its line") { rim.texts == ["up"] }
            reopen(set, definition.id, "echo next; exec sleep 1000", isDurable: false)
            try wait(for: "the next one") { rim.texts.last == "next" }
            #expect(rim.texts.count > 2 && rim.texts.count < 150_000)
            #expect(rim.gap == 1)
            let said = "its command said 1000000 bytes while it was ended: what is beyond 262144 is lost"
            #expect(rim.warnings == [said])
        }
    }

    @Test func whatIsClosedWhileItIsStartedIsNotLeftBehind() throws {
        try with("sleep 1000") { rim, set, definition in
            let ended = Flag()
            rim.core.queue.sync {
                set.value.close(definition.id)
                set.value.whenCommandsHaveEnded { _ in ended.set() }
            }
            try wait(for: "its end") { ended.isSet }
        }
    }
}

private final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
