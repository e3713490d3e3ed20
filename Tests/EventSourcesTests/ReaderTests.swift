import Dispatch
import Engine
import LinuxSystem
import ProgramKit
import Testing
import WatchFile

@testable import EventSources

@Suite("Descriptors that are found", .ownThread) struct ReaderTests {
    @Test func aPassedPipeIsReadAndStaysOpenForTheNextOne() throws {
        let (read, write) = try Linux.pipe().split()
        defer { for number in [read, write] { FileDescriptor(owning: number).close() } }
        let trigger = DescriptorTrigger(listener: .passed("in"), framing: .line)
        for round in 1...2 {
            try Rim.with {
                let passed = PassedDescriptors(["in": [read]])
                return ReaderSource($0, trigger, $1, kind: .bytes) { _ throws(SystemError) in
                    try passed.duplicate("in")
                }
            } then: { rim, _ in
                try rim.waitUntilArmed()
                try Linux.writeAll(write, "line \(round)\n".utf8)
                try wait(for: "the line") { rim.texts == ["line \(round)"] }
            }
        }
    }

    @Test func aReloadTellsALineThatHasBegun() throws {
        let (read, write) = try Linux.pipe().split()
        defer { for number in [read, write] { FileDescriptor(owning: number).close() } }
        let trigger = DescriptorTrigger(listener: .passed("in"), framing: .line)
        let definition = SourceDefinition(
            id: SourceID(.descriptor, "d"), routes: [], trigger: .descriptor(trigger))
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(
                rim.parts.value.environment, passed: PassedDescriptors(["in": [read]]), ownSignals: []
            ) { _ in }
            set.open(definition)
            return QueueBound(set, to: rim.core)
        }
        for round in 1...2 {
            try Linux.writeAll(write, "whole\nbegun".utf8)
            try wait(for: "the whole one") { rim.texts.count == 2 * round - 1 }
            rim.core.queue.sync {
                set.value.close(definition.id)
                if round == 1 { set.value.open(definition) }
            }
        }
        rim.core.queue.sync {}
        #expect(rim.texts == ["whole", "begun", "whole"])
        #expect(rim.lines.map(\.isIncomplete) == [false, true, false])
        #expect(rim.warnings == ["lines that were read are lost (5 bytes): no source reads it any more"])
        #expect(rim.gap == 1)
    }

    /// What is read then would be a packet of nothing, for ever.
    @Test(arguments: [nil, DescriptorTrigger.Framing.line])
    func aPassedConnectionOfPacketsEndsWithItsPeer(framing: DescriptorTrigger.Framing?) throws {
        let (own, other) = try Linux.socketPair(.sequentialPacket).split()
        try Linux.writeAll(other, "one".utf8)
        try Linux.writeAll(other, "two".utf8)
        FileDescriptor(owning: other).close()
        let passed = PassedDescriptors(["in": [own]])
        var trigger = DescriptorTrigger(listener: .passed("in"), framing: framing ?? .line)
        trigger.isFramingGiven = framing != nil
        let definition = SourceDefinition(
            id: SourceID(.descriptor, "d"), routes: [], trigger: .descriptor(trigger))
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(rim.parts.value.environment, passed: passed, ownSignals: []) { _ in }
            set.open(definition)
            return QueueBound(set, to: rim.core)
        }
        try wait(for: "the end") { if case .failed("it has ended", _) = rim.condition { true } else { false } }
        rim.core.queue.sync { set.value.close(definition.id) }
        #expect(rim.texts == ["one", "two"])
        FileDescriptor(owning: own).close()
    }

    @Test func whatWasNotPassedIsSaid() throws {
        let trigger = DescriptorTrigger(listener: .passed("out"), framing: .line)
        try Rim.with {
            let passed = PassedDescriptors()
            return ReaderSource($0, trigger, $1, kind: .bytes) { _ throws(SystemError) in
                try passed.duplicate("out")
            }
        } then: { rim, _ in
            try wait(for: "it to be said") {
                if case .failed(let reason, _) = rim.condition { reason.contains("nothing was passed") } else { false }
            }
        }
    }

    @Test func whatWasNotPassedIsSaidWithWhatToDo() throws {
        try Rim.with(DescriptorTrigger(listener: .passed("out"), framing: .line)) { rim in
            let sentence =
                "FileDescriptorName=out: nothing was passed under this name; a socket unit passes it that has "
                + "FileDescriptorName=out and Service=watchd.service (systemd.socket(5)), and is started before watchd"
            try wait(for: "it to be said, got \(rim.condition as Any)") {
                if case .failed(sentence, _) = rim.condition { true } else { false }
            }
        }
    }

    @Test(arguments: [DescriptorTrigger.Framing.chunk, .ready])
    func whatCannotBeWaitedForIsRefusedWhileItIsHeld(framing: DescriptorTrigger.Framing) throws {
        let trigger = DescriptorTrigger(listener: .special("/dev/zero".pathBytes), framing: framing)
        let id = SourceID(.descriptor, "d")
        let rim = try Rim()
        let set = try rim.core.queue.sync {
            let set = try SourceSet(rim.parts.value.environment, ownSignals: []) { _ in }
            set.open(SourceDefinition(id: id, routes: [], trigger: .descriptor(trigger)))
            set.hold(id)
            return QueueBound(set, to: rim.core)
        }
        func reasons() -> [String] {
            rim.inputs.compactMap {
                guard case .source(_, let condition) = $0 else { return nil }
                if case .failed(let reason, _) = condition { return reason }
                return "\(condition)"
            }
        }
        try wait(for: "another try") { reasons().count >= 2 }
        rim.core.queue.sync { set.value.release(id) }
        try wait(for: "the next one") { reasons().count >= 3 }
        rim.core.queue.sync { set.value.close(id) }
        #expect(Set(reasons()) == ["it cannot be waited for: it is always ready, as a file is (Tail= reads files)"])
    }

    @Test func whatStandsInTheWayOfASocketIsNamed() throws {
        try Folder.with { folder in
            try folder.write("file", "")
            let (missing, file, dangling) = (folder["none/x"], folder["file"], folder["link"])
            try Linux.symlink(dangling, to: "nowhere")
            let socket = { DescriptorTrigger.Listener.stream(.unix(Array($0.utf8))) } as (String) -> _
            let noFolder = "whose folder does not exist: No such file or directory (ENOENT)"
            for (listener, sentence) in [
                (socket(missing), "bind \(missing), \(noFolder)"),
                (.fifo(missing.pathBytes), "mkfifo \(missing), \(noFolder)"),
                (socket(file), "bind \(file), where a file stands: Address already in use (EADDRINUSE)"),
                (
                    socket(dangling),
                    "bind \(dangling), where a symbolic link stands: Address already in use (EADDRINUSE)"
                ),
            ] {
                try Rim.with(DescriptorTrigger(listener: listener, framing: .line)) { rim in
                    try wait(for: "\(sentence), got \(rim.condition as Any)") {
                        if case .failed(sentence, _) = rim.condition { true } else { false }
                    }
                }
            }
        }
    }
}
