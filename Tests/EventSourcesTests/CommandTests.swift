import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Synchronization
import Testing
import WatchFile

import struct WatchFile.Command

@testable import EventSources

@Suite("Commands of sources") struct CommandTests {
    private func command(_ script: String) -> DescriptorTrigger {
        let words = ["/bin/bash", "-c", script]
        let command = Command(
            words: words.map { .template(Template(parts: [.literal(Array($0.utf8))])) })
        return DescriptorTrigger(listener: .command(command), framing: .line)
    }

    /// The only source of a set, which is closed in the end.
    private func with(
        _ script: String, _ body: (Rim, QueueBound<SourceSet>, SourceDefinition) throws -> Void
    ) throws {
        let definition = SourceDefinition(
            id: SourceID(.descriptor, "command"), routes: [], trigger: .descriptor(command(script)))
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }
            set.open(definition)
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
                until [ -e \(folder["go"]) ]; do sleep 0.01; done; echo over >>\(folder["clean"]); exit 3
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
                echo up; while :; do sleep 0.01; done
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
                "trap 'sleep 0.2; echo cleaned >\(folder["clean"]); exit' TERM; echo up; while :; do sleep 0.01; done")
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
        try with("trap '' TERM; echo up; while :; do sleep 0.01; done") { rim, set, definition in
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
                trap 'until [ -e \(folder["go"]) ]; do sleep 0.01; done; rm \(folder["up"]); exit' TERM
                echo up; while :; do sleep 0.01; done
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
